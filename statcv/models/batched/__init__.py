"""The fits of all folds of a plan as one problem, one module per model."""

from statcv.models.batched.fitted import FittedFolds, fit_all_folds, permuted_folds
from statcv.models.batched.folds import CELLS, Folds

__all__ = [
    "CELLS",
    "FittedFolds",
    "Folds",
    "fit_all_folds",
    "permuted_folds",
]

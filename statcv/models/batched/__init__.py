"""The fits of all folds of a plan as one problem, one module per model."""

from statcv.models.batched.downdate import symmetric_inverse
from statcv.models.batched.folds import (
    CELLS,
    Computed,
    FittedFolds,
    Folds,
    fit_all_folds,
    permuted_folds,
)
from statcv.models.batched.gram import information_of, quadratic_of

__all__ = [
    "CELLS",
    "Computed",
    "FittedFolds",
    "Folds",
    "fit_all_folds",
    "information_of",
    "permuted_folds",
    "quadratic_of",
    "symmetric_inverse",
]

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
from statcv.models.batched.gram import information_of, of_all_classes, quadratic_of

__all__ = [
    "CELLS",
    "Computed",
    "FittedFolds",
    "Folds",
    "fit_all_folds",
    "information_of",
    "of_all_classes",
    "permuted_folds",
    "quadratic_of",
    "symmetric_inverse",
]

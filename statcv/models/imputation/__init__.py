"""Missing covariates, imputed in every training set."""

from statcv.models.imputation.imputed import (
    Completed,
    Imputed,
    ImputedFit,
    imputed_fit,
    imputing,
)
from statcv.models.imputation.imputers import Imputer, Median, Mice

__all__ = [
    "Completed",
    "Imputed",
    "ImputedFit",
    "Imputer",
    "Median",
    "Mice",
    "imputed_fit",
    "imputing",
]

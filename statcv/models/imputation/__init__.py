"""Missing covariates, imputed in every training set."""

from statcv.models.imputation.imputed import (
    Completed,
    Imputed,
    ImputedFits,
    imputed_fits,
    imputing,
)
from statcv.models.imputation.imputers import Imputer, Median, Mice

__all__ = [
    "Completed",
    "Imputed",
    "ImputedFits",
    "Imputer",
    "Median",
    "Mice",
    "imputed_fits",
    "imputing",
]

"""Missing covariates, imputed in every training set."""

from statcv.models.imputation.imputed import (
    Completed,
    Imputed,
    ImputedFits,
    Imputer,
    Median,
    Mice,
    imputed_fits,
    imputing,
)

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

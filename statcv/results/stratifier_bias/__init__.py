"""The bias that each fold-stratifying covariate causes."""

from statcv.results.stratifier_bias.altered import nearest_outside
from statcv.results.stratifier_bias.association import (
    anova,
    fold_auroc,
    mutual_information,
    quantile_codes,
)
from statcv.results.stratifier_bias.ranking import predicted_drop

__all__ = [
    "anova",
    "fold_auroc",
    "mutual_information",
    "nearest_outside",
    "predicted_drop",
    "quantile_codes",
]

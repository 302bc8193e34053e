"""The bias that stratifying folds by a covariate causes."""

from statcv.results.stratifier_bias.association import (
    anova,
    chi_square,
    fold_auroc,
    mutual_information,
    quantile_codes,
    regression,
)
from statcv.results.stratifier_bias.bias import StratifierBias
from statcv.results.stratifier_bias.candidates import numbers_of
from statcv.results.stratifier_bias.measured import verdict
from statcv.results.stratifier_bias.ranking import (
    commonest_outside,
    nearest_outside,
    predicted_drop,
)

__all__ = [
    "StratifierBias",
    "anova",
    "chi_square",
    "commonest_outside",
    "fold_auroc",
    "mutual_information",
    "nearest_outside",
    "numbers_of",
    "predicted_drop",
    "quantile_codes",
    "regression",
    "verdict",
]

"""The bias that stratifying folds by a covariate causes."""

from statcv.arguments import offered as _offered
from statcv.results.stratifier_bias.association import anova as anova
from statcv.results.stratifier_bias.association import chi_square as chi_square
from statcv.results.stratifier_bias.association import fold_auroc as fold_auroc
from statcv.results.stratifier_bias.association import (
    mutual_information as mutual_information,
)
from statcv.results.stratifier_bias.association import quantile_codes as quantile_codes
from statcv.results.stratifier_bias.association import regression as regression
from statcv.results.stratifier_bias.bias import StratifierBias as StratifierBias
from statcv.results.stratifier_bias.candidates import numbers_of as numbers_of
from statcv.results.stratifier_bias.measured import verdict as verdict
from statcv.results.stratifier_bias.ranking import (
    commonest_outside as commonest_outside,
)
from statcv.results.stratifier_bias.ranking import nearest_outside as nearest_outside
from statcv.results.stratifier_bias.ranking import predicted_drop as predicted_drop

__all__ = _offered(globals())

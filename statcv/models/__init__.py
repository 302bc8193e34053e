"""Models that are fitted in a fold: one small protocol, one module per family."""

from statcv.arguments import offered as _offered
from statcv.models.base import Capabilities as Capabilities
from statcv.models.base import Fit as Fit
from statcv.models.base import FollowingModel as FollowingModel
from statcv.models.base import Model as Model
from statcv.models.base import TrainingSet as TrainingSet
from statcv.models.base import WrappedFit as WrappedFit
from statcv.models.base import decisions_of as decisions_of
from statcv.models.base import predictable as predictable
from statcv.models.batched.cumulative import (
    cumulative_information as cumulative_information,
)
from statcv.models.batched.partial_likelihood import (
    partial_likelihood as partial_likelihood,
)
from statcv.models.counts import NegativeBinomial as NegativeBinomial
from statcv.models.counts import Poisson as Poisson
from statcv.models.counts import counted as counted
from statcv.models.counts import theta_of as theta_of
from statcv.models.cox import Cox as Cox
from statcv.models.cox import baseline_beside as baseline_beside
from statcv.models.hand_over.points import Points as Points
from statcv.models.hand_over.points import Score as Score
from statcv.models.hand_over.updating import Stacking as Stacking
from statcv.models.hand_over.updating import Updating as Updating
from statcv.models.hand_over.updating import intercept_beside as intercept_beside
from statcv.models.hand_over.updating import said_update as said_update
from statcv.models.imputation import Median as Median
from statcv.models.imputation import Mice as Mice
from statcv.models.linear import Linear as Linear
from statcv.models.logit import Logit as Logit
from statcv.models.neighbors import Neighbors as Neighbors
from statcv.models.ordered import ProportionalOdds as ProportionalOdds
from statcv.models.other_libraries.boosting import BoostedFit as BoostedFit
from statcv.models.other_libraries.boosting import XGBoost as XGBoost
from statcv.models.other_libraries.sklearn_estimator import Sklearn as Sklearn
from statcv.models.other_libraries.sklearn_estimator import SklearnFit as SklearnFit
from statcv.models.other_libraries.statsmodels_model import Statsmodels as Statsmodels
from statcv.models.other_libraries.statsmodels_model import (
    unwrap_result as unwrap_result,
)
from statcv.models.resolve import MODELS as MODELS
from statcv.models.resolve import accepts_missing as accepts_missing
from statcv.models.resolve import distribution_of as distribution_of
from statcv.models.resolve import needs_order as needs_order
from statcv.models.resolve import resolve_model as resolve_model
from statcv.models.selection import Backward as Backward
from statcv.models.selection import Both as Both
from statcv.models.selection import Forward as Forward
from statcv.models.selection import Screen as Screen
from statcv.models.weights import with_given_weights as with_given_weights
from statcv.models.without_predictors import Mean as Mean
from statcv.models.without_predictors import NegMean as NegMean
from statcv.models.without_predictors import bare_records as bare_records
from statcv.models.without_predictors import bare_regression as bare_regression
from statcv.models.without_predictors import fitted_to_constant as fitted_to_constant
from statcv.models.without_predictors import predicted_without as predicted_without

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)

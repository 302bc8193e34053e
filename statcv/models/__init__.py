"""Models that are fitted in a fold: one small protocol, one module per family."""

from statcv.models.base import (
    Capabilities,
    Fit,
    FollowingModel,
    Model,
    TrainingSet,
    WrappedFit,
    decisions_of,
    predictable,
)
from statcv.models.batched.cumulative import cumulative_information
from statcv.models.batched.partial_likelihood import partial_likelihood
from statcv.models.counts import NegativeBinomial, Poisson, counted, theta_of
from statcv.models.cox import Cox, baseline_beside
from statcv.models.hand_over.points import Points, Score
from statcv.models.hand_over.updating import Stacking, Updating, said_update
from statcv.models.imputation import Median, Mice
from statcv.models.linear import Linear
from statcv.models.logit import Logit
from statcv.models.neighbors import Neighbors
from statcv.models.one_predictor import intercept_beside
from statcv.models.ordered import ProportionalOdds
from statcv.models.other_libraries.boosted_fit import BoostedFit
from statcv.models.other_libraries.boosting import XGBoost
from statcv.models.other_libraries.sklearn_estimator import Sklearn, SklearnFit
from statcv.models.other_libraries.statsmodels_model import Statsmodels, unwrap_result
from statcv.models.resolve import (
    MODELS,
    accepts_missing,
    distribution_of,
    needs_order,
    resolve_model,
)
from statcv.models.selection import Backward, Both, Forward, Screen
from statcv.models.weights import with_given_weights
from statcv.models.without_predictors import (
    Mean,
    NegMean,
    bare_records,
    bare_regression,
    fitted_to_constant,
    predicted_without,
)

__all__ = [
    "MODELS",
    "Backward",
    "BoostedFit",
    "Both",
    "Capabilities",
    "Cox",
    "Fit",
    "FollowingModel",
    "Forward",
    "Linear",
    "Logit",
    "Mean",
    "Median",
    "Mice",
    "Model",
    "NegMean",
    "NegativeBinomial",
    "Neighbors",
    "Points",
    "Poisson",
    "ProportionalOdds",
    "Score",
    "Screen",
    "Sklearn",
    "SklearnFit",
    "Stacking",
    "Statsmodels",
    "TrainingSet",
    "Updating",
    "WrappedFit",
    "XGBoost",
    "accepts_missing",
    "bare_records",
    "bare_regression",
    "baseline_beside",
    "counted",
    "cumulative_information",
    "decisions_of",
    "distribution_of",
    "fitted_to_constant",
    "intercept_beside",
    "needs_order",
    "partial_likelihood",
    "predictable",
    "predicted_without",
    "resolve_model",
    "said_update",
    "theta_of",
    "unwrap_result",
    "with_given_weights",
]


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)

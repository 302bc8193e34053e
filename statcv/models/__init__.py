"""Models that are fitted in a fold: one small protocol, one module per family."""

from statcv.models.base import Capabilities, Fit, Model, TrainingSet
from statcv.models.boosting import XGBoost
from statcv.models.dummy import Mean, NegMean
from statcv.models.linear import Linear
from statcv.models.logit import Logit
from statcv.models.neighbors import Neighbors
from statcv.models.resolve import MODELS, resolve_model
from statcv.models.sklearn_estimator import Sklearn
from statcv.models.statsmodels_model import Statsmodels

__all__ = [
    "MODELS",
    "Capabilities",
    "Fit",
    "Linear",
    "Logit",
    "Mean",
    "Model",
    "NegMean",
    "Neighbors",
    "Sklearn",
    "Statsmodels",
    "TrainingSet",
    "XGBoost",
    "resolve_model",
]

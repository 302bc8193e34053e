"""Hyperparameters chosen anew inside every training set."""

from statcv.tuning.edges import choices, warn_of_edges
from statcv.tuning.resolve import model_to_tune, tuned_model
from statcv.tuning.tuned import Tuned, TunedFit
from statcv.tuning.tuning import Tuning

__all__ = [
    "Tuned",
    "TunedFit",
    "Tuning",
    "choices",
    "model_to_tune",
    "tuned_model",
    "warn_of_edges",
]

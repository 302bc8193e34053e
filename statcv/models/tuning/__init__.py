"""Hyperparameters chosen inside every training set."""

from statcv.models.tuning.chosen import choices, warn_of_edges
from statcv.models.tuning.grid import chosen_table, plain
from statcv.models.tuning.resolve import (
    given_choices,
    model_to_tune,
    parts_with_folds,
    tuned_model,
)
from statcv.models.tuning.tuned import Tuned, TunedFit
from statcv.models.tuning.tuning import Tuning

__all__ = [
    "Tuned",
    "TunedFit",
    "Tuning",
    "choices",
    "chosen_table",
    "given_choices",
    "model_to_tune",
    "parts_with_folds",
    "plain",
    "tuned_model",
    "warn_of_edges",
]

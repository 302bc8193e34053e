"""Hyperparameters chosen inside every training set."""

from statcv.arguments import offered as _offered
from statcv.models.tuning.grid import chosen_table as chosen_table
from statcv.models.tuning.grid import plain as plain
from statcv.models.tuning.resolve import Tuning as Tuning
from statcv.models.tuning.resolve import given_choices as given_choices
from statcv.models.tuning.resolve import model_to_tune as model_to_tune
from statcv.models.tuning.resolve import parts_with_folds as parts_with_folds
from statcv.models.tuning.resolve import tuned_model as tuned_model
from statcv.models.tuning.tuned import Tuned as Tuned
from statcv.models.tuning.tuned import TunedFit as TunedFit
from statcv.models.tuning.tuned import choices as choices
from statcv.models.tuning.tuned import warn_of_edges as warn_of_edges

__all__ = _offered(globals())

"""Intervals and corrections for which the model is refitted."""

from statcv.arguments import offered as _offered
from statcv.inference.refits.jackknife import Jackknife as Jackknife
from statcv.inference.refits.nested_cv import FOLDED as FOLDED
from statcv.inference.refits.nested_cv import REPEATS as REPEATS
from statcv.inference.refits.nested_cv import folds_of as folds_of
from statcv.inference.refits.nested_cv import nested_fits as nested_fits
from statcv.inference.refits.nested_cv import nested_plan as nested_plan
from statcv.inference.refits.nested_cv import nested_tests as nested_tests
from statcv.inference.refits.nested_cv import new_divisions as new_divisions
from statcv.inference.refits.refitting import fixed_threshold as fixed_threshold
from statcv.inference.refits.refitting import mean_values as mean_values
from statcv.inference.refits.refitting import scores_of as scores_of

__all__ = _offered(globals())

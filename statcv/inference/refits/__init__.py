"""Intervals and corrections for which the model is refitted."""

from statcv.arguments import offered as _offered
from statcv.inference.refits.jackknife import Jackknife
from statcv.inference.refits.nested_cv import (
    FOLDED,
    REPEATS,
    folds_of,
    nested_fits,
    nested_plan,
    nested_tests,
    new_divisions,
)
from statcv.inference.refits.refitting import fixed_threshold, mean_values, scores_of

__all__ = _offered(globals())

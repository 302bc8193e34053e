"""Intervals and corrections for which the model is refitted."""

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

__all__ = [
    "FOLDED",
    "REPEATS",
    "Jackknife",
    "fixed_threshold",
    "folds_of",
    "mean_values",
    "nested_fits",
    "nested_plan",
    "nested_tests",
    "new_divisions",
    "scores_of",
]

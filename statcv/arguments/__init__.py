"""Checks of integers, words, levels and seeds, and the terms that other packages use.

There is one table for arguments, one for functions in formulas, and one for metrics.
A term is looked up without regard to capitals, dots and underscores.
"""

from statcv.arguments.checks import (
    MAX_BINS,
    MAX_GROUPS,
    MAX_JOBS,
    MAX_REPEATS,
    MAX_RESAMPLES,
    MAX_SEED,
    check_level,
    check_types,
    check_whole,
    described,
    is_list,
    is_number,
    is_whole,
    numbers,
    one_of,
)
from statcv.arguments.other_arguments import (
    ARGUMENTS,
    OF_COMPARE,
    OF_PREDICTIONS,
    refuse_unknown,
    refuse_words_of_compare,
)
from statcv.arguments.other_functions import (
    METRICS,
    attribute_error,
    function_answer,
    metric_answer,
)
from statcv.arguments.seeds import (
    FIT,
    FULL_FIT,
    PAIR_SAMPLE,
    PERMUTATION,
    PERMUTED_COLUMN,
    PLAN,
    RESAMPLE,
    RESAMPLE_HELD,
    RESERVE,
    fit_seeds,
    resolve_seed,
)

__all__ = [
    "ARGUMENTS",
    "FIT",
    "FULL_FIT",
    "MAX_BINS",
    "MAX_GROUPS",
    "MAX_JOBS",
    "MAX_REPEATS",
    "MAX_RESAMPLES",
    "MAX_SEED",
    "METRICS",
    "OF_COMPARE",
    "OF_PREDICTIONS",
    "PAIR_SAMPLE",
    "PERMUTATION",
    "PERMUTED_COLUMN",
    "PLAN",
    "RESAMPLE",
    "RESAMPLE_HELD",
    "RESERVE",
    "attribute_error",
    "check_level",
    "check_types",
    "check_whole",
    "described",
    "fit_seeds",
    "function_answer",
    "is_list",
    "is_number",
    "is_whole",
    "metric_answer",
    "numbers",
    "one_of",
    "refuse_unknown",
    "refuse_words_of_compare",
    "resolve_seed",
]

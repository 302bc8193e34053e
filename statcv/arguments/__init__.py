"""Checks of integers, words, levels and seeds, and the terms that other packages use.

``terms.txt`` has a table for arguments of each verb, for functions in formulas, for
attributes of results and for metrics. A term is looked up without regard to capitals,
dots and underscores.
"""

from statcv.arguments.checks import MAX_BINS as MAX_BINS
from statcv.arguments.checks import MAX_GROUPS as MAX_GROUPS
from statcv.arguments.checks import MAX_JOBS as MAX_JOBS
from statcv.arguments.checks import MAX_REPEATS as MAX_REPEATS
from statcv.arguments.checks import MAX_RESAMPLES as MAX_RESAMPLES
from statcv.arguments.checks import MAX_SEED as MAX_SEED
from statcv.arguments.checks import check_level as check_level
from statcv.arguments.checks import check_types as check_types
from statcv.arguments.checks import check_whole as check_whole
from statcv.arguments.checks import described as described
from statcv.arguments.checks import is_list as is_list
from statcv.arguments.checks import is_number as is_number
from statcv.arguments.checks import is_whole as is_whole
from statcv.arguments.checks import numbers as numbers
from statcv.arguments.checks import offered as offered
from statcv.arguments.checks import one_of as one_of
from statcv.arguments.other_terms import ARGUMENTS as ARGUMENTS
from statcv.arguments.other_terms import METRICS as METRICS
from statcv.arguments.other_terms import OF_COMPARE as OF_COMPARE
from statcv.arguments.other_terms import OF_PREDICTIONS as OF_PREDICTIONS
from statcv.arguments.other_terms import attribute_error as attribute_error
from statcv.arguments.other_terms import bare_word as bare_word
from statcv.arguments.other_terms import function_answer as function_answer
from statcv.arguments.other_terms import metric_answer as metric_answer
from statcv.arguments.other_terms import model_answer as model_answer
from statcv.arguments.other_terms import refuse_unknown as refuse_unknown
from statcv.arguments.other_terms import (
    refuse_words_of_compare as refuse_words_of_compare,
)
from statcv.arguments.seeds import FIT as FIT
from statcv.arguments.seeds import FULL_FIT as FULL_FIT
from statcv.arguments.seeds import PAIR_SAMPLE as PAIR_SAMPLE
from statcv.arguments.seeds import PERMUTATION as PERMUTATION
from statcv.arguments.seeds import PERMUTED_COLUMN as PERMUTED_COLUMN
from statcv.arguments.seeds import PLAN as PLAN
from statcv.arguments.seeds import RESAMPLE as RESAMPLE
from statcv.arguments.seeds import RESAMPLE_HELD as RESAMPLE_HELD
from statcv.arguments.seeds import RESERVE as RESERVE
from statcv.arguments.seeds import fit_seeds as fit_seeds
from statcv.arguments.seeds import resolve_seed as resolve_seed

__all__ = offered(globals())

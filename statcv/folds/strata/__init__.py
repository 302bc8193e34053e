"""Records that stay together: values, quantile bins, hashes."""

from statcv.arguments import offered as _offered
from statcv.folds.strata.by_quantile import ALIKE as ALIKE
from statcv.folds.strata.by_quantile import is_numeric as is_numeric
from statcv.folds.strata.hashing import TEST_VECTORS as TEST_VECTORS
from statcv.folds.strata.hashing import Key as Key
from statcv.folds.strata.hashing import balanced_folds as balanced_folds
from statcv.folds.strata.hashing import check_key as check_key
from statcv.folds.strata.hashing import keyed_digest as keyed_digest
from statcv.folds.strata.hashing import keyed_fold as keyed_fold
from statcv.folds.strata.hashing import pads as pads
from statcv.folds.strata.hashing_sql import register_duckdb as register_duckdb
from statcv.folds.strata.hashing_sql import register_sqlite as register_sqlite
from statcv.folds.strata.hashing_sql import sql_bins as sql_bins
from statcv.folds.strata.hashing_sql import sql_fold as sql_fold
from statcv.folds.strata.identifiers import count_missing as count_missing
from statcv.folds.strata.identifiers import written as written
from statcv.folds.strata.thresholds import as_number as as_number
from statcv.folds.strata.thresholds import even_cuts as even_cuts

__all__ = _offered(globals())

"""Records that stay together: values, quantile bins, hashes."""

from statcv.folds.strata.by_quantile import ALIKE, is_numeric
from statcv.folds.strata.hashing import (
    TEST_VECTORS,
    Key,
    balanced_folds,
    check_key,
    keyed_digest,
    keyed_fold,
    pads,
)
from statcv.folds.strata.hashing_sql import (
    register_duckdb,
    register_sqlite,
    sql_bins,
    sql_fold,
)
from statcv.folds.strata.identifiers import count_missing, written
from statcv.folds.strata.thresholds import as_number, even_cuts

__all__ = [
    "ALIKE",
    "TEST_VECTORS",
    "Key",
    "as_number",
    "balanced_folds",
    "check_key",
    "count_missing",
    "even_cuts",
    "is_numeric",
    "keyed_digest",
    "keyed_fold",
    "pads",
    "register_duckdb",
    "register_sqlite",
    "sql_bins",
    "sql_fold",
    "written",
]

"""Who is held out, and on whom each fold trains."""

from statcv.folds import theory as theory
from statcv.folds.deletion import (
    choose_splits,
    count_fits,
    delete_records,
    omit_held_out,
)
from statcv.folds.plan import FoldPlan, is_sample
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.balance import Bags, balance
from statcv.folds.response import Response
from statcv.folds.schemes.build import DEFAULT_K, make_plan
from statcv.folds.schemes.holdout import Records
from statcv.folds.schemes.pairs import count_unlike
from statcv.folds.schemes.table import SCHEMES, Scheme
from statcv.folds.strata.by_hash import ByHash, by_hash
from statcv.folds.strata.by_quantile import ByQuantile, by_quantile
from statcv.folds.strata.clusters import Strata
from statcv.folds.strata.stratifier import ByValue, Stratifier, by_value

__all__ = [
    "DEFAULT_K",
    "SCHEMES",
    "Bags",
    "ByHash",
    "ByQuantile",
    "ByValue",
    "FoldPlan",
    "Ragged",
    "Records",
    "Response",
    "Scheme",
    "Strata",
    "Stratifier",
    "balance",
    "by_hash",
    "by_quantile",
    "by_value",
    "choose_splits",
    "count_fits",
    "count_unlike",
    "delete_records",
    "is_sample",
    "make_plan",
    "omit_held_out",
]


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)

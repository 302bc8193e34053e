"""Who is held out, and on whom each fold trains."""

from statcv.arguments import offered as _offered
from statcv.folds import theory as theory
from statcv.folds.deletion import choose_splits as choose_splits
from statcv.folds.deletion import count_fits as count_fits
from statcv.folds.deletion import delete_records as delete_records
from statcv.folds.deletion import omit_held_out as omit_held_out
from statcv.folds.plan import FoldPlan as FoldPlan
from statcv.folds.plan import is_sample as is_sample
from statcv.folds.ragged import Ragged as Ragged
from statcv.folds.rebalance.balance import Bags as Bags
from statcv.folds.rebalance.balance import balance as balance
from statcv.folds.response import Response as Response
from statcv.folds.schemes.build import DEFAULT_K as DEFAULT_K
from statcv.folds.schemes.build import make_plan as make_plan
from statcv.folds.schemes.holdout import Records as Records
from statcv.folds.schemes.holdout import count_unlike as count_unlike
from statcv.folds.schemes.table import SCHEMES as SCHEMES
from statcv.folds.schemes.table import Scheme as Scheme
from statcv.folds.strata.by_hash import ByHash as ByHash
from statcv.folds.strata.by_hash import by_hash as by_hash
from statcv.folds.strata.by_quantile import ByQuantile as ByQuantile
from statcv.folds.strata.by_quantile import by_quantile as by_quantile
from statcv.folds.strata.clusters import Strata as Strata
from statcv.folds.strata.stratifier import ByValue as ByValue
from statcv.folds.strata.stratifier import Stratifier as Stratifier
from statcv.folds.strata.stratifier import by_value as by_value

__all__ = _offered(globals())


def __dir__() -> list[str]:
    """Offer public names alone."""
    return sorted(__all__)

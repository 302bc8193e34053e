"""Who is held out, and on whom each fold trains."""

from statcv.folds import theory as theory
from statcv.folds.plan import FoldPlan
from statcv.folds.rebalance.balance import Bags
from statcv.folds.schemes.build import make_plan
from statcv.folds.schemes.table import SCHEMES, Scheme

__all__ = ["SCHEMES", "Bags", "FoldPlan", "Scheme", "make_plan"]

"""Who is held out, and on whom each fold trains."""

from statcv.folds import theory as theory
from statcv.folds.balanced import Bags
from statcv.folds.build import make_plan
from statcv.folds.plan import FoldPlan
from statcv.folds.schemes import SCHEMES, Scheme

__all__ = ["SCHEMES", "Bags", "FoldPlan", "Scheme", "make_plan"]

"""Who is held out, and on whom each fold trains."""

from statcv.folds import theory as theory
from statcv.folds.plan import FoldPlan
from statcv.folds.schemes import SCHEMES, Scheme, make_plan

__all__ = ["SCHEMES", "FoldPlan", "Scheme", "make_plan"]

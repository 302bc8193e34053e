"""Variances of areas under ROC curves, and tests of their differences."""

from statcv.metrics.areas.exact_bounds import (
    disjoint_pairs,
    limits_at_end,
    p_at_end,
    pick_disjoint,
)
from statcv.metrics.areas.placements import (
    normal_quantile,
    ratio,
    symmetric_limits,
    tail,
)

__all__ = [
    "disjoint_pairs",
    "limits_at_end",
    "normal_quantile",
    "p_at_end",
    "pick_disjoint",
    "ratio",
    "symmetric_limits",
    "tail",
]

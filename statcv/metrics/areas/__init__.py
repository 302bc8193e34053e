"""Variances of areas under ROC curves, and tests of their differences."""

from statcv.metrics.areas.placements import (
    disjoint_pairs,
    limits_at_end,
    normal_quantile,
    p_at_end,
    pick_disjoint,
    symmetric_limits,
)

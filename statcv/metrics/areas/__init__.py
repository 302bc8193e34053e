"""Variances of areas under ROC curves, and tests of their differences."""

from statcv.metrics.areas.placements import disjoint_pairs as disjoint_pairs
from statcv.metrics.areas.placements import limits_at_end as limits_at_end
from statcv.metrics.areas.placements import normal_quantile as normal_quantile
from statcv.metrics.areas.placements import p_at_end as p_at_end
from statcv.metrics.areas.placements import pick_disjoint as pick_disjoint
from statcv.metrics.areas.placements import symmetric_limits as symmetric_limits

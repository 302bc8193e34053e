"""Rank metrics: ROC and precision-recall curves, their areas, and concordance."""

from statcv.metrics.discrimination.by_value import RankedRecords, in_rising_order
from statcv.metrics.discrimination.precision_recall import (
    auprc_in_random_order,
    auprc_of_counts,
)
from statcv.metrics.discrimination.ranking import concordance_counts
from statcv.metrics.discrimination.rounding import begins_value

__all__ = [
    "RankedRecords",
    "auprc_in_random_order",
    "auprc_of_counts",
    "begins_value",
    "concordance_counts",
    "in_rising_order",
]

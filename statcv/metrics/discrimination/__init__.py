"""Rank metrics: ROC and precision-recall curves, their areas, and concordance."""

from statcv.metrics.discrimination.by_value import RankedRecords
from statcv.metrics.discrimination.curves import auprc_in_random_order, auprc_of_counts
from statcv.metrics.discrimination.ranking import concordance_counts
from statcv.metrics.discrimination.rounding import begins_value

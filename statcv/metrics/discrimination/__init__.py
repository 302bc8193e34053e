"""Rank metrics: ROC and precision-recall curves, their areas, and concordance."""

from statcv.metrics.discrimination.by_value import RankedRecords as RankedRecords
from statcv.metrics.discrimination.curves import (
    auprc_in_random_order as auprc_in_random_order,
)
from statcv.metrics.discrimination.curves import auprc_of_counts as auprc_of_counts
from statcv.metrics.discrimination.ranking import (
    concordance_counts as concordance_counts,
)
from statcv.metrics.discrimination.rounding import begins_value as begins_value

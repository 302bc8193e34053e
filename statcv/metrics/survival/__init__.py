"""Metrics of times to an event, some of which are censored."""

from statcv.metrics.survival.horizon import Known
from statcv.metrics.survival.table import (
    harrell_c,
    integrated_brier,
    integrated_brier_metric,
    survival_metrics,
    uno_c,
)

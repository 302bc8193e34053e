"""Metrics of times to an event, some of which are censored."""

from statcv.metrics.survival.concordance import harrell_c, uno_c
from statcv.metrics.survival.known import Known
from statcv.metrics.survival.table import (
    integrated_brier,
    integrated_brier_metric,
    survival_metrics,
)

__all__ = [
    "Known",
    "harrell_c",
    "integrated_brier",
    "integrated_brier_metric",
    "survival_metrics",
    "uno_c",
]

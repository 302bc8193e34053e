"""Metrics of times to an event, some of which are censored."""

from statcv.metrics.survival.horizon import Known as Known
from statcv.metrics.survival.table import harrell_c as harrell_c
from statcv.metrics.survival.table import integrated_brier as integrated_brier
from statcv.metrics.survival.table import (
    integrated_brier_metric as integrated_brier_metric,
)
from statcv.metrics.survival.table import survival_metrics as survival_metrics
from statcv.metrics.survival.table import uno_c as uno_c

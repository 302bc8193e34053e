"""Metrics: arrays in, numbers out.

Nothing here knows of folds, models or data frames. Higher scores mean positive,
always. A metric that is undefined is NaN, without a warning: the caller, who knows
in which fold it happened, counts.
"""

from statcv.metrics.classwise import (
    accuracy,
    balanced_accuracy,
    brier,
    casewise_accuracy,
    casewise_brier,
    casewise_log_loss,
    log_loss,
)
from statcv.metrics.numeric import casewise_mae, casewise_mse, mae, mse, r2, rmse
from statcv.metrics.placements import (
    DeLong,
    DeLongTest,
    delong,
    delong_covariance,
    delong_test,
)
from statcv.metrics.ranking import (
    PrCurve,
    RocCurve,
    auprc,
    auroc,
    auroc_by_group,
    midrank,
    pr_curve,
    ranked_higher,
    roc_curve,
    round_significant,
)
from statcv.metrics.registry import METRICS, Metric, default_metrics, get_metric

__all__ = [
    "METRICS",
    "DeLong",
    "DeLongTest",
    "Metric",
    "PrCurve",
    "RocCurve",
    "accuracy",
    "auprc",
    "auroc",
    "auroc_by_group",
    "balanced_accuracy",
    "brier",
    "casewise_accuracy",
    "casewise_brier",
    "casewise_log_loss",
    "casewise_mae",
    "casewise_mse",
    "default_metrics",
    "delong",
    "delong_covariance",
    "delong_test",
    "get_metric",
    "log_loss",
    "mae",
    "midrank",
    "mse",
    "pr_curve",
    "r2",
    "ranked_higher",
    "rmse",
    "roc_curve",
    "round_significant",
]

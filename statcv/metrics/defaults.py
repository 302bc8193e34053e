"""The default metrics of each kind of outcome."""

from __future__ import annotations

from statcv.arguments import one_of
from statcv.errors import MetricError

_DEFAULTS = {
    "binary": (
        "auroc",
        "auprc",
        "calibration_slope",
        "calibration_intercept",
        "oe_ratio",
        "brier",
        "brier_skill",
        "log_loss",
    ),
    "multiclass": (
        "accuracy",
        "balanced_accuracy",
        "auroc_hand_till",
        "log_loss",
        "brier",
    ),
    "continuous": ("rmse", "mae", "r2"),
}


_AT_A_THRESHOLD = (
    "net_benefit",
    "sensitivity",
    "specificity",
    "accuracy",
    "balanced_accuracy",
)


def default_metrics(kind: str, threshold: bool = False) -> tuple[str, ...]:
    """Return the names of the default metrics for a kind of outcome.

    For two classes these measure discrimination, calibration and overall performance,
    and need no threshold. If a threshold is given, net benefit and metrics of predicted
    classes are added (Van Calster et al. 2025).

    Parameters
    ----------
    kind : {"binary", "multiclass", "continuous"}
        The kind of outcome.
    threshold : bool, default False
        Whether there is a threshold of the predictions.

    Returns
    -------
    tuple of str
        Names in `METRICS`.

    Raises
    ------
    MetricError
        If the kind is unknown.

    References
    ----------
    Van Calster, Collins, Vickers, …, Steyerberg (2025), Lancet Digital Health,
    arXiv:2412.10288.

    Examples
    --------
    >>> default_metrics("continuous")
    ('rmse', 'mae', 'r2')
    """
    one_of(kind, _DEFAULTS, "kind", MetricError)
    one_of(threshold, (True, False), "threshold", MetricError)
    more = _AT_A_THRESHOLD if threshold and kind == "binary" else ()
    return (*_DEFAULTS[kind], *more)

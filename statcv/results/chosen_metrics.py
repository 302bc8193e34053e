"""The metrics of a call: those that it names, or the defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from statcv.errors import ArgumentTypeError, MetricError
from statcv.formula import Outcome
from statcv.metrics import Metric, default_metrics, get_metric

OF_PAIRS = {
    "binary": "auroc",
    "multiclass": "auroc_hand_till",
    "continuous": "concordance",
}


def choose_metrics(
    metrics: Any,
    outcome: Outcome,
    pairs: bool = False,
    threshold: float | str | None = None,
) -> tuple[Metric, ...]:
    """Return the metrics that a call names, or the defaults for the outcome.

    Parameters
    ----------
    metrics : str, Metric, callable, or a sequence of them, or None
    outcome : Outcome
    pairs : bool
        Whether the scheme compares pairs, so that the metric that compares pairs comes
        first unless others are named.
    threshold : float, str or None
        The threshold of the predictions, if one is given.

    Raises
    ------
    MetricError
        If a metric is unknown, is not available for this outcome, or is named twice.
    """
    if metrics is None:
        usual = default_metrics(outcome.kind, threshold is not None)
        if isinstance(threshold, (int, float)) and not 0 <= threshold < 1:
            usual = tuple(name for name in usual if name != "net_benefit")
        first = [OF_PAIRS[outcome.kind]] if pairs else []
        names = dict.fromkeys([*first, *usual])
        return tuple(get_metric(name) for name in names)
    alone = isinstance(metrics, (str, Metric)) or callable(metrics)
    listed = [metrics] if alone else metrics
    if not isinstance(listed, Sequence):
        raise ArgumentTypeError(
            f"metrics must be a metric or a sequence of metrics, not {metrics!r}."
        )
    if not listed:
        raise MetricError("metrics is empty; omit it for the default metrics.")
    chosen = tuple(get_metric(name) for name in listed)
    for metric in chosen:
        metric.check_outcome(outcome.kind, outcome.name)
    named = [metric.name for metric in chosen]
    if len(set(named)) < len(named):
        raise MetricError(f"metrics names a metric twice: {', '.join(named)}.")
    return chosen

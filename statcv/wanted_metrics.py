"""Which metrics a call asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from statcv.errors import ArgumentTypeError, MetricError
from statcv.formula import Outcome
from statcv.metrics import Metric, default_metrics, get_metric


def choose_metrics(metrics: Any, outcome: Outcome) -> tuple[Metric, ...]:
    """Return the metrics that a call names, or the usual ones of the outcome.

    Parameters
    ----------
    metrics : str, Metric, callable, or a sequence of them, or None
    outcome : Outcome

    Raises
    ------
    MetricError
        If one is unknown, not for this outcome, or named twice.
    """
    if metrics is None:
        return tuple(map(get_metric, default_metrics(outcome.kind)))
    alone = isinstance(metrics, (str, Metric)) or callable(metrics)
    listed = [metrics] if alone else metrics
    if not isinstance(listed, Sequence):
        raise ArgumentTypeError(f"metrics must be a name or names, not {metrics!r}.")
    if not listed:
        raise MetricError("metrics is empty; leave it out for the usual ones.")
    chosen = tuple(get_metric(name) for name in listed)
    for metric in chosen:
        metric.check_outcome(outcome.kind, outcome.name)
    names = [metric.name for metric in chosen]
    if len(set(names)) < len(names):
        raise MetricError(f"metrics names one twice: {', '.join(names)}.")
    return chosen

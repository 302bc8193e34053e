"""Metrics by the names that a user types, for the outcome of a result."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.errors import MetricError, suggestion
from statcv.metrics.counts import COUNT_METRICS
from statcv.metrics.custom import get_metric
from statcv.metrics.defaults import default_metrics
from statcv.metrics.metric import Metric
from statcv.metrics.registry import METRICS
from statcv.metrics.survival import integrated_brier_metric, survival_metrics

__all__ = [
    "OF_MEANS",
    "OF_TIMES",
    "named_metric",
    "named_metrics",
    "usual_metrics",
    "without_censoring_of_all",
]

FEWEST_HORIZONS = 3  # between which a Brier score is integrated
# the usual metrics of a time to an event, at each horizon if they read a risk
OF_TIMES = (
    *("harrell_c", "uno_c", "auroc", "brier", "brier_skill"),
    *("calibration_slope", "oe_ratio", "integrated_brier"),
)


class Named(Hashable, Protocol):
    """An outcome, as :class:`statcv.formula.Outcome` is one."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def y(self) -> NDArray[np.generic]:
        """The coded outcome of all records."""

    @property
    def distribution(self) -> str:
        """The distribution of its counts, if it is one."""

    @property
    def horizons(self) -> tuple[float, ...]:
        """The times by which risks are predicted."""


OF_MEANS = ("poisson_deviance", "slope_counts", "oe_counts")


def _metrics_of_counts(outcome: Named) -> Mapping[str, Metric]:
    """Return the metrics of counts; scores of a distribution for Poisson's alone."""
    if outcome.distribution == "poisson":
        return COUNT_METRICS
    return {name: COUNT_METRICS[name] for name in OF_MEANS}


@lru_cache(maxsize=8)
def _metrics_of_times(outcome: Named) -> Mapping[str, Metric]:
    """Return the metrics of an outcome, with censoring weights from all its records."""
    horizons, found = outcome.horizons, {}
    for name, metric in survival_metrics(horizons).items():
        at = metric.horizon
        found[name] = _read(
            metric, outcome, 0 if at is None else 1 + horizons.index(at)
        )
    if len(horizons) >= FEWEST_HORIZONS:
        whole = integrated_brier_metric(horizons)
        found[whole.name] = _read(whole, outcome, slice(1, None))
    return found


def _read(metric: Metric, outcome: Named, column: int | slice) -> Metric:
    """Return a metric that reads a column, with censoring weights from all records.

    Its derivatives take account of how these weights vary with the records.
    """
    assert metric.weighted is not None
    return replace(
        metric,
        column=column,
        pairs="horizon" if metric.name.startswith("auroc@") else None,
        function=partial(metric.function, censoring=outcome.y),
        weighted=partial(metric.weighted, censoring=outcome.y),
    )


def without_censoring_of_all(metric: Metric) -> Metric:
    """Return a metric whose censoring weights come from the records that it is given.

    So it is to be within training sets, whose weights must not use held-out records.
    """
    function = metric.function
    return replace(metric, function=getattr(function, "func", function))


def named_metrics(name: Any, outcome: Named) -> list[Metric]:
    """Return what a name stands for: one metric, or one for each horizon.

    Parameters
    ----------
    name : str, Metric or callable
        Such as "auroc", or "auroc@365" of a time to an event.
    outcome : Named

    Raises
    ------
    MetricError
        If the metric is unknown, or not available for the outcome.
    """
    if outcome.kind == "continuous" and isinstance(name, str):
        counted = _metrics_of_counts(outcome)
        if name in counted:
            return [counted[name]]
        if outcome.distribution and name not in METRICS:
            raise MetricError(
                f"{outcome.name} is a count, and has no metric {name!r}; it has "
                f"{', '.join(counted)}, and those of numbers, such as rmse."
                + suggestion(name, counted)
            )
    if outcome.kind != "survival" or not isinstance(name, str):
        found = get_metric(name)
        found.check_outcome(outcome.kind, outcome.name)
        return [found]
    known = _metrics_of_times(outcome)
    if name in known:
        return [known[name]]
    at_horizons = [one for one in known.values() if one.name.startswith(f"{name}@")]
    if at_horizons:
        return at_horizons
    if not outcome.horizons and name in OF_TIMES:
        raise MetricError(
            f"{name} is a metric of the risk by some time: give cv() horizon=."
        )
    raise MetricError(
        f"{outcome.name} has no metric {name!r}; it has {', '.join(known)}."
        + suggestion(name, known)
    )


def named_metric(name: Any, outcome: Named) -> Metric:
    """Return the metric that a name stands for, at the only horizon if it has one.

    Parameters
    ----------
    name : str, Metric or callable
    outcome : Named

    Raises
    ------
    MetricError
        If the metric is unknown, not available for the outcome, or one of several.
    """
    found = named_metrics(name, outcome)
    if len(found) > 1:
        names = " or ".join(repr(metric.name) for metric in found)
        raise MetricError(f"{name!r} is known at several horizons; write {names}.")
    return found[0]


def usual_metrics(outcome: Named, threshold: bool) -> list[Metric]:
    """Return the default metrics of an outcome; see :func:`default_metrics`."""
    if outcome.distribution:
        return list(_metrics_of_counts(outcome).values())
    if outcome.kind != "survival":
        usual = default_metrics(outcome.kind, threshold)
        return [get_metric(name) for name in usual]
    known = _metrics_of_times(outcome)
    bases = {name: name.partition("@")[0] for name in known}
    wanted = (*OF_TIMES, *("net_benefit",) * threshold)
    return [
        known[own] for name in wanted for own, base in bases.items() if base == name
    ]

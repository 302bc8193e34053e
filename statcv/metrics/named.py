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
from statcv.metrics.ordered import MAX_CUTS, ordered_metrics
from statcv.metrics.registry import METRICS
from statcv.metrics.survival import integrated_brier_metric, survival_metrics

__all__ = [
    "OF_KINDS",
    "OF_MEANS",
    "OF_TIMES",
    "named_metric",
    "named_metrics",
    "usual_metrics",
]

OF_ORDER = ("ordinal_c", "rps")
FEWEST_HORIZONS = 3  # between which a Brier score is integrated
# the usual metrics of a time to an event, at each horizon if they read a risk
OF_TIMES = (
    *("harrell_c", "uno_c", "auroc", "brier", "brier_skill"),
    *("calibration_slope", "oe_ratio", "integrated_brier"),
)

# names of metrics that other outcomes do not have
OF_KINDS = frozenset((*OF_TIMES, *OF_ORDER, *COUNT_METRICS))


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
    def levels(self) -> tuple[Any, ...]:
        """The labels of its classes."""

    @property
    def ordered(self) -> bool:
        """Whether its classes have an order."""

    @property
    def horizons(self) -> tuple[float, ...]:
        """The times by which risks are predicted."""

    @property
    def censoring(self) -> str:
        """Whether censoring weights are from "all" records, or "training" sets."""


OF_MEANS = ("poisson_deviance", "slope_counts", "oe_counts")


def _metrics_of_counts(outcome: Named) -> Mapping[str, Metric]:
    """Return the metrics of counts; scores only where the distribution is known."""
    if outcome.distribution in ("poisson", "negative binomial"):
        return COUNT_METRICS
    return {name: COUNT_METRICS[name] for name in OF_MEANS}


def _metrics_of_order(outcome: Named) -> Mapping[str, Metric]:
    """Return the metrics of ordered classes; none for other outcomes."""
    return ordered_metrics(*map(str, outcome.levels)) if outcome.ordered else {}


@lru_cache(maxsize=8)
def _metrics_of_times(outcome: Named) -> Mapping[str, Metric]:
    """Return the metrics of an outcome, with its censoring weights."""
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
    """Return a metric that reads a column, with its censoring weights.

    If they are from all records, its derivatives take account of how they vary with
    these; if from training sets, they come with the predictions.
    """
    assert metric.weighted is not None
    of_all = outcome.censoring == "all"
    bound = {"censoring": outcome.y} if of_all else {}
    return replace(
        metric,
        column=column,
        pairs="horizon" if metric.name.startswith("auroc@") else None,
        function=partial(metric.function, **bound),
        weighted=partial(metric.weighted, **bound),
        takes="" if of_all else "uncensored",
    )


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
    known = _metrics_of_order(outcome)
    if keys := [key for key in known if name in (key, key.partition("@")[0])]:
        return [known[key] for key in keys]
    if outcome.kind == "multiclass" and name in OF_ORDER:
        raise MetricError(
            f"{name} needs classes with an order, which those of {outcome.name} do not "
            "have: make it a pandas.Categorical(…, ordered=True)."
        )
    if outcome.kind != "survival" or not isinstance(name, str):
        one = get_metric(name)
        one.check_outcome(outcome.kind, outcome.name)
        return [one]
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
        few = len(outcome.levels) <= MAX_CUTS + 1
        own = [m for m in _metrics_of_order(outcome).values() if few or not m.target]
        return [*own, *map(get_metric, usual)]
    known = _metrics_of_times(outcome)
    bases = {name: name.partition("@")[0] for name in known}
    wanted = (*OF_TIMES, *("net_benefit",) * threshold)
    return [
        known[own] for name in wanted for own, base in bases.items() if base == name
    ]

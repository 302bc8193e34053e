"""Metrics by the names that a user types, for the outcome of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from statcv.errors import MetricError, suggestion
from statcv.metrics.classification import classwise
from statcv.metrics.counts import COUNT_METRICS
from statcv.metrics.custom import get_metric
from statcv.metrics.influence.table import influence_on_mean
from statcv.metrics.inputs import mean_of
from statcv.metrics.metric import Metric
from statcv.metrics.registry import METRICS, USUAL, default_metrics
from statcv.metrics.survival import integrated_brier_metric, survival_metrics
from statcv.numeric.arrays import ArrayLike, Floats

__all__ = ["OF_KINDS", "OF_MEANS", "named_metric", "named_metrics", "usual_metrics"]

OF_ORDER = ("ordinal_c", "rps")
FEWEST_HORIZONS = 3  # between which a Brier score is integrated
# the usual metrics of a time to an event, at each horizon if they read a risk
OF_TIMES = USUAL["survival"]

# names of metrics that other outcomes do not have
OF_KINDS = frozenset((*OF_TIMES, *OF_ORDER, *COUNT_METRICS))


Named = Any  # an outcome, as statcv.formula.Outcome is one, which is hashable
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
        column = 0 if at is None else 1 + horizons.index(at)
        found[name] = _read(metric, outcome, column)
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


# ---- ordered classes ----


MAX_CUTS = 4  # cut points at which calibration is among the usual metrics
AT_CUTS = ("calibration_slope", "oe_ratio")


def expected_class(p: Floats) -> Floats:
    """Return the mean code of a class by the probabilities of all classes."""
    return np.asarray(p @ np.arange(p.shape[-1]))


def ordered_rps(y: ArrayLike, p: ArrayLike) -> float:
    """Mean ranked probability score of ordered classes.

    It is the sum over the cut points of the squared difference between the probability
    of a class below and whether the class was below, the sum of the Brier scores at all
    cut points. It is between 0 and K - 1.

    Parameters
    ----------
    y : array_like of shape (n,)
        The codes 0 … K - 1 of the classes.
    p : array_like of shape (n, K)
        Probabilities of the classes.

    Returns
    -------
    float
        The mean; NaN if a row of `p` has no probabilities, or without records.

    References
    ----------
    Epstein (1969), Journal of Applied Meteorology 8:985.

    Examples
    --------
    >>> round(ordered_rps([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]), 4)
    0.195
    """
    return mean_of(casewise_ordered_rps(y, p))


def casewise_ordered_rps(y: ArrayLike, p: ArrayLike) -> Floats:
    """Ranked probability score of each record."""
    codes, p = classwise.outcome_and_prediction(y, p)
    below = np.cumsum(classwise.proper_probabilities(p), axis=1)[:, :-1]
    known = codes[:, None] <= np.arange(below.shape[1])
    return np.asarray(((below - known) ** 2).sum(axis=1))


def at_least(code: int, p: Floats) -> Floats:
    """Return the probability of a class or a higher one."""
    return np.asarray(np.minimum(p[..., code:].sum(axis=-1), 1.0))


def at_cut(function: Any, code: int, y: ArrayLike, *others: Any, **named: Any) -> Any:
    """Return a function of two classes: whether a class is at least that code."""
    return function((np.asarray(y) >= code).astype(int), *others, **named)


def _most(classes: int) -> tuple[float, float]:
    return 0.0, classes - 1.0


CLASSES = frozenset(("multiclass",))
RPS = replace(
    METRICS["brier"],
    name="rps",
    label="ranked probability score",
    function=ordered_rps,
    outcomes=CLASSES,
    casewise=casewise_ordered_rps,
    limits=_most,
    **influence_on_mean(casewise_ordered_rps),
)
ORDINAL_C = replace(
    METRICS["concordance"],
    name="ordinal_c",
    label="ordinal C",
    outcomes=CLASSES,
    column=expected_class,
)


@lru_cache(maxsize=8)
def ordered_metrics(*levels: str) -> Mapping[str, Metric]:
    """Return the metrics of ordered classes by name, at each cut point.

    >>> [*ordered_metrics("I", "II", "III")][2:4]
    ['calibration_slope@II', 'calibration_slope@III']
    """
    codes = range(1, len(levels))
    at_cuts = [_at(METRICS[base], k, levels[k]) for base in AT_CUTS for k in codes]
    return {metric.name: metric for metric in (ORDINAL_C, RPS, *at_cuts)}


def _at(metric: Metric, code: int, level: str) -> Metric:
    """Return a metric of two classes at a cut point."""
    names = ("function", "by_group", "derive", "weighted")
    known: dict[str, Any] = {name: getattr(metric, name) for name in names}
    for name, one in known.items():
        known[name] = one and partial(at_cut, one, code)
    label, column = f"{metric.label}, {level} or higher", partial(at_least, code)
    known |= {"name": f"{metric.name}@{level}", "label": label, "column": column}
    return replace(metric, outcomes=CLASSES, pairs=None, **known)

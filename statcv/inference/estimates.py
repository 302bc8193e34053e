"""Held-out predictions → estimates: pooled, per fold, or paired.

*Pooled* is one metric over all held-out predictions of a repeat. *Per fold* is the
metric in each fold. *Paired* compares only records that the same fit left out, and
never predictions of different fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.errors import MetricError, suggestion
from statcv.inference.intervals import (
    Interval,
    corrected_t_interval,
    delong_interval,
    mean_interval,
    pairs_interval,
)
from statcv.inference.scores import Scores
from statcv.inference.values import (
    casewise_by_record,
    concordance,
    concordant_pairs,
    pooled_values,
    values_by_split,
)
from statcv.metrics import Metric, get_metric

HOWS = ("pooled", "per_fold", "paired")
BOOTSTRAPS = (".632", ".632+")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """One number with its interval; ``float()`` of it is the number.

    Attributes
    ----------
    metric, label, how : str
    value, lower, upper, se, level : float
    method, assumes : str
        How the interval was made, and what it takes for granted.
    n_undefined : int
        Folds (or repeats) in which the metric has no value.
    sd : float
        Monte Carlo sd over repeats of the pooled or paired value; over folds of
        the values per fold. NaN where there is one.
    """

    metric: str
    label: str
    how: str
    value: float
    lower: float
    upper: float
    se: float
    level: float
    method: str
    assumes: str
    n_undefined: int
    n_values: int
    sd: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        stated = f"{self.label} {self.value:.3f} ({self.how.replace('_', ' ')})"
        if np.isnan(self.lower):
            return f"{stated}, no interval: {self.assumes}"
        return (
            f"{stated}, {100 * self.level:g}% interval {self.lower:.3f} to "
            f"{self.upper:.3f} by {self.method}"
        )


def estimate(
    scores: Scores, metric: Metric, how: str | None = None, level: float = 0.95
) -> Estimate:
    """Estimate a metric one way.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}, optional
        The headline's way where not given.
    level : float
        Of the interval.

    Raises
    ------
    MetricError
        If ``how`` is unknown, or the metric cannot be had in pairs.
    """
    how = how or scores.headline(metric)
    if how in BOOTSTRAPS:
        raise MetricError(
            f"how={how!r} joins the value on the training records with that on what "
            "bootstrap samples leave out; use scheme='bootstrap'."
        )
    if how not in HOWS:
        raise MetricError(
            f"how must be one of {', '.join(HOWS)}, or for bootstrap samples "
            f"{' or '.join(BOOTSTRAPS)}, not {how!r}." + suggestion(how, HOWS)
        )
    check_level(level)
    if how == "paired" and metric.name != "auroc":
        raise MetricError(f"{metric.label} is no share of pairs; only auROC is.")
    ways: dict[str, Callable[..., Estimate]] = {
        "pooled": _pooled,
        "per_fold": _per_fold,
        "paired": _paired,
    }
    return ways[how](scores, metric, level)


def check_level(level: float) -> None:
    """Raise where a level of confidence is no share."""
    if not isinstance(level, (float, np.floating)) or not 0 < level < 1:
        raise MetricError(f"level must lie between 0 and 1, not {level!r}.")


def _finish(
    scores: Scores,
    metric: Metric,
    how: str,
    values: Floats,
    interval: Interval,
    level: float,
) -> Estimate:
    defined = values[~np.isnan(values)]
    lower, upper = metric.bounds
    if metric.name == "brier":
        upper = 1.0 if scores.predicted.ndim == 1 else 2.0
    return Estimate(
        metric=metric.name,
        label=metric.label,
        how=how,
        value=float(defined.mean()) if len(defined) else np.nan,
        lower=max(interval.lower, lower),
        upper=min(interval.upper, upper),
        se=interval.se,
        level=level,
        method=interval.method,
        assumes=interval.assumes,
        n_undefined=len(values) - len(defined),
        n_values=len(values),
        sd=float(defined.std(ddof=1)) if len(defined) > 1 else np.nan,
    )


def _pooled(scores: Scores, metric: Metric, level: float) -> Estimate:
    values = pooled_values(scores, metric)
    interval = _pooled_interval(scores, metric, values, level)
    return _finish(scores, metric, "pooled", values, interval, level)


def _pooled_interval(
    scores: Scores, metric: Metric, values: Floats, level: float
) -> Interval:
    if np.isnan(values).any():
        unit = "splits" if scores.by_split else "repeats"
        count = int(np.isnan(values).sum())
        return Interval.none(f"it is undefined in {count} of {len(values)} {unit}")
    if scores.apart:
        return Interval.none("each split is pooled by itself; see how='per_fold'")
    if metric.name == "auroc":
        parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
        outcomes = [scores.y[rows] for rows, _ in parts]
        return delong_interval(outcomes, [predicted for _, predicted in parts], level)
    if metric.name == "rmse":
        return _root(_record_interval(scores, get_metric("mse"), level))
    if metric.casewise is not None:
        return _record_interval(scores, metric, level)
    return Interval.none(f"no closed form is known for a pooled {metric.label}")


def _record_interval(scores: Scores, metric: Metric, level: float) -> Interval:
    """Mean over records of each record's loss, averaged over repeats."""
    return mean_interval(casewise_by_record(scores, metric)[1], level)


def _root(interval: Interval) -> Interval:
    """Turn an interval of the mean squared error into one of its root."""
    lower, upper = np.sqrt(max(interval.lower, 0.0)), np.sqrt(interval.upper)
    return Interval(
        float(lower),
        float(upper),
        float(interval.se / (lower + upper)),
        "root of the mean over records",
        interval.assumes,
    )


def _per_fold(scores: Scores, metric: Metric, level: float) -> Estimate:
    sizes, values = np.diff(scores.starts), values_by_split(scores, metric)
    defined = ~np.isnan(values)
    interval = corrected_t_interval(
        values[defined], scores.n_train[defined], sizes[defined], level
    )
    return _finish(scores, metric, "per_fold", values, interval, level)


def _paired(scores: Scores, metric: Metric, level: float) -> Estimate:
    pairs = concordant_pairs(scores)
    if pairs is None:
        values, some = concordance(scores)
        why = "no fit left out records of both classes"
        if some:
            why = "no interval is known for the pairs within folds; see how='per_fold'"
        return _finish(scores, metric, "paired", values, Interval.none(why), level)
    interval = Interval.none("no fit left out records of both classes")
    if len(pairs.won):
        interval = pairs_interval(pairs.first, pairs.second, pairs.won, level)
    return _finish(scores, metric, "paired", pairs.shares, interval, level)

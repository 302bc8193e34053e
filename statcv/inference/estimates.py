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
from statcv.metrics import Metric, auroc, get_metric, round_significant

HOWS = ("pooled", "per_fold", "paired")
BOOTSTRAPS = (".632", ".632+")
MOST_PAIRS = 2_000_000  # that are listed one by one, for an interval
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


def _value(scores: Scores, metric: Metric, where: NDArray[np.intp]) -> float:
    rows = scores.row[where]
    baseline = scores.baseline[scores.split[where]] if metric.uses_baseline else None
    predicted = metric.readable(scores.predicted[where], scores.probabilities)
    return float(metric(scores.y[rows], predicted, baseline))


def _pooled_value(scores: Scores, metric: Metric, where: NDArray[np.intp]) -> float:
    """Score a repeat; a record that it holds out more than once counts once."""
    if not scores.overlapping:
        return _value(scores, metric, where)
    rows, place = np.unique(scores.row[where], return_inverse=True)
    if metric.casewise is not None:
        losses = _casewise(scores, metric)[where]
        return float((np.bincount(place, losses) / np.bincount(place)).mean())
    rows, predicted = scores.by_record(where, metric.rank)
    baseline = None
    if metric.uses_baseline:
        means = scores.baseline[scores.split[where]]
        baseline = np.bincount(place, means) / np.bincount(place)
    read = metric.readable(predicted, scores.probabilities)
    return float(metric(scores.y[rows], read, baseline))


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
    repeats = scores.by_repeat
    values = np.array([_pooled_value(scores, metric, where) for where in repeats])
    if metric.rank:  # average precision is 1 where there is nothing but positives
        outcomes = [scores.y[scores.row[where]] for where in scores.by_repeat]
        values[[len(np.unique(y)) < 2 for y in outcomes]] = np.nan
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


def _casewise(scores: Scores, metric: Metric) -> Floats:
    """Return the loss of each prediction."""
    assert metric.casewise is not None
    predicted = metric.readable(scores.predicted, scores.probabilities)
    return metric.casewise(scores.y[scores.row], predicted)


def _record_interval(scores: Scores, metric: Metric, level: float) -> Interval:
    """Mean over records of each record's loss, averaged over repeats."""
    return mean_interval(casewise_by_record(scores, metric)[1], level)


def casewise_by_record(
    scores: Scores, metric: Metric
) -> tuple[NDArray[np.intp], Floats]:
    """Return the records held out, and the mean loss of each."""
    losses = _casewise(scores, metric)
    rows, place = np.unique(scores.row, return_inverse=True)
    return rows, np.bincount(place, losses) / np.bincount(place)


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


def values_by_split(scores: Scores, metric: Metric) -> Floats:
    """Return the metric in each split; NaN where it has no value."""
    sizes = np.diff(scores.starts)
    if metric.casewise is not None:
        return np.asarray(np.bincount(scores.split, _casewise(scores, metric)) / sizes)
    values = np.full(scores.n_splits, np.nan)
    admitted = scores.both_classes if metric.rank else sizes >= _least(metric)
    for split in np.flatnonzero(admitted):
        where = np.arange(scores.starts[split], scores.starts[split + 1])
        values[split] = _value(scores, metric, where)
    return values


def _least(metric: Metric) -> int:
    """Return how many records a fold must hold: one has no variance to explain."""
    return 2 if metric.uses_baseline else 1


def _paired(scores: Scores, metric: Metric, level: float) -> Estimate:
    if not scores.pairwise:
        return _paired_by_split(scores, metric, level)
    left = scores.left
    if left.most_pairs > MOST_PAIRS:
        return _paired_by_fit(scores, metric, level)
    one, two = left.pairs(scores.y)
    own, other = left.row[one], left.row[two]
    score = round_significant(left.predicted[one])
    rival = round_significant(left.predicted[two])
    positive = scores.y[own] == 1
    lead = np.where(positive, score - rival, rival - score)
    won = np.where(lead > 0, 1.0, np.where(lead < 0, 0.0, 0.5))
    won[np.isnan(lead)] = np.nan
    repeat = left.repeat[left.fit[one]]
    repeats = int(left.repeat.max()) + 1
    with np.errstate(invalid="ignore"):
        values = np.bincount(repeat, won, repeats) / np.bincount(
            repeat, minlength=repeats
        )
    if not len(won):
        interval = Interval.none("no fit left out records of both classes")
        return _finish(scores, metric, "paired", values, interval, level)
    first = np.where(positive, own, other)
    second = np.where(positive, other, own)
    interval = pairs_interval(first, second, won, level)
    return _finish(scores, metric, "paired", values, interval, level)


def _paired_by_split(scores: Scores, metric: Metric, level: float) -> Estimate:
    """Average the splits' auROCs, weighted by their numbers of pairs."""
    ones = np.bincount(scores.split, scores.y[scores.row] == 1, scores.n_splits)
    pairs = (ones * (np.diff(scores.starts) - ones)).astype(float)
    won = np.where(pairs > 0, pairs * values_by_split(scores, metric), 0.0)
    return _share(scores, metric, won, pairs, scores.repeat, level)


def _paired_by_fit(scores: Scores, metric: Metric, level: float) -> Estimate:
    """Average the fits' auROCs, weighted by their numbers of pairs."""
    left = scores.left
    won, pairs = (np.zeros(len(left.repeat)) for _ in range(2))
    for fit in range(len(left.repeat)):
        where = np.arange(left.starts[fit], left.starts[fit + 1])
        dropped = where[~left.held[where]]
        for rows, sign in ((where, 1.0), (dropped, -1.0)):  # not dropped with dropped
            y = scores.y[left.row[rows]]
            count = float((y == 1).sum() * (y == 0).sum())
            if count:
                won[fit] += sign * count * auroc(y, left.predicted[rows])
                pairs[fit] += sign * count
    return _share(scores, metric, won, pairs, left.repeat, level)


def _share(
    scores: Scores,
    metric: Metric,
    won: Floats,
    pairs: Floats,
    repeat: NDArray[np.intp],
    level: float,
) -> Estimate:
    """Return the share of the pairs that are ranked right, mean over repeats."""
    with np.errstate(invalid="ignore"):
        values = np.bincount(repeat, won) / np.bincount(repeat, pairs)
    why = "no fit left out records of both classes"
    if (pairs > 0).any():
        why = "no interval is known for the pairs within folds; see how='per_fold'"
    return _finish(scores, metric, "paired", values, Interval.none(why), level)

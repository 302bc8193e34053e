"""Held-out predictions → estimates: pooled, per fold, or paired.

*Pooled* is one metric over all held-out predictions of a repeat. *Per fold* is the
metric in each fold. *Paired* compares only records that the same fit left out, and
never predictions of different fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
from statcv.metrics import Metric, auroc, get_metric, round_significant

HOWS = ("pooled", "per_fold", "paired")
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


@dataclass(frozen=True, eq=False)
class Scores:
    """Held-out predictions of every fit, as arrays.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,)
        Coded outcome of the records.
    split, row : numpy.ndarray of int, shape (m,)
        The split, and the record; sorted by split.
    predicted : numpy.ndarray, shape (m,) or (m, classes)
    repeat : numpy.ndarray of int, shape (n_splits,)
        The repeat of each split.
    n_train, baseline : numpy.ndarray, shape (n_splits,)
        Size and mean outcome of the training sets.
    partner_split, partner_row, partner_predicted
        The same for records dropped for balance.
    rebalanced : bool
    probabilities : bool
        Whether predictions are probabilities or means, not decision scores.
    """

    y: NDArray[Any]
    split: NDArray[np.intp]
    row: NDArray[np.intp]
    predicted: Floats
    repeat: NDArray[np.intp]
    n_train: Floats
    baseline: Floats
    partner_split: NDArray[np.intp]
    partner_row: NDArray[np.intp]
    partner_predicted: Floats
    rebalanced: bool
    probabilities: bool = True

    @property
    def n_splits(self) -> int:
        """Folds of all repeats."""
        return len(self.repeat)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Where each split begins among the predictions, and one beyond."""
        return np.searchsorted(self.split, np.arange(self.n_splits + 1))

    @cached_property
    def by_repeat(self) -> list[NDArray[np.intp]]:
        """Positions of the predictions of each repeat."""
        first = np.flatnonzero(np.diff(self.repeat, prepend=-1))
        begin = [*self.starts[first], len(self.split)]
        return [np.arange(begin[r], begin[r + 1]) for r in range(len(first))]

    @cached_property
    def both_classes(self) -> NDArray[np.bool_]:
        """Which splits hold out records of both classes, shape (n_splits,)."""
        ones = np.bincount(self.split, self.y[self.row] == 1, self.n_splits)
        zeros = np.bincount(self.split, self.y[self.row] == 0, self.n_splits)
        return np.asarray((ones > 0) & (zeros > 0))

    @cached_property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions (held-out, partner) of pairs that one fit left out."""
        sizes = np.diff(self.starts)[self.partner_split]
        partner = np.repeat(np.arange(len(self.partner_split)), sizes)
        first = np.repeat(self.starts[self.partner_split], sizes)
        within = np.arange(len(partner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        held = first + within
        differ = self.y[self.row[held]] != self.y[self.partner_row[partner]]
        return held[differ], partner[differ]

    def mean_prediction(self) -> tuple[NDArray[np.intp], Floats]:
        """Return each held-out record once, with its prediction averaged."""
        return self._averaged

    @cached_property
    def _averaged(self) -> tuple[NDArray[np.intp], Floats]:
        rows = np.unique(self.row)
        place = np.searchsorted(rows, self.row)
        total = np.zeros((len(rows), *self.predicted.shape[1:]))
        np.add.at(total, place, self.predicted)
        times = np.bincount(place).reshape(-1, *[1] * (self.predicted.ndim - 1))
        return rows, total / times

    def headline(self, metric: Metric) -> str:
        """Return how a metric is best stated for these folds."""
        if not metric.rank:
            return "pooled"
        if self.rebalanced and metric.name == "auroc":
            return "paired"
        alone = self.by_split and len(self.by_repeat) > 1
        return "per_fold" if alone or self.both_classes.all() else "pooled"

    @property
    def by_split(self) -> bool:
        """Whether every repeat is one split, as where splits overlap."""
        return len(self.by_repeat) == self.n_splits


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
    if how not in HOWS:
        raise MetricError(
            f"how must be one of {', '.join(HOWS)}, not {how!r}."
            + suggestion(how, HOWS)
        )
    if not isinstance(level, (float, np.floating)) or not 0 < level < 1:
        raise MetricError(f"level must lie between 0 and 1, not {level!r}.")
    if how == "paired" and metric.name != "auroc":
        raise MetricError(f"{metric.label} is no share of pairs; only auROC is.")
    ways: dict[str, Callable[..., Estimate]] = {
        "pooled": _pooled,
        "per_fold": _per_fold,
        "paired": _paired,
    }
    return ways[how](scores, metric, level)


def _value(scores: Scores, metric: Metric, where: NDArray[np.intp]) -> float:
    rows = scores.row[where]
    baseline = scores.baseline[scores.split[where]] if metric.uses_baseline else None
    predicted = metric.readable(scores.predicted[where], scores.probabilities)
    return float(metric(scores.y[rows], predicted, baseline))


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
    values = np.array([_value(scores, metric, where) for where in scores.by_repeat])
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
    if metric.name == "auroc":
        outcomes = [scores.y[scores.row[where]] for where in scores.by_repeat]
        predictions = [scores.predicted[where] for where in scores.by_repeat]
        return delong_interval(outcomes, predictions, level)
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
    losses = _casewise(scores, metric)
    place = np.unique(scores.row, return_inverse=True)[1]
    return mean_interval(np.bincount(place, losses) / np.bincount(place), level)


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
    sizes = np.diff(scores.starts)
    if metric.casewise is not None:
        values = np.bincount(scores.split, _casewise(scores, metric)) / sizes
    else:
        values = np.full(scores.n_splits, np.nan)
        admitted = scores.both_classes if metric.rank else sizes >= _least(metric)
        for split in np.flatnonzero(admitted):
            where = np.arange(scores.starts[split], scores.starts[split + 1])
            values[split] = _value(scores, metric, where)
    defined = ~np.isnan(values)
    interval = corrected_t_interval(
        values[defined], scores.n_train[defined], sizes[defined], level
    )
    return _finish(scores, metric, "per_fold", values, interval, level)


def _least(metric: Metric) -> int:
    """Return how many records a fold must hold: one has no variance to explain."""
    return 2 if metric.uses_baseline else 1


def _paired(scores: Scores, metric: Metric, level: float) -> Estimate:
    if not scores.rebalanced:
        return _paired_within_folds(scores, metric, level)
    held, partner = scores.pairs
    own, other = scores.row[held], scores.partner_row[partner]
    score = round_significant(scores.predicted[held])
    rival = round_significant(scores.partner_predicted[partner])
    positive = scores.y[own] == 1
    lead = np.where(positive, score - rival, rival - score)
    won = np.where(lead > 0, 1.0, np.where(lead < 0, 0.0, 0.5))
    won[np.isnan(lead)] = np.nan
    repeat = scores.repeat[scores.split[held]]
    values = np.bincount(repeat, won) / np.bincount(repeat)
    first = np.where(positive, own, other)
    second = np.where(positive, other, own)
    interval = pairs_interval(first, second, won, level)
    return _finish(scores, metric, "paired", values, interval, level)


def _paired_within_folds(scores: Scores, metric: Metric, level: float) -> Estimate:
    """Average the folds' auROCs, weighted by their numbers of pairs."""
    repeats = int(scores.repeat.max()) + 1
    won, pairs = np.zeros(repeats), np.zeros(repeats)
    for split in np.flatnonzero(scores.both_classes):
        where = np.arange(scores.starts[split], scores.starts[split + 1])
        y = scores.y[scores.row[where]]
        count = float((y == 1).sum() * (y == 0).sum())
        won[scores.repeat[split]] += count * auroc(y, scores.predicted[where])
        pairs[scores.repeat[split]] += count
    with np.errstate(invalid="ignore"):
        values = won / pairs
    why = "no fit left out records of both classes"
    if (pairs > 0).any():
        why = "no interval is known for the pairs within folds; see how='per_fold'"
    return _finish(scores, metric, "paired", values, Interval.none(why), level)

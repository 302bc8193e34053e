"""A metric in each repeat, or in each fold: pooled, per fold, or paired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.inference.scores import Scores
from statcv.metrics import Metric, auroc_by_group, ranked_higher

MOST_PAIRS = 2_000_000  # that are listed one by one
Floats = NDArray[np.float64]


def values_by_repeat(scores: Scores, metric: Metric, how: str) -> Floats:
    """Return the metric in each repeat; NaN where it has no value.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
        ``per_fold`` is the mean over the folds of the repeat that have a value.
    """
    if how == "pooled":
        return pooled_values(scores, metric)
    if how == "paired":
        pairs = concordant_pairs(scores)
        return concordance(scores)[0] if pairs is None else pairs.shares
    values = values_by_split(scores, metric)
    known, repeats = ~np.isnan(values), len(scores.by_repeat)
    total = np.bincount(scores.repeat[known], values[known], repeats)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.bincount(scores.repeat[known], None, repeats))


# ---- pooled ----


def pooled_values(scores: Scores, metric: Metric) -> Floats:
    """Return the metric of all held-out predictions of each repeat."""
    if metric.name == "auroc" and not scores.overlapping:
        repeat = scores.repeat[scores.split]
        y = scores.y[scores.row]
        return auroc_by_group(y, scores.predicted, repeat, len(scores.by_repeat))
    repeats = scores.by_repeat
    values = np.array([_pooled_value(scores, metric, where) for where in repeats])
    if metric.rank:  # average precision is 1 where there is nothing but positives
        outcomes = [scores.y[scores.row[where]] for where in repeats]
        values[[len(np.unique(y)) < 2 for y in outcomes]] = np.nan
    return values


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
        losses = casewise(scores, metric)[where]
        return float((np.bincount(place, losses) / np.bincount(place)).mean())
    rows, predicted = scores.by_record(where, metric.rank)
    baseline = None
    if metric.uses_baseline:
        means = scores.baseline[scores.split[where]]
        baseline = np.bincount(place, means) / np.bincount(place)
    read = metric.readable(predicted, scores.probabilities)
    return float(metric(scores.y[rows], read, baseline))


# ---- per fold ----


def values_by_split(scores: Scores, metric: Metric) -> Floats:
    """Return the metric in each split; NaN where it has no value."""
    sizes = np.diff(scores.starts)
    if metric.casewise is not None:
        return np.asarray(np.bincount(scores.split, casewise(scores, metric)) / sizes)
    if metric.name == "auroc":
        y = scores.y[scores.row]
        return auroc_by_group(y, scores.predicted, scores.split, scores.n_splits)
    values = np.full(scores.n_splits, np.nan)
    admitted = scores.both_classes if metric.rank else sizes >= _least(metric)
    for split in np.flatnonzero(admitted):
        where = np.arange(scores.starts[split], scores.starts[split + 1])
        values[split] = _value(scores, metric, where)
    return values


def _least(metric: Metric) -> int:
    """Return how many records a fold must hold: one has no variance to explain."""
    return 2 if metric.uses_baseline else 1


# ---- casewise ----


def casewise(scores: Scores, metric: Metric) -> Floats:
    """Return the loss of each prediction."""
    assert metric.casewise is not None
    predicted = metric.readable(scores.predicted, scores.probabilities)
    return metric.casewise(scores.y[scores.row], predicted)


def casewise_by_record(
    scores: Scores, metric: Metric
) -> tuple[NDArray[np.intp], Floats]:
    """Return the records held out, and the mean loss of each."""
    losses = casewise(scores, metric)
    rows, place = np.unique(scores.row, return_inverse=True)
    return rows, np.bincount(place, losses) / np.bincount(place)


# ---- paired ----


@dataclass(frozen=True, eq=False)
class ConcordantPairs:
    """Pairs of different classes that one fit left out.

    Attributes
    ----------
    first, second : numpy.ndarray of int, shape (m,)
        The positive record of each pair, and the negative one.
    won : numpy.ndarray, shape (m,)
        1 where the positive one is ranked higher, 0.5 for a tie.
    repeat : numpy.ndarray of int, shape (m,)
    repeats : int
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    won: Floats
    repeat: NDArray[np.intp]
    repeats: int

    @property
    def shares(self) -> Floats:
        """The share of the pairs that are ranked right, in each repeat."""
        total = np.bincount(self.repeat, self.won, self.repeats)
        with np.errstate(invalid="ignore"):
            return np.asarray(total / np.bincount(self.repeat, None, self.repeats))


def concordant_pairs(scores: Scores) -> ConcordantPairs | None:
    """List the pairs that the scheme compares; None where it has none, or too many."""
    left = scores.left
    if not scores.pairwise or left.most_pairs > MOST_PAIRS:
        return None
    one, two = left.pairs(scores.y)
    own, other = left.row[one], left.row[two]
    higher = ranked_higher(left.predicted[one], left.predicted[two])
    positive = scores.y[own] == 1
    return ConcordantPairs(
        first=np.where(positive, own, other),
        second=np.where(positive, other, own),
        won=np.where(positive, higher, 1 - higher),
        repeat=left.repeat[left.fit[one]],
        repeats=int(left.repeat.max()) + 1,
    )


def concordance(scores: Scores) -> tuple[Floats, bool]:
    """Return the share of pairs ranked right by repeat, without listing the pairs.

    And whether there are any. The mean of the splits' auROCs (of the fits', where
    the scheme compares what a fit left out), weighted by their numbers of pairs.
    """
    if scores.pairwise:
        left, repeat = scores.left, scores.left.repeat
        y, dropped = scores.y[left.row], ~left.held
        won, pairs = _won(y, left.predicted, left.fit, len(repeat))
        less = _won(y[dropped], left.predicted[dropped], left.fit[dropped], len(repeat))
        won, pairs = won - less[0], pairs - less[1]  # not dropped with dropped
    else:
        repeat, y = scores.repeat, scores.y[scores.row]
        won, pairs = _won(y, scores.predicted, scores.split, scores.n_splits)
    with np.errstate(invalid="ignore"):
        values = np.bincount(repeat, won) / np.bincount(repeat, pairs)
    return values, bool((pairs > 0).any())


def _won(
    y: NDArray[Any], predicted: Floats, group: NDArray[np.intp], groups: int
) -> tuple[Floats, Floats]:
    """Return how many pairs of each group are ranked right, and how many there are."""
    ones = np.bincount(group, y == 1, groups)
    pairs = ones * (np.bincount(group, None, groups) - ones)
    area = auroc_by_group(y, predicted, group, groups)
    return np.where(pairs > 0, pairs * area, 0.0), pairs

"""The share of correctly ranked pairs among records that the same fit predicts.

For two classes this is the auROC, for several classes Hand and Till's mean over every
two of them, and for a continuous outcome the concordance. Predictions of different fits
are never compared.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from statcv import metrics
from statcv.inference.assumptions import ASSUMED
from statcv.inference.scores import LeftOut, Scores, mean_by
from statcv.metrics import METRICS, Metric
from statcv.metrics.survival.horizon import Known
from statcv.numeric.arrays import Array, Floats, Numbers

MOST_PAIRS = 2_000_000  # the most that are listed one by one
AUROC = METRICS["auroc"]
MIRRORED = ASSUMED["mirrored"]

NO_PAIRS: dict[str | None, str] = {
    "classes": "no fit held out records of both classes",
    "each two classes": "for some two classes, no fit held out records of both",
    "numbers": "no fit held out records with different outcomes",
    "horizon": "no fit held out a record with the event and one known to be without it",
}


@dataclass(frozen=True, eq=False)
class ConcordantPairs:
    """Pairs of records with different outcomes that the same fit predicts.

    Attributes
    ----------
    first, second : numpy.ndarray of int, shape (m,)
        The record with the higher outcome, or class, of each pair, and the other one.
    won : numpy.ndarray, shape (m,)
        1 if the first record is ranked higher, 0.5 for a tie, 0 otherwise. For several
        classes, the mean of this over the scores of both classes of the pair.
    repeat : numpy.ndarray of int, shape (m,)
        The repeat of each pair.
    repeats : int
        The number of repeats.
    cell : numpy.ndarray of int, shape (m,)
        The number of the two classes of each pair; 0 if there are only two classes, or
        none.
    places : numpy.ndarray of int, shape (2, m)
        Where both records of each pair are in ``scores.left``.
    cells : int
        The number of cells, over which the value is the mean.
    weight : numpy.ndarray, shape (m,), or None
        Weights of the pairs, for records that may be censored.
    """

    first: Numbers
    second: Numbers
    won: Floats
    repeat: Numbers
    repeats: int
    cell: Numbers
    places: Numbers
    cells: int = 1
    weight: Floats | None = None

    @cached_property
    def sizes(self) -> Floats:
        """The number of pairs by repeat and cell, or the sum of their weights."""
        return np.asarray(self._by_cell(self.weight), dtype=float)

    @cached_property
    def shares_by_cell(self) -> Floats:
        """The share of correctly ranked pairs, by repeat and cell."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self._by_cell(self.weighted(self.won)) / self.sizes)

    @property
    def shares(self) -> Floats:
        """The share of correctly ranked pairs in each repeat."""
        return np.asarray(self.shares_by_cell.mean(axis=1))

    @property
    def moved(self) -> Floats:
        """The amount by which each pair moves the mean over repeats."""
        place = self.repeat, self.cell
        with np.errstate(divide="ignore"):  # where there are no pairs
            weight = 1 / (self.sizes * self.cells * self.repeats)
        away = self.weighted(self.won - self.shares_by_cell[place])
        return np.asarray(away * weight[place])

    def weighted(self, values: Floats) -> Floats:
        """Return values of the pairs times their weights, if they have weights."""
        return values if self.weight is None else values * self.weight

    def _by_cell(self, values: Floats | None) -> Array:
        number = self.repeat * self.cells + self.cell
        table = np.bincount(number, values, self.repeats * self.cells)
        return table.reshape(self.repeats, self.cells)


def is_mirrored(scores: Scores, metric: Metric) -> bool:
    """Return whether pairs hold a record that was dropped to restore the mean."""
    # a dropped mirror image is not a random partner of the held-out record
    numbers = metric.pairs == "numbers"
    return numbers and scores.pairwise and not bool(scores.left.held.all())


def lists_pairs(scores: Scores) -> bool:
    """Return whether the scheme compares pairs, and few enough to be listed."""
    return scores.pairwise and scores.left.most_pairs <= MOST_PAIRS


def concordant_pairs(scores: Scores, metric: Metric = AUROC) -> ConcordantPairs | None:
    """List the pairs that the scheme compares; None if it has no pairs or too many."""
    if not lists_pairs(scores) or is_mirrored(scores, metric):
        return None
    left = scores.left
    y = metric.sides(scores.y)
    one, two = left.pairs(y)
    if metric.pairs == "horizon":  # records with an unknown status are in no pair
        known = (y[left.row[one]] >= 0) & (y[left.row[two]] >= 0)
        one, two = one[known], two[known]
    # the first of a pair has the higher outcome
    higher = y[left.row[one]] > y[left.row[two]]
    first, second = np.where(higher, one, two), np.where(higher, two, one)
    repeat, repeats = left.repeat[left.fit[one]], int(left.repeat.max()) + 1
    cell, cells = np.zeros(len(one), dtype=np.intp), 1
    predicted = metric.readable(left.predicted, scores.probabilities)
    if predicted.ndim == 1:
        won = metrics.ranked_higher(predicted[first], predicted[second])
    else:
        codes = scores.y.astype(np.intp)
        high, low = (codes[left.row[side]] for side in (first, second))
        # Hand and Till: the mean of both classes' probabilities for each pair
        by_high = metrics.ranked_higher(predicted[first, high], predicted[second, high])
        by_low = metrics.ranked_higher(predicted[second, low], predicted[first, low])
        won = (by_high + by_low) / 2
        cell = high * (high - 1) // 2 + low
        cells = scores.n_classes * (scores.n_classes - 1) // 2
    rows = left.row[first], left.row[second]
    places = np.stack([first, second])
    weight = None
    if metric.horizon is not None and (y < 0).any():
        every, own = np.ones((1, len(y))), scores.beside(metric)
        if own is not None:
            held, mean = mean_by(scores.row, own)
            own = np.ones(len(y))
            own[held] = mean
        status = Known(scores.y, metric.horizon, every, uncensored=own)
        weight = status.factor[0, rows[0]]
    return ConcordantPairs(*rows, won, repeat, repeats, cell, places, cells, weight)


def paired_values(scores: Scores, metric: Metric) -> Floats:
    """Return the share of correctly ranked pairs in each repeat; NaN without pairs.

    The pairs are those within fits if the scheme compares them, else those within
    folds.
    """
    if is_mirrored(scores, metric):
        return np.full(len(scores.by_repeat), np.nan)
    pairs = concordant_pairs(scores, metric)
    return concordance(scores, metric)[0] if pairs is None else pairs.shares


def concordance(scores: Scores, metric: Metric = AUROC) -> tuple[Floats, bool]:
    """Return the share of correctly ranked pairs by repeat, and whether there are any.

    The pairs are not listed. The share is the mean of the shares in the splits (or in
    the fits, if the scheme compares pairs within fits), weighted by their numbers of
    pairs.
    """
    if metric.pairs == "each two classes":
        return _of_classes(scores)
    won, pairs = _won_by_repeat(scores, metric.sides(scores.y), metric)
    with np.errstate(invalid="ignore"):
        return won / pairs, bool((pairs > 0).any())


def _of_classes(scores: Scores) -> tuple[Floats, bool]:
    """Return Hand and Till's mean over every two classes, by repeat."""
    shares, there = [], True
    for a, b in itertools.permutations(range(scores.n_classes), 2):
        y = np.where(scores.y == a, 1, np.where(scores.y == b, 0, -1))
        won, pairs = _won_by_repeat(scores, y, AUROC, a)
        there = there and bool((pairs > 0).any())
        with np.errstate(invalid="ignore"):
            shares.append(won / pairs)
    return np.mean(shares, axis=0), there


def compared_fits(scores: Scores) -> LeftOut:
    """Return the predictions of each fit, or of each fold as if it were one fit.

    Only the predictions of one fit are compared in pairs.
    """
    if scores.pairwise:
        return scores.left
    held = np.ones(len(scores.row), dtype=bool)
    return LeftOut(scores.split, scores.row, scores.predicted, held, scores.repeat)


def _won_by_repeat(
    scores: Scores, y: Array, metric: Metric, column: int | None = None
) -> tuple[Floats, Floats]:
    """Return the number of correctly ranked pairs and of all pairs in each repeat.

    If classes are compared, records whose ``y`` is -1 are in no pair.
    """
    left = compared_fits(scores)
    own, values, fits = y[left.row], left.predicted, len(left.repeat)
    if column is None:
        values = metric.readable(values, scores.probabilities)
    else:
        values = values[:, column]
    numbers, each = metric.pairs == "numbers", []
    known = np.ones(len(own), dtype=bool) if numbers else own >= 0
    # pairs of two dropped records are not compared, and subtracted from all of a fit
    for some in (known, known & ~left.held):
        given = own[some], values[some], left.fit[some], fits
        if numbers:
            area, pairs = metrics.concordance_by_group(*given)
        else:
            ones = np.bincount(left.fit[some], own[some] == 1, fits)
            pairs = ones * (np.bincount(left.fit[some], None, fits) - ones)
            area = metrics.auroc_by_group(*given)
        each.append(np.stack([np.where(pairs > 0, pairs * area, 0.0), pairs]))
    won, every = (np.bincount(left.repeat, one) for one in each[0] - each[1])
    return np.asarray(won, dtype=float), np.asarray(every, dtype=float)

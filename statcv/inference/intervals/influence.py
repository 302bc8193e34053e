"""The influence of each record on a cross-validated auROC, and the interval from it.

The fits are taken as given. The influence of a record is the first-order change of the
estimate when the record's weight changes. The influences sum to zero, and the sum of
their squares is the variance; within clusters of dependent records, the influences are
summed first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from statcv.inference.assumptions import ASSUMED
from statcv.inference.intervals.interval import (
    CLUSTERS_ONLY,
    NOTHING,
    RECORDS_ONLY,
    Interval,
    symmetric,
)
from statcv.inference.scores import Scores, sums_by_cluster
from statcv.metrics.discrimination import by_value
from statcv.metrics.discrimination.rounding import TIE_TOL
from statcv.numeric.arrays import Bools, Floats, Numbers


@dataclass(frozen=True, eq=False)
class ComparedGroups:
    """Predictions that are compared within groups.

    Attributes
    ----------
    positive : numpy.ndarray of bool, shape (m,)
        Whether the record of each prediction is positive.
    predicted : numpy.ndarray, shape (m,)
    group : numpy.ndarray of int, shape (m,)
        The group of each prediction, from 0.
    groups : int
        The number of groups.
    """

    positive: Bools
    predicted: Floats
    group: Numbers
    groups: int

    @cached_property
    def missing(self) -> Bools:
        """Whether a prediction of each group is NaN."""
        return np.bincount(self.group, np.isnan(self.predicted), self.groups) > 0

    @cached_property
    def sizes(self) -> tuple[Numbers, Numbers]:
        """The numbers of positive and of negative records of each group."""
        ones = np.bincount(self.group, self.positive, self.groups)
        return ones, np.bincount(self.group, ~self.positive, self.groups)

    @cached_property
    def _ranked(self) -> by_value.RankedRecords:
        return by_value.RankedRecords.of(self.predicted, self.group, self.groups)

    def wins(self) -> tuple[Floats, Floats]:
        """Return the correctly ranked pairs, and all pairs, of each prediction.

        A positive record is paired with the negative ones of its group, and a negative
        record with the positive ones. A tie counts half, and the count is NaN if a
        prediction of the group is missing.
        """
        of, (ones, zeros) = (self.group, self.groups), self.sizes
        won, _ = by_value.placement_counts(self.positive, self.predicted, TIE_TOL, *of)
        won[self.missing[self.group]] = np.nan
        return won, np.where(self.positive, zeros[self.group], ones[self.group])

    def pairs(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the weight of correctly ranked pairs, and of all pairs, in each group.

        Parameters
        ----------
        weights : numpy.ndarray, shape (times, m)
            The weight of each prediction; the weight of a pair is the product of its
            two weights.

        Returns
        -------
        won, pairs : numpy.ndarray, shape (times, groups)
            The total weights.
        """
        ranked, ones = self._ranked, self.positive
        sides = ((ranked.sums(own * ones), ranked.sums(own * ~ones)) for own in weights)
        counts = (by_value.CountsByValue(*each, ranked.bounds) for each in sides)
        won, pairs = np.stack([one.pairs() for one in counts], axis=1)
        won[:, self.missing] = np.nan
        return won, pairs


METHOD = "influence curve"
SINGLE = ASSUMED["single_units"]


@dataclass(frozen=True, eq=False)
class ComparedCells:
    """The predictions that an auROC compares, and the cells over which it is a mean.

    Attributes
    ----------
    row : numpy.ndarray of int, shape (m,)
        The record of each prediction.
    ranked : ComparedGroups
        The predictions, in groups that are compared with each other.
    cell : numpy.ndarray of int, shape (groups,)
        The cell of each group, in rising order. The estimate is the mean over cells,
        which are folds or repeats, of the share of correctly ranked pairs.
    out : numpy.ndarray of int
        The positions of predictions that are not compared with each other: those for
        the records that a fit dropped.
    not_compared : ComparedGroups or None
        The predictions at these positions.
    """

    row: Numbers
    ranked: ComparedGroups
    cell: Numbers
    out: Numbers
    not_compared: ComparedGroups | None = None

    @classmethod
    def of(cls, scores: Scores, how: str) -> ComparedCells:
        """Return the comparisons of a pooled, per-fold or paired auROC."""
        none = np.empty(0, dtype=np.intp)
        if how == "pooled":
            parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
            row = np.concatenate([rows for rows, _ in parts])
            predicted = np.concatenate([predicted for _, predicted in parts])
            predicted = scores.to_rank(predicted)
            repeat = np.repeat(np.arange(len(parts)), [len(rows) for rows, _ in parts])
            ranked = ComparedGroups(scores.y[row] == 1, predicted, repeat, len(parts))
            return cls(row, ranked, np.arange(len(parts)), none)
        if how == "paired" and scores.pairwise:
            left, out = scores.left, np.flatnonzero(~scores.left.held)
            fits, y = len(left.repeat), scores.y[left.row]
            predicted = scores.to_rank(left.predicted)
            ranked = ComparedGroups(y == 1, predicted, left.fit, fits)
            dropped = ComparedGroups(y[out] == 1, predicted[out], left.fit[out], fits)
            return cls(left.row, ranked, _numbered(left.repeat), out, dropped)
        y, splits = scores.y[scores.row], scores.n_splits
        predicted = scores.to_rank(scores.predicted)
        ranked = ComparedGroups(y == 1, predicted, scores.split, splits)
        cell = np.arange(splits) if how == "per_fold" else _numbered(scores.repeat)
        return cls(scores.row, ranked, cell, none)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.cell[-1]) + 1

    def value(self, weights: Floats) -> Floats:
        """Return the auROC of weighted predictions, the mean over cells with pairs.

        Parameters
        ----------
        weights : numpy.ndarray, shape (times, m)
            The weight of each prediction.

        Returns
        -------
        numpy.ndarray, shape (times,)
            The auROC for each set of weights.
        """
        # pairs of two dropped records do not count
        won, pairs = self.ranked.pairs(weights)
        if self.not_compared is not None:
            less, fewer = self.not_compared.pairs(weights[:, self.out])
            won, pairs = won - less, pairs - fewer
        first = np.searchsorted(self.cell, np.arange(self.cells))
        won = np.add.reduceat(won, first, axis=1)
        pairs = np.add.reduceat(pairs, first, axis=1)
        counted = (pairs > 0) & ~np.isnan(won)
        share = np.divide(won, pairs, out=np.zeros_like(won), where=counted)
        with np.errstate(invalid="ignore"):
            return np.asarray(share.sum(axis=1) / counted.sum(axis=1))

    def influence(self, n: int) -> Floats:
        """Return the influence of each of n records; see `record_influence`."""
        return np.asarray(np.bincount(self.row, self.moved[0], n), dtype=float)

    @property
    def cell_of(self) -> Numbers:
        """The cell of each prediction."""
        return self.cell[self.ranked.group]

    @cached_property
    def moved(self) -> tuple[Floats, Bools]:
        """By how much each prediction moves the estimate, and which cells have a value.

        In each cell the amounts sum to zero for either class.
        """
        won, rivals = self.ranked.wins()
        if self.not_compared is not None:
            less, fewer = self.not_compared.wins()
            won[self.out] -= less
            rivals[self.out] -= fewer
        positive, cell = self.ranked.positive, self.cell_of
        total = np.bincount(cell, np.where(positive, won, 0.0), self.cells)
        pairs = np.bincount(cell, np.where(positive, rivals, 0.0), self.cells)
        counted = (pairs > 0) & ~np.isnan(total)
        with np.errstate(invalid="ignore", divide="ignore"):
            # a record moves its cell by what it wins beyond the share of its pairs
            share = total / pairs
            moved = (won - share[cell] * rivals) / pairs[cell] / counted.sum()
        moved[~counted[cell]] = 0.0
        return np.asarray(moved), counted

    def single(self) -> tuple[int, int]:
        """Count the cells with a single record of a class, and all cells with pairs.

        This requires that a cell is a fold, or all held-out records of a repeat.
        """
        ranked = self.ranked
        ones, zeros = ranked.sizes
        both = (ones > 0) & (zeros > 0) & ~ranked.missing
        return int((np.minimum(ones, zeros)[both] == 1).sum()), int(both.sum())


def _numbered(repeat: Numbers) -> Numbers:
    return np.unique(repeat, return_inverse=True)[1]


def record_influence(scores: Scores, how: str) -> Floats:
    """Return the influence of each record on a cross-validated auROC.

    One of the n₁ positive records moves the area of its cell (a fold, or all held-out
    records of a repeat) by (placement - area) / n₁, where its placement is the share of
    the negative records that it outranks, and a tie counts half. The same holds for a
    negative record. This is the influence curve of LeDell, Petersen & van der Laan
    over n. The mean over folds and repeats moves by the mean, and the influences of a
    record in all repeats are summed. A record moves the share of pairs within fits by
    (pairs won - share × pairs of the record) over the number of all pairs.

    Class shares are taken within the fold, as in the paper's theorem, not among all
    records, so that the influence is the derivative of the estimate for any sizes and
    classes of the folds. The two agree if classes are spread evenly over the folds.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    how : {"pooled", "per_fold", "paired"}
        The way in which the auROC is stated.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The influence of each record; 0 for a record that is not compared with others.
        Cells without pairs or with a missing prediction are excluded, as they are from
        the estimate.

    References
    ----------
    LeDell, Petersen & van der Laan (2015), Electron. J. Stat. 9:1583.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> from statcv.inference import record_influence
    >>> influence = record_influence(res.scores, "pooled")
    >>> influence.shape, bool(abs(influence.sum()) < 1e-12)
    ((32,), True)
    """
    return ComparedCells.of(scores, how).influence(len(scores.y))


def influence_interval(scores: Scores, how: str, level: float) -> Interval:
    """Compute the interval of an auROC from the influence of its records.

    The variance is the sum of the squared influences of records or, if clusters have
    several records, of clusters. It has no small-sample correction.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    how : {"pooled", "per_fold", "paired"}
        The way in which the auROC is stated.
    level : float
        Confidence level of the interval.

    References
    ----------
    LeDell, Petersen & van der Laan (2015), Electron. J. Stat. 9:1583.
    """
    what = ComparedCells.of(scores, how)
    value = float(what.value(np.ones((1, len(what.row))))[0])
    if np.isnan(value):
        return Interval.none("no fit held out records of both classes")
    if np.unique(scores.y[what.row], return_counts=True)[1].min() < 2:
        return Interval.none("one class has a single record")
    single, cells = (0, 1) if how == "paired" else what.single()
    if single == cells:
        return Interval.none("no fold holds two records of each class")
    moved, method, assumes = what.influence(len(scores.y)), METHOD, RECORDS_ONLY
    if scores.clusters is not None:
        moved = sums_by_cluster(moved, scores.clusters)[0]
        method, assumes = f"{METHOD} summed by cluster", CLUSTERS_ONLY
    # the variance is the sum of squares of independent influences
    se = float(np.sqrt((moved**2).sum()))
    if se <= 1e-12:
        unit = "records" if scores.clusters is None else "clusters"
        return Interval.none(f"no {unit} move the estimate, {NOTHING}")
    if single:
        assumes += "; " + SINGLE.format(single=single, cells=cells, unit="record")
    return symmetric(value, se, level, method, assumes)

"""The influence of each record on a cross-validated auROC, and the interval from it.

The fits are taken as given. The influence of a record is the first-order change of the
estimate when the record's weight changes. The influences sum to zero, and the sum of
their squares is the variance; within clusters of dependent records, the influences are
summed first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.inference.intervals.interval import (
    CLUSTERS_ONLY,
    NOTHING,
    RECORDS_ONLY,
    Interval,
    sums_by_cluster,
    symmetric,
)
from statcv.inference.scores import Scores
from statcv.metrics import round_significant

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

METHOD = "influence curve"
SINGLE = (
    "{single} of {cells} folds hold a single {unit} of a class, so that its variation "
    "is not counted"
)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Predictions in rising order within groups.

    Attributes
    ----------
    order : numpy.ndarray of int, shape (m,)
        The original position of each prediction, in rising order.
    positive : numpy.ndarray of bool, shape (m,)
        Whether its record is positive.
    begin, end : numpy.ndarray of int, shape (m,)
        The first position of the predictions that tie with it, and one past the last.
    group : numpy.ndarray of int, shape (m,)
        Its group.
    bounds : numpy.ndarray of int, shape (groups + 1,)
        The position at which each group begins, and one past the last.
    missing : numpy.ndarray of bool, shape (groups,)
        Whether a prediction of the group is NaN.
    """

    order: Numbers
    positive: NDArray[np.bool_]
    begin: Numbers
    end: Numbers
    group: Numbers
    bounds: Numbers
    missing: NDArray[np.bool_]

    @classmethod
    def of(
        cls, y: NDArray[Any], predicted: Floats, group: Numbers, groups: int
    ) -> Ranked:
        """Order predictions, which tie if they are equal to 12 significant digits."""
        values = round_significant(predicted)
        order = np.lexsort((values, group))
        own, rising = group[order], values[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (own[1:] != own[:-1]) | (rising[1:] != rising[:-1])
        begin = np.flatnonzero(new)
        size = np.diff(np.append(begin, len(order)))
        return cls(
            order=order,
            positive=y[order] == 1,
            begin=np.repeat(begin, size),
            end=np.repeat(begin + size, size),
            group=own,
            bounds=np.searchsorted(own, np.arange(groups + 1)),
            missing=np.bincount(group, np.isnan(values), groups) > 0,
        )

    def wins(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return correctly ranked pairs, all pairs and the class of each prediction.

        A positive record is paired with the negative ones of its group, and a negative
        record with the positive ones. A tie counts half, and the count is NaN if a
        prediction of the group is missing. All arrays are in the original order.
        """
        first, last = self.bounds[self.group], self.bounds[self.group + 1]
        below = _running(~self.positive)
        above = _running(self.positive)
        won = np.where(
            self.positive,
            (below[self.begin] + below[self.end]) / 2 - below[first],
            above[last] - (above[self.begin] + above[self.end]) / 2,
        )
        rivals = np.where(
            self.positive, below[last] - below[first], above[last] - above[first]
        )
        won[self.missing[self.group]] = np.nan
        back = np.empty(len(self.order), dtype=np.intp)
        back[self.order] = np.arange(len(self.order))
        return won[back], rivals[back], self.positive[back]

    def pairs(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the weight of correctly ranked pairs, and of all pairs, in each group.

        Parameters
        ----------
        weights : numpy.ndarray, shape (times, m)
            The weight of each prediction, in the original order; the weight of a pair
            is the product of its two weights.

        Returns
        -------
        won, pairs : numpy.ndarray, shape (times, groups)
            The total weights.
        """
        rising = weights[:, self.order]
        ones = np.flatnonzero(self.positive)
        zeros = _running(np.where(self.positive, 0.0, rising))
        begin, end = self.begin[ones], self.end[ones]
        first = self.bounds[self.group[ones]]
        below = (zeros[:, begin] + zeros[:, end]) / 2 - zeros[:, first]
        won = np.zeros_like(rising)
        won[:, ones] = rising[:, ones] * below
        positives = _running(np.where(self.positive, rising, 0.0))
        pairs = _within(positives, self.bounds) * _within(zeros, self.bounds)
        total = _within(_running(won), self.bounds)
        total[:, self.missing] = np.nan
        return total, pairs


def _running(values: NDArray[Any]) -> Floats:
    """Return cumulative sums along the last axis, starting with 0."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


def _within(running: Floats, bounds: Numbers) -> Floats:
    return running[..., bounds[1:]] - running[..., bounds[:-1]]


@dataclass(frozen=True, eq=False)
class Moved:
    """The amount by which each prediction moves an auROC.

    Attributes
    ----------
    moved : numpy.ndarray, shape (m,)
        The amounts; in each cell they sum to zero for either class.
    positive : numpy.ndarray of bool, shape (m,)
        Whether the record of the prediction is positive.
    cell : numpy.ndarray of int, shape (m,)
        The cell of the prediction.
    counted : numpy.ndarray of bool, shape (cells,)
        Whether the cell has a value; the estimate is the mean over these cells.
    """

    moved: Floats
    positive: NDArray[np.bool_]
    cell: Numbers
    counted: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Compared:
    """The predictions that an auROC compares, and the cells over which it is a mean.

    Attributes
    ----------
    row : numpy.ndarray of int, shape (m,)
        The record of each prediction.
    ranked : Ranked
        The predictions, in groups that are compared with each other.
    cell : numpy.ndarray of int, shape (groups,)
        The cell of each group, in rising order. The estimate is the mean over cells,
        which are folds or repeats, of the share of correctly ranked pairs.
    out : numpy.ndarray of int
        The positions of predictions that are not compared with each other: those for
        the records that a fit dropped.
    not_compared : Ranked or None
        The predictions at these positions.
    """

    row: Numbers
    ranked: Ranked
    cell: Numbers
    out: Numbers
    not_compared: Ranked | None = None

    @classmethod
    def of(cls, scores: Scores, how: str) -> Compared:
        """Return the comparisons of a pooled, per-fold or paired auROC."""
        none = np.empty(0, dtype=np.intp)
        if how == "pooled":
            parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
            row = np.concatenate([rows for rows, _ in parts])
            predicted = np.concatenate([predicted for _, predicted in parts])
            predicted = scores.to_rank(predicted)
            repeat = np.repeat(np.arange(len(parts)), [len(rows) for rows, _ in parts])
            ranked = Ranked.of(scores.y[row], predicted, repeat, len(parts))
            return cls(row, ranked, np.arange(len(parts)), none)
        if how == "paired" and scores.pairwise:
            left, out = scores.left, np.flatnonzero(~scores.left.held)
            fits, y = len(left.repeat), scores.y[left.row]
            predicted = scores.to_rank(left.predicted)
            ranked = Ranked.of(y, predicted, left.fit, fits)
            dropped = Ranked.of(y[out], predicted[out], left.fit[out], fits)
            return cls(left.row, ranked, _numbered(left.repeat), out, dropped)
        y, splits = scores.y[scores.row], scores.n_splits
        predicted = scores.to_rank(scores.predicted)
        ranked = Ranked.of(y, predicted, scores.split, splits)
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
        moved = self.moved.moved
        return np.asarray(np.bincount(self.row, moved, n), dtype=float)

    @cached_property
    def moved(self) -> Moved:
        """The amount by which each prediction moves the estimate."""
        won, rivals, positive = self.ranked.wins()
        if self.not_compared is not None:
            less, fewer, _ = self.not_compared.wins()
            won[self.out] -= less
            rivals[self.out] -= fewer
        cell = np.empty(len(self.row), dtype=np.intp)
        cell[self.ranked.order] = self.cell[self.ranked.group]
        total = np.bincount(cell, np.where(positive, won, 0.0), self.cells)
        pairs = np.bincount(cell, np.where(positive, rivals, 0.0), self.cells)
        counted = (pairs > 0) & ~np.isnan(total)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = total / pairs
            moved = (won - share[cell] * rivals) / pairs[cell] / counted.sum()
        moved[~counted[cell]] = 0.0
        return Moved(np.asarray(moved), positive, cell, counted)

    def single(self) -> tuple[int, int]:
        """Count the cells with a single record of a class, and all cells with pairs.

        This requires that a cell is a fold, or all held-out records of a repeat.
        """
        ranked = self.ranked
        ones = np.bincount(ranked.group, ranked.positive, self.cells)
        zeros = np.bincount(ranked.group, ~ranked.positive, self.cells)
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

    The class shares are those of the fold, as in the paper's theorem, not those of all
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
    return Compared.of(scores, how).influence(len(scores.y))


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
    what = Compared.of(scores, how)
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
    se = float(np.sqrt((moved**2).sum()))
    if se <= 1e-12:
        unit = "records" if scores.clusters is None else "clusters"
        return Interval.none(f"no {unit} move the estimate, {NOTHING}")
    if single:
        assumes += "; " + SINGLE.format(single=single, cells=cells, unit="record")
    return symmetric(value, se, level, method, assumes)

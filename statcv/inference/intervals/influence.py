"""How far each record moves a cross-validated auROC: its influence, and an interval.

The fits are taken as given. A record's influence is the first-order change of the
estimate when its weight changes, so that influences sum to zero and the sum of their
squares is the variance; of records that depend on each other they are summed first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.inference.intervals.interval import (
    NOTHING,
    RECORDS_ONLY,
    SOURCES_ONLY,
    Interval,
    sums_by_source,
    symmetric,
)
from statcv.inference.scores import Scores
from statcv.metrics import round_significant

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

METHOD = "influence curve"
SINGLE = (
    "{single} of {cells} folds hold a single {unit} of a class, whose variation they "
    "do not show"
)


@dataclass(frozen=True, eq=False)
class Ranked:
    """Predictions in rising order, group by group.

    Attributes
    ----------
    order : numpy.ndarray of int, shape (m,)
        Where each, in rising order, was among the predictions as given.
    positive : numpy.ndarray of bool, shape (m,)
    begin, end : numpy.ndarray of int, shape (m,)
        The first place of those that tie with it, and one beyond the last.
    group : numpy.ndarray of int, shape (m,)
    bounds : numpy.ndarray of int, shape (groups + 1,)
        Where each group begins.
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
        """Order predictions; equal to 12 significant digits they tie."""
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
        """Return in how many pairs each prediction is ranked right, and is at all.

        A positive one against the negative ones of its group, and the other way; a
        tie counts half, and NaN stands where one is missing. And which are positive;
        all in the order as given.
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
        """Return the weight of the pairs ranked right in each group, and of all.

        Parameters
        ----------
        weights : numpy.ndarray, shape (times, m)
            Of each prediction as given; a pair weighs their product.

        Returns
        -------
        won, pairs : numpy.ndarray, shape (times, groups)
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
    """Return sums up to each place, from 0, along the last axis."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


def _within(running: Floats, bounds: Numbers) -> Floats:
    return running[..., bounds[1:]] - running[..., bounds[:-1]]


@dataclass(frozen=True, eq=False)
class Moved:
    """How far each prediction moves an auROC.

    Attributes
    ----------
    moved : numpy.ndarray, shape (m,)
        Their sum over each cell is zero, for either class.
    positive : numpy.ndarray of bool, shape (m,)
    cell : numpy.ndarray of int, shape (m,)
    counted : numpy.ndarray of bool, shape (cells,)
        Whether the cell has a value, over which the estimate is the mean.
    """

    moved: Floats
    positive: NDArray[np.bool_]
    cell: Numbers
    counted: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Compared:
    """Which predictions an auROC compares with which, and what it is a mean over.

    Attributes
    ----------
    row : numpy.ndarray of int, shape (m,)
        The record of each prediction.
    ranked : Ranked
        The predictions, in groups of those that are compared with each other.
    cell : numpy.ndarray of int, shape (groups,)
        The cell of each group, rising. The estimate is the mean over cells of the
        share of their pairs that are ranked right: over folds, or over repeats.
    out : numpy.ndarray of int
        Places of predictions that are not compared with each other: a fit's for
        records that it dropped.
    not_compared : Ranked or None
        Those.
    """

    row: Numbers
    ranked: Ranked
    cell: Numbers
    out: Numbers
    not_compared: Ranked | None = None

    @classmethod
    def of(cls, scores: Scores, how: str) -> Compared:
        """Tell what a pooled, per-fold or paired auROC compares."""
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
        """How many there are."""
        return int(self.cell[-1]) + 1

    def value(self, weights: Floats) -> Floats:
        """Return the auROC of weighted predictions, the mean over cells with pairs.

        Parameters
        ----------
        weights : numpy.ndarray, shape (times, m)

        Returns
        -------
        numpy.ndarray, shape (times,)
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
        """How far each prediction moves the estimate."""
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
        """Count cells with pairs that hold one record of a class, and all with pairs.

        Where cells are single folds or all that a repeat held out.
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

    The area of a cell (of a fold, or of all that a repeat held out) moves by
    (placement - area) / n₁ for one of its n₁ positive records, whose placement is the
    share of the negative ones that it outranks, and likewise for a negative one: the
    influence curve of LeDell, Petersen & van der Laan, over n. A tie counts half. The
    mean over folds and repeats moves by the mean, and a record's influences in all
    repeats are summed. The share of pairs that one fit left out moves by
    (pairs won - share × pairs of the record) over the number of all pairs.

    Class shares are those of the fold that is scored, as in the paper's theorem, not
    those of all records: so the influence is the derivative of the estimate, whatever
    the folds' sizes and classes. Both are alike where classes are spread evenly.

    Parameters
    ----------
    scores : Scores
    how : {"pooled", "per_fold", "paired"}

    Returns
    -------
    numpy.ndarray, shape (n,)
        0 for a record that is compared with none. Cells without pairs or with a
        missing prediction are left out, as the estimate leaves them out.

    References
    ----------
    LeDell, Petersen & van der Laan (2015), Electron. J. Stat. 9:1583.
    """
    return Compared.of(scores, how).influence(len(scores.y))


def influence_interval(scores: Scores, how: str, level: float) -> Interval:
    """Interval of a cross-validated auROC by the influence of its records.

    The variance is the sum of squared influences; where sources have several records,
    of their sums over each source. It has no small-sample correction.

    Parameters
    ----------
    scores : Scores
    how : {"pooled", "per_fold", "paired"}
    level : float

    References
    ----------
    LeDell, Petersen & van der Laan (2015), Electron. J. Stat. 9:1583.
    """
    what = Compared.of(scores, how)
    value = float(what.value(np.ones((1, len(what.row))))[0])
    if np.isnan(value):
        return Interval.none("no fit left out records of both classes")
    if np.unique(scores.y[what.row], return_counts=True)[1].min() < 2:
        return Interval.none("one class has a single record")
    single, cells = (0, 1) if how == "paired" else what.single()
    if single == cells:
        return Interval.none("no fold holds two records of each class")
    moved, method, assumes = what.influence(len(scores.y)), METHOD, RECORDS_ONLY
    if scores.clusters is not None:
        moved = sums_by_source(moved, scores.clusters)[0]
        method, assumes = f"{METHOD} summed by source", SOURCES_ONLY
    se = float(np.sqrt((moved**2).sum()))
    if se <= 1e-12:
        unit = "records" if scores.clusters is None else "sources"
        return Interval.none(f"no {unit} move the estimate, {NOTHING}")
    if single:
        assumes += "; " + SINGLE.format(single=single, cells=cells, unit="record")
    return symmetric(value, se, level, method, assumes)

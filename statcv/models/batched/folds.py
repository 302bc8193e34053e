"""The training records of all fits of a plan, and blocks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.folds import FoldPlan, Ragged
from statcv.formula import Factors
from statcv.models.base import TrainingSet
from statcv.models.batched.blocks import CELLS, Block, few, pieces
from statcv.models.batched.new_levels import NewLevels
from statcv.numeric.arrays import Array, Bools, Floats, Ints, Numbers
from statcv.tables import Printed

# ---- the matrices of fits ----


class FoldMatrices(Protocol):
    """The design matrix of each of several fits."""

    def matrix(self, fit: int, rows: Array) -> Floats:
        """Return the matrix of some records, as learnt in the training set of a fit."""

    def chosen(self, fits: Array) -> FoldMatrices:
        """Return the matrices of some fits, renumbered from 0."""


# ---- the training records of all fits ----

ROWS = 2**16  # rows at most that are examined, or predicted, at once
FEWEST = 2**10  # rows at least that are examined, or predicted, at once


@dataclass(frozen=True, eq=False, repr=False)
class Folds(Printed):
    """The training records of each of several fits, and their weights.

    Attributes
    ----------
    out : Ragged
        The records on which each fit does not train, each listed once.
    copied : Ragged
        Records that are repeated, once for each time they are listed.
    weights : callable or None
        Function of the numbers of m fits that returns weights, shape (m, n), which
        multiply those that the records have in every fit; None if all are 1.
    outcome : numpy.ndarray of int or None
        Row of the outcomes for each fit, if there are several.
    seeds : callable or None
        Function of the numbers of m fits that returns the seeds of their models, shape
        (m,); None if the models draw nothing.
    times : numpy.ndarray, shape (fits, n), or None
        How often each fit trains on each record, if that is known as a table.
    matrices : FoldMatrices or None
        The design matrix of each fit, if its terms are learnt in each training set;
        None if that of all records is the matrix of every fit.

    Examples
    --------
    >>> folds = Folds.leaving_out([[0], [1, 2]])
    >>> folds.train(1, n=4)
    array([0, 3])
    """

    out: Ragged
    copied: Ragged
    weights: Callable[[Numbers], Floats] | None = None
    outcome: Numbers | None = None
    seeds: Callable[[Numbers], Ints] | None = None
    times: NDArray[np.int32] | None = None
    matrices: FoldMatrices | None = None
    _known: dict[Factors, NewLevels | None] = field(init=False, default_factory=dict)

    @classmethod
    def of_times(cls, times: NDArray[np.int32]) -> Folds:
        """Train on each record as often as a table says, shape (fits, n).

        >>> Folds.of_times(np.array([[2, 0, 1]])).train(0, n=3)
        array([0, 0, 2])
        """
        fit, row = np.nonzero(times == 0)
        out = Ragged.split(row, np.bincount(fit, minlength=len(times)))
        fit, row = np.nonzero(times > 1)
        more = times[fit, row] - 1
        sizes = np.bincount(fit, more, len(times)).astype(np.int64)
        return cls(out, Ragged.split(np.repeat(row, more), sizes), times=times)

    @classmethod
    def leaving_out(cls, out: Any) -> Folds:
        """Train on every record but those listed for each fit."""
        lists = out if isinstance(out, Ragged) else Ragged.of(out)
        return cls(lists, Ragged.empty(len(lists)))

    @classmethod
    def of(cls, plan: FoldPlan) -> Folds:
        """Take the fits of a plan."""
        out = plan.fits.tests_by_fit
        out = out.beside(plan.dropped).beside(plan.kept_out)
        weighting = plan.weighting
        if weighting is None:
            return cls(out, plan.copied)
        every = np.arange(plan.n)

        def weights(fits: Numbers) -> Floats:
            return np.stack([weighting.of(fit, every) for fit in fits.tolist()])

        return cls(out, plan.copied, weights)

    def __len__(self) -> int:
        return len(self.out)

    def chosen(self, fits: Numbers) -> Folds:
        """Return some of the fits, renumbered from 0."""
        weights, seeds = self.weights, self.seeds
        return Folds(
            self.out.chosen(fits),
            self.copied.chosen(fits),
            None if weights is None else lambda numbers: weights(fits[numbers]),
            None if self.outcome is None else self.outcome[fits],
            None if seeds is None else lambda numbers: seeds(fits[numbers]),
            None if self.times is None else self.times[fits],
            None if self.matrices is None else self.matrices.chosen(fits),
        )

    def train(self, fit: int, n: int) -> Numbers:
        """Return the records on which a fit trains, with repetitions."""
        times = np.ones(n, dtype=np.intp)
        times[self.out[fit]] = 0
        copies = self.copied[fit]
        if not len(copies):
            return np.flatnonzero(times)
        np.add.at(times, copies, 1)
        return np.repeat(np.arange(n), times)

    def training_set(self, records: TrainingSet, fit: int) -> TrainingSet:
        """Return the training set of one fit; repeats of a record stay together."""
        rows = self.train(fit, len(records.X))
        y = records.y if self.outcome is None else records.y[self.outcome[fit]]
        weights = None if records.weights is None else records.weights[rows]
        if self.weights is not None:
            planned = self.weights(np.array([fit]))[0, rows]
            weights = planned if weights is None else weights * planned
        strata = rows if len(self.copied[fit]) else None
        if records.strata is not None:
            strata = records.strata[rows]
        seed = records.seed
        if self.seeds is not None:
            seed = int(self.seeds(np.array([fit]))[0])
        return replace(
            records,
            X=self.coded(records, fit, rows),
            y=y[rows],
            offset=None if records.offset is None else records.offset[rows],
            weights=weights,
            seed=seed,
            strata=strata,
            centre=self.centre(records, fit),
            factors=None if records.factors is None else records.factors.taken(rows),
        )

    def centre(self, records: TrainingSet, fit: int) -> Floats | None:
        """Return the mean row of all records, which models of survival refer to."""
        if records.kind != "survival" or records.centre is not None:
            return records.centre
        every = np.arange(len(records.X))
        return np.asarray(self.coded(records, fit, every).mean(axis=0))

    def matrix(self, records: TrainingSet, fit: int, rows: Numbers) -> Floats:
        """Return the matrix of some records, as one of the fits is to predict them.

        Levels that its training set lacks are at the mean of those seen.
        """
        X, new = self.coded(records, fit, rows), self.new_levels(records)
        if new is None or records.factors is None:
            return X
        completed = getattr(self.matrices, "completed", None)
        if completed is None:
            frame = records.factors.terms.frame.iloc[records.factors.rows[rows]]
        else:
            frame = completed(fit, rows)
        return new.replaced(X, frame, fit)

    def coded(self, records: TrainingSet, fit: int, rows: Numbers) -> Floats:
        """Return the matrix of some records, as it is coded in one of the fits."""
        if self.matrices is None:
            return np.asarray(records.X[rows])
        return self.matrices.matrix(fit, rows)

    def new_levels(self, records: TrainingSet) -> NewLevels | None:
        """Return the levels that training sets lack; None if none lacks any."""
        if records.factors is None:
            return None
        if records.factors not in self._known:
            self._known[records.factors] = NewLevels.of(records, self)
        return self._known[records.factors]

    def weights_in(self, records: TrainingSet, fits: Numbers) -> Floats:
        """Return the weight of each record in each of some fits, shape (m, n)."""
        made = self.counts_in(len(records.X), fits)
        if records.weights is not None:
            made *= records.weights
        return made if self.weights is None else made * self.weights(fits)

    def counts_in(self, n: int, fits: Numbers) -> Floats:
        """Return how often some fits train on each of n records, shape (m, n)."""
        made = np.ones((len(fits), n))
        lists, times = self.changes
        for place, fit in enumerate(fits.tolist()):
            some = slice(lists.starts[fit], lists.starts[fit + 1])
            made[place, lists.values[some]] = times[some]
        return made

    def largest(self, n: int) -> int:
        """Return how many of n records the largest training set has, repeats apart."""
        return n - int(self.out.sizes.min(initial=n))

    def empty_columns(self, X: Floats, weights: Floats | None) -> Bools | None:
        """Return which columns are 0 in all weighted training rows, shape (fits, p).

        Nothing is learnt about them there: a level of a factor may be absent. None if
        there is no such column.
        """
        lists = self.absent
        most = int(lists.sizes.max(initial=0))
        rare = _rare_columns(X, weights, most)
        if not len(rare):
            return None
        empty = np.zeros((len(self), X.shape[1]), dtype=bool)
        size = max(1, CELLS // max(len(X), len(lists.values), len(self)))
        for some in pieces(rare, size):
            used = X[:, some] != 0
            if weights is not None:
                used &= weights[:, None] > 0
            place, column = np.nonzero(used[lists.values])
            cell = lists.owners[place] * len(some) + column
            count = np.bincount(cell, minlength=len(self) * len(some))
            lost = count.reshape(len(self), len(some))
            # a column is empty in a fit that lacks all weighted rows where it is not 0
            empty[:, some] = lost == np.count_nonzero(used, axis=0)
        return empty if empty.any() else None

    @property
    def absent(self) -> Ragged:
        """The records on which each fit does not train, and their duplicates."""
        if not len(self.copied.values):
            return self.out
        changed, times = self.changes
        gone = times == 0
        sizes = np.bincount(changed.owners[gone], minlength=len(self))
        return Ragged.split(changed.values[gone], sizes)

    @cached_property
    def changes(self) -> tuple[Ragged, Ints]:
        """The records that do not occur exactly once, with their counts."""
        if self.times is not None:
            fit, row = np.nonzero(self.times != 1)
            sizes = np.bincount(fit, minlength=len(self))
            return Ragged.split(row, sizes), self.times[fit, row].astype(np.int64)
        if not len(self.copied.values):
            return self.out, np.zeros(len(self.out.values), dtype=np.int64)
        n = int(max(self.out.values.max(initial=0), self.copied.values.max())) + 1
        out = self.out.owners * n + self.out.values
        copied = self.copied.owners * n + self.copied.values
        cells, place = np.unique(np.concatenate([out, copied]), return_inverse=True)
        # once, and once more for each repeat; once less if it is left out
        times = np.bincount(place[len(out) :], minlength=len(cells)) + 1
        times[place[: len(out)]] -= 1
        sizes = np.bincount(cells // n, minlength=len(self))
        return Ragged.split(cells % n, sizes), times

    def blocks(self, n: int, p: int, each: int = 0, larger: int = 1) -> Iterator[Block]:
        """Yield the fits of n records and p columns in blocks of bounded memory.

        Fits that change many records come first; ``each`` is the number of values that
        the caller keeps per fit, and ``larger`` the factor by which blocks may be
        larger.
        """
        sizes = self.changes[0].sizes
        order = np.argsort(-sizes, kind="stable")
        start = 0
        while start < len(order):
            width = max(int(sizes[order[start]]), 1)
            # weights may differ in every record, and leave no short list of changes
            dense = self.weights is not None or not few(width, p)
            own = width * p if few(width, p) else p * p
            kept = max(each, n if dense else 1, own)
            stop = start + max(1, larger * CELLS // kept)
            yield self._block(order[start:stop], n, width, dense)
            start = stop

    def _block(self, fits: Numbers, n: int, width: int, dense: bool) -> Block:
        lists, times = self.changes
        starts, sizes = lists.starts[fits], lists.sizes[fits]
        inside = np.arange(width) < sizes[:, None]
        place = starts[:, None] + np.where(inside, np.arange(width), 0)
        rows = np.zeros((len(fits), width), dtype=np.intp)
        often = np.ones((len(fits), width))
        some = sizes > 0
        rows[some] = lists.values[place[some]]
        often[some] = times[place[some]]
        outcome = None if self.outcome is None else self.outcome[fits]
        block = Block(fits, n, rows, often, inside * (1 - often), None, outcome)
        if not dense:
            return block
        counts = np.ones((len(fits), n)) if self.weights is None else self.weights(fits)
        block.multiply(counts)
        return replace(block, counts=counts)


def _rare_columns(X: Floats, weights: Floats | None, most: int) -> Numbers:
    """Return the columns that are not 0 in at most this many weighted rows."""
    rare, count = np.arange(X.shape[1]), np.zeros(X.shape[1], dtype=np.intp)
    start, step = 0, min(ROWS, max(FEWEST, most + 1))  # enough for most columns
    while start < len(X) and len(rare):
        rows = slice(start, start + step)
        start, step = start + step, ROWS
        every = len(rare) == X.shape[1]
        used = (X[rows] if every else X[rows][:, rare]) != 0
        if weights is not None:
            used &= weights[rows, None] > 0
        count += len(used) if used.all() else np.count_nonzero(used, axis=0)
        # no fit lacks enough records to empty a column that is not 0 in more of them
        rare, count = rare[count <= most], count[count <= most]
    return rare


# ---- several outcomes ----


def permuted_folds(folds: Folds, times: int, places: Numbers | None = None) -> Folds:
    """Repeat the fits of a plan once for each of several outcomes.

    Parameters
    ----------
    folds : Folds
        The fits of one outcome.
    times : int
        Number of outcomes; the fits of the k-th outcome are the k-th block.
    places : numpy.ndarray of int, shape (times, n), optional
        The record that takes the place of each record of the plan, if folds go with the
        outcome; by default they stay with the records. Matrices of the fits are not
        kept then, since their training sets are others.

    Examples
    --------
    >>> folds = Folds.leaving_out([[0], [1, 2]])
    >>> twice = permuted_folds(folds, 2, np.array([[0, 1, 2], [2, 0, 1]]))
    >>> [twice.out[fit].tolist() for fit in range(4)], twice.outcome
    ([[0], [1, 2], [2], [0, 1]], array([0, 0, 1, 1]))
    """
    each = len(folds)
    again = np.tile(np.arange(each), times)
    lists = [folds.out.chosen(again), folds.copied.chosen(again)]
    weights, seeds, matrices = folds.weights, folds.seeds, folds.matrices
    if matrices is not None:
        matrices = None if places is not None else matrices.chosen(again)
    if places is not None:
        lists = [_moved(one, places, each) for one in lists]

    def of_fits(fits: Numbers) -> Floats:
        assert weights is not None
        given = weights(fits % each)
        if places is None:
            return given
        moved = np.empty_like(given)
        # the weight of a record goes to the one that takes its place
        np.put_along_axis(moved, places[fits // each], given, axis=1)
        return moved

    return replace(
        folds,
        out=lists[0],
        copied=lists[1],
        weights=None if weights is None else of_fits,
        outcome=np.repeat(np.arange(times), each),
        times=None,
        seeds=None if seeds is None else lambda fits: seeds(fits % each),
        matrices=matrices,
    )


def _moved(lists: Ragged, places: Numbers, each: int) -> Ragged:
    rows = places[lists.owners // each, lists.values].astype(np.int32)
    return Ragged(rows, lists.starts).rising()

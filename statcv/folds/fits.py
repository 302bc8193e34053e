"""How engine and inference read a plan: its fits by number, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.weighting import Weighting
from statcv.folds.schemes.table import Scheme
from statcv.folds.strata.clusters import Strata

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Fits:
    """The training sets of a plan, numbered through, and their held-out records.

    ``plan.fits`` makes it; everything is derived from the plan's lists, in memory
    O(n + dropped).

    Attributes
    ----------
    n : int
        Number of records.
    folds : tuple of int
        Number of folds of each repeat.
    tests, dropped, kept_out, copied : Ragged
    first_fit : numpy.ndarray of int, shape (n_splits + 1,)
    weighting : Weighting or None
    strata : Strata or None
    scheme : Scheme or None
    rebalance : str or None
        As :class:`~statcv.folds.FoldPlan` has them; the scheme is None for folds that
        were given.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> y = np.array([0, 1, 0, 1])
    >>> fits = make_plan("kfold", y, "binary", k=2, repeats=2, seed=1).fits
    >>> fits.repeat_of, fits.n_train
    (array([0, 0, 1, 1]), array([2, 2, 2, 2]))
    """

    n: int
    folds: tuple[int, ...]
    tests: Ragged
    dropped: Ragged
    kept_out: Ragged
    copied: Ragged
    first_fit: NDArray[np.int64]
    weighting: Weighting | None
    strata: Strata | None
    scheme: Scheme | None
    rebalance: str | None

    # ---- which fit belongs to which split and repeat ----

    @property
    def n_splits(self) -> int:
        """The number of folds of all repeats together."""
        return len(self.tests)

    @property
    def n_fits(self) -> int:
        """The number of training sets."""
        return len(self.dropped)

    @cached_property
    def first_split(self) -> NDArray[np.int64]:
        """The number of the first split of each repeat, and one beyond."""
        return np.cumsum([0, *self.folds])

    @cached_property
    def repeat_of(self) -> NDArray[np.intp]:
        """The repeat of each split, from 0."""
        return np.repeat(np.arange(len(self.folds)), np.diff(self.first_split))

    @cached_property
    def split_of(self) -> NDArray[np.intp]:
        """The split of each fit."""
        return np.repeat(np.arange(self.n_splits), np.diff(self.first_fit))

    def mean_by_split(self, of_fits: NDArray[Any]) -> NDArray[np.float64]:
        """Average values of each fit over the fits of each split.

        Shape (n_splits,) of (n_fits,), or (n_splits, m) of (n_fits, m).
        """
        if self.n_fits == self.n_splits:
            return np.asarray(of_fits, dtype=np.float64)
        if of_fits.ndim > 1:
            return np.stack([self.mean_by_split(one) for one in of_fits.T], axis=1)
        sums = np.bincount(self.split_of, of_fits)
        return np.asarray(sums / np.diff(self.first_fit))

    # ---- which records a fit trains on, and which it predicts ----

    def train(self, fit: int) -> Rows:
        """Return the records on which a fit is trained, with repetitions."""
        times = np.ones(self.n, dtype=np.intp)
        times[self.test(fit)] = 0
        times[self.dropped[fit]] = 0
        times[self.kept_out[fit]] = 0
        copies = self.copied[fit]
        if not len(copies):
            return np.flatnonzero(times)
        np.add.at(times, copies, 1)
        return np.repeat(np.arange(self.n), times)

    def test(self, fit: int) -> Rows:
        """Return the records that the split of a fit holds out."""
        return self.tests[int(self.split_of[fit])]

    @property
    def tests_by_fit(self) -> Ragged:
        """The records held out for each fit, which are those of its split."""
        alone = self.n_fits == self.n_splits
        return self.tests if alone else self.tests.chosen(self.split_of)

    @cached_property
    def unseen(self) -> NDArray[np.bool_]:
        """Which dropped records have no equal in the training set of their fit.

        Aligned with ``dropped.values``; true for all without a stratifier.
        """
        if self.strata is None:
            return np.ones(len(self.dropped.values), dtype=bool)
        others = self.tests_by_fit.beside(self.kept_out)
        return self.strata.wholly_out(self.dropped, others)

    def partners(self, fit: int) -> Rows:
        """Return the dropped records that the fit may predict, as it saw no equal."""
        start, stop = self.dropped.starts[fit], self.dropped.starts[fit + 1]
        unseen = self.unseen[start:stop]
        return self.dropped.values[start:stop][unseen].astype(np.intp)

    # ---- which predictions are compared ----

    @property
    def holds_out_pairs(self) -> bool:
        """Whether pairs of records are held out, and only these are compared."""
        return self.scheme is not None and self.scheme.holds_out_pairs

    @property
    def compares_pairs(self) -> bool:
        """Whether the scheme compares records held out by the same fit."""
        return self.rebalance in ("subsample", "all") or self.holds_out_pairs

    @property
    def tournament(self) -> bool:
        """Whether a record is ranked by the pairs that it wins."""
        return self.scheme is not None and self.scheme.ranks_by_wins

    # ---- counts and sums over training sets ----

    @cached_property
    def times_in_repeat(self) -> tuple[int, int]:
        """The fewest and the most times that a record is held out in a repeat."""
        cells, repeats = self.tests.values, len(self.folds)
        if repeats > 1:
            cells = self.repeat_of[self.tests.owners] * self.n + cells
        times = np.bincount(cells, minlength=repeats * self.n)
        return int(times.min()), int(times.max())

    @cached_property
    def n_train(self) -> NDArray[np.int64]:
        """The number of training records of each fit, shape (n_fits,)."""
        held = self.tests.sizes[self.split_of]
        out = held + self.dropped.sizes + self.kept_out.sizes
        return self.n - out + self.copied.sizes

    def counts(
        self, codes: NDArray[Any], classes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return class counts of training sets and of held-out sets.

        Shapes (n_fits, classes) and (n_splits, classes).
        """
        held = self.tests.counts(codes, classes)
        each = held if self.n_fits == self.n_splits else held[self.split_of]
        training = np.bincount(codes, minlength=classes) - each
        for lists, sign in self._other_lists:
            training += sign * lists.counts(codes, classes)
        return training, held

    def training_means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the (weighted) mean of values over each training set, (n_fits,)."""
        if self.weighting is not None:
            return self.weighting.means(values, self)
        means = np.full(self.n_fits, np.nan)
        sums, filled = self.training_sums(values), self.n_train > 0
        np.divide(sums, self.n_train, out=means, where=filled)
        return means

    def training_sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum of values over each training set, unweighted, (n_fits,)."""
        held = self.tests.sums(values)
        each = held if self.n_fits == self.n_splits else held[self.split_of]
        sums = values.sum() - each
        for lists, sign in self._other_lists:
            sums += sign * lists.sums(values)
        return np.asarray(sums)

    @cached_property
    def _other_lists(self) -> list[tuple[Ragged, int]]:
        """Lists that take records from training sets (-1), or add them (1)."""
        signs = (self.dropped, -1), (self.kept_out, -1), (self.copied, 1)
        return [(lists, sign) for lists, sign in signs if len(lists.values)]

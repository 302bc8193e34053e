"""How engine and inference read a plan: its fits by number, and sums over them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds.ragged import Ragged
from statcv.folds.splits import Rows, Splits
from statcv.tables import Printed


@dataclass(frozen=True, eq=False, repr=False)
class PlannedFits(Printed):
    """The training sets of a plan, by number, and their held-out records.

    ``plan.fits`` makes it; everything is derived from the plan's lists, in memory
    O(n + dropped).

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> y = np.array([0, 1, 0, 1])
    >>> plan = make_plan("kfold", y, "binary", k=2, repeats=2, seed=1)
    >>> plan.fits.repeat_of, plan.n_train
    (array([0, 0, 1, 1]), array([2, 2, 2, 2]))
    """

    plan: Splits

    # ---- which fit belongs to which split and repeat ----

    @cached_property
    def first_split(self) -> NDArray[np.int64]:
        """The number of the first split of each repeat, and one beyond."""
        return np.cumsum([0, *map(len, self.plan.labels)])

    @cached_property
    def repeat_of(self) -> Rows:
        """The repeat of each split, from 0."""
        return np.repeat(np.arange(self.plan.repeats), np.diff(self.first_split))

    @cached_property
    def split_of(self) -> Rows:
        """The split of each fit."""
        return np.repeat(np.arange(self.plan.n_splits), np.diff(self.plan.first_fit))

    def mean_by_split(self, of_fits: NDArray[Any]) -> NDArray[np.float64]:
        """Average values of each fit over the fits of each split."""
        if self.plan.n_fits == self.plan.n_splits:
            return np.asarray(of_fits, dtype=np.float64)
        if of_fits.ndim > 1:
            return np.stack([self.mean_by_split(one) for one in of_fits.T], axis=1)
        sums = np.bincount(self.split_of, of_fits)
        return np.asarray(sums / np.diff(self.plan.first_fit))

    # ---- which records a fit holds out, and which others it may predict ----

    def held_out_by(self, fit: int) -> Rows:
        """Return the records that the split of a fit holds out."""
        return self.plan.tests[int(self.split_of[fit])]

    @property
    def tests_by_fit(self) -> Ragged:
        """The records held out for each fit, which are those of its split."""
        alone = self.plan.n_fits == self.plan.n_splits
        return self.plan.tests if alone else self.plan.tests.chosen(self.split_of)

    @cached_property
    def times_in_repeat(self) -> tuple[int, int]:
        """The fewest and the most times that a record is held out in a repeat."""
        cells = self.plan.tests.values
        if self.plan.repeats > 1:
            cells = self.repeat_of[self.plan.tests.owners] * self.plan.n + cells
        times = np.bincount(cells, minlength=self.plan.repeats * self.plan.n)
        return int(times.min()), int(times.max())

    @cached_property
    def unseen(self) -> NDArray[np.bool_]:
        """Which dropped records have no equal in the training set of their fit."""
        if self.plan.strata is None:
            return np.ones(len(self.plan.dropped.values), dtype=bool)
        others = self.tests_by_fit.beside(self.plan.kept_out)
        return self.plan.strata.wholly_out(self.plan.dropped, others)

    def partners(self, fit: int) -> Rows:
        """Return the dropped records that the fit may predict, as it saw no equal."""
        start, stop = self.plan.dropped.starts[fit], self.plan.dropped.starts[fit + 1]
        unseen = self.unseen[start:stop]
        return self.plan.dropped.values[start:stop][unseen].astype(np.intp)

    # ---- which predictions are compared ----

    @property
    def holds_out_pairs(self) -> bool:
        """Whether pairs of records are held out, and only these are compared."""
        return self.plan.made_by is not None and self.plan.made_by.holds_out_pairs

    @property
    def compares_pairs(self) -> bool:
        """Whether the scheme compares records held out by the same fit."""
        return self.plan.rebalance in ("subsample", "all") or self.holds_out_pairs

    @property
    def tournament(self) -> bool:
        """Whether a record is ranked by the pairs that it wins."""
        return self.plan.made_by is not None and self.plan.made_by.ranks_by_wins

    # ---- counts and sums over training sets ----

    def training_sums(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the sum of values over each training set, unweighted, (n_fits,)."""
        sums = values.sum() - self.plan.tests.sums(values)[self.split_of]
        for lists, sign in self._other_lists:
            sums += sign * lists.sums(values)
        return np.asarray(sums)

    def weighted_means(
        self, values: NDArray[Any], fits: Iterable[int]
    ) -> NDArray[np.float64]:
        """Return the weighted mean of values over some training sets, one by one."""
        sets = ((fit, self.plan.train(fit)) for fit in fits)
        return np.array(
            [
                np.average(values[rows], weights=self.plan.weights(f, rows))
                for f, rows in sets
            ]
        )

    @cached_property
    def _other_lists(self) -> list[tuple[Ragged, int]]:
        """Lists that take records from training sets (-1), or add them (1)."""
        signs = (self.plan.dropped, -1), (self.plan.kept_out, -1), (self.plan.copied, 1)
        return [(lists, sign) for lists, sign in signs if len(lists.values)]

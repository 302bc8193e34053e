"""Who is held out, on whom each fit trains, and class counts and means of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import MAX_BINS, check_whole
from statcv.errors import ArgumentError, SchemeError
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.weighting import ClassWeights, Weighting
from statcv.folds.schemes.table import SCHEMES, Scheme
from statcv.folds.strata.clusters import Strata
from statcv.tables import Printed

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Splits(Printed):
    """The held-out and training records of every split and fit, in numbers.

    Attributes
    ----------
    scheme, n, tests, labels, dropped, kept_out, copied, first_fit, weighting, \
rebalance, strata
        As :class:`~statcv.folds.FoldPlan` describes them; everything else is derived
        from these, in memory O(n + dropped).

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> y = np.array([0, 1, 0, 1])
    >>> plan = make_plan("kfold", y, "binary", k=2, repeats=2, seed=1)
    >>> plan.n_splits, plan.n_train
    (4, array([2, 2, 2, 2]))
    """

    scheme: str
    n: int
    tests: Ragged
    labels: tuple[Sequence[Any], ...]
    dropped: Ragged
    kept_out: Ragged
    copied: Ragged
    first_fit: NDArray[np.int64]
    weighting: Weighting | None = None
    rebalance: str | None = None
    strata: Strata | None = None

    # ---- which fit belongs to which split and repeat ----

    @property
    def repeats(self) -> int:
        """How many times the records are held out."""
        return len(self.labels)

    @property
    def n_splits(self) -> int:
        """Folds of all repeats together."""
        return len(self.tests)

    @property
    def n_fits(self) -> int:
        """Training sets, of all splits together."""
        return len(self.dropped)

    @cached_property
    def fits(self) -> PlannedFits:
        """The training sets by number, as engine and inference read them."""
        # the lists are passed on, since a reference to the plan would keep it alive
        lists = {one.name: getattr(self, one.name) for one in fields(Splits)}
        return PlannedFits(Splits(**lists))

    def name(self, split: int) -> tuple[int, Any]:
        """Return (repeat from 1, the fold's name) of a split."""
        check_whole(split, "split", least=0, most=self.n_splits - 1)
        repeat = int(self.fits.repeat_of[split])
        return repeat + 1, self.labels[repeat][split - self.fits.first_split[repeat]]

    # ---- which records are held out, and how often ----

    def test(self, split: int) -> Rows:
        """Return the records held out in a split."""
        check_whole(split, "split", least=0, most=self.n_splits - 1)
        return self.tests[split]

    @property
    def partition(self) -> bool:
        """Whether every record is held out exactly once in every repeat."""
        return self.fits.times_in_repeat == (1, 1)

    @cached_property
    def held_out(self) -> NDArray[np.int32]:
        """The fold in which each record is held out, from 0; -1 for never.

        Shape (repeats, n).

        Raises
        ------
        SchemeError
            If a record is held out more than once in a repeat, as in pairs.
        """
        owners = self.tests.owners
        repeat = self.fits.repeat_of[owners]
        fold = np.full((self.repeats, self.n), -1, dtype=np.int32)
        fold[repeat, self.tests.values] = owners - self.fits.first_split[repeat]
        if (fold >= 0).sum() < len(owners):
            raise SchemeError(
                f"{self.scheme} holds a record out more than once a repeat, so no "
                "record has one fold."
            )
        return fold

    # ---- which records a fit trains on, and which others it may predict ----

    def train(self, fit: int) -> Rows:
        """Return the records on which a fit is trained, with repetitions."""
        check_whole(fit, "fit", least=0, most=self.n_fits - 1)
        times = np.ones(self.n, dtype=np.intp)
        times[self.fits.held_out_by(fit)] = 0
        times[self.dropped[fit]] = 0
        times[self.kept_out[fit]] = 0
        copies = self.copied[fit]
        if not len(copies):
            return np.flatnonzero(times)
        np.add.at(times, copies, 1)
        return np.repeat(np.arange(self.n), times)

    def left_out(self, fit: int) -> Rows:
        """Return the records that a fit neither trains on nor holds out."""
        check_whole(fit, "fit", least=0, most=self.n_fits - 1)
        return np.union1d(self.dropped[fit], self.kept_out[fit])

    def weights(self, fit: int, rows: Rows) -> NDArray[np.float64] | None:
        """Return the weights of training records of a fit; None where all are 1."""
        check_whole(fit, "fit", least=0, most=self.n_fits - 1)
        return None if self.weighting is None else self.weighting.of(fit, rows)

    # ---- how the plan was made, and which predictions are compared ----

    @property
    def made_by(self) -> Scheme | None:
        """The named scheme of the plan; None for folds that were given."""
        return SCHEMES.get(self.scheme)

    @property
    def rebalanced(self) -> bool:
        """Whether all training sets were given equal class totals."""
        return self.rebalance is not None

    # ---- counts and sums over training sets ----

    @cached_property
    def n_train(self) -> NDArray[np.int64]:
        """The number of training records of each fit, shape (n_fits,)."""
        held = self.tests.sizes[self.fits.split_of]
        out = held + self.dropped.sizes + self.kept_out.sizes
        return self.n - out + self.copied.sizes

    def counts(
        self, codes: NDArray[Any], classes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return class counts of training sets and of held-out sets.

        Shapes (n_fits, classes) and (n_splits, classes).

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", data, k=4, seed=1)
        >>> plan.counts(data["GRADE"].to_numpy(), 2)[0].tolist()
        [[16, 8], [16, 8], [15, 9], [16, 8]]
        """
        check_whole(classes, "classes", least=1, most=MAX_BINS)
        values = self._numbers(codes, "codes")
        inside = values.dtype.kind in "iub" and (values >= 0) & (values < classes)
        if not np.all(inside):
            raise ArgumentError(f"codes must be integers from 0 to {classes - 1}.")
        held = self.tests.counts(values, classes)
        training = np.bincount(values, minlength=classes) - held[self.fits.split_of]
        for lists, sign in self.fits._other_lists:
            training += sign * lists.counts(values, classes)
        return training, held

    def training_means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the (weighted) mean of values over each training set, (n_fits,).

        Examples
        --------
        >>> import statcv as scv
        >>> data = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", data, k=4, seed=1)
        >>> plan.training_means(data["GRADE"].to_numpy()).round(3).tolist()
        [0.333, 0.333, 0.375, 0.333]
        """
        values = self._numbers(values, "values")
        if isinstance(self.weighting, ClassWeights):
            return self.weighting.means(values, self.fits.training_sums)
        if self.weighting is not None:
            return self.fits.weighted_means(values, range(self.n_fits))
        means = np.full(self.n_fits, np.nan)
        sums, filled = self.fits.training_sums(values), self.n_train > 0
        np.divide(sums, self.n_train, out=means, where=filled)
        return means

    def _numbers(self, values: Any, name: str) -> NDArray[Any]:
        array = np.asarray(values)
        if array.shape[:1] != (self.n,) or array.dtype.kind not in "biuf":
            raise ArgumentError(
                f"{name} must hold one number for each of {self.n} records."
            )
        return array


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

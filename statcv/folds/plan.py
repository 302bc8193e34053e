"""The fold plan: who is held out, and on whom each fit trains."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import MAX_BINS, check_types, check_whole
from statcv.errors import ArgumentError, SchemeError
from statcv.folds.ragged import Ragged, without_equal
from statcv.folds.rebalance.weighting import ClassWeights, Weighting
from statcv.folds.response import Response
from statcv.folds.schemes.holdout import count_unlike
from statcv.folds.schemes.table import SCHEMES, Scheme
from statcv.folds.strata.clusters import Strata
from statcv.numeric.arrays import Array, Bools, Floats, Ints, Numbers
from statcv.tables import Printed, Values, wrapped
from statcv.words import plural

LISTS = ("tests", "dropped", "kept_out", "copied")
NO_LISTS = Ragged.empty(0)

if TYPE_CHECKING:
    from statcv.folds.audit.findings import Audit
    from statcv.folds.strata.by_quantile import ByQuantile


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldPlan(Printed):
    """Who is held out, and on whom each fit trains, in memory O(n + dropped).

    A *split* is one fold of one repeat, and has one *fit*, or several whose predictions
    are averaged (``rebalance="all"`` and ``"bag"``). A fit trains on every record
    except those that its split holds out and those dropped; records may be repeated or
    weighted.

    Attributes
    ----------
    scheme, sentence : str
        Name of the scheme, and what it does.
    n : int
        Number of records.
    tests, dropped, kept_out, copied : Ragged
        Records held out in each split; and of each fit, those dropped for balance
        (which it may predict too), kept out for another reason, and repeated in
        training; none unless given.
    labels : tuple of sequences
        Names of the folds in each repeat.
    first_fit : numpy.ndarray of int, shape (n_splits + 1,)
        Where the fits of each split begin; one fit for each split unless given.
    weighting, strata, response : Weighting, Strata, Response or None
        Weights of training records, records that are never split across folds, and the
        outcome that the plan was made for.
    rebalance : str or None
        How the training sets were given equal class totals.
    rows : pandas.Index or None
        Labels of the records in the data.
    seed : int or None
        Seed of the plan; None if nothing was random.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
    >>> plan.n, plan.n_splits
    (32, 4)
    """

    scheme: str
    n: int
    tests: Ragged
    labels: tuple[Sequence[Any], ...]
    dropped: Ragged = NO_LISTS
    kept_out: Ragged = NO_LISTS
    copied: Ragged = NO_LISTS
    first_fit: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    weighting: Weighting | None = None
    rebalance: str | None = None
    strata: Strata | None = None
    sentence: str
    response: Response | None = None
    rows: pd.Index[Any] | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        if not len(self.first_fit):
            object.__setattr__(self, "first_fit", np.arange(len(self.tests) + 1))
        for name in LISTS[1:]:
            if not len(getattr(self, name)):
                object.__setattr__(self, name, Ragged.empty(len(self.first_fit) - 1))

    # ---- the pairs that scikit-learn asks for ----

    def split(
        self, X: Any = None, y: Any = None, groups: Any = None
    ) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield (training, held-out) positions, as scikit-learn's splitters do.

        Raises
        ------
        SchemeError
            If X has another number of records, or the plan gives weights, which
            scikit-learn's ``cv=`` cannot pass on.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> [len(test) for train, test in plan.split()]
        [8, 8, 8, 8]
        """
        if X is not None and length_of(X) != self.n:
            raise SchemeError(
                f"the plan is for {self.n} records, but there are {length_of(X)}."
            )
        if self.weighting is not None:
            raise SchemeError(
                "the plan weights its training records, and pairs of positions carry "
                "no weights; use statcv.cv(), or another rebalance."
            )
        for fit, split in enumerate(self.fits.split_of.tolist()):
            yield self.train(fit), self.test(split)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of (training, held-out) pairs that ``split`` yields."""
        return self.n_fits

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
        # a copy is passed on, since a reference to the plan itself would keep it alive
        return PlannedFits(replace(self))

    def name(self, split: int) -> tuple[int, Any]:
        """Return (repeat from 1, the fold's name) of a split."""
        check_whole(split, "split", least=0, most=self.n_splits - 1)
        repeat = int(self.fits.repeat_of[split])
        return repeat + 1, self.labels[repeat][split - self.fits.first_split[repeat]]

    # ---- which records are held out, and how often ----

    def test(self, split: int) -> Numbers:
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

    def train(self, fit: int) -> Numbers:
        """Return the records on which a fit is trained, with repetitions."""
        check_whole(fit, "fit", least=0, most=self.n_fits - 1)
        times = np.ones(self.n, dtype=np.intp)
        times[self.fits.held_out_by(fit)] = 0
        times[self.dropped[fit]] = 0
        times[self.kept_out[fit]] = 0
        if not len(copies := self.copied[fit]):
            return np.flatnonzero(times)
        np.add.at(times, copies, 1)
        return np.repeat(np.arange(self.n), times)

    def left_out(self, fit: int) -> Numbers:
        """Return the records that a fit neither trains on nor holds out."""
        check_whole(fit, "fit", least=0, most=self.n_fits - 1)
        return np.union1d(self.dropped[fit], self.kept_out[fit])

    def weights(self, fit: int, rows: Numbers) -> Floats | None:
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
    def n_train(self) -> Ints:
        """The number of training records of each fit, shape (n_fits,)."""
        held = self.tests.sizes[self.fits.split_of]
        out = held + self.dropped.sizes + self.kept_out.sizes
        return self.n - out + self.copied.sizes

    def counts(self, codes: Array, classes: int) -> tuple[Ints, Ints]:
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

    def training_means(self, values: Array) -> Floats:
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
        sums, n = self.fits.training_sums(values), self.n_train
        return np.asarray(np.divide(sums, n, out=means, where=n > 0))

    def _numbers(self, values: Any, name: str) -> Array:
        array = np.asarray(values)
        if array.shape[:1] != (self.n,) or array.dtype.kind not in "biuf":
            raise ArgumentError(
                f"{name} must hold one number for each of {self.n} records."
            )
        return array

    # ---- new records ----

    @property
    def thresholds(self) -> Array | None:
        """The rising thresholds of the stratifier; None if it is not cut."""
        return None if self.strata is None else self.strata.thresholds

    def assign(self, frame: Any, repeat: int = 1) -> pd.Series[Any]:
        """Return the fold into which each row of another frame falls.

        The records of a second hospital, or of next month, thus fall in the same folds.

        Parameters
        ----------
        frame : pandas.DataFrame
            The records, with the stratifier's columns.
        repeat : int, default 1

        Returns
        -------
        pandas.Series
            Names of folds, with the frame's index; missing, with a warning that counts
            them, for values that ``by_value`` has not met.

        Raises
        ------
        SchemeError
            If no stratifier made the folds, or it is not in the table that the plan was
            read from.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> bins = scv.fold_plan("GRADE", df, k=4, stratify=scv.by_quantile("GPA"))
        >>> bins.assign(df.head(3)).tolist()
        [1, 2, 3]
        """
        found = self._made_from().assign(frame, repeat)
        return Values(found, f"Fold of each row, by {self.scheme}")

    @property
    def stratifier(self) -> ByQuantile:
        """The bins of ``by_quantile`` and their folds, for the records of others.

        ``fold_plan(…, stratify=plan.stratifier)`` makes the plan of other records that
        fall in the same folds, whatever the seed.

        Raises
        ------
        SchemeError
            If the folds were not made by ``by_quantile``.
        """
        return self._made_from().stratifier

    def _made_from(self) -> Strata:
        if self.strata is None:
            raise SchemeError(
                f"the folds of {self.scheme} were not made from a stratifier, so they "
                "say nothing of other records; use stratify=."
            )
        return self.strata

    def audit(self, y: Any = None, **checks: Any) -> Audit:
        """Report what the plan leaks and loses, in numbers and sentences.

        Parameters
        ----------
        y : array-like, shape (n,), optional
            The outcome; by default the one that the plan was made for.
        **checks
            ``data``, the records, whose numeric columns are compared over folds;
            ``duplicates``, its columns whose equal values mean the same record, or True
            for all; ``tolerance``, the largest difference between duplicates, also by
            column; ``predictors``, the design matrix, searched for equal rows with
            different outcomes.

        Returns
        -------
        Audit
            One sentence for each finding, such as ``fold_sizes``, ``records_lost``,
            ``training_counts``, ``label_correlation`` (between training mean and
            held-out outcome), ``negative_mean_auroc`` (of a model that predicts minus
            the training mean), ``outcome_over_folds``, ``duplicates`` and
            ``opposite_twins``.

        Raises
        ------
        ArgumentError, DataError
            If arguments do not fit together, or are not those of the plan's records.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> plan.audit(data=df, duplicates=["GPA", "TUCE"])["duplicates"].value
        0.0
        """
        from statcv.folds.audit.audit import audit_plan

        return audit_plan(self, y, **checks)

    def to_frame(self, training: bool = False) -> pd.DataFrame:
        """Return the plan as a tidy table, one row per record, fold and repeat.

        Parameters
        ----------
        training : bool, default False
            Whether to list training records too. Otherwise a record trains wherever it
            is not listed in another role.

        Returns
        -------
        pandas.DataFrame
            Columns ``repeat``, ``fold``, ``position`` (from 0), ``row`` (the label in
            the data), ``scheme`` and ``role``: ``"held out"``, ``"dropped"`` from
            training for balance, ``"kept out"`` for another reason, ``"repeated"`` or
            ``"training"``. Where they apply: ``rebalance``, ``draw``, ``stratum``,
            ``weight``, ``stratifier`` and ``bin``; a bin without records has one row of
            the role ``"empty"``.

        Raises
        ------
        SchemeError
            If the table would have more than 100 million rows, or lacks weights of the
            plan.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> plan.to_frame()[["repeat", "fold", "row", "role"]].head(1)
           repeat  fold  row      role
        0       1     4    0  held out
        """
        check_types(FoldPlan.to_frame, locals())
        from statcv.folds.frame import to_frame

        return to_frame(self, training)

    @classmethod
    def from_frame(cls, frame: Any, n: int | None = None) -> FoldPlan:
        """Make a plan from a table such as :meth:`to_frame` returns.

        The table may come from other software: it needs ``fold``, and ``position`` or
        ``row``; ``repeat`` is 1 and ``role`` is ``"held out"`` unless given. It has no
        outcome: pass that to :meth:`audit`.

        Parameters
        ----------
        frame : pandas.DataFrame
        n : int, optional
            Number of records, by default as many as the table implies.

        Raises
        ------
        ColumnError, DataError, SchemeError
            If columns are missing, do not describe a plan, or are weights.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> scv.folds.FoldPlan.from_frame(plan.to_frame()).n_splits
        4
        """
        from statcv.folds.frame import from_frame

        return from_frame(frame, n)

    @classmethod
    def concat(cls, plans: Mapping[str, FoldPlan]) -> FoldPlan:
        """Join the fold plans of several sites into the plan of the stacked records.

        Fold j of each site is part of fold j of the whole. A fit trains on the records
        of all sites, except those that its fold holds out or a site's plan drops.
        Records of different sites are not in one cluster, even if they have one
        identifier, unless ``stratify=`` names it beside ``scheme=joined``.

        Parameters
        ----------
        plans : mapping of str to FoldPlan
            Each site's plan, in the order in which the records are stacked. Rows are
            labelled (site, row), as ``pd.concat({"A": a, "B": b})`` labels the records.

        Raises
        ------
        SchemeError
            If the plans differ in how they were made, or share no folds, as
            leave-one-out.
        """
        from statcv.folds.joined import concat

        return concat(plans)

    @cached_property
    def fingerprint(self) -> str:
        """12 hex digits that identify the held-out, training and compared records.

        Examples
        --------
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> plan = scv.fold_plan("GRADE", df, k=4, seed=1)
        >>> len(plan.fingerprint)
        12
        """
        how = f"{self.n} {self.fits.compares_pairs} {self.fits.tournament}"
        digest = hashlib.sha256(how.encode())
        parts: list[Any] = [self.fits.first_split, self.first_fit]
        for name in LISTS:
            one = getattr(self, name)
            parts += [one.starts, one.values]
        for part in parts:
            digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        if self.weighting is not None:
            for part in self.weighting.arrays:
                digest.update(np.round(part, 9).astype("<f8").tobytes())
        return digest.hexdigest()[:12]

    def __repr__(self) -> str:
        fits = f" and {self.n_fits} fits" if self.n_fits > self.n_splits else ""
        sizes = f"{plural(self.n, 'record')}, {plural(self.n_splits, 'split')}{fits}"
        lines = wrapped(f"{self.scheme}: {self.sentence}")
        return "\n".join([*lines, f"{sizes}; folds {self.fingerprint}"])


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

    plan: FoldPlan

    @property
    def row_labels(self) -> pd.Index[Any]:
        """The labels of the records in the data, or their positions."""
        rows = self.plan.rows
        return pd.RangeIndex(self.plan.n) if rows is None else rows

    # ---- which fit belongs to which split and repeat ----

    @cached_property
    def first_split(self) -> Ints:
        """The number of the first split of each repeat, and one beyond."""
        return np.cumsum([0, *map(len, self.plan.labels)])

    @cached_property
    def repeat_of(self) -> Numbers:
        """The repeat of each split, from 0."""
        return np.repeat(np.arange(self.plan.repeats), np.diff(self.first_split))

    @cached_property
    def split_of(self) -> Numbers:
        """The split of each fit."""
        return np.repeat(np.arange(self.plan.n_splits), np.diff(self.plan.first_fit))

    def mean_by_split(self, of_fits: Array) -> Floats:
        """Average values of each fit over the fits of each split."""
        first = self.plan.first_fit
        sums = np.add.reduceat(np.asarray(of_fits, dtype=np.float64), first[:-1])
        return np.asarray((sums.T / np.diff(first)).T)

    # ---- which records a fit holds out, and which others it may predict ----

    def held_out_by(self, fit: int) -> Numbers:
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
        tests = self.plan.tests
        cells = self.repeat_of[tests.owners] * self.plan.n + tests.values
        times = np.bincount(cells, minlength=self.plan.repeats * self.plan.n)
        return int(times.min()), int(times.max())

    @cached_property
    def unseen(self) -> Bools:
        """Which dropped records have no equal in the training set of their fit."""
        if self.plan.strata is None:
            return np.ones(len(self.plan.dropped.values), dtype=bool)
        others = self.tests_by_fit.beside(self.plan.kept_out)
        return without_equal(self.plan.strata.codes, self.plan.dropped, others)

    def partners(self, fit: int) -> Numbers:
        """Return the dropped records that the fit may predict, as it saw no equal."""
        own = slice(*self.plan.dropped.starts[fit : fit + 2])
        return self.plan.dropped[fit][self.unseen[own]]

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

    def training_sums(self, values: Array) -> Floats:
        """Return the sum of values over each training set, unweighted, (n_fits,)."""
        sums = values.sum() - self.plan.tests.sums(values)[self.split_of]
        for lists, sign in self._other_lists:
            sums += sign * lists.sums(values)
        return np.asarray(sums)

    def weighted_means(self, values: Array, fits: Iterable[int]) -> Floats:
        """Return the weighted mean of values over some training sets, one by one."""
        trained = ((fit, self.plan.train(fit)) for fit in fits)
        return np.array(
            [np.average(values[r], weights=self.plan.weights(f, r)) for f, r in trained]
        )

    @cached_property
    def _other_lists(self) -> list[tuple[Ragged, int]]:
        """Lists that take records from training sets (-1), or add them (1)."""
        signs = (self.plan.dropped, -1), (self.plan.kept_out, -1), (self.plan.copied, 1)
        return [(lists, sign) for lists, sign in signs if len(lists.values)]


def length_of(X: Any) -> int:
    """Return the number of records of any array-like."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)  # sparse has no len


def is_sample(plan: FoldPlan) -> bool:
    """Return whether a plan holds out a sample of the pairs that differ in outcome."""
    if plan.scheme != "leave_pair_out" or plan.response is None:
        return False
    drawn = int(np.diff(plan.fits.first_split).min())
    return drawn < count_unlike(plan.response.values)

"""Some fits that share the rows of a basis, and how they change with its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import iadd
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from statcv.engine.classes import InformationOfClasses
from statcv.engine.information import inverted
from statcv.engine.partition import MANY, MOST, Partition
from statcv.engine.rows import Rows
from statcv.engine.scale import Moments, Scale
from statcv.engine.wide import Wide
from statcv.models.batched import information_of
from statcv.models.firth_changes import firth_changes, flic_changes
from statcv.models.likelihood import Bernoulli, Likelihood
from statcv.threads import RECORD, ranges, shared

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
T = TypeVar("T")

AT_ONCE = 2**16  # cells of the rows whose derivatives stay in the cache
ALIKE = 1e-5  # error of a leverage that changes no digit of a standard error
SHORT = 64  # predictions of a fit, so few that sums of many fits are computed at once
SHARES, ROOM = 8, 2**23  # sums that threads make, and the numbers of all of them
TALL = 300  # records for each column, with fewer of which fits are not that alike
FEW = 16  # fits, whose products with all rows cost less than gathering rows


@dataclass(frozen=True, eq=False)
class Block:
    """Some fits that share a basis, with what is computed from them once.

    Attributes
    ----------
    numbers : numpy.ndarray of int, shape (fits,)
        The numbers of the fits.
    rows : Rows
        The matrices of all records.
    y : numpy.ndarray, shape (n,)
        The coded outcome.
    beta : numpy.ndarray, shape (fits, p) or (fits, p, classes)
        The coefficients.
    penalty : numpy.ndarray, shape (fits, p)
        The ridge of each coefficient; infinite for one that is 0.
    times : numpy.ndarray, shape (fits, n)
        By what each fit multiplies the weights of the records.
    given : numpy.ndarray, shape (n,), or None
        The weights of the records; None if all are 1.
    class_weights : numpy.ndarray, shape (fits, classes), or None
        The weights that the model gives to classes.
    likelihood : Likelihood
        The likelihood that the fits maximise.
    uncorrected : numpy.ndarray, shape (fits, p), or None
        The coefficients before the intercept was corrected, where it was.
    by_records : bool
        Whether fits with one linear predictor change by products of the records.
    """

    numbers: Numbers
    rows: Rows
    y: NDArray[Any]
    beta: Floats
    penalty: Floats
    times: NDArray[np.bool_] | Floats
    given: Floats | None
    class_weights: Floats | None
    likelihood: Likelihood
    uncorrected: Floats | None = None
    by_records: bool = False

    @property
    def has_one_predictor(self) -> bool:
        """Whether each fit has one linear predictor."""
        return self.beta.ndim == 2

    @property
    def is_firth(self) -> bool:
        """Whether the likelihood has the penalty of Firth."""
        return self.likelihood == Bernoulli(firth=True)

    # ---- weights ----

    @cached_property
    def trained(self) -> Floats:
        """The training weights without those that the model gives to classes."""
        return self._trained(slice(None))

    def _trained(self, some: slice) -> Floats:
        times = self.times[:, some].astype(np.float64)
        return times if self.given is None else times * self.given[some]

    @cached_property
    def counts(self) -> Floats:
        """The training weights, shape (fits, n)."""
        return self._counts(slice(None))

    def _counts(self, some: slice) -> Floats:
        trained = self._trained(some)
        if self.class_weights is None:
            return trained
        return trained * self.class_weights[:, self.y[some]]

    # ---- sums over all records, and what follows for each ----

    def predictors(self, owner: Numbers, row: Numbers) -> Floats:
        """Return the linear predictors of some records, of fits that have one each.

        Parameters
        ----------
        owner, row : numpy.ndarray of int, shape (m,)
            The fit, in rising order, and the record of each prediction.
        """
        found = np.empty(len(row))
        if self.partition is not None and (self.partition.owner[row] == owner).all():
            return np.take(self.partition.own, row, out=found)
        if self._reads_all(row):
            by_row, every = np.empty(len(self.y)), self._owners(owner, row)

            def predict(some: slice) -> None:
                eta, fits = self.rows.part(some).along(self.beta), every[some]
                by_row[some] = eta[fits, np.arange(len(fits))]

            self._put(predict)
            return np.take(by_row, row, out=found)
        if self.rows.own is None and len(owner) < SHORT * len(self.numbers):
            for some in self._parts(0, len(owner)):
                rows, beta = self.rows.basis[row[some]], self.beta[owner[some]]
                found[some] = np.einsum("np,np->n", rows, beta)
            return found
        ends = self._ends(owner)

        def put(fit: int) -> None:
            for some in self._parts(ends[fit], ends[fit + 1]):
                found[some] = self.rows.values(fit, row[some], self.beta[fit])

        shared(put, range(len(self.numbers)), RECORD * len(row) / len(self.numbers))
        return found

    def _reads_all(self, row: Numbers) -> bool:
        """Return whether few fits predict most records, and none of them twice."""
        if len(self.numbers) > FEW or 2 * len(row) <= len(self.y):
            return False
        return bool(np.bincount(row).max(initial=0) <= 1)

    def _owners(self, owner: Numbers, row: Numbers) -> Numbers:
        """Return the fit that predicts each record, 0 if none does."""
        every = np.zeros(len(self.y), dtype=np.intp)
        every[row] = owner
        return every

    def _ends(self, owner: Numbers) -> list[int]:
        """Return where the predictions of each fit begin, and where the last end."""
        fits = np.arange(len(self.numbers) + 1)
        return [int(end) for end in np.searchsorted(owner, fits)]

    def _parts(self, start: int, stop: int) -> Iterator[slice]:
        """Yield predictions, as many at a time as stay in the cache."""
        step = max(1, AT_ONCE // max(self.rows.basis.shape[1], 1))
        for first in range(start, stop, step):
            yield slice(first, min(first + step, stop))

    def _runs(self, owner: Numbers) -> Iterator[tuple[Numbers, Numbers, slice]]:
        """Yield the predictions of many fits, with where those of each fit begin."""
        begins = np.flatnonzero(np.diff(owner, prepend=-1))
        ends = np.append(begins, len(owner))
        step = max(1, AT_ONCE // (SHORT * max(self.rows.basis.shape[1], 1)))
        for first in range(0, len(begins), step):
            some = begins[first : first + step]
            stop = ends[min(first + step, len(begins))]
            yield owner[some], some - some[0], slice(int(some[0]), int(stop))

    @cached_property
    def _pieces(self) -> list[slice]:
        """The records, as many at a time as stay in the cache."""
        n = len(self.rows.basis)
        step = max(256, AT_ONCE // max(len(self.numbers), 1))
        return [slice(first, min(first + step, n)) for first in range(0, n, step)]

    def _put(self, work: Callable[[slice], None]) -> None:
        """Do something with each piece of the records, which threads may share."""
        shared(work, self._pieces, self._cost / max(len(self._pieces), 1))

    def _added(self, add: Callable[[list[slice]], T], size: int) -> list[T]:
        """Return what is made of some pieces each, sums of so many numbers."""
        pieces = self._pieces
        shares = ranges(len(pieces), max(1, min(SHARES, ROOM // max(size, 1))))

        def of(share: range) -> T:
            return add(pieces[share.start : share.stop])

        return shared(of, shares, self._cost / len(shares))

    @property
    def _cost(self) -> float:
        """About how many operations a pass over all records takes."""
        return 4.0 * float(self.times.size * self.rows.basis.shape[1])

    @cached_property
    def scale(self) -> Scale:
        """The scale of the linear predictors, of fits that have one each."""
        if self.partition is not None:
            return self.partition.scale
        none = Moments.none(self.rows, self.beta)

        def add(pieces: list[slice]) -> Moments:
            moments = none.copied()
            for some in pieces:
                part = self.rows.part(some)
                moments.add(part, part.along(self.beta), self._trained(some))
            return moments

        moments, *others = self._added(add, none.products.size)
        for more in others:
            moments.join(more)
        return moments.scale()

    @cached_property
    def partition(self) -> Partition | None:
        """The fits as those of a partition of many records; None if they are not.

        Each record has to be left out by one fit, and to have its weight in others.
        """
        fits, n = self.times.shape
        if n < MANY or not 1 < fits <= FEW or self.rows.own is not None:
            return None
        if not self.has_one_predictor or self.is_firth:
            return None
        if self.class_weights is not None or self.times.dtype != bool:
            return None
        owner, times = np.zeros((2, n), dtype=np.uint8)
        for fit, trained in enumerate(self.times):
            out = (~trained).view(np.uint8)
            times += out
            owner += out * np.uint8(fit)
        if (times != 1).any():
            return None
        return Partition(
            basis=self.rows.basis,
            y=self.y,
            beta=self.beta,
            penalty=self.penalty,
            given=self.given,
            owner=owner,
            likelihood=self.likelihood,
        )

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the penalised information, shape (fits, p, p)."""
        fits, r = len(self.beta), self.rows.basis.shape[1]

        def add(pieces: list[slice]) -> Floats:
            total = np.zeros((fits, r, r))
            for some in pieces:
                part = self.rows.part(some)
                eta = part.along(self.beta)
                curved = self.likelihood.curvature(self.y[None, some], eta)
                curved *= self._counts(some)
                total += information_of(part.basis, curved)
            return total

        total = reduce(iadd, self._added(add, fits * r * r))
        return inverted(self.rows.between(total), self.penalty)

    @cached_property
    def pull(self) -> Floats:
        """The derivative of the log-likelihood by each linear predictor, (fits, n)."""
        pull = np.empty(self.times.shape)

        def put(some: slice) -> None:
            eta = self.rows.part(some).along(self.beta)
            np.multiply(
                self._counts(some),
                self.likelihood.residual(self.y[None, some], eta),
                out=pull[:, some],
            )

        self._put(put)
        return pull

    @cached_property
    def leverage(self) -> Floats:
        """The leverage of each record, shape (fits, n)."""
        found = np.empty(self.times.shape)
        self._prepare()

        def put(some: slice) -> None:
            eta = self.rows.part(some).along(self.beta)
            found[:, some] = self._leverage(some, eta, self._counts(some))

        self._put(put)
        return found

    @cached_property
    def reach(self) -> Floats:
        """The pull, as long as a Newton step without the record."""
        reach = np.empty(self.times.shape)
        self._prepare()

        def put(some: slice) -> None:
            eta, counts = self.rows.part(some).along(self.beta), self._counts(some)
            left = 1 - self._leverage(some, eta, counts)
            counts *= self.likelihood.residual(self.y[None, some], eta)
            np.divide(counts, left, out=reach[:, some])

        self._put(put)
        return reach

    def _prepare(self) -> None:
        """Compute what several threads would compute otherwise."""
        if self._wide is None:
            _ = self.inverse, self._mean_inverse
        else:
            _ = self._wide.leverage

    def _leverage(self, some: slice, eta: Floats, counts: Floats) -> Floats:
        """Return the leverage of some records.

        It is the weight in the information times x'H⁻¹x, for which the mean of H⁻¹ over
        the fits is taken where the fits differ too little to matter.
        """
        if self._wide is not None:
            return np.clip(self._wide.leverage[:, some], 0.0, MOST)
        part = self.rows.part(some)
        curved = self.likelihood.curvature(self.y[None, some], eta)
        curved *= counts
        if self._mean_inverse is not None:
            mean, apart = self._mean_inverse
            common = curved * part.quadratic(mean)
            if apart * common.max(initial=0.0) < ALIKE:
                return np.minimum(common, MOST)
        curved *= part.quadratic(self.inverse)
        return np.clip(curved, 0.0, MOST)

    @cached_property
    def _wide(self) -> Wide | None:
        """The fits as those to many columns; None if they are not."""
        if not self.by_records:
            return None
        eta = self.rows.along(self.beta)
        weights = self.likelihood.curvature(self.y[None], eta) * self.counts
        return Wide(self.rows.basis, self.penalty, weights)

    @cached_property
    def _mean_inverse(self) -> tuple[Floats, float] | None:
        """The mean of the inverse information, and by how much those of fits differ.

        The difference is the largest of x'H⁻¹x between a fit and the mean, relative to
        the mean, for any row x. None if it may be as large as the mean, or if records
        are so few that fits are hardly alike.
        """
        n, p = self.rows.basis.shape
        if self.rows.own is not None or n < TALL * p:
            return None
        mean = self.inverse.mean(axis=0)
        used = np.diag(mean) > 0
        inverse = self.inverse[:, used][:, :, used]
        try:
            root = np.linalg.inv(np.linalg.cholesky(mean[used][:, used]))
        except np.linalg.LinAlgError:
            return None
        ratio = np.linalg.eigvalsh(root @ inverse @ root.T)
        apart = float(np.abs(ratio - 1).max(initial=0.0))
        return (mean[None], apart) if apart < 1 else None

    def by_coefficients(
        self, owner: Numbers, row: Numbers, slopes: Sequence[Floats]
    ) -> list[Floats]:
        """Return the derivatives by the coefficients of functions of predictions.

        Parameters
        ----------
        owner, row : numpy.ndarray of int, shape (m,)
            The fit, in rising order, and the record of each prediction.
        slopes : sequence of numpy.ndarray, shape (m,) or (m, classes)
            The derivatives of each function by the linear predictors.
        """
        targets = [np.zeros_like(self.beta) for _ in slopes]
        if self.has_one_predictor and self._reads_all(row):
            by_row = np.zeros((len(slopes), len(self.y)))

            def put(function: int) -> None:
                by_row[function, row] = slopes[function]

            shared(put, range(len(slopes)), RECORD * len(row))
            part = self.partition
            if part is not None and (part.owner[row] == owner).all():
                return list(part.by_coefficients(by_row))
            every = self._owners(owner, row)

            def add(pieces: list[slice]) -> Floats:
                total = np.zeros_like(targets)
                for some in pieces:
                    fits = every[some]
                    apart = np.zeros((len(self.numbers), len(fits)))
                    for one, target in zip(by_row, total, strict=True):
                        apart[fits, np.arange(len(fits))] = one[some]
                        target += self.rows.part(some).sums(apart)
                return total

            return list(np.sum(self._added(add, sum(map(np.size, targets))), axis=0))
        able = self.has_one_predictor or self.rows.own is None
        if able and len(owner) < SHORT * len(self.numbers):
            for fits, begins, some in self._runs(owner):
                rows = self.rows.basis[row[some]]
                rows = rows if self.has_one_predictor else rows[:, :, None]
                for slope, target in zip(slopes, targets, strict=True):
                    sums = np.add.reduceat(rows * slope[some, None], begins)
                    target[fits] = self.rows.turned(sums, fits)
            return targets
        ends = self._ends(owner)

        def add_to(fit: int) -> None:
            for some in self._parts(ends[fit], ends[fit + 1]):
                together = np.stack([slope[some] for slope in slopes], axis=1)
                flat = together.reshape(len(together), -1)
                sums = self.rows.some(fit, row[some], flat)
                each = sums.reshape(-1, *together.shape[1:]).swapaxes(0, 1)
                for target, own in zip(targets, each, strict=True):
                    target[fit] += own

        shared(add_to, range(len(self.numbers)), RECORD * len(row) / len(self.numbers))
        return targets

    def add_changes(
        self,
        totals: Floats,
        targets: Sequence[Floats],
        one_step: bool,
        rough: Sequence[bool],
    ) -> None:
        """Add, in place, derivatives by the weight of each record, over the fits.

        Parameters
        ----------
        totals : numpy.ndarray, shape (m, n)
        targets, one_step, rough
            As :meth:`changes` takes them, of m functions.
        """
        if self.is_firth:
            for total, moved in zip(
                totals, self.changes(targets, one_step, rough), strict=True
            ):
                total += moved.sum(axis=0)
            return
        if not self.has_one_predictor:
            self._add_changes_of_classes(totals, targets, rough)
            return
        rate = self.reach if one_step else self.pull
        if self._wide is not None:
            moved = self._wide.along(np.stack(targets))
            totals += np.einsum("mbn,bn->mn", moved, rate)
            return
        solved = [np.einsum("bpq,bq->bp", self.inverse, one) for one in targets]

        def put(some: slice) -> None:
            part = self.rows.part(some)
            for total, one in zip(totals, solved, strict=True):
                total[some] += np.einsum("bn,bn->n", part.along(one), rate[:, some])

        self._put(put)

    def changes(
        self, targets: Sequence[Floats], one_step: bool, rough: Sequence[bool]
    ) -> Iterator[Floats]:
        """Yield the derivatives by the weight of each record in each fit, (fits, n).

        Parameters
        ----------
        targets : sequence of numpy.ndarray, shape (fits, p) or (fits, p, classes)
            The derivatives by the coefficients, of several functions.
        one_step : bool
            Whether changes are as long as a Newton step without the record, of fits
            with one linear predictor.
        rough : sequence of bool
            For which functions a few digits are enough.
        """
        if self.is_firth:
            for moved in self._changes_of_firth(targets):
                yield moved / (1 - self.leverage) if one_step else moved
            return
        if not self.has_one_predictor:
            yield from self._changes_of_classes(targets, rough)
            return
        rate = self.reach if one_step else self.pull
        for target in targets:
            yield self._along_solved(target) * rate

    def _along_solved(self, target: Floats) -> Floats:
        """Return x'H⁻¹t for each row x and the target t of each fit, (fits, n)."""
        if self._wide is not None:
            return np.asarray(self._wide.along(target[None])[0])
        return self.rows.along(np.einsum("bpq,bq->bp", self.inverse, target))

    def _changes_of_firth(self, targets: Sequence[Floats]) -> Iterator[Floats]:
        if self.rows.own is None:
            return self._changes_of_these(self.rows.basis, slice(None), targets)
        every = [
            self._changes_of_these(self.rows.matrix(fit), slice(fit, fit + 1), targets)
            for fit in range(len(self.numbers))
        ]
        return map(np.concatenate, zip(*every, strict=True))

    def _changes_of_these(
        self, X: Floats, fits: slice, targets: Sequence[Floats]
    ) -> Iterator[Floats]:
        """Yield the derivatives of functions of Firth's fits to one matrix."""
        own = [target[fits] for target in targets]
        given = X, self.y, self.counts[fits], self.beta[fits], own
        if self.uncorrected is None:
            return firth_changes(*given)
        return flic_changes(*given, self.uncorrected[fits])

    # ---- several classes ----

    @cached_property
    def _information_of_classes(self) -> InformationOfClasses:
        eta = self.rows.along_each(self.beta.swapaxes(1, 2)).swapaxes(1, 2)
        shares = self.likelihood.curvature(self.y[None], eta).swapaxes(1, 2)
        shares = np.ascontiguousarray(shares)
        return InformationOfClasses(self.rows, shares, self.counts, self.penalty)

    @cached_property
    def _pull_of_classes(self) -> Floats:
        """The pull by the linear predictor of each class, shape (fits, classes, n)."""
        shares = self._information_of_classes.shares
        pull = (self.y == np.arange(shares.shape[1])[:, None]) - shares
        pull *= self.counts[:, None]
        return np.asarray(pull)

    def _solved_of_classes(
        self, targets: Sequence[Floats], rough: Sequence[bool]
    ) -> Floats:
        by_class = np.stack([one.swapaxes(1, 2) for one in targets])
        return self._information_of_classes.solve(by_class, np.array(rough))

    def _add_changes_of_classes(
        self, totals: Floats, targets: Sequence[Floats], rough: Sequence[bool]
    ) -> None:
        solved, pull = self._solved_of_classes(targets, rough), self._pull_of_classes

        def put(some: slice) -> None:
            part, own = self.rows.part(some), pull[:, :, some]
            for total, one in zip(totals, solved, strict=True):
                total[some] += np.einsum("mkn,mkn->n", part.along_each(one), own)

        self._put(put)

    def _changes_of_classes(
        self, targets: Sequence[Floats], rough: Sequence[bool]
    ) -> Iterator[Floats]:
        pull = self._pull_of_classes
        for one in self._solved_of_classes(targets, rough):
            yield np.einsum("mkn,mkn->mn", self.rows.along_each(one), pull)

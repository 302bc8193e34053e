"""Gradients and Hessians of all records, by passes over blocks of their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.new_levels import Numbers
from statcv.models.batched.passes.triangles import Triangle
from statcv.models.families import Family, curvature
from statcv.numeric.gram import column_units, of_all_classes
from statcv.numeric.threads import QUICK, WORTH, product, shared

CACHED = 2**22  # bytes of a block of rows
UNIT_RECORDS = 1000  # records from which the units of columns are taken
MIN_CELLS_ROUNDED = 2**14  # values from which a copy of single precision saves time


@dataclass(frozen=True, eq=False)
class Passes:
    """Sums over the records, in coordinates with a unit for each column.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
    weights : numpy.ndarray, shape (n,), or None
        Weights of the records; None if all are 1.
    family : Family
        The outcomes.
    unit : numpy.ndarray, shape (p,)
        The units of the columns.
    ridge : numpy.ndarray, shape (p,)
        The penalty on the coefficients of each column.
    """

    X: Matrix
    weights: Matrix | None
    family: Family
    unit: Matrix
    ridge: Matrix

    @classmethod
    def of(cls, records: TrainingSet, family: Family, ridge: Matrix) -> Passes:
        """Prepare the sums over all records."""
        # a few records show the size of a column
        unit = column_units(records.X[:: max(1, len(records.X) // UNIT_RECORDS)])
        return cls(records.X, records.weights, family, unit, ridge)

    @property
    def size(self) -> int:
        """The number of coordinates: for each combination of classes, the columns."""
        return int(self.family.basis.shape[1] * self.X.shape[1])

    @cached_property
    def penalty(self) -> Matrix:
        """The ridge on the coordinates, shape (q,)."""
        return self.penalties(self.ridge)

    def penalties(self, ridge: Matrix) -> Matrix:
        """Return ridges on the columns, shape (…, p), as those on the coordinates."""
        return np.tile(ridge / self.unit**2, self.family.basis.shape[1])

    @cached_property
    def rounded(self) -> Passes:
        """The same sums from rows of single precision; these sums if rows are few.

        They take less than half the time, and have seven digits.
        """
        if (
            self.X.size * self.family.width < MIN_CELLS_ROUNDED
            or self.X.dtype == np.float32
        ):
            return self
        X: Any = np.empty(self.X.shape, dtype=np.float32)
        inverse, blocks = 1 / self.unit, self.blocks(1)

        def put(rows: slice) -> None:
            with np.errstate(over="ignore", under="ignore"):
                np.multiply(self.X[rows], inverse, out=X[rows], casting="same_kind")

        shared(put, blocks, self.cost(1) / len(blocks))
        weights = self.weights
        return replace(
            self,
            X=X,
            weights=None if weights is None else weights.astype(np.float32),
            family=self.family.rounded(),
            unit=np.ones_like(self.unit),
            ridge=self.ridge / self.unit**2,
        )

    @property
    def bounded(self) -> bool:
        """Whether there is an optimum, by a ridge on all columns but one at most."""
        return bool(np.count_nonzero(self.ridge) >= len(self.ridge) - 1)

    def sample(self, size: int) -> Passes:
        """Return records in equal distances, and as much of the penalty."""
        step = len(self.X) // size
        some = slice(None, None, step)
        return replace(
            self,
            X=np.ascontiguousarray(self.X[some]),
            weights=None if self.weights is None else self.weights[some],
            family=self.family.part(some),
            # the ridge then has the same share in the information as with all records
            ridge=self.ridge / step,
        )

    def coefficients(self, theta: Matrix) -> Matrix:
        """Return coefficients, shape (fits × width, p), of coordinates (fits, q)."""
        free = theta.reshape(len(theta), self.family.basis.shape[1], -1) / self.unit
        basis = self.family.basis
        if basis.shape == (1, 1):
            beta = free[:, 0]
        else:
            beta = np.einsum("kc,mcp->mkp", basis, free)
        p = self.X.shape[1]
        return np.ascontiguousarray(beta.reshape(-1, p), dtype=self.X.dtype)

    def gathered(self, sums: Matrix) -> Matrix:
        """Return derivatives by coordinates, (fits, q), of those by coefficients."""
        basis = self.family.basis
        by_class = sums.reshape(-1, len(basis), self.X.shape[1]) / self.unit
        if basis.shape != (1, 1):
            by_class = np.einsum("kc,mkp->mcp", basis, by_class)
        return np.asarray(by_class.reshape(len(by_class), -1))

    def blocks(self, fits: int) -> list[slice]:
        """Return all rows, some at a time.

        Blocks stay in the cache. Unless they are cheap there are an even number of
        them, of equal sizes, so that two threads have as much to do.
        """
        n = len(self.X)
        number = -(-n // self.rows_at_once(fits))
        if self.cost(fits) >= 2 * WORTH:
            number += number % 2
        return _cut(n, -(-n // max(number, 1)))

    def rows_at_once(self, fits: int) -> int:
        """Return the number of rows that stay in the cache."""
        cells = CACHED // int(self.X.itemsize)
        return int(max(256, cells // max(self.X.shape[1], fits * self.family.width)))

    def cost(self, fits: int) -> float:
        """Return about how many operations a pass for some fits takes."""
        return 4.0 * self.X.size * fits * self.family.width

    def summed(self, fits: int, work: Callable[[slice], Matrix]) -> Matrix:
        """Sum what a function makes of blocks of rows."""
        blocks = self.blocks(fits)
        return reduce(np.add, shared(work, blocks, self.cost(fits) / len(blocks)))

    def spread(self, theta: Matrix) -> Matrix:
        """Return the largest spread of linear predictors of each fit, (fits,)."""
        beta, fits = self.coefficients(theta), len(theta)

        def most(rows: slice) -> Matrix:
            eta = beta @ self.X[rows].T
            some = self.family.part(rows)
            spread = some.spread(eta.reshape(fits, some.width, -1))
            return np.asarray(spread.max(axis=1, initial=0.0))

        blocks = self.blocks(fits)
        found = shared(most, blocks, self.cost(fits) / 2 / len(blocks))
        return np.asarray(np.max(found, axis=0))

    def longest(self, scale: Matrix) -> float:
        """Return the greatest length of a row whose entries are divided by a scale."""
        inverse = (1 / scale**2).astype(self.X.dtype)

        def most(rows: slice) -> float:
            return float((self.X[rows] ** 2 @ inverse).max(initial=0.0))

        blocks = self.blocks(1)
        return float(np.sqrt(max(shared(most, blocks, self.cost(1) / len(blocks)))))

    def hessians(
        self,
        theta: Matrix,
        lists: Sequence[slice | Numbers],
        counts: Sequence[Matrix] | None = None,
    ) -> list[Matrix]:
        """Return minus the second derivatives of the log-likelihoods of some records.

        Parameters
        ----------
        theta : numpy.ndarray, shape (1, q) or (lists, q)
            Coordinates, of each list if they differ.
        lists : sequence of slice or numpy.ndarray of int
            The records.
        counts : sequence of numpy.ndarray, or None
            How often each of these records counts; None for once.
        """

        def of(number: int) -> Matrix:
            place = theta if len(theta) == 1 else theta[[number]]
            own = None if counts is None else counts[number]
            return self._hessian(place, lists[number], own)

        pairs = len(self.family.pairs)
        cost = QUICK * pairs * float(self.X.size) * self.X.shape[1] / len(lists)
        return shared(of, range(len(lists)), cost)

    def _hessian(
        self, theta: Matrix, own: slice | Numbers, counts: Matrix | None
    ) -> Matrix:
        p, beta = self.X.shape[1], self.coefficients(theta)
        records = np.arange(len(self.X))[own]
        sums = np.zeros((len(self.family.pairs), p, p))
        # so many rows that adding products costs little
        for rows in _cut(len(records), max(self.rows_at_once(1), 2 * p)):
            some = rows if isinstance(own, slice) else records[rows]
            X = self.X[some]
            curved = self._curvature(beta @ X.T, some)
            if self.weights is not None:
                curved *= self.weights[some]
            if counts is not None:
                curved *= counts[rows]
            for total, weights in zip(sums, curved, strict=True):
                total += _weighted(X, weights)
        # units divide the products, which spares a scaled copy of the records
        sums /= np.multiply.outer(self.unit, self.unit)
        every = of_all_classes(list(sums), int(self.family.basis.shape[1]))
        return np.asarray(every, dtype=self.X.dtype)

    def _curvature(self, eta: Matrix, rows: Any) -> Matrix:
        """Return minus the second derivatives at predictors of some rows."""
        family = self.family.part(rows)
        return curvature(family, family.variances(eta[None]))[:, 0]

    def diagonal(self, theta: Matrix) -> Matrix:
        """Return the diagonal of the Hessian with the penalty, shape (q,)."""
        beta = self.coefficients(theta)
        own = [number for number, (a, b) in enumerate(self.family.pairs) if a == b]

        def sums(rows: slice) -> Matrix:
            X = self.X[rows]
            curved = self._curvature(beta @ X.T, rows)[own]
            if self.weights is not None:
                curved *= self.weights[rows]
            return product(curved, X**2)

        squares = self.summed(1, sums) / self.unit**2
        return np.asarray(squares.ravel() + self.penalty)

    def triangles(
        self, hessians: Callable[[Passes], list[Matrix]]
    ) -> tuple[Triangle | None, ...]:
        """Return the triangles of Hessians with the penalty; None for one without.

        They are computed in single precision if that saves time and costs few digits,
        by a function of these sums, or of those of single precision.
        """
        found: tuple[Triangle | None, ...] = ()
        for passes in self.precisions:
            # single precision first; a doubtful factor is computed again
            made = hessians(passes)
            found = tuple(shared(passes.decomposed, made, self.size**3 / 10))
            if None not in found:
                break
        return found

    def decomposed(self, hessian: Matrix) -> Triangle | None:
        """Add the penalty to a Hessian, in place, and decompose it."""
        q = len(hessian)
        hessian.flat[:: q + 1] += self.penalty[:q].astype(hessian.dtype)
        return Triangle.of(hessian)

    @property
    def precisions(self) -> tuple[Passes, ...]:
        """The quickest way to the sums, then the most precise."""
        return (self,) if self.rounded is self else (self.rounded, self)


def _cut(n: int, size: int) -> list[slice]:
    """Return n rows in stretches of one size, but the last."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _weighted(X: Matrix, weights: Matrix) -> Matrix:
    """Return the sum of weighted products of rows."""
    if (weights < 0).any():
        return product(X.T * weights, X)
    rows = X * np.sqrt(weights)[:, None]
    return product(rows.T, rows)  # half the work of two different matrices

"""Gradients and Hessians of all records, by passes over blocks of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.families import Family, curvature
from statcv.numeric.gram import column_units, of_all_classes
from statcv.numeric.threads import QUICK, WORTH, product, ranges, shared

CACHED = 2**19  # values of a block of rows
PARTS = 4  # parts of the records at most whose Hessians threads share
UNIT_RECORDS = 1000  # records from which the units of columns are taken


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
        """The same sums from rows of single precision, in half the time."""
        X: Any = np.empty(self.X.shape, dtype=np.float32)
        with np.errstate(over="ignore", under="ignore"):
            np.divide(self.X, self.unit, out=X, casting="same_kind")
        weights = self.weights
        return replace(
            self,
            X=X,
            weights=None if weights is None else weights.astype(np.float32),
            family=self.family.rounded(),
            unit=np.ones_like(self.unit),
            ridge=self.ridge / self.unit**2,
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
        return max(256, CACHED // int(max(self.X.shape[1], fits * self.family.width)))

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

    def hessian(self, theta: Matrix, often: Matrix) -> Matrix:
        """Return minus the second derivatives of a log-likelihood, shape (q, q).

        Parameters
        ----------
        theta : numpy.ndarray, shape (1, q)
            Coordinates.
        often : numpy.ndarray, shape (n,)
            How often each record counts.
        """
        (n, p), beta = self.X.shape, self.coefficients(theta)
        pairs = len(self.family.pairs)
        # so many rows that adding products costs little
        size = max(self.rows_at_once(1), 2 * p)

        def part(records: range) -> Matrix:
            total = np.zeros((pairs, p, p), dtype=self.X.dtype)
            for cut in _cut(len(records), size):
                rows = slice(records.start + cut.start, records.start + cut.stop)
                X = self.X[rows]
                curved = self._curvature(beta @ X.T, rows)
                if self.weights is not None:
                    curved *= self.weights[rows]
                curved *= often[rows]
                for sums, weights in zip(total, curved, strict=True):
                    sums += _weighted(X, weights)
            return total

        cost = QUICK * pairs * float(self.X.size) * p
        parts = ranges(n, min(PARTS, int(cost / WORTH)))
        made = np.sum(shared(part, parts, cost / len(parts)), axis=0)
        # units divide the products, which spares a scaled copy of the records
        made /= np.multiply.outer(self.unit, self.unit)
        every = of_all_classes(list(made), int(self.family.basis.shape[1]))
        return np.asarray(every, dtype=self.X.dtype)

    def _curvature(self, eta: Matrix, rows: slice) -> Matrix:
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


def _cut(n: int, size: int) -> list[slice]:
    """Return n rows in stretches of one size, but the last."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _weighted(X: Matrix, weights: Matrix) -> Matrix:
    """Return the sum of weighted products of rows."""
    if (weights < 0).any():
        return product(X.T * weights, X)
    rows = X * np.sqrt(weights)[:, None]
    return product(rows.T, rows)  # half the work of two different matrices

"""Gradients and Hessians of all records, by passes over blocks of their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.new_levels import Numbers
from statcv.models.families import Family, curvature
from statcv.numeric.gram import column_units, of_all_classes
from statcv.numeric.threads import QUICK, WORTH, product, shared

CACHED = 2**19  # values of a block of rows
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

    def coefficients(self, theta: Matrix) -> Matrix:
        """Return coefficients, shape (fits × width, p), of coordinates (fits, q)."""
        free = theta.reshape(len(theta), self.family.basis.shape[1], -1) / self.unit
        basis = self.family.basis
        if basis.shape == (1, 1):
            beta = free[:, 0]
        else:
            beta = np.einsum("kc,mcp->mkp", basis, free)
        p = self.X.shape[1]
        return np.ascontiguousarray(beta.reshape(-1, p))

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
        inverse = 1 / scale**2

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
        return of_all_classes(list(sums), int(self.family.basis.shape[1]))

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


def _cut(n: int, size: int) -> list[slice]:
    """Return n rows in stretches of one size, but the last."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _weighted(X: Matrix, weights: Matrix) -> Matrix:
    """Return the sum of weighted products of rows."""
    if (weights < 0).any():
        return product(X.T * weights, X)
    rows = X * np.sqrt(weights)[:, None]
    return product(rows.T, rows)  # half the work of two different matrices

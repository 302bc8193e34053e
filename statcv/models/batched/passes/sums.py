"""Gradients and Hessians of all records, by passes over blocks of their rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.downdate import products_of
from statcv.models.batched.folds import Numbers
from statcv.models.batched.passes.families import Family
from statcv.models.batched.passes.triangles import Triangle
from statcv.models.newton import column_units

CACHED = 2**17  # numbers of a block of rows: 1 MB
LEAST = 2000  # records from which the units of columns are taken
HEAVY = 64  # coefficients from which products of single precision save time
FEW, MORE = 2**16, 2**21  # products of two columns that are kept for few fits, and
SEVERAL = 16  # for so many


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
        X = records.X
        unit = column_units(X[:: max(1, len(X) // LEAST)])
        return cls(X, records.weights, family, unit, ridge)

    @property
    def size(self) -> int:
        """The number of coordinates: for each combination of classes, the columns."""
        return int(self.family.basis.shape[1] * self.X.shape[1])

    @cached_property
    def penalty(self) -> Matrix:
        """The ridge on the coordinates, shape (q,)."""
        return np.tile(self.ridge / self.unit**2, self.family.basis.shape[1])

    def pairs(self, fits: int) -> Matrix | None:
        """Return products of each record's entries, if that pays for so many fits."""
        (n, p), many = self.X.shape, fits >= SEVERAL
        if self.family.basis.shape != (1, 1) or n * p * p > (MORE if many else FEW):
            return None
        return products_of(self.X)

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
            ridge=self.ridge / step,
        )

    def coefficients(self, theta: Matrix) -> Matrix:
        """Return coefficients, shape (fits × width, p), of coordinates (fits, q)."""
        free = theta.reshape(len(theta), self.family.basis.shape[1], -1) / self.unit
        basis = self.family.basis
        if basis.shape == (1, 1):
            return np.ascontiguousarray(free[:, 0])
        beta = np.einsum("kc,mcp->mkp", basis, free)
        return np.ascontiguousarray(beta.reshape(-1, self.X.shape[1]))

    def gathered(self, sums: Matrix) -> Matrix:
        """Return derivatives by coordinates, (fits, q), of those by coefficients."""
        basis = self.family.basis
        by_class = sums.reshape(-1, len(basis), self.X.shape[1]) / self.unit
        if basis.shape != (1, 1):
            by_class = np.einsum("kc,mkp->mcp", basis, by_class)
        return np.asarray(by_class.reshape(len(by_class), -1))

    def blocks(self, fits: int) -> list[slice]:
        """Return all rows, some at a time."""
        n, p = self.X.shape
        size = max(256, CACHED // max(p, fits * self.family.width))
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def summed(self, fits: int, work: Callable[[slice], Matrix]) -> Matrix:
        """Sum what a function makes of blocks of rows."""
        first, *others = self.blocks(fits)
        total = work(first)
        for rows in others:
            total += work(rows)
        return total

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of all records at coordinates, each (1, q)."""
        beta = self.coefficients(theta)

        def sums(rows: slice) -> Matrix:
            X = self.X[rows]
            with np.errstate(over="ignore"):
                eta = beta @ X.T
                self.family.pull(eta[None], rows)
            if self.weights is not None:
                eta *= self.weights[rows]
            return np.asarray(eta @ X)

        total = self.summed(1, sums)
        return self.gathered(total) - theta * self.penalty

    def spread(self, theta: Matrix) -> Matrix:
        """Return the largest spread of linear predictors of each fit, (fits,)."""
        beta, most = self.coefficients(theta), np.zeros(len(theta))
        for rows in self.blocks(len(theta)):
            eta = beta @ self.X[rows].T
            eta = eta.reshape(len(theta), self.family.width, -1)
            most = np.maximum(most, self.family.spread(eta))
        return most

    def longest(self, scale: Matrix) -> float:
        """Return the greatest length of a row whose entries are divided by a scale."""
        most, inverse = 0.0, 1 / scale**2
        for rows in self.blocks(1):
            most = max(most, float((self.X[rows] ** 2 @ inverse).max(initial=0.0)))
        return float(np.sqrt(most))

    def hessian(
        self,
        theta: Matrix,
        rows: Numbers | None = None,
        less: Matrix | None = None,
        single: bool = False,
    ) -> Matrix:
        """Return minus the second derivatives of the log-likelihood, shape (q, q).

        Parameters
        ----------
        theta : numpy.ndarray, shape (1, q)
        rows : numpy.ndarray of int, or None
            The records whose derivatives are summed; None for all.
        less : numpy.ndarray, or None
            How often each of these records counts; None for once.
        single : bool
            Whether products are of single precision, which takes half the time.
        """
        n, p = self.X.shape
        beta, free = self.coefficients(theta), self.family.basis.shape[1]
        pairs = [(a, b) for a in range(free) for b in range(a, free)]
        sums = np.zeros((len(pairs), p, p), np.float32 if single else np.float64)
        many = n if rows is None else len(rows)
        size = max(256, CACHED // p)
        room = np.empty((min(size, many), p), sums.dtype)
        for start in range(0, many, size):
            stop = min(start + size, many)
            some: Any = slice(start, stop) if rows is None else rows[start:stop]
            X = self.X[some]
            curved = self.family.curvature(beta @ X.T)
            if self.weights is not None:
                curved *= self.weights[some]
            if less is not None:
                curved *= less[start:stop]
            _add_products(sums, X, curved, room[: len(X)])
        sums /= np.multiply.outer(self.unit, self.unit)
        whole = np.empty((free, p, free, p), sums.dtype)
        for (a, b), pair in zip(pairs, sums, strict=True):
            whole[a, :, b] = whole[b, :, a] = pair
        return np.asarray(whole.reshape(free * p, free * p))

    def diagonal(self, theta: Matrix) -> Matrix:
        """Return the diagonal of the Hessian with the penalty, shape (q,)."""
        beta, free = self.coefficients(theta), self.family.basis.shape[1]
        pairs = [(a, b) for a in range(free) for b in range(a, free)]
        own = [number for number, (a, b) in enumerate(pairs) if a == b]

        def sums(rows: slice) -> Matrix:
            X = self.X[rows]
            curved = self.family.curvature(beta @ X.T)[own]
            if self.weights is not None:
                curved *= self.weights[rows]
            return np.asarray(curved @ X**2)

        squares = self.summed(1, sums) / self.unit**2
        return np.asarray(squares.ravel() + self.penalty)

    def triangle(self, theta: Matrix, counts: Matrix | None = None) -> Triangle | None:
        """Return the triangle of the Hessian with the penalty; None without one.

        It is computed in single precision if that saves time and costs few digits.
        """
        q = self.size
        found = None
        for single in (True, False) if q >= HEAVY else (False,):
            hessian = self.hessian(theta, None, counts, single)
            hessian.flat[:: q + 1] += self.penalty.astype(hessian.dtype)
            found = Triangle.of(hessian)
            if found is not None:
                break
        return found


def _add_products(sums: Matrix, X: Matrix, curved: Matrix, room: Matrix) -> None:
    """Add products of the rows of X, weighted, to the sums for each two classes."""
    if len(sums) == 1 and (curved >= 0).all():
        np.multiply(X, np.sqrt(curved[0])[:, None], out=room, casting="same_kind")
        sums[0] += room.T @ room  # half the work of two different matrices
        return
    for pair, own in zip(sums, curved, strict=True):
        pair += (X.T * own) @ X

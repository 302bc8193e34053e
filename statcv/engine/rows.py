"""The design matrices of fits that share a basis, and sums over their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.models.batched import information_of, quadratic_of
from statcv.threads import product

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of the matrices of m fits.

    Attributes
    ----------
    basis : numpy.ndarray, shape (n, r)
        Rows that all fits share.
    own : numpy.ndarray, shape (m, r, p), or None
        What the rows of each fit are, in terms of these; None if they are the same.

    Examples
    --------
    >>> rows = Rows(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[[1.0], [3.0]]]))
    >>> rows.matrix(0)
    array([[1.],
           [7.]])
    >>> rows.along(np.array([[2.0]]))
    array([[ 2., 14.]])
    """

    basis: Floats
    own: Floats | None = None

    def part(self, some: slice) -> Rows:
        """Return some of the rows."""
        return Rows(self.basis[some], self.own)

    def values(self, fit: int, rows: Numbers, vector: Floats) -> Floats:
        """Return products of some rows of a fit and a vector of shape (p,)."""
        own = vector if self.own is None else self.own[fit] @ vector
        return np.asarray(self.basis[rows] @ own)

    def matrix(self, fit: int) -> Floats:
        """Return the matrix of a fit, shape (n, p)."""
        return self.basis if self.own is None else self.basis @ self.own[fit]

    def along(self, vectors: Floats) -> Floats:
        """Return products of all rows and a vector of each fit.

        Shape (m, n) of vectors of shape (m, p), (m, n, k) of shape (m, p, k).
        """
        if self.own is not None:
            vectors = np.einsum("mrp,mp...->mr...", self.own, vectors)
        if vectors.ndim == 2:
            return np.asarray(vectors @ self.basis.T)
        return np.asarray(np.einsum("mrk,nr->mnk", vectors, self.basis, optimize=True))

    def along_each(self, vectors: Floats) -> Floats:
        """Return products of all rows and k vectors of each fit.

        Shape (…, m, k, n) of vectors of shape (…, m, k, p).
        """
        own = self.own
        inside = vectors if own is None else np.matmul(vectors, own.swapaxes(1, 2))
        made = product(inside.reshape(-1, inside.shape[-1]), self.basis.T)
        return made.reshape(*vectors.shape[:-1], -1)

    def sums(self, weights: Floats) -> Floats:
        """Return weighted sums of the rows of each fit, (m, p), weights (m, n)."""
        return self.turned(weights @ self.basis)

    def sums_of_each(self, weights: Floats) -> Floats:
        """Return k weighted sums of the rows of each fit.

        Shape (…, m, k, p) of weights of shape (…, m, k, n).
        """
        made = product(weights.reshape(-1, weights.shape[-1]), self.basis)
        made = made.reshape(*weights.shape[:-1], -1)
        return made if self.own is None else np.asarray(np.matmul(made, self.own))

    def some(self, fit: int, rows: Numbers, weights: Floats) -> Floats:
        """Return a weighted sum of some rows of a fit, (p,) or (p, k)."""
        return self.turned(self.basis[rows].T @ weights, fit)

    def turned(self, sums: Floats, fits: slice | int | Numbers = slice(None)) -> Floats:
        """Return sums over the rows of fits, from those over the basis."""
        if self.own is None:
            return sums
        own = self.own[fits]
        if own.ndim == 2:
            return np.asarray(own.T @ sums)
        return np.asarray(np.einsum("mrp,mr->mp", own, sums))

    def information(self, weights: Floats) -> Floats:
        """Return X'WX of each fit, shape (m, p, p), weights (m, n)."""
        return self.between(information_of(self.basis, weights))

    def between(self, made: Floats) -> Floats:
        """Return X'WX of each fit, from that of the basis."""
        return made if self.own is None else self._between(made, self.own)

    def quadratic(self, matrices: Floats) -> Floats:
        """Return x'Ax for every row x and the matrix A of each fit, shape (m, n)."""
        if self.own is not None:
            matrices = self._between(matrices, self.own.transpose(0, 2, 1))
        return quadratic_of(self.basis, matrices)

    @staticmethod
    def _between(matrices: Floats, own: Floats) -> Floats:
        return np.asarray(np.matmul(own.swapaxes(-1, -2), np.matmul(matrices, own)))

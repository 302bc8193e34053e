"""The design matrices of fits that share a basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BasisRows:
    """The rows of the matrices of m fits.

    Attributes
    ----------
    basis : numpy.ndarray, shape (n, r)
        Rows that all fits share.
    own : numpy.ndarray, shape (m, r, p), or None
        What the rows of each fit are, in terms of these; None if they are the same.

    Examples
    --------
    >>> rows = BasisRows(np.array([[1.0, 0.0], [1.0, 2.0]]), np.array([[[1.0], [3.0]]]))
    >>> rows.matrix(0)
    array([[1.],
           [7.]])
    >>> rows.along(np.array([[2.0]]))
    array([[ 2., 14.]])
    """

    basis: Floats
    own: Floats | None = None

    def matrix(self, fit: int) -> Floats:
        """Return the matrix of a fit, shape (n, p)."""
        return self.basis if self.own is None else self.basis @ self.own[fit]

    def along(self, vectors: Floats) -> Floats:
        """Return products of all rows and a vector of each fit, (m, n) of (m, p)."""
        if self.own is not None:
            # (BA)v = B(Av), so that the matrix of no fit is made
            vectors = np.einsum("mrp,mp->mr", self.own, vectors)
        return np.asarray(vectors @ self.basis.T)

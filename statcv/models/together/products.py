"""Sums over records of products of two columns, for many weightings at once."""

from __future__ import annotations

import numpy as np

from statcv.models.base import Matrix

MOST = 2**22  # numbers in the products of all records: 32 MB


def products_of(X: Matrix) -> Matrix | None:
    """Return the products of each row's entries, shape (n, q (q + 1) / 2).

    Gram matrices are sums of them; None where they would take much memory.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [1.0, 3.0]])
    >>> products_of(X)
    array([[1., 2., 4.],
           [1., 3., 9.]])
    >>> grams(np.ones((1, 2)), products_of(X), 2)
    array([[[ 2.,  5.],
            [ 5., 13.]]])
    """
    n, q = X.shape
    if n * q * (q + 1) // 2 > MOST:
        return None
    first, second = np.triu_indices(q)
    return np.asarray(X[:, first] * X[:, second])


def grams(weights: Matrix, products: Matrix, q: int) -> Matrix:
    """Return the Gram matrices of weighted rows, shape (m, q, q), weights (m, n)."""
    place = np.zeros((q, q), dtype=np.intp)
    upper = np.triu_indices(q)
    place[upper] = np.arange(len(upper[0]))
    return np.take(weights @ products, np.maximum(place, place.T), axis=1)

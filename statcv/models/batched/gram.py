"""Gram matrices and quadratic forms of rows, from the products of their entries."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix

MOST = 2**22  # products that are kept: 32 MB


def products_of(X: Matrix, out: Matrix | None = None) -> Matrix:
    """Return the products of each row's entries, shape (q (q + 1) / 2, n).

    Parameters
    ----------
    X : numpy.ndarray, shape (n, q)
    out : numpy.ndarray, shape (q (q + 1) / 2, n), optional
        Where to put them.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [1.0, 3.0]])
    >>> products_of(X)
    array([[1., 1.],
           [2., 3.],
           [4., 9.]])
    >>> grams(np.ones((1, 2)), products_of(X), 2)
    array([[[ 2.,  5.],
            [ 5., 13.]]])
    """
    n, q = X.shape
    columns = np.ascontiguousarray(X.T)
    made = np.empty((q * (q + 1) // 2, n), X.dtype) if out is None else out
    start = 0
    for number in range(q):
        stop = start + q - number
        np.multiply(columns[number], columns[number:], out=made[start:stop])
        start = stop
    return made


def kept_products_of(X: Matrix) -> Matrix | None:
    """Return what :func:`products_of` does; None if that would take much memory."""
    n, q = X.shape
    return products_of(X) if n * q * (q + 1) // 2 <= MOST else None


def grams(weights: Matrix, products: Matrix, q: int) -> Matrix:
    """Return the Gram matrices of weighted rows, shape (m, q, q), weights (m, n)."""
    return symmetric(weights @ products.T, q)


def quadratic_forms(matrices: Matrix, products: Matrix) -> Matrix:
    """Return x'Ax for every row x and each symmetric matrix A, shape (m, n).

    Examples
    --------
    >>> products = products_of(np.array([[1.0, 2.0], [1.0, 3.0]]))
    >>> quadratic_forms(np.array([[[1.0, 1.0], [1.0, 0.0]]]), products)
    array([[5., 7.]])
    """
    first, second = np.triu_indices(matrices.shape[-1])
    upper = matrices[:, first, second] * np.where(first == second, 1.0, 2.0)
    return np.asarray(upper @ products)


def symmetric(upper: Matrix, q: int) -> Matrix:
    """Return symmetric matrices, (m, q, q), by their upper triangles row by row.

    Examples
    --------
    >>> symmetric(np.array([[1.0, 2.0, 3.0]]), 2)
    array([[[1., 2.],
            [2., 3.]]])
    """
    return np.take(upper, _places(q), axis=1)


@lru_cache
def _places(q: int) -> NDArray[np.intp]:
    """Return where each cell of a symmetric matrix stands in its upper triangle."""
    place = np.zeros((q, q), dtype=np.intp)
    first, second = np.triu_indices(q)
    place[first, second] = place[second, first] = np.arange(len(first))
    return place

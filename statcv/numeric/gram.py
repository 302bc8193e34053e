"""Gram matrices and quadratic forms of rows, or of the products of their entries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from statcv.numeric.arrays import Floats, Numbers
from statcv.numeric.threads import product, shared

FEW = 2  # sets of weights up to which pairs of columns need not be listed
# multiplications from which records of weight 0 are left out, and fits summed apart
MIN_WORK_EACH = 2**19
MANY = 64  # columns beyond which there are too many pairs of columns to list
PRODUCTS = 2**19  # products of two columns that stay in the cache when summed
CACHED = 2**18  # values of a block of rows that stay in the cache
MIN_ROWS = 256  # rows of a block at least, so that products are efficient
FORMS = 2**18  # products of two columns that stay in the cache in quadratic forms


def products_of(X: Floats, out: Floats | None = None) -> Floats:
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


def information_of(
    X: Floats, weights: Floats, precision: type[np.floating[Any]] = np.float64
) -> Floats:
    """Return X'WX for several sets of weights, shape (m, p, p).

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
    weights : numpy.ndarray, shape (m, n)
    precision : type, default numpy.float64
        That of the products, if columns are many.

    Examples
    --------
    >>> information_of(np.array([[1.0, 2.0], [1.0, 0.0]]), np.array([[1.0, 3.0]]))
    array([[[4., 2.],
            [2., 4.]]])
    """
    (n, p), fits = X.shape, len(weights)
    sparse = n * p**2 > MIN_WORK_EACH and np.count_nonzero(weights) <= FEW * n
    if 0 < fits <= FEW or p > MANY or sparse:
        made = np.zeros((fits, p, p), precision)
        rooted = p > MANY and weights.min(initial=0.0) >= 0  # half the work
        scale = (np.sqrt(weights) if rooted else weights).astype(precision)
        step = max(MIN_ROWS, CACHED // max(p, 1))

        def put(fit: int) -> None:
            used = np.flatnonzero(scale[fit])
            for start in range(0, len(used), step):
                rows: Any = used[start : start + step]
                if len(used) == n:  # a view
                    rows = slice(start, start + step)
                part = X[rows].astype(precision, copy=False)
                scaled = part * scale[fit, rows, None]
                made[fit] += product(scaled.T, scaled if rooted else part)

        shared(put, range(fits), float(n) * p**2)
        return made
    pairs = p * (p + 1) // 2
    sums = np.zeros((fits, pairs))
    step = min(max(64, PRODUCTS // max(pairs, 1)), max(n, 1))
    room = np.empty((pairs, step))
    for start in range(0, n, step):
        own = weights[:, start : start + step]
        part = X[start : start + step]
        # one product serves all fits: products of columns times weights
        sums += product(own, products_of(part, out=room[:, : len(part)]).T)
    return np.take(sums, _places(p), axis=1)


def of_all_classes(found: Sequence[Floats], classes: int) -> Floats:
    """Put matrices for each two classes together, shape (…, c p, c p).

    Parameters
    ----------
    found : sequence of numpy.ndarray, shape (…, p, p)
        A symmetric matrix for each pair of classes, those of the first class first.
    classes : int

    Examples
    --------
    >>> one, two, three = (np.array([[number]]) for number in (1, 2, 3))
    >>> of_all_classes([one, two, three], 2)
    array([[1, 2],
           [2, 3]])
    """
    if classes == 1:
        return found[0]
    (*fits, p, _), kind = found[0].shape, found[0].dtype
    made = np.empty((*fits, classes, p, classes, p), kind)
    for a, b, both in zip(*np.triu_indices(classes), found, strict=True):
        made[..., a, :, b, :] = made[..., b, :, a, :] = both
    return made.reshape(*fits, classes * p, classes * p)


def quadratic_of(X: Floats, matrix: Floats) -> Floats:
    """Return x'Ax for every row x of X and each of several symmetric matrices A.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
    matrix : numpy.ndarray, shape (m, p, p)

    Returns
    -------
    numpy.ndarray, shape (m, n)

    Examples
    --------
    >>> quadratic_of(np.array([[1.0, 2.0]]), np.array([[[1.0, 1.0], [1.0, 0.0]]]))
    array([[5.]])
    """
    (n, p), fits = X.shape, len(matrix)
    found, pairs = np.empty((fits, n)), p * (p + 1) // 2
    if fits <= pairs:

        def put(fit: int) -> None:
            np.einsum("np,np->n", product(X, matrix[fit]), X, out=found[fit])

        shared(put, range(fits), float(n) * p**2)
        return found
    first, second = np.triu_indices(p)
    # off the diagonal each product occurs twice
    upper = matrix[:, first, second] * np.where(first == second, 1.0, 2.0)
    step = max(1, FORMS // max(pairs, 1))
    for start in range(0, n, step):
        some = slice(start, start + step)
        found[:, some] = upper @ products_of(X[some])
    return found


@lru_cache
def _places(q: int) -> Numbers:
    """Return where each cell of a symmetric matrix stands in its upper triangle."""
    place = np.zeros((q, q), dtype=np.intp)
    first, second = np.triu_indices(q)
    place[first, second] = place[second, first] = np.arange(len(first))
    return place


def column_units(X: Floats) -> Floats:
    """Return for each column the power of two by which to divide it.

    Columns of very different size would cost digits, and least squares would treat the
    small ones as linearly dependent.
    """
    largest = np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
    return np.asarray(np.exp2(np.rint(np.log2(np.where(largest > 0, largest, 1.0)))))

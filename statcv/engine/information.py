"""Information matrices of many fits to the same rows, and what is solved with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from statcv.models.batched import (
    CELLS,
    products_of,
    quadratic_forms,
    symmetric,
    symmetric_inverse,
)
from statcv.threads import product, ranges, shared

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

TINY = 1e-12  # added to an information matrix whose diagonal is 1
FEW = 2  # sets of weights, for which pairs of columns need not be listed
MANY = 64  # columns, of whose pairs there are too many to list
ROWS = 1024  # whose products stay in the cache of a processor
PRODUCTS = 2**19  # of two columns, that stay there
PARTS = 8  # of many matrices


def information(X: Floats, weights: Floats) -> Floats:
    """Return X'WX for several sets of weights, shape (m, p, p).

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
    weights : numpy.ndarray, shape (m, n)

    Examples
    --------
    >>> information(np.array([[1.0, 2.0], [1.0, 0.0]]), np.array([[1.0, 3.0]]))
    array([[[4., 2.],
            [2., 4.]]])
    """
    (n, p), fits = X.shape, len(weights)
    if 0 < fits <= FEW and p <= MANY:
        return np.array([product(X.T * own, X) for own in weights])
    if p > MANY and weights.min(initial=0.0) >= 0:
        made, root = np.empty((fits, p, p)), np.sqrt(weights)

        def put(fit: int) -> None:
            rows = X * root[fit, :, None]
            made[fit] = product(rows.T, rows)  # half the work of two matrices

        shared(put, range(fits), float(n) * p**2)
        return made
    if p > MANY and fits <= p * (p + 1) // 2:
        total = np.zeros((fits * p, p))
        for start in range(0, n, ROWS):
            part, own = X[start : start + ROWS], weights[:, start : start + ROWS]
            total += (own[:, None] * part.T).reshape(fits * p, -1) @ part
        return total.reshape(fits, p, p)
    pairs = p * (p + 1) // 2
    sums = np.zeros((fits, pairs))
    step = min(max(64, PRODUCTS // max(pairs, 1)), max(n, 1))
    room = np.empty((pairs, step))
    for start in range(0, n, step):
        own = weights[:, start : start + step]
        part = X[start : start + step]
        sums += product(own, products_of(part, out=room[:, : len(part)]).T)
    return symmetric(sums, p)


def solve(matrix: Floats, penalty: Floats, target: Floats) -> Floats:
    """Solve penalised systems of equations, with 0 for what is not determined.

    Parameters
    ----------
    matrix : numpy.ndarray, shape (m, p, p)
        Symmetric matrices without negative eigenvalues.
    penalty : numpy.ndarray, shape (m, p)
        What is added to the diagonal; infinite for an unknown that is 0.
    target : numpy.ndarray, shape (m, p, k)
        Right-hand sides.

    Examples
    --------
    >>> matrix = np.array([[[1.0, 1.0], [1.0, 1.0]]])
    >>> solve(matrix, np.array([[1.0, np.inf]]), np.array([[[4.0], [1.0]]]))
    array([[[2.],
            [0.]]])
    """
    made = np.empty(target.shape)

    def put(some: range) -> None:
        part = slice(some.start, some.stop)
        scaled, root = _equilibrated(matrix[part], penalty[part])
        root = root[:, :, None]
        np.divide(np.linalg.solve(scaled, target[part] / root), root, out=made[part])

    _each(put, matrix)
    return made


def inverted(matrix: Floats, penalty: Floats) -> Floats:
    """Return the inverse of penalised matrices, with 0 for what is not determined.

    Parameters
    ----------
    matrix, penalty
        As :func:`solve` takes them.

    Examples
    --------
    >>> inverted(np.array([[[2.0, 0.0], [0.0, 1.0]]]), np.array([[2.0, np.inf]]))
    array([[[0.25, 0.  ],
            [0.  , 0.  ]]])
    """
    made = np.empty(matrix.shape)

    def put(some: range) -> None:
        part = slice(some.start, some.stop)
        scaled, root = _equilibrated(matrix[part], penalty[part])
        np.divide(inverses(scaled), root[:, :, None], out=made[part])
        made[part] /= root[:, None, :]

    _each(put, matrix)
    return made


def inverses(matrices: Floats) -> Floats:
    """Return the inverses of symmetric matrices, most of them positive definite."""
    made = symmetric_inverse(matrices)
    other = ~np.isfinite(made).all(axis=(1, 2))
    made[other] = np.linalg.inv(matrices[other])
    return made


def _each(work: Callable[[range], None], matrix: Floats) -> None:
    """Do something with some of the matrices at a time, which threads may share."""
    parts = ranges(len(matrix), PARTS)
    shared(work, parts, float(matrix.size) * matrix.shape[-1] / max(len(parts), 1))


def _equilibrated(matrix: Floats, penalty: Floats) -> tuple[Floats, Floats]:
    """Return penalised matrices with a diagonal of 1, and the roots of their own."""
    used = np.isfinite(penalty)
    diagonal = np.einsum("mpp->mp", matrix) + np.where(used, penalty, 0.0)
    used &= diagonal > 0
    root = np.where(used, np.sqrt(np.where(used, diagonal, 1.0)), np.inf)
    scaled = matrix / root[:, :, None]
    scaled /= root[:, None, :]
    np.einsum("mpp->mp", scaled)[...] = 1 + TINY
    return scaled, root


def quadratic(X: Floats, matrix: Floats) -> Floats:
    """Return x'Ax for every row x of X and each of several matrices A.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
    matrix : numpy.ndarray, shape (m, p, p)

    Returns
    -------
    numpy.ndarray, shape (m, n)

    Examples
    --------
    >>> quadratic(np.array([[1.0, 2.0]]), np.array([[[1.0, 1.0], [1.0, 0.0]]]))
    array([[5.]])
    """
    (n, p), fits = X.shape, len(matrix)
    found = np.empty((fits, n))
    if p > MANY:

        def put_own(fit: int) -> None:
            found[fit] = _quadratic(X, matrix[fit])

        shared(put_own, range(fits), float(n) * p**2)
        return found
    side = matrix.transpose(1, 0, 2).reshape(p, -1)
    if fits <= p * (p + 1) // 2:

        def put(start: int) -> None:
            part = X[start : start + ROWS]
            turned = (part @ side).reshape(len(part), fits, p)
            found[:, start : start + ROWS] = np.einsum("nmp,np->mn", turned, part)

        shared(put, range(0, n, ROWS), 4.0 * fits * ROWS * p**2)
        return found
    step = max(1, CELLS // max(p * (p + 1) // 2, 1))
    for start in range(0, n, step):
        some = slice(start, start + step)
        found[:, some] = quadratic_forms(matrix, products_of(X[some]))
    return found


def _quadratic(X: Floats, matrix: Floats) -> Floats:
    """Return x'Ax for every row x, and a matrix of many columns.

    Its half would take less time, but leaves differences of large numbers to the end.
    """
    found = np.empty(len(X))
    for first in range(0, len(X), ROWS):
        rows = X[first : first + ROWS]
        turned = product(rows, matrix)
        np.einsum("np,np->n", turned, rows, out=found[first : first + ROWS])
    return found

"""What is solved with the information matrices of many fits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from statcv.models.batched import symmetric_inverse
from statcv.threads import ranges, shared

Floats = NDArray[np.float64]

TINY = 1e-12  # added to an information matrix whose diagonal is 1
PARTS = 8  # of many matrices


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

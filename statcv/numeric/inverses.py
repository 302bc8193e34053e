"""Cholesky's decomposition with a guard, and inverses by it.

A matrix whose factor has a small pivot is not solved, since that would cost digits.
"""

from __future__ import annotations

import numpy as np

from statcv.numeric.arrays import Bools, Floats

CONDITION = 1e6  # about the largest condition number of a matrix solved as it is
LEAST = 1e-150  # information on a coefficient; with less it is not determined
TINY = 1e-12  # added to an information matrix whose diagonal is 1


def solve_well(matrices: Floats, right: Floats) -> tuple[Floats, Bools]:
    """Solve for symmetric matrices, and tell where that costs few digits.

    Parameters
    ----------
    matrices : numpy.ndarray, shape (m, p, p)
    right : numpy.ndarray, shape (m, p), or (m, p, k)

    Returns
    -------
    solved : numpy.ndarray, shaped as ``right``
        0 where it would cost many digits.
    well : numpy.ndarray of bool, shape (m,)

    Examples
    --------
    >>> matrices = np.array([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]])
    >>> solve_well(matrices, np.ones((2, 2)))
    (array([[0.5 , 0.25],
           [0.  , 0.  ]]), array([ True, False]))
    """
    diagonal = np.einsum("mpp->mp", matrices)
    # a unit diagonal, so that the least pivot depends on collinearity alone
    size = np.sqrt(np.where(diagonal > 0, diagonal, np.nan))
    L = factors(matrices / (size[:, :, None] * size[:, None, :]))
    pivots = np.einsum("mpp->mp", L).min(axis=1, initial=1.0)
    well = pivots**2 * CONDITION > 1
    every = right if right.ndim == 3 else right[:, :, None]
    solved, size, L = np.zeros_like(every), size[well, :, None], L[well]
    half = np.linalg.solve(L, every[well] / size)
    solved[well] = np.linalg.solve(L.swapaxes(1, 2), half) / size
    return solved.reshape(right.shape), well


def factors(matrices: Floats) -> Floats:
    """Return the lower Cholesky factor of each matrix; NaN without one."""
    try:
        return np.asarray(np.linalg.cholesky(matrices))
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full_like(matrices, np.nan)
        half = len(matrices) // 2
        return np.concatenate([factors(matrices[:half]), factors(matrices[half:])])


def inverted(matrix: Floats, penalty: Floats) -> Floats:
    """Return the inverse of a penalised matrix, with 0 for what is not determined.

    Parameters
    ----------
    matrix : numpy.ndarray, shape (p, p)
        Symmetric, without negative eigenvalues.
    penalty : numpy.ndarray, shape (p,)
        What is added to the diagonal; infinite for an unknown that is 0.

    Examples
    --------
    >>> inverted(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([2.0, np.inf]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    used = np.isfinite(penalty)
    diagonal = np.diag(matrix) + np.where(used, penalty, 0.0)
    used &= diagonal > LEAST  # such as where fitted probabilities are 0 and 1
    root = np.where(used, np.sqrt(np.where(used, diagonal, 1.0)), np.inf)
    scaled = matrix / root / root[:, None]
    np.fill_diagonal(scaled, 1 + TINY)
    return np.asarray(np.linalg.inv(scaled) / root / root[:, None])

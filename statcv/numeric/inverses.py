"""Cholesky's decomposition with a guard, and inverses by it.

A matrix whose factor has a small pivot is not solved, since that would cost digits.
Large matrices are decomposed while other threads go on, which the functions of
:mod:`scipy.linalg` would stop: the routines of BLAS and LAPACK behind these do not, if
they are called as scipy offers them to compiled programs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


LETTER = ctypes.c_char(b"L")
LOWER = ctypes.addressof(LETTER)  # L of a transpose
ROUTINES = {  # the module of each routine, and its number of arguments
    "potrf": ("cython_lapack", 5),
    "potri": ("cython_lapack", 5),
}
CONDITION = 1e6  # about the largest condition number of a matrix solved as it is
LEAST = 1e-150  # information on a coefficient; with less it is not determined
TINY = 1e-12  # added to an information matrix whose diagonal is 1


def decompose(matrix: Matrix) -> bool:
    """Put a Cholesky factor in the place of the upper triangle of a matrix.

    LAPACK reads the rows as columns, and takes a fifth longer for the other triangle.

    Parameters
    ----------
    matrix : numpy.ndarray, shape (n, n)
        A symmetric matrix of single or double precision, row by row in memory. What
        is below the diagonal stays as it is.

    Returns
    -------
    bool
        Whether the matrix was positive definite.

    Examples
    --------
    >>> matrix = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> decompose(matrix)
    True
    >>> np.triu(matrix)
    array([[2., 1.],
           [0., 2.]])
    """
    return _in_place("potrf", matrix)


def invert(matrix: Matrix) -> bool:
    """Put the inverse of a matrix in its place.

    That takes half the time or less of an inverse that knows no symmetry.

    Parameters
    ----------
    matrix : numpy.ndarray, shape (n, n)
        A symmetric matrix of single or double precision, row by row in memory. What
        is below the diagonal is not read.

    Returns
    -------
    bool
        Whether the matrix was positive definite. Otherwise its place holds no inverse.

    Examples
    --------
    >>> matrix = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> invert(matrix)
    True
    >>> matrix
    array([[ 0.3125, -0.125 ],
           [-0.125 ,  0.25  ]])
    """
    if not (_in_place("potrf", matrix) and _in_place("potri", matrix)):
        return False
    below = np.tri(len(matrix), k=-1, dtype=bool)
    np.copyto(matrix, matrix.T, where=below)
    return True


def solve_well(matrices: Matrix, right: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
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


def factors(matrices: Matrix) -> Matrix:
    """Return the lower Cholesky factor of each matrix; NaN without one."""
    try:
        return np.asarray(np.linalg.cholesky(matrices))
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full_like(matrices, np.nan)
        half = len(matrices) // 2
        return np.concatenate([factors(matrices[:half]), factors(matrices[half:])])


def _in_place(routine: str, matrix: Matrix) -> bool:
    """Let a routine of LAPACK change a triangle; return whether it could."""
    size, failed = ctypes.c_int(len(matrix)), ctypes.c_int(0)
    n, call = ctypes.addressof(size), _routine(routine, matrix.dtype.char)
    call(LOWER, n, matrix.ctypes.data, n, ctypes.addressof(failed))
    return not failed.value


@cache
def _routine(name: str, kind: str) -> Callable[..., None]:
    """Return a routine of BLAS or LAPACK for a kind of numbers, as scipy has it."""
    module, arguments = ROUTINES[name]
    offered = import_module(f"scipy.linalg.{module}")
    name = ("s" if kind == "f" else "d") + name
    text, address, held = ctypes.c_char_p, ctypes.c_void_p, ctypes.py_object
    python, capsule = ctypes.pythonapi, offered.__pyx_capi__[name]
    name_of = ctypes.PYFUNCTYPE(text, held)(("PyCapsule_GetName", python))
    find = ctypes.PYFUNCTYPE(address, held, text)(("PyCapsule_GetPointer", python))
    routine = ctypes.CFUNCTYPE(None, *[address] * arguments)
    return routine(find(capsule, name_of(capsule)))


def inverted(matrix: Matrix, penalty: Matrix) -> Matrix:
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

"""Cholesky's decomposition, and inverses by it, while other threads go on.

The functions of :mod:`scipy.linalg` stop them. The routines of BLAS and LAPACK behind
these do not, if they are called as scipy offers them to compiled programs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np

from statcv.models.base import Matrix

LETTERS = {letter: ctypes.c_char(letter.encode()) for letter in "LNT"}
LOWER, PLAIN, TRANSPOSED = map(ctypes.addressof, LETTERS.values())  # L of a transpose
ROUTINES = {  # the module of each routine, and its number of arguments
    "potrf": ("cython_lapack", 5),
    "potri": ("cython_lapack", 5),
    "trsv": ("cython_blas", 8),
}
SLOW = 8  # operations that take as long as one with a number of a factor


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


def multiply_by_inverse(factor: Matrix, vector: Matrix) -> None:
    """Multiply a vector, in its place, by the inverse of a decomposed matrix.

    Parameters
    ----------
    factor : numpy.ndarray, shape (n, n)
        What :func:`decompose` made of the matrix.
    vector : numpy.ndarray, shape (n,)
        In the precision of the matrix.

    Examples
    --------
    >>> matrix, vector = np.array([[4.0, 2.0], [2.0, 5.0]]), np.array([6.0, 7.0])
    >>> decompose(matrix)
    True
    >>> multiply_by_inverse(matrix, vector)
    >>> vector
    array([1., 1.])
    """
    size, step = ctypes.c_int(len(factor)), ctypes.c_int(1)
    n, given = ctypes.addressof(size), (factor.ctypes.data, vector.ctypes.data)
    solve = _routine("trsv", factor.dtype.char)
    for order in (PLAIN, TRANSPOSED):
        solve(LOWER, order, PLAIN, n, given[0], n, given[1], ctypes.addressof(step))


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

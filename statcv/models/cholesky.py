"""Cholesky's decomposition, and inverses by it, while other threads go on.

The functions of :mod:`scipy.linalg` stop them. The routines of BLAS and LAPACK behind
these do not, if they are called as scipy offers them to compiled programs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from statcv.models.base import Matrix

LOWER = ctypes.c_char(b"L")  # triangle, of the transpose
PLAIN, TRANSPOSED = ctypes.c_char(b"N"), ctypes.c_char(b"T")
SLOW = 8  # operations, which one with a number of a factor takes as long as


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
    size, failed = ctypes.c_int(len(matrix)), ctypes.c_int(0)
    routine = _routine("cython_lapack", _kind(matrix) + "potrf", 5)
    routine(*_addresses(LOWER, size, matrix, size, failed))
    return not failed.value


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
    if not decompose(matrix):
        return False
    size, failed = ctypes.c_int(len(matrix)), ctypes.c_int(0)
    routine = _routine("cython_lapack", _kind(matrix) + "potri", 5)
    routine(*_addresses(LOWER, size, matrix, size, failed))
    matrix[:] = np.triu(matrix) + np.triu(matrix, 1).T
    return not failed.value


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
    solve = _routine("cython_blas", _kind(factor) + "trsv", 8)
    lower, *orders, rest = _addresses(LOWER, PLAIN, TRANSPOSED, PLAIN)
    given = _addresses(size, factor, size, vector, step)
    for order in orders:
        solve(lower, order, rest, *given)


def _kind(matrix: Matrix) -> str:
    return "s" if matrix.dtype == np.float32 else "d"


def _addresses(*arguments: Any) -> list[int]:
    """Return where arguments are, as long as the caller holds them."""
    return [
        one.ctypes.data if isinstance(one, np.ndarray) else ctypes.addressof(one)
        for one in arguments
    ]


@cache
def _routine(module: str, name: str, arguments: int) -> Callable[..., None]:
    """Return a routine of BLAS or LAPACK, as scipy has it."""
    offered = import_module(f"scipy.linalg.{module}")
    text, address, held = ctypes.c_char_p, ctypes.c_void_p, ctypes.py_object
    python, capsule = ctypes.pythonapi, offered.__pyx_capi__[name]
    name_of = ctypes.PYFUNCTYPE(text, held)(("PyCapsule_GetName", python))
    find = ctypes.PYFUNCTYPE(address, held, text)(("PyCapsule_GetPointer", python))
    routine = ctypes.CFUNCTYPE(None, *[address] * arguments)
    return routine(find(capsule, name_of(capsule)))

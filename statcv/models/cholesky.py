"""Cholesky's decomposition, while other threads go on.

The functions of :mod:`scipy.linalg.lapack` stop them. The routines of LAPACK behind
these do not, if they are called as scipy offers them to compiled programs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np

from statcv.models.base import Matrix

ARGUMENTS = 5  # of the routine: triangle, order, matrix, distance of rows, and failure


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
    lower = ctypes.c_char(b"L")  # of the transpose
    _routine("spotrf" if matrix.dtype == np.float32 else "dpotrf")(
        ctypes.addressof(lower),
        ctypes.addressof(size),
        matrix.ctypes.data,
        ctypes.addressof(size),
        ctypes.addressof(failed),
    )
    return not failed.value


@cache
def _routine(name: str) -> Callable[..., None]:
    """Return a routine of LAPACK, whose arguments are addresses."""
    from scipy.linalg import cython_lapack

    text, address, held = ctypes.c_char_p, ctypes.c_void_p, ctypes.py_object
    python, capsule = ctypes.pythonapi, cython_lapack.__pyx_capi__[name]
    name_of = ctypes.PYFUNCTYPE(text, held)(("PyCapsule_GetName", python))
    find = ctypes.PYFUNCTYPE(address, held, text)(("PyCapsule_GetPointer", python))
    routine = ctypes.CFUNCTYPE(None, *[address] * ARGUMENTS)
    return routine(find(capsule, name_of(capsule)))

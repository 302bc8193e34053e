"""Cholesky factors of Hessians, and the products of their inverses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix

MAX_CONDITION = 1e10  # the largest condition number of a Hessian
MAX_CONDITION_SINGLE = 1e3  # the largest one for products of single precision


@dataclass(frozen=True, eq=False)
class Triangle:
    """The Cholesky triangle of a positive definite matrix, scaled to a unit diagonal.

    Attributes
    ----------
    lower : numpy.ndarray, shape (q, q)
    scale : numpy.ndarray, shape (q,)
        The roots of the diagonal, by which rows and columns were divided.
    """

    lower: Matrix
    scale: Matrix

    @classmethod
    def of(cls, matrix: Matrix) -> Triangle | None:
        """Decompose a matrix; None if that would cost many digits."""
        from scipy.linalg.lapack import dpotrf, spotrf

        diagonal = matrix.diagonal()
        if not (diagonal > 0).all():
            return None
        # a unit diagonal, so that the least pivot shows dependence alone
        scale = np.sqrt(diagonal)
        scaled = np.divide(matrix, scale, order="C")
        scaled /= scale[:, None].astype(matrix.dtype)
        decompose = spotrf if matrix.dtype == np.float32 else dpotrf
        # the transpose of a symmetric matrix is in the order of Fortran
        lower, failed = decompose(scaled.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        triangle = cls(lower, np.asarray(scale, dtype=float))
        # 1 over the least squared pivot is at most the condition number
        limit = MAX_CONDITION_SINGLE if matrix.dtype == np.float32 else MAX_CONDITION
        return triangle if triangle.least * limit > 1 else None

    @property
    def least(self) -> float:
        """The least square of a pivot."""
        return float(self.lower.diagonal().min(initial=1.0) ** 2)

    def times_scaled(self, vector: Matrix) -> Matrix:
        """Multiply a vector by the inverse of the scaled matrix, in its precision."""
        right = vector.astype(self.lower.dtype)
        half = self._by_vector(self.lower, right, lower=1, overwrite_x=1)
        solved = self._by_vector(self.lower, half, lower=1, trans=1, overwrite_x=1)
        return np.asarray(solved)

    @cached_property
    def _by_vector(self) -> Any:
        """The function of BLAS that solves equations of the triangle."""
        from scipy.linalg.blas import dtrsv, strsv

        return strsv if self.lower.dtype == np.float32 else dtrsv

    @property
    def size(self) -> float:
        """The norm of the inverse of the scaled matrix."""
        # the Frobenius norm bounds the largest eigenvalue
        half = np.linalg.inv(np.tril(self.lower).astype(float))
        return float(np.linalg.norm(half.T @ half))


@dataclass(frozen=True, eq=False)
class Triangles:
    """Inverses of Hessians in scaled coordinates, one for each fit.

    Attributes
    ----------
    triangles : tuple of Triangle or None
        None for a Hessian without an inverse.
    scale : numpy.ndarray, shape (q,)
        What coordinates are multiplied by.
    """

    triangles: tuple[Triangle | None, ...]
    scale: Matrix

    def times(self, vectors: Matrix) -> Matrix:
        """Multiply vectors, shape (m, q), each by its inverse; NaN without one."""
        made = vectors * self._units

        for fit, triangle in enumerate(self.triangles):
            if triangle is not None:
                made[fit] = triangle.times_scaled(made[fit])
        made *= self._units
        return made

    @cached_property
    def _units(self) -> Matrix:
        """What coordinates of each triangle are multiplied by; NaN without one."""
        return np.array(
            [
                np.full(len(self.scale), np.nan)
                if one is None
                else self.scale / one.scale
                for one in self.triangles
            ]
        )

    def part(self, chosen: NDArray[Any]) -> Triangles:
        """Return the inverses of some of the fits."""
        some = np.arange(len(self.triangles))[chosen]
        kept = tuple(self.triangles[one] for one in some)
        return replace(self, triangles=kept)

    @property
    def single(self) -> bool:
        """Whether all of them are of single precision."""
        kinds = {None if one is None else one.lower.dtype for one in self.triangles}
        return kinds == {np.dtype(np.float32)}

    @property
    def norm(self) -> Matrix:
        """Bounds on the largest eigenvalues of the inverses, one for each fit."""
        return np.array(
            [
                np.inf
                if one is None
                # the norm of DA⁻¹D is at most max(D)² times that of A⁻¹
                else one.size * float((self.scale / one.scale).max() ** 2)
                for one in self.triangles
            ]
        )

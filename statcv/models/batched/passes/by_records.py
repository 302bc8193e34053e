"""Inverse Hessians of ridge fits with fewer records than coefficients.

With the rows Z, their variances W and the strength D of the penalty, a Hessian is
Z'WZ + D. Its inverse is D⁻¹ - D⁻¹Z'R(I + RZD⁻¹Z'R)⁻¹RZD⁻¹ with the root R of W
(Woodbury 1950), in which the matrix to decompose has a row for each record, and all
fits have the products ZD⁻¹Z' in common.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.folds import Numbers
from statcv.models.batched.passes.sums import Passes, added
from statcv.models.batched.passes.triangles import Triangle
from statcv.threads import product, ranges, shared

PARTS = 2  # of the columns, whose products threads share


@dataclass(frozen=True, eq=False)
class ByRecords:
    """Inverses of Hessians in scaled coordinates.

    Attributes
    ----------
    sums : Passes
        All records.
    scale : numpy.ndarray, shape (q,)
        What coordinates are multiplied by.
    strength : numpy.ndarray, shape (q,)
        The penalty on each coordinate. That of one without a penalty is made up, and
        its effect removed at the end.
    lists : tuple of numpy.ndarray of int
        The records of each fit.
    roots : tuple of numpy.ndarray
        The roots of their variances.
    triangles : tuple of Triangle
        Those of the matrices with a row for each record.
    made_up : int or None
        The coordinate without a penalty; None if there is none.
    along : numpy.ndarray, shape (m, q), or None
        What the inverses with the made-up penalty make of a unit of that coordinate.
    """

    sums: Passes
    scale: Matrix
    strength: Matrix
    lists: tuple[Numbers, ...]
    roots: tuple[Matrix, ...]
    triangles: tuple[Triangle, ...]
    made_up: int | None = None
    along: Matrix | None = None

    @classmethod
    def of(cls, passes: Passes, scale: Matrix, variances: Matrix) -> ByRecords | None:
        """Decompose the matrices; None if that costs many digits.

        Parameters
        ----------
        passes : Passes
            All records, of two classes, with a ridge on all columns but one at most.
        scale : numpy.ndarray, shape (q,)
        variances : numpy.ndarray, shape (m, n)
            The variance of each record in each fit, 0 where it is held out.
        """
        sums = passes.rounded
        strength, free = sums.penalty.copy(), np.flatnonzero(sums.penalty == 0)
        made_up = int(free[0]) if len(free) else None
        if made_up is not None:
            column = sums.X[:, made_up].astype(float) / sums.unit[made_up]
            strength[made_up] = float((variances @ column**2).mean())
        across = _products(sums, strength)
        lists = tuple(np.flatnonzero(own) for own in variances)
        roots = tuple(
            np.sqrt(variance[own]).astype(across.dtype)
            for variance, own in zip(variances, lists, strict=True)
        )

        def decomposed(fit: int) -> Triangle | None:
            own, root = lists[fit], roots[fit]
            matrix = across.take(own, axis=0).take(own, axis=1)
            matrix *= root
            matrix *= root[:, None]
            matrix.flat[:: len(own) + 1] += 1
            return Triangle.of(matrix)

        most = max(map(len, lists), default=0)
        found = shared(decomposed, range(len(lists)), most**3 / 10)
        triangles = tuple(one for one in found if one is not None)
        if len(triangles) < len(lists):
            return None
        made = cls(sums, scale, strength, lists, roots, triangles)
        if made_up is None:
            return made
        unit = np.zeros((len(lists), sums.size))
        unit[:, made_up] = 1.0
        return replace(made, made_up=made_up, along=made._with_penalty(unit))

    def times(self, vectors: Matrix) -> Matrix:
        """Multiply vectors, shape (m, q), each by its inverse."""
        made = self._with_penalty(vectors * self.scale)
        place, along = self.made_up, self.along
        if along is not None:  # one direction is taken away (Sherman & Morrison)
            more = self.strength[place]
            share = more * made[:, place] / (1 - more * along[:, place])
            made += share[:, None] * along
        made *= self.scale
        return made

    def _with_penalty(self, vectors: Matrix) -> Matrix:
        """Multiply vectors by the inverses that the made-up penalty gives."""
        sums, fits = self.sums, len(vectors)
        start = vectors / self.strength
        eta = sums.predictors(sums.padded(sums.coefficients(start)))[:fits]
        residuals = np.zeros_like(eta)
        for fit, triangle in enumerate(self.triangles):
            own, root = self.lists[fit], self.roots[fit]
            residuals[fit, own] = root * triangle.times(root * eta[fit, own])
        back = product(sums.padded(residuals), sums.X)[:fits]
        return np.asarray(start - sums.gathered(back) / self.strength)

    def part(self, chosen: NDArray[Any]) -> ByRecords:
        """Return the inverses of some of the fits."""
        some = np.arange(len(self.lists))[chosen]
        return replace(
            self,
            lists=tuple(self.lists[one] for one in some),
            roots=tuple(self.roots[one] for one in some),
            triangles=tuple(self.triangles[one] for one in some),
            along=None if self.along is None else self.along[chosen],
        )

    @property
    def single(self) -> bool:
        """Whether they are of single precision."""
        return bool(self.sums.X.dtype == np.float32)


def _products(sums: Passes, strength: Matrix) -> Matrix:
    """Return the products of all records, over the penalty, shape (n, n)."""
    by = (1 / (sums.unit * np.sqrt(strength))).astype(sums.X.dtype)

    def of_some(columns: range) -> Matrix:
        some = slice(columns.start, columns.stop)
        rows = sums.X[:, some] * by[some]
        return product(rows, rows.T)  # a matrix and its transpose: half the work

    n, p = sums.X.shape
    return added(shared(of_some, ranges(p, PARTS), n * n * p / 2 / PARTS))

"""Inverse Hessians of ridge fits, by the products of their records.

With the rows Z of the training records, the roots R of their variances and the
strength λ of the ridge, a Hessian is Z'R²Z + λ. What its inverse makes of a sum Z'a of
multiples of the records is such a sum again, Z'R(RZZ'R + λ)⁻¹R⁻¹a, in which the matrix
to decompose has a row for each record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.folds import Numbers
from statcv.models.batched.logit.span import Span
from statcv.models.cholesky import SLOW, decompose, multiply_by_inverse
from statcv.threads import shared


@dataclass(frozen=True, eq=False)
class ByRecords:
    """Inverses of Hessians, which make steps of gradients.

    Attributes
    ----------
    span : Span
        All records.
    lists : tuple of numpy.ndarray of int
        The training records of each fit.
    roots : tuple of numpy.ndarray
        The roots of their variances.
    factors : tuple of numpy.ndarray
        Cholesky factors of the matrices, each over the strength of the ridge.
    variances : tuple of numpy.ndarray
        What the inverse without an intercept makes of the variances; empty if there is
        no intercept.
    """

    span: Span
    lists: tuple[Numbers, ...]
    roots: tuple[Matrix, ...]
    factors: tuple[Matrix, ...]
    variances: tuple[Matrix, ...] = ()

    @classmethod
    def of(cls, span: Span, variances: Matrix) -> ByRecords | None:
        """Decompose the matrices; None if one is not positive definite.

        Parameters
        ----------
        span : Span
        variances : numpy.ndarray, shape (m, n)
            The variance of each record in each fit, 0 where it is held out.
        """
        lists = tuple(np.flatnonzero(own > 0) for own in variances)
        roots = tuple(
            np.sqrt(variance[own]).astype(np.float32)
            for variance, own in zip(variances, lists, strict=True)
        )

        def decomposed(fit: int) -> Matrix | None:
            own, root = lists[fit], roots[fit]
            matrix = span.products.take(own, axis=0).take(own, axis=1)
            matrix *= root
            matrix *= root[:, None] / np.float32(span.strength)
            matrix.flat[:: len(own) + 1] += 1
            return matrix if decompose(matrix) else None

        most = max(map(len, lists), default=0)
        made = shared(decomposed, range(len(lists)), most**3 / 3)
        factors = tuple(one for one in made if one is not None)
        if len(factors) < len(lists):
            return None
        found = cls(span, lists, roots, factors)
        if not span.intercept:
            return found
        solved = tuple(found._solved(fit, root**2) for fit, root in enumerate(roots))
        return replace(found, variances=solved)

    def times(self, gradients: Matrix) -> Matrix:
        """Multiply gradients, shape (m, q), each by its inverse.

        With an intercept, its part of the step is such that multiples of the records
        add up to what they do at the optimum.
        """
        span, n = self.span, len(self.span.X)
        made = np.zeros_like(gradients)

        def put(fit: int) -> None:
            own, gradient = self.lists[fit], gradients[fit]
            solved = self._solved(fit, gradient[own])
            if self.variances:
                risen = (gradient[:n].sum() - gradient[n] / span.unit) / span.strength
                risen = (solved.sum() - risen) / self.variances[fit].sum()
                solved -= risen * self.variances[fit]
                made[fit, n] = risen / span.unit
            made[fit, own] = solved

        most = max(map(len, self.lists), default=0)
        shared(put, range(len(gradients)), SLOW * most**2)
        return span.with_products(made)

    def _solved(self, fit: int, multiples: Matrix) -> Matrix:
        """Multiply multiples of training records by an inverse, but for the intercept.

        That of two triangles: single precision is enough for approximate inverses.
        """
        root = self.roots[fit]
        solved = np.divide(multiples, root, dtype=np.float32, casting="same_kind")
        multiply_by_inverse(self.factors[fit], solved)
        solved *= root / np.float32(self.span.strength)
        return solved.astype(float)

    def part(self, chosen: NDArray[Any]) -> ByRecords:
        """Return the inverses of some of the fits."""
        some = np.arange(len(self.lists))[chosen]
        return replace(
            self,
            lists=tuple(self.lists[one] for one in some),
            roots=tuple(self.roots[one] for one in some),
            factors=tuple(self.factors[one] for one in some),
            variances=tuple(self.variances[one] for one in some if self.variances),
        )

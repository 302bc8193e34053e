"""Inverse Hessians of ridge fits, by the products of their records.

A record z has the matrix W of the second derivatives by its linear predictors, one for
each free class, with W = LL'. With L̃ for the L of all training records, Z̃ for the
records repeated for each class, and the strength λ of the ridge, a Hessian is
Z̃'L̃L̃'Z̃ + λ. What its inverse makes of a sum Z̃'a of multiples of the records is such a
sum again, Z̃'L̃(L̃'Z̃Z̃'L̃ + λ)⁻¹L̃⁻¹a, in which the matrix to decompose has a row for each
record and class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.folds import Numbers
from statcv.models.batched.multiples.span import Span
from statcv.models.cholesky import decompose, multiply_by_inverse
from statcv.threads import shared

DIGITS = 1e-6  # the share of a variance that is added, so that there are roots
EACH = 2  # operations of a number of a factor, by which threads save time; others wait


@dataclass(frozen=True, eq=False)
class Roots:
    """The roots L of the second derivatives of the training records of a fit.

    Attributes
    ----------
    records : numpy.ndarray of int, shape (r,)
        The training records.
    lower, inverse : numpy.ndarray, shape (c, c, r)
        Lower triangles for each record, and their inverses, in single precision.
    """

    records: Numbers
    lower: Matrix
    inverse: Matrix

    @classmethod
    def of(cls, curved: Matrix) -> Roots:
        """Decompose the matrices of the records that have one.

        Parameters
        ----------
        curved : numpy.ndarray, shape (pairs, n)
            The second derivatives for each two classes; 0 for a record held out.
        """
        free = int(np.sqrt(2 * len(curved)))
        pairs = np.triu_indices(free)
        own = np.flatnonzero(curved[pairs[0] == pairs[1]].min(axis=0) > 0)
        if free == 1:
            root: Any = np.sqrt(curved[None, :, own]).astype(np.float32)
            return cls(own, root, 1 / root)
        whole = np.empty((len(own), free, free))
        whole[:, pairs[0], pairs[1]] = whole[:, pairs[1], pairs[0]] = curved[:, own].T
        diagonal = np.einsum("icc->ic", whole)
        diagonal *= 1 + DIGITS
        lower = np.linalg.cholesky(whole)
        both: list[Any] = [
            np.ascontiguousarray(one.transpose(1, 2, 0), dtype=np.float32)
            for one in (lower, np.linalg.inv(lower))
        ]
        return cls(own, *both)


@dataclass(frozen=True, eq=False)
class Intercepts:
    """What intercepts change in a step, for each class whose multiples are too many.

    Attributes
    ----------
    rise : numpy.ndarray, shape (c, c)
        By how much all intercepts rise if the multiples of a class add up to 1 less.
    multiples : numpy.ndarray, shape (c, c, r)
        What is taken from the multiples of the training records.
    """

    rise: Matrix
    multiples: Matrix


@dataclass(frozen=True, eq=False)
class ByRecords:
    """Inverses of Hessians, which make steps of gradients.

    Attributes
    ----------
    span : Span
        All records.
    roots : tuple of Roots
        Those of each fit.
    factors : tuple of numpy.ndarray
        Cholesky factors of the matrices, each over the strength of the ridge.
    intercepts : tuple of Intercepts
        What intercepts add; empty if there are none.
    """

    span: Span
    roots: tuple[Roots, ...]
    factors: tuple[Matrix, ...]
    intercepts: tuple[Intercepts, ...] = ()

    @classmethod
    def of(cls, span: Span, curved: Matrix) -> ByRecords | None:
        """Decompose the matrices; None if one is not positive definite.

        Parameters
        ----------
        span : Span
        curved : numpy.ndarray, shape (m, pairs, n)
            The second derivatives of each record in each fit, 0 where it is held out.
        """
        try:
            return cls._of_roots(span, tuple(map(Roots.of, curved)))
        except np.linalg.LinAlgError:
            return None

    @classmethod
    def _of_roots(cls, span: Span, roots: tuple[Roots, ...]) -> ByRecords | None:
        def decomposed(own: Roots) -> Matrix | None:
            matrix = _matrix(span, own)
            return matrix if decompose(matrix) else None

        most = _largest(roots)
        made = shared(decomposed, roots, most**3 / 3)
        factors = tuple(one for one in made if one is not None)
        if len(factors) < len(roots):
            return None
        found = cls(span, roots, factors)
        if not span.intercept:
            return found
        intercepts = shared(found._intercepts, range(len(roots)), EACH * most**2)
        return replace(found, intercepts=tuple(intercepts))

    def _intercepts(self, fit: int) -> Intercepts:
        every = np.stack([self._solved(fit, one) for one in self.roots[fit].lower])
        rise = np.linalg.inv(every.sum(axis=2))
        return Intercepts(rise, np.einsum("dc,cer->der", rise, every))

    def times(self, gradients: Matrix) -> Matrix:
        """Multiply gradients, shape (m, c q), each by its inverse.

        With intercepts, their part of the step is such that multiples of the records
        add up to what they do at the optimum.
        """
        span, n = self.span, len(self.span.X)
        by_class = gradients.reshape(len(gradients), -1, span.size)
        made = np.zeros_like(by_class)

        def put(fit: int) -> None:
            own, gradient = self.roots[fit], by_class[fit]
            pulled = gradient[:, own.records].astype(np.float32)
            solved = self._solved(fit, np.einsum("cdr,dr->cr", own.inverse, pulled))
            if self.intercepts:
                added = self.intercepts[fit]
                wanted = gradient[:, :n].sum(axis=1) - gradient[:, n] / span.unit
                over = solved.sum(axis=1) - wanted / span.strength
                solved -= np.einsum("d,dcr->cr", over, added.multiples)
                made[fit, :, n] = over @ added.rise / span.unit
            made[fit, :, own.records] = solved.T

        shared(put, range(len(gradients)), EACH * _largest(self.roots) ** 2)
        return span.with_products(made.reshape(gradients.shape))

    def _solved(self, fit: int, turned: Matrix) -> Matrix:
        """Solve the equations for L⁻¹a, shape (c, r), but for the intercepts.

        That of two triangles: single precision is enough for approximate inverses.
        """
        solved = np.array(turned, order="C")
        multiply_by_inverse(self.factors[fit], solved.reshape(-1))
        made = np.einsum("cdr,dr->cr", self.roots[fit].lower, solved)
        return np.asarray(made / self.span.strength, dtype=float)

    def part(self, chosen: NDArray[Any]) -> ByRecords:
        """Return the inverses of some of the fits."""
        some = np.arange(len(self.roots))[chosen]
        return replace(
            self,
            roots=tuple(self.roots[one] for one in some),
            factors=tuple(self.factors[one] for one in some),
            intercepts=tuple(self.intercepts[one] for one in some if self.intercepts),
        )


def _largest(roots: tuple[Roots, ...]) -> int:
    """Return the number of rows of the largest matrix to decompose."""
    return max((own.lower[0].size for own in roots), default=0)


def _matrix(span: Span, own: Roots) -> Matrix:
    """Return L̃'Z̃Z̃'L̃ over the strength of the ridge, plus 1, in its upper triangle."""
    products = span.products.take(own.records, axis=0).take(own.records, axis=1)
    lower, (free, _, r) = own.lower, own.lower.shape
    scaled = lower / np.float32(span.strength)
    whole: Any = np.empty((free, r, free, r), dtype=np.float32)
    for a in range(free):
        for b in range(a, free):
            both = np.dot(scaled[:, a].T, lower[:, b])  # matmul is slow for one column
            np.multiply(both, products, out=whole[a, :, b])
    matrix = whole.reshape(free * r, free * r)
    matrix.flat[:: free * r + 1] += 1
    return np.asarray(matrix)

"""Inverse Hessians of ridge fits, by the products of their records.

A record z has the matrix W of the second derivatives by its linear predictors, one for
each free class, with W = LL'. With L̃ for the L of all training records, Z̃ for the
records repeated for each class, and the strength λ of the ridge, a Hessian is
Z̃'L̃L̃'Z̃ + λ. What its inverse makes of a sum Z̃'a of multiples of the records is such a
sum again, Z̃'b with b = L̃(L̃'Z̃Z̃'L̃ + λ)⁻¹L̃⁻¹a, in which the matrix to decompose has a row
for each record and class. As L̃L̃'Z̃Z̃'b + λb = a, the products of the step with the
training records follow from a and b.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.multiples.span import Span
from statcv.models.batched.new_levels import Numbers
from statcv.numeric.inverses import decompose, multiply_by_inverse
from statcv.numeric.threads import shared

# the share of the ridge that is added to all variances, which hardly changes steps
SHARE = 1 / 32
# the largest variance, in units of SHARE of the ridge, that leaves equations digits
UNLIKE = 2e3
ROWS = 100  # rows of the matrix of one class that are made at once
# operations for each number of a factor, by which the work of threads is estimated
EACH = 2


@dataclass(frozen=True, eq=False)
class Roots:
    """The roots L of the second derivatives of the training records of some fits.

    Attributes
    ----------
    lower, inverse : numpy.ndarray, shape (m, c, c, n)
        Lower triangles for each record, and their inverses; 0 for a record held out.
    """

    lower: Matrix
    inverse: Matrix

    @classmethod
    def of(cls, curved: Matrix, trained: NDArray[np.bool_], least: float) -> Roots:
        """Decompose the matrices of training records.

        Parameters
        ----------
        curved : numpy.ndarray, shape (m, pairs, n)
            The second derivatives for each two classes.
        trained : numpy.ndarray of bool, shape (m, n)
            Whether each fit trains on each record.
        least : float
            What is added to variances.
        """
        fits, pairs, n = curved.shape
        # pairs = c (c + 1) / 2, and the root of c² + c lies below c + 1
        free = int(np.sqrt(2 * pairs))
        first, second = np.triu_indices(free)
        whole = np.empty((fits, n, free, free))
        by_record = curved.swapaxes(1, 2)
        whole[:, :, first, second] = whole[:, :, second, first] = by_record
        variances = np.einsum("...cc->...c", whole)
        # a record with a variance near 0 would have an inverse root without bound
        variances += least
        # records held out get any matrix that has a root, which is 0 from there on
        whole[~trained] = np.eye(free)
        lower = np.sqrt(whole) if free == 1 else np.linalg.cholesky(whole)
        inverse = 1 / lower if free == 1 else np.linalg.inv(lower)
        lower[~trained] = inverse[~trained] = 0.0
        by_class = (np.moveaxis(each, 1, 3) for each in (lower, inverse))
        return cls(*map(np.ascontiguousarray, by_class))

    def part(self, chosen: NDArray[Any]) -> Roots:
        """Return the roots of some of the fits."""
        return Roots(self.lower[chosen], self.inverse[chosen])

    @cached_property
    def records(self) -> list[Numbers]:
        """The training records of each fit."""
        return [np.flatnonzero(own) for own in self.lower[:, 0, 0]]

    @property
    def largest(self) -> int:
        """The number of rows of the largest matrix to decompose."""
        return len(self.lower[0]) * max(map(len, self.records), default=0)


@dataclass(frozen=True, eq=False)
class Intercepts:
    """What intercepts change in a step, for each class whose multiples are too many.

    Attributes
    ----------
    rise : numpy.ndarray, shape (m, c, c)
        By how much all intercepts rise if the multiples of a class add up to 1 less.
    multiples : numpy.ndarray, shape (m, c, c, n)
        What is taken from the multiples of the training records.
    """

    rise: Matrix
    multiples: Matrix

    def part(self, chosen: NDArray[Any]) -> Intercepts:
        """Return those of some of the fits."""
        return Intercepts(self.rise[chosen], self.multiples[chosen])


@dataclass(frozen=True, eq=False)
class ByRecords:
    """Inverses of Hessians, which make steps of gradients.

    Attributes
    ----------
    span : Span
        All records.
    roots : Roots
        Those of each fit.
    factors : tuple of numpy.ndarray
        Cholesky factors of the matrices, each over the strength of the ridge.
    direct : bool
        Whether steps are multiplied by the records, since the equations would leave
        few digits of their products.
    intercepts : Intercepts or None
        What intercepts add, if there are any.
    """

    span: Span
    roots: Roots
    factors: tuple[Matrix, ...]
    direct: bool
    intercepts: Intercepts | None = None
    single = True

    @classmethod
    def of(
        cls, span: Span, curved: Matrix, trained: NDArray[np.bool_]
    ) -> ByRecords | None:
        """Decompose the matrices; None if one is not positive definite.

        Parameters
        ----------
        span : Span
        curved : numpy.ndarray, shape (m, pairs, n)
            The second derivatives of each record in each fit.
        trained : numpy.ndarray of bool, shape (m, n)
            Whether each fit trains on each record.
        """
        least = SHARE * span.strength
        try:
            roots = Roots.of(curved, trained, least)
        except np.linalg.LinAlgError:
            return None

        def decomposed(fit: int) -> Matrix | None:
            products = span.products[0 if span.common else fit]
            root: Any = roots.lower[fit].astype(np.float32)
            matrix = _matrix(products, span.strength, root, roots.records[fit])
            return matrix if decompose(matrix) else None

        made = shared(decomposed, range(len(trained)), roots.largest**3 / 3)
        factors = tuple(one for one in made if one is not None)
        if len(factors) < len(made):
            return None
        found = cls(span, roots, factors, curved.max() > UNLIKE * least)
        if not span.intercept:
            return found
        rows = roots.lower.swapaxes(0, 1)
        every = np.stack([found._solved(own) for own in rows], axis=1)
        # the intercept of each class balances the sum of its multiples
        rise = np.linalg.inv(every.sum(axis=3))
        multiples = np.einsum("mdc,mcer->mder", rise, every)
        return replace(found, intercepts=Intercepts(rise, multiples))

    def times(self, gradients: Matrix) -> Matrix:
        """Multiply gradients, shape (m, c q), each by its inverse.

        With intercepts, their part of the step is such that multiples of the records
        add up to what they do at the optimum. Products with records held out, which no
        gradient has, are not those of the step.
        """
        span, n = self.span, len(self.span.X)
        by_class = gradients.reshape(len(gradients), -1, span.size)
        pulled, inverse = by_class[:, :, :n], self.roots.inverse
        solved = self._solved(np.einsum("mcdn,mdn->mcn", inverse, pulled))
        multiples, risen = np.zeros_like(by_class), 0.0
        if self.intercepts is not None:
            wanted = pulled.sum(axis=2) - by_class[:, :, n] / span.unit
            over = solved.sum(axis=2) - wanted / span.strength
            solved -= np.einsum("md,mdcn->mcn", over, self.intercepts.multiples)
            risen = np.einsum("md,mdc->mc", over, self.intercepts.rise)[:, :, None]
            multiples[:, :, n:] = risen / span.unit
        multiples[:, :, :n] = solved
        if self.direct:
            return span.with_products(multiples.reshape(len(multiples), -1))
        # from (WZZ'+λ)b = a the products of the step follow without a product
        left = np.einsum("mcdn,mdn->mcn", inverse, pulled - span.strength * solved)
        products = multiples.copy()
        products[:, :, :n] = np.einsum("mcdn,mcn->mdn", inverse, left) - risen
        both = np.stack([products, multiples], axis=1)
        return both.reshape(len(both), -1)

    def _solved(self, turned: Matrix) -> Matrix:
        """Solve the equations for L⁻¹a, shape (m, c, n), but for the intercepts.

        That of two triangles: single precision is enough for approximate inverses.
        """
        made = np.zeros_like(turned)

        def put(fit: int) -> None:
            own = self.roots.records[fit]
            # the triangle is that of a fit's training records alone
            few: Any = turned[fit].take(own, axis=1).astype(np.float32)
            multiply_by_inverse(self.factors[fit], few.reshape(-1))
            made[fit][:, own] = few

        shared(put, range(len(turned)), EACH * self.roots.largest**2)
        solved = np.einsum("mcdn,mdn->mcn", self.roots.lower, made)
        return np.asarray(solved / self.span.strength)

    def part(self, chosen: NDArray[Any]) -> ByRecords:
        """Return the inverses of some of the fits."""
        some = np.arange(len(self.factors))[chosen]
        return replace(
            self,
            span=self.span.part(chosen),
            roots=self.roots.part(chosen),
            factors=tuple(self.factors[one] for one in some),
            intercepts=self.intercepts and self.intercepts.part(chosen),
        )


def _matrix(every: Matrix, strength: float, lower: Matrix, records: Numbers) -> Matrix:
    """Return L̃'Z̃Z̃'L̃ over the strength of the ridge, plus 1, in its upper triangle."""
    root = lower.take(records, axis=2)
    scaled = root / np.float32(strength)
    free, _, r = root.shape
    whole: Any = np.empty((free, r, free, r), dtype=np.float32)
    size = r if free > 1 else ROWS  # what is left of the first of these is not read
    for start in range(0, r, size):
        rows, columns = slice(start, start + size), slice(start, r)
        products = every.take(records[rows], axis=0)
        products = products.take(records[columns], axis=1)
        for a in range(free):
            for b in range(a, free):  # numpy.matmul is slow for one column
                both = np.dot(scaled[:, a, rows].T, root[:, b, columns])
                np.multiply(both, products, out=whole[a, rows, b, columns])
    matrix = whole.reshape(free * r, free * r)
    matrix.flat[:: free * r + 1] += 1
    return np.asarray(matrix)

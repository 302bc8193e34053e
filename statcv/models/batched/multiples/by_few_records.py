"""Inverse Hessians of classes alone, by the products of the records that bend them.

With variances W of a class under a ridge λ, the Hessian of records Z is Z'WZ + λ. Of
many classes most have a probability near 0 or 1 in most records z. If wz'z is no more
than λ, and all these have a small part of the variances, little is lost if what they
add is spread evenly over all directions, as part of λ. The others, S, with the roots R
of their variances, leave S'R²S + λ. What its inverse makes of a sum S'a + Z'c of
multiples, c being those of the records left out, is the sum S'Rh + Z'c/λ, where
h = (RSS'R + λ)⁻¹(R⁻¹a - RSZ'c/λ) has as many numbers as S has records.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.downdate import symmetric_inverse
from statcv.models.batched.folds import Numbers
from statcv.models.batched.multiples.span import Span
from statcv.threads import shared

TOGETHER = 0.2  # of all variances, at most, that records left out have together, and
ALONE = 1.0  # what each adds in the direction of its own, over the ridge
MANY = 0.8  # of the training records, of which the matrices save no time
NOTHING = 1e-10  # in place of a mean variance of 0


@dataclass(frozen=True, eq=False)
class ByFewRecords:
    """Inverses of Hessians, which make steps of gradients.

    Attributes
    ----------
    span : Span
        All records.
    ridge : numpy.ndarray, shape (m, 1)
        The ridge, and what is spread over all directions.
    left : numpy.ndarray of bool, shape (m, n)
        Which records are left out.
    records : numpy.ndarray of int, shape (m, r)
        The records in S, and some of those left out where these are fewer than r.
    roots : numpy.ndarray, shape (m, r)
        The roots of their variances; 0 if left out.
    inverses : numpy.ndarray, shape (m, r, r)
        The inverses of RSS'R/λ + 1, in single precision.
    rise : numpy.ndarray, shape (m, 1)
        By how much the intercept rises if its gradient is 1; 0 without intercept.
    bent : numpy.ndarray, shape (m, r)
        What is taken from their multiples as the intercept rises by 1.
    """

    span: Span
    ridge: Matrix
    left: NDArray[np.bool_]
    records: Numbers
    roots: Matrix
    inverses: Matrix
    rise: Matrix
    bent: Matrix
    single = True

    @classmethod
    def of(cls, span: Span, variances: Matrix) -> ByFewRecords | None:
        """Invert the matrices; None if they have many rows, or one has no inverse.

        Parameters
        ----------
        span : Span
        variances : numpy.ndarray, shape (m, n)
            The variance of the class in each record of each fit; 0 if held out.
        """
        adds = variances * np.stack([one.diagonal() for one in span.products])
        left = _least(variances) & (adds <= ALONE * span.strength)
        trained = np.count_nonzero(variances, axis=1).clip(min=1)
        ridge = span.strength + (adds * left).sum(axis=1) / trained
        most = int((~left).sum(axis=1).max(initial=0))
        if most >= MANY * trained.max():
            return None
        records = np.argsort(left, axis=1, kind="stable")[:, :most]
        roots = np.sqrt(np.take_along_axis(variances * ~left, records, axis=1))
        matrices: Any = np.empty((len(left), most, most), dtype=np.float32)

        def put(fit: int) -> None:
            some, products = records[fit], span.products[0 if span.common else fit]
            root: Any = (roots[fit] / np.sqrt(ridge[fit])).astype(np.float32)
            made = matrices[fit]
            np.multiply(products.take(some, axis=0).take(some, axis=1), root, out=made)
            made *= root[:, None]
            made.flat[:: most + 1] += 1

        shared(put, range(len(left)), 4.0 * most**2)
        inverses: Any = symmetric_inverse(matrices).astype(np.float32)
        if not np.isfinite(inverses).all():
            return None
        found = cls(
            span=span,
            ridge=ridge[:, None],
            left=left,
            records=records,
            roots=roots,
            inverses=inverses,
            rise=np.zeros((len(left), 1)),
            bent=np.zeros_like(roots),
        )
        if not span.intercept:
            return found
        bent = found._solved(roots)
        fixed = (variances * left).sum(axis=1) + ridge * bent.sum(axis=1)
        rise = 1 / (span.unit**2 * fixed.clip(min=NOTHING * trained)[:, None])
        return replace(found, rise=rise, bent=span.unit * bent)

    def times(self, gradients: Matrix) -> Matrix:
        """Multiply gradients, shape (m, q), each by its inverse."""
        span, n, fits = self.span, len(self.span.X), len(gradients)
        step = np.zeros_like(gradients)
        np.multiply(gradients[:, :n], self._share, out=step[:, :n])
        own = gradients.take(self._places)
        right = own * self._inverse_roots
        if step.any():  # besides the records held out
            along = span.multiplied(step).reshape(fits, -1)
            right -= self.roots * along.take(self._rows)
        solved = self._solved(right)
        if span.intercept:
            lost = np.einsum("mr,mr->m", own, self.roots > 0)
            lost -= self.ridge[:, 0] * solved.sum(axis=1)
            step[:, n] = (gradients[:, n] - span.unit * lost) * self.rise[:, 0]
            solved -= step[:, n:] * self.bent
        step.reshape(-1)[self._places] += solved
        return span.with_products(step)

    def _solved(self, right: Matrix) -> Matrix:
        """Return Rh, shape (m, r). Single precision is enough for its purpose."""
        few: Any = right.astype(np.float32)
        found: Any = np.matmul(self.inverses, few[:, :, None])[:, :, 0]
        return np.asarray(self.roots * found / self.ridge)

    def part(self, chosen: NDArray[Any]) -> ByFewRecords:
        """Return the inverses of some of the fits."""
        some = np.arange(len(self.roots))[chosen]
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        own = {name: made[some] for name, made in values if name != "span"}
        return replace(self, span=self.span.part(chosen), **own)

    @cached_property
    def _share(self) -> Matrix:
        """What multiplies the multiples of records that are left out, shape (m, n)."""
        return self.left / self.ridge

    @cached_property
    def _inverse_roots(self) -> Matrix:
        """1 over each root, and 0 where it is 0."""
        return np.divide(1.0, self.roots, out=self.roots.copy(), where=self.roots > 0)

    @cached_property
    def _rows(self) -> Numbers:
        """Where the records stand in numbers for all records of each fit."""
        return _in_rows(self.records, len(self.span.X))

    @cached_property
    def _places(self) -> Numbers:
        """Where they stand in all coordinates of each fit."""
        return _in_rows(self.records, self.span.size)


def _in_rows(columns: Numbers, width: int) -> Numbers:
    """Return the places of some columns of each row in all rows, one after the other.

    >>> _in_rows(np.array([[0, 2], [1, 2]]), 3)
    array([[0, 2],
           [4, 5]])
    """
    return columns + width * np.arange(len(columns))[:, None]


def _least(variances: Matrix) -> NDArray[np.bool_]:
    """Return which have a small part of the sum together, in each row."""
    rising = np.argsort(variances, axis=1)
    below = np.cumsum(np.take_along_axis(variances, rising, axis=1), axis=1)
    found = np.empty(variances.shape, dtype=bool)
    np.put_along_axis(found, rising, below <= TOGETHER * below[:, -1:], axis=1)
    return found

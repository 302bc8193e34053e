"""Large ridge fits of about as many columns as records, or more, by multiples.

At the optimum the coefficients are a sum of multiples of the training records, which
are their residuals over the penalty (Zhu & Hastie 2005). Gradients, steps and all
places between are such sums, and are written by the multiples. Steps take one product
with the products of all records, which all folds have in common, where they would take
two with the records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.folds import (
    FittedFolds,
    FoldFits,
    Folds,
    by_linear_predictor,
)
from statcv.models.batched.logit.by_records import ByRecords
from statcv.models.batched.logit.span import Span
from statcv.models.batched.logit.wide import are_few_and_small
from statcv.models.batched.passes import are_few_and_large
from statcv.models.batched.passes.families import TwoClasses, negligible
from statcv.models.batched.passes.few_fits import ANEW
from statcv.models.batched.passes.quasi_newton import (
    Identity,
    Inverses,
    Origin,
    climb,
)
from statcv.models.batched.row_space import spares_the_intercept_only, with_smaller

TALL = 1.2  # training records for each column, beyond which columns are as quick
LARGER = 2**8  # than usual are blocks of fits, by this factor: 256 MB of matrices
HESSIANS = 8  # of its own that a fold gets
EVEN = 60  # the spread of eigenvalues up to which steps may start without Hessians;
# if it is larger, columns of different size slow them unless they are many
LONG = 70  # records for each step of as many that take as long as Hessians


@dataclass(frozen=True, eq=False)
class Multiples:
    """The optimisation problem of some fits.

    A place has the products of its multiples with all records first, in single
    precision, then the multiples; the intercept stands last in both.

    Attributes
    ----------
    span : Span
        All records.
    family : TwoClasses
        Their outcomes.
    often : numpy.ndarray, shape (m, n)
        How often each fit trains on each record, times its weight.
    precise : bool
        Whether gradients are computed from the coefficients, not from the products,
        to which single precision suffices.
    origin : Origin or None
        A place nearby. Gradients are computed by what differs from those there.
    """

    span: Span
    family: TwoClasses
    often: Matrix
    precise: bool = True
    origin: Origin | None = None

    def part(self, chosen: NDArray[Any]) -> Multiples:
        """Return the problem of some of the fits."""
        origin = None if self.origin is None else self.origin.part(chosen)
        return replace(self, often=self.often[chosen], origin=origin)

    def rounded(self) -> Multiples:
        """Return the problem with gradients of single precision."""
        often: Any = self.often.astype(np.float32)
        family = self.family.rounded()
        return replace(self, family=family, often=often, precise=False)

    def around(self, place: Matrix, gradient: Matrix) -> Multiples:
        """Return the problem near a place whose gradients are known."""
        state = self._along(place)
        with np.errstate(over="ignore"):
            self.family.state(state, slice(None))
        return replace(self, origin=Origin(place, gradient, state))

    def error(self, place: Matrix) -> Matrix:
        """Return about how far from an optimum rounding makes it, shape (m,).

        Errors of linear predictors are multiplied by the root R of the variances, at
        most 1/2, and by H⁻¹Z'R with a Hessian H = Z'R²Z + λ, at most 1/(2√λ).
        """
        assert self.origin is not None
        moved = (place - self.origin.theta)[:, self.span.size :]
        errors = self.span.rounding * np.sqrt(len(self.span.X) * (moved**2).sum(axis=1))
        return np.asarray(errors / 4 / np.sqrt(self.span.strength))

    def gradient(self, place: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, minus the penalty's.

        It is a sum of multiples of the records as well, by which it is written.
        """
        span, origin = self.span, self.origin
        n, q = len(span.X), span.size
        with np.errstate(over="ignore", invalid="ignore"):
            if origin is not None:
                place = place - origin.theta
                pulled = self._along(place)
                self.family.change(pulled, origin.state, slice(None))
            else:
                known = span.predictors if self.precise else self._along
                pulled = known(place)
                self.family.pull(pulled, slice(None))
        pulled *= self.often
        made = np.empty((len(place), q))
        np.subtract(pulled, span.strength * place[:, q : q + n], out=made[:, :n])
        if span.intercept:
            made[:, n] = span.unit * pulled.sum(axis=1)
        return made if origin is None else made + origin.gradient

    def _along(self, place: Matrix) -> Matrix:
        """Return the linear predictors by the products."""
        return self.span.along(place).astype(self.often.dtype, copy=False)

    def inverses(self, place: Matrix) -> ByRecords | None:
        """Return the inverse Hessian of each fit; None if one has none."""
        eta = self.span.along(place)
        return ByRecords.of(self.span, self.family.curvature(eta) * self.often)


def fit_by_multiples(
    records: TrainingSet,
    folds: Folds,
    ridge: Matrix,
    mean: Callable[[Matrix], Matrix],
) -> FittedFolds | None:
    """Fit a binary outcome in large folds, if columns are about as many as records.

    Parameters
    ----------
    records : TrainingSet
        All records.
    folds : Folds
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.
    mean : callable
        Function from linear predictors to predictions.

    Returns
    -------
    FittedFolds or None
        None if other ways are quicker or more precise, or some optimum is in doubt.
    """
    if not _suits(records, folds, ridge):
        return None
    span, (n, p) = Span.of(records, ridge), records.X.shape
    if span is None or (span.spread > EVEN and p < n):
        return None
    family = TwoClasses(2.0 * records.y - 1.0)
    weights = np.ones(n) if records.weights is None else records.weights
    fits = FoldFits.empty(len(folds), p)
    for block in folds.blocks(n, p, each=n * n, larger=LARGER):
        often = np.tile(weights, (len(block), 1))
        block.multiply(often)
        ones, every = often @ records.y, often.sum(axis=1)
        both_classes = bool(((ones > 0) & (ones < every)).all())
        place = _settle(Multiples(span, family, often)) if both_classes else None
        if place is None:
            return None
        fits.coefficients[block.fits] = span.coefficients(place)
    fits.converged[:] = True
    fitted = by_linear_predictor(fits, records, folds, mean, ridge)
    return with_smaller(fitted, records, ridge)


def _suits(records: TrainingSet, folds: Folds, ridge: Matrix) -> bool:
    n, p = records.X.shape
    smaller = min(n, p)
    if folds.largest(n) > TALL * p or not are_few_and_large(folds, (n, smaller)):
        return False
    if are_few_and_small(folds, n, smaller):
        return False
    return spares_the_intercept_only(records, ridge)


def _settle(problem: Multiples) -> Matrix | None:
    """Return the place of each optimum; None if one is in doubt."""
    span, fits = problem.span, len(problem.often)
    n, q = len(span.X), span.size
    enough = negligible(problem.family, q) / span.reach
    precision = enough, 1e-15 * float(np.sqrt(n * q))
    place, done = np.zeros((fits, 2 * q)), np.zeros(fits, dtype=bool)
    inverse: Inverses | None = None
    if span.spread <= EVEN:
        inverse = Identity(grows=True, with_products=span.with_products)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for number in range(1 + HESSIANS):
            left = np.flatnonzero(~done)
            rest, at = problem.part(left), place[left]
            if inverse is None:
                inverse = rest.inverses(at)
            if inverse is None:
                return None
            rough = rest.rounded()
            cost = n / LONG if number < ANEW else np.inf
            place[left], done[left] = climb(
                rest, at, rough.gradient(at), inverse, *precision, rough, cost
            )
            if done.all():
                return place
            inverse = None
    return None

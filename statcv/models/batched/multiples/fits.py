"""Large ridge fits of about as many columns as records, or more, by multiples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.multiples.by_records import ByRecords
from statcv.models.batched.multiples.span import Span
from statcv.models.batched.passes import are_few_and_large
from statcv.models.batched.passes.by_class import ByClass
from statcv.models.batched.passes.few_fits import MAX_RENEWALS
from statcv.models.batched.passes.quasi_newton import Until, climb
from statcv.models.batched.passes.sources import Origin
from statcv.models.batched.passes.updates import REMEMBERED, Identity, Inverses
from statcv.models.batched.row_space import spares_the_intercept_only
from statcv.models.families import Family, curvature, family_of, longest_row, negligible

# training records for each column beyond which columns are as quick
MAX_RECORDS_EACH = 1.2
# times the usual size that a block of fits has: 256 MB of matrices
LARGER = 2**8
MAX_HESSIANS = 8  # own Hessians at most of a fold
# the spread of eigenvalues up to which steps may start without Hessians; if it is
# larger, columns of different size slow the steps unless they are many
MAX_SPREAD = 60
LONG = 70  # records whose Hessian, in two classes, takes as long as one step
# steps that Hessians must save to be made without what ties the classes
MIN_STEPS_SAVED = 65


@dataclass(frozen=True, eq=False)
class Multiples:
    """The optimisation problem of some fits.

    A place has the products of its multiples with all records first, in single
    precision, then the multiples; the intercept stands last in both. With several
    classes there are such numbers for each that is free, in the basis of the family.

    Attributes
    ----------
    span : Span
        All records.
    family : Family
        Their outcomes.
    often : numpy.ndarray, shape (m, n)
        How often each fit trains on each record, times its weight.
    apart : bool
        Whether what ties several classes is left out of Hessians.
    precise : bool
        Whether gradients are computed from the coefficients, not from the products,
        to which single precision suffices.
    origin : Origin or None
        A place nearby. Gradients are computed by what differs from those there.
    """

    span: Span
    family: Family
    often: Matrix
    apart: bool
    precise: bool = True
    origin: Origin | None = None

    @property
    def size(self) -> int:
        """The number of coordinates of a fit."""
        return self.span.size * int(self.family.basis.shape[1])

    def part(self, chosen: NDArray[Any]) -> Multiples:
        """Return the problem of some of the fits."""
        origin = None if self.origin is None else self.origin.part(chosen)
        span = self.span.part(chosen)
        return replace(self, span=span, often=self.often[chosen], origin=origin)

    def rounded(self) -> Multiples:
        """Return the problem with gradients of single precision."""
        often: Any = self.often.astype(np.float32)
        family = self.family.rounded()
        return replace(self, family=family, often=often, precise=False)

    def around(self, place: Matrix, gradient: Matrix) -> Multiples:
        """Return the problem near a place whose gradients are known."""
        with np.errstate(over="ignore"):
            state = self.family.state(self._by_class(self._along(place)), slice(None))
        return replace(self, origin=Origin(place, gradient, state))

    def error(self, place: Matrix) -> Matrix:
        """Return about how far from an optimum rounding makes it, shape (m,).

        Errors of linear predictors are multiplied by the root R of the second
        derivatives, and by H⁻¹Z'R with a Hessian H = Z'RR'Z + λ, at most 1/(2√λ).
        """
        assert self.origin is not None
        moved = (place - self.origin.theta)[:, self.size :]
        errors = self.span.rounding * np.sqrt(len(self.span.X) * (moved**2).sum(axis=1))
        # the root of the largest variance of an outcome
        root = 0.5 if self.family.width == 1 else np.sqrt(0.5)  # is the largest
        return np.asarray(errors * root / 2 / np.sqrt(self.span.strength))

    def gradient(self, place: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, minus the penalty's.

        It is a sum of multiples of the records as well, by which it is written.
        """
        span, origin = self.span, self.origin
        n, every = len(span.X), slice(None)
        with np.errstate(over="ignore", invalid="ignore"):
            if origin is not None:
                place = place - origin.theta
                pulled = self._by_class(self._along(place))
                self.family.change(pulled, origin.state, every)
            else:
                known = span.predictors if self.precise else self._along
                pulled = self._by_class(known(place))
                self.family.pull(pulled, every)
        pulled *= self.often[:, None]
        if self.family.width > 1:
            pulled = np.matmul(self._basis.T, pulled)
        made = np.empty((len(place), pulled.shape[1], span.size))
        multiples = place[:, self.size :].reshape(made.shape)[:, :, :n]
        # a gradient by multiples: residuals minus the ridge times multiples
        np.subtract(pulled, span.strength * multiples, out=made[:, :, :n])
        if span.intercept:
            made[:, :, n] = span.unit * pulled.sum(axis=2)
        gradient = made.reshape(len(place), -1)
        return gradient if origin is None else gradient + origin.gradient

    def _along(self, place: Matrix) -> Matrix:
        """Return the linear predictors by the products, for each free class."""
        return self.span.along(place).astype(self.often.dtype, copy=False)

    def _by_class(self, predictors: Matrix) -> Matrix:
        """Return the linear predictors of all classes of those that are free."""
        if self.family.width == 1:
            return predictors
        return np.asarray(np.matmul(self._basis, predictors))

    @cached_property
    def _basis(self) -> Matrix:
        return self.family.basis.astype(self.often.dtype)

    def inverses(self, place: Matrix) -> Inverses | None:
        """Return the inverse Hessian of each fit; None if one has none."""
        eta, n = self._by_class(self.span.along(place)), len(self.span.X)
        family = self.family.apart if self.apart else self.family
        curved = np.stack(
            [
                curvature(family, family.variances(own[None]))[:, 0] * often
                for own, often in zip(eta, self.often, strict=True)
            ]
        )
        if not self.apart:
            return ByRecords.of(self.span, curved, self.often > 0)
        owner = np.repeat(np.arange(len(eta)), family.width)
        span, variances = self.span.part(owner), curved.reshape(-1, n)
        each = ByRecords.of(span, variances[:, None], self.often[owner] > 0)
        return each and ByClass(each, self.family.basis, len(eta))


def fit_by_multiples(
    records: TrainingSet, folds: Folds, ridge: Matrix, own: Matrix | None = None
) -> FoldFits | None:
    """Fit two or more classes in large folds, if columns are about as many as records.

    Parameters
    ----------
    records : TrainingSet
        All records.
    folds : Folds
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.
    own : numpy.ndarray, shape (fits, p), optional
        Strength in each fit, if fits have their own. Records then have other products
        in each.

    Returns
    -------
    FoldFits or None
        Coefficients class by class. None if other ways are quicker or more precise, or
        some optimum is in doubt; fits with strengths of their own that are in doubt
        have not converged.
    """
    if own is None:
        serves = _suits(records, folds, ridge)
    else:
        serves = folds.outcome is None and _are_spanned(records, folds, ridge)
    if not serves:
        return None
    family, (n, p) = family_of(records, ridge), records.X.shape
    fits = FoldFits.empty(len(folds), family.width * p)
    for apart in (True, False) if _are_apart(family, n) else (False,):
        left = np.flatnonzero(~fits.converged)
        strengths = ridge if own is None else own[left]
        made = _fit(records, folds.chosen(left), strengths, family, apart)
        fits.coefficients[left] = made.coefficients
        fits.converged[left] = made.converged
        if fits.converged.all():
            return fits
    return None if own is None else fits


def _fit(
    records: TrainingSet, folds: Folds, ridge: Matrix, family: Family, apart: bool
) -> FoldFits:
    """Fit folds with one penalty, shape (p,), or one for each, shape (fits, p).

    Folds whose optimum is in doubt have not converged.
    """
    n, p = records.X.shape
    of_all = Span.of(records, ridge) if ridge.ndim == 1 else None
    weights = np.ones(n) if records.weights is None else records.weights
    classes = np.arange(records.n_classes) == records.y[:, None]
    width, free = family.basis.shape
    fits = FoldFits.empty(len(folds), width * p)
    # products of the records, and factors of each class or of all together
    each = n**2 * (1 + (width if apart else free**2))
    for block in folds.blocks(n, p, each=each, larger=LARGER):
        often = np.tile(weights, (len(block), 1))
        block.multiply(often)
        span = of_all if ridge.ndim == 1 else Span.of(records, ridge[block.fits])
        if span is None or (span.spread > MAX_SPREAD and p < n):
            break
        # no ridge bounds the intercept of a class without training records
        if not (often @ classes > 0).all():
            continue
        place, done = _settle(Multiples(span, family, often, apart))
        if not done.any():
            continue
        found = np.matmul(family.basis, span.part(done).coefficients(place[done]))
        some = block.fits[done]
        fits.coefficients[some] = found.reshape(len(some), width * p)
        fits.converged[some] = True
    return fits


def _are_apart(family: Family, n: int) -> bool:
    """Return whether it saves time to leave out of Hessians what ties classes."""
    return _cost_of_hessians(family, n) - n * family.width / LONG > MIN_STEPS_SAVED


def _cost_of_hessians(family: Family, n: int) -> float:
    """Return the number of steps that take as long as Hessians of n records."""
    return n * float(family.basis.shape[1]) ** 2 / LONG


def _are_spanned(records: TrainingSet, folds: Folds, ridge: Matrix) -> bool:
    """Return whether multiples make all optima, and are not many more than columns."""
    n, p = records.X.shape
    spared = spares_the_intercept_only(records, ridge)
    return folds.largest(n) <= MAX_RECORDS_EACH * p and spared


def _suits(records: TrainingSet, folds: Folds, ridge: Matrix) -> bool:
    n, p = records.X.shape
    if not are_few_and_large(folds, (n, min(n, p)), records.n_classes):
        return False
    return _are_spanned(records, folds, ridge)


def _settle(problem: Multiples) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return the place of each fit, and which are optima beyond doubt."""
    span, family, fits = problem.span, problem.family, len(problem.often)
    n, q = len(span.X), problem.size
    enough = negligible(family, span.size) / (span.reach * longest_row(family))
    near = Until(enough, noise=1e-15 * float(np.sqrt(n * q)), most=REMEMBERED)
    place, done = np.zeros((fits, 2 * q)), np.zeros(fits, dtype=bool)
    inverse: Inverses | None = None
    if span.spread <= MAX_SPREAD:
        inverse = Identity(grows=True, basis=span)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for number in range(1 + (MAX_RENEWALS if problem.apart else MAX_HESSIANS)):
            left = np.flatnonzero(~done)
            rest, at = problem.part(left), place[left]
            if inverse is None:
                inverse = rest.inverses(at)
            if inverse is None:
                break
            rough = rest.rounded()
            renews = number < MAX_RENEWALS and not problem.apart
            cost = _cost_of_hessians(family, n) if renews else np.inf
            until, gradient = replace(near, cost=cost), rough.gradient(at)
            place[left], done[left] = climb(rest, at, gradient, inverse, until, rough)
            if done.all():
                break
            inverse = None
    return place, done

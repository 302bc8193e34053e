"""The fits of a few large folds, near the optimum of all records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.downdate import Whole, inverted
from statcv.models.batched.folds import Folds, Numbers, few
from statcv.models.batched.gram import grams
from statcv.models.batched.passes.anchor import Anchor, find_anchor, without_search
from statcv.models.batched.passes.by_class import ByClass
from statcv.models.batched.passes.families import (
    family_of,
    longest_row,
    negligible,
)
from statcv.models.batched.passes.quasi_newton import (
    NEARBY,
    REMEMBERED,
    STEPS,
    Identity,
    Inverses,
    Origin,
    Until,
    climb,
)
from statcv.models.batched.passes.sums import Passes, padded
from statcv.models.batched.passes.triangles import Triangles
from statcv.models.newton import is_steep
from statcv.threads import product, shared

SEVERAL_FITS = 40  # fits up to which passes are quicker if records are not small
# values of all records above which passes may be quicker for any number of fits
LARGE = 2**18
# values that a fit leaves out above which its optimum is far from that of all records
CHANGED = 3500
SMALL = 2**11  # values of all records up to which other ways are as quick
# values of all records up to which other ways are as quick if folds hold out few
MEDIUM = 2**15
MOST = 256  # fits at most whose gradients are summed at once
ROOM = 2**26  # records times fits, at most, whose gradients are summed at once
HESSIANS = 20  # own Hessians at most of a fold
ANEW = 2  # new Hessians that may replace others before steps with those end
# the share of its length to which a short way must fall with each new Hessian
GAIN = 0.5
FLOPS = 18e9  # operations of a pass in a second, about
RATE_OF_PRODUCTS = 7e10  # operations in a second of products of many columns, about
RATE_OF_TRIANGLES = 4e10  # operations in a second of Cholesky factors, about
EACH = 2.5e-9  # seconds for the residual of a record
# records for each coefficient below which folds may have little in common
ALONE = 3.2
# the share of the information from which a ridge gives folds enough in common
STRONG = 0.05
FEW_ROWS = 250  # records from which the information is estimated
# additional steps without what ties classes, about, with PLENTY of records
SOME = 15
# additional steps without what ties classes, about, with fewer records than PLENTY
FURTHER = 45
PLENTY = 1.5  # records for each coefficient that are plenty


@dataclass(frozen=True, eq=False)
class FewFits:
    """The optimisation problem of a few fits, near the optimum of all records.

    Coordinates are those in which the Hessian there has a unit diagonal.

    Attributes
    ----------
    passes : Passes
        All records.
    scale : numpy.ndarray, shape (q,)
        What divides coordinates to become those of the passes.
    reach : float
        The most that a step of length 1 moves a linear predictor.
    changed : tuple of numpy.ndarray of int
        For each fit the records that do not occur exactly once, rising.
    times : tuple of numpy.ndarray, or None
        How often each of them occurs; None if never.
    often : numpy.ndarray, shape (m, n)
        How often each fit trains on each record, or its weight beyond the record's own.
    weighted : bool
        Whether there are such weights.
    penalty : numpy.ndarray, shape (q,) or (m, q)
        The ridge on the coordinates of the passes, of each fit if they have their own;
        Hessians have that of all records.
    origin : Origin or None
        A place nearby. Gradients are computed by what differs from those there, to
        which rows of single precision suffice.
    """

    passes: Passes
    scale: Matrix
    reach: float
    changed: tuple[Numbers, ...]
    times: tuple[Matrix, ...] | None
    often: Matrix
    weighted: bool
    penalty: Matrix
    origin: Origin | None = None

    def __len__(self) -> int:
        return len(self.changed)

    def part(self, chosen: NDArray[Any]) -> FewFits:
        """Return the problem of some of the fits; this one, without a copy, of all."""
        some, times = np.arange(len(self))[chosen], self.times
        if len(some) == len(self):
            return self
        return replace(
            self,
            changed=tuple(self.changed[one] for one in some),
            times=None if times is None else tuple(times[one] for one in some),
            often=self.often[chosen],
            penalty=self.penalty if self.penalty.ndim == 1 else self.penalty[chosen],
            origin=None if self.origin is None else self.origin.part(chosen),
        )

    def rounded(self) -> FewFits | None:
        """Return the problem with rows of single precision, if that saves time."""
        rounded = self.passes.rounded
        return None if rounded is self.passes else replace(self, passes=rounded)

    def around(self, theta: Matrix, gradient: Matrix) -> FewFits:
        """Return the problem near a place whose gradients are known."""
        passes, fits = self.passes, len(self)
        beta = passes.coefficients(theta / self.scale)
        state = np.empty((fits, passes.family.width, len(passes.X)), beta.dtype)

        def put(rows: slice) -> None:
            eta = (beta @ passes.X[rows].T).reshape(fits, passes.family.width, -1)
            with np.errstate(over="ignore"):
                state[:, :, rows] = passes.family.state(eta, rows)

        blocks = passes.blocks(fits)
        shared(put, blocks, passes.cost(fits) / 2 / len(blocks))
        return replace(self, origin=Origin(theta, gradient, state))

    def error(self, theta: Matrix) -> Matrix:
        """Return that rounding costs nothing, as places are near enough."""
        return np.zeros(len(theta))

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, minus the penalty's.

        Where all fits are at the same place, that takes half the time.
        """
        passes, fits, origin = self.passes, len(self), self.origin
        if origin is not None:
            there = (theta - origin.theta) / self.scale
        else:
            alike = (theta[:, 0] == theta[0, 0]).all() and (theta == theta[0]).all()
            there = (theta[:1] if alike else theta) / self.scale
        beta = padded(passes.coefficients(there))
        used, width = len(there) * passes.family.width, passes.family.width

        def sums(rows: slice) -> Matrix:
            X = passes.X[rows]
            eta = beta @ X.T
            by_fit = eta[:used].reshape(len(there), width, len(X))
            with np.errstate(over="ignore", invalid="ignore"):
                if origin is None:
                    passes.family.pull(by_fit, rows)
                else:
                    passes.family.change(by_fit, origin.state[:, :, rows], rows)
            if passes.weights is not None:
                by_fit *= passes.weights[rows]
            if len(there) < fits:
                eta = padded(by_fit.repeat(fits, axis=0).reshape(-1, len(X)))
                by_fit = eta[: fits * width].reshape(fits, width, len(X))
            by_fit *= self.often[:, None, rows]
            return product(eta, X)

        total = passes.summed(fits, sums)[: fits * width]
        gradient = (passes.gathered(total) - there * self.penalty) / self.scale
        return np.asarray(gradient if origin is None else origin.gradient + gradient)

    def fold_hessians(self, theta: Matrix) -> Triangles | Whole:
        """Return the inverse Hessian of each fit at coordinates of all, (1, q)."""
        there = theta / self.scale
        if self.weighted or self._pairs is not None:
            return self.own_hessians(np.tile(theta, (len(self), 1)))

        less = None
        if self.times is not None:
            less = [1 - times for times in self.times]

        def hessians(passes: Passes) -> list[Matrix]:
            parts = passes.hessians(there, self.changed, less)
            total = reduce(np.add, parts) if self.divided else passes.hessian(there)
            return [total - part for part in parts]

        return Triangles(self.passes.triangles(hessians), self.scale)

    def own_hessians(self, theta: Matrix) -> Triangles | Whole:
        """Return the inverse Hessian of each fit at its coordinates, shape (m, q)."""
        passes, there, q = self.passes, theta / self.scale, len(self.scale)
        if self._pairs is not None:
            eta = passes.coefficients(there) @ passes.X.T
            curved = passes.family.curvature(eta.reshape(1, -1))
            variances = curved.reshape(eta.shape) * self.often
            if passes.weights is not None:
                variances *= passes.weights
            made = grams(variances, self._pairs, q)
            scale = self.scale / np.tile(1 / passes.unit, q // len(passes.unit))
            made /= np.multiply.outer(scale, scale)
            made[:, range(q), range(q)] += passes.penalty / self.scale**2
            return Whole(inverted(made))

        found = passes.triangles(lambda sums: sums.hessians(there, *self._trained))
        return Triangles(found, self.scale)

    def class_hessians(self, theta: Matrix) -> ByClass:
        """Return what :meth:`own_hessians` does, but for what ties the classes."""
        fits, basis, p = len(self), self.passes.family.basis, self.passes.X.shape[1]
        by_free = (theta / self.scale).reshape(fits, -1, p)
        places = np.matmul(basis, by_free).reshape(fits, -1)

        def of_each(sums: Passes) -> list[Matrix]:
            made = sums.apart.hessians(places, *self._trained)
            return [one for by_class in made for one in by_class]

        each = Triangles(self.passes.triangles(of_each), np.ones(p))
        return ByClass(each, basis, fits, self.scale)

    @cached_property
    def _trained(self) -> tuple[list[Numbers], list[Matrix]]:
        """The training records of each fit, and how often they count."""
        lists = [np.flatnonzero(often) for often in self.often]
        often = [often[own] for often, own in zip(self.often, lists, strict=True)]
        return lists, often

    @cached_property
    def _pairs(self) -> Matrix | None:
        return self.passes.pairs(len(self))

    @property
    def divided(self) -> bool:
        """Whether each record is held out by just one fit."""
        n = len(self.passes.X)
        if self.times is not None or sum(map(len, self.changed)) != n:
            return False
        seen = np.zeros(n, dtype=bool)
        for own in self.changed:
            seen[own] = True
        return bool(seen.all())


def fit_by_passes(
    records: TrainingSet, folds: Folds, ridge: Matrix, own: Matrix | None = None
) -> tuple[Matrix, NDArray[np.bool_]] | None:
    """Fit a few large folds.

    Parameters
    ----------
    records : TrainingSet
        All records.
    folds : Folds
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.
    own : numpy.ndarray, shape (fits, p), optional
        Strength in each fit, about the same, if fits have their own.

    Returns
    -------
    coefficients : numpy.ndarray, shape (fits, width, p)
    sure : numpy.ndarray of bool, shape (fits,)
        Which are the optima beyond doubt. None if folds are small or many, or the
        records do not determine the coefficients well.
    """
    if not are_few_and_large(folds, records.X.shape, records.n_classes):
        return None
    passes = Passes.of(records, family_of(records, ridge), ridge)
    return fit_few(passes, folds, own)


def fit_few(
    passes: Passes, folds: Folds, own: Matrix | None = None
) -> tuple[Matrix, NDArray[np.bool_]] | None:
    """Fit folds as :func:`fit_by_passes` does, whatever their number and size."""
    far = _are_far(passes, folds)
    for sums in passes.precisions:
        found = without_search(sums) if far else find_anchor(sums)
        if found is not None:
            break
    else:
        return None
    p, width = passes.X.shape[1], passes.family.width
    least, quick = found.scale.reshape(-1, p).min(axis=0), passes.precisions[0]
    reach = quick.longest(quick.unit * least) * longest_row(passes.family)
    coefficients = np.empty((len(folds), width, p))
    sure = np.empty(len(folds), dtype=bool)
    most = int(np.clip(ROOM // len(passes.X), 1, MOST))
    for start in range(0, len(folds), most):
        some = np.arange(start, min(start + most, len(folds)))
        penalty = passes.penalty if own is None else passes.penalties(own[some])
        problem = _problem(passes, found.scale, reach, folds, some, penalty)
        theta, sure[some] = _settle(problem, found, far)
        beta = passes.coefficients(theta / found.scale)
        coefficients[some] = beta.reshape(len(some), width, p)
    return coefficients, sure


def are_few_and_large(folds: Folds, shape: tuple[int, ...], classes: int = 0) -> bool:
    """Return whether passes are quicker, as each fold changes many records.

    That is said of folds with the same outcome only. Fits of a continuous outcome, of
    no classes, are not far from each other, as their Hessians are the same everywhere.
    """
    n, p = shape
    least = int(folds.changed[0].sizes.min(initial=n))
    if folds.outcome is not None or not p or few(least, 1):
        return False
    size = n * p * (classes**2 if classes > 2 else 1)
    if len(folds) > SEVERAL_FITS:
        far = least * p * (classes - 1) > CHANGED
        return far or (size > LARGE and not few(least, p))
    return size > (MEDIUM if few(least, p) else SMALL)


def _problem(
    passes: Passes,
    scale: Matrix,
    reach: float,
    folds: Folds,
    some: Numbers,
    penalty: Matrix,
) -> FewFits:
    lists, times = folds.changed
    starts = lists.starts
    cut = [slice(starts[fit], starts[fit + 1]) for fit in some]
    own = None if times is None else tuple(times[one].astype(float) for one in cut)
    changed: Any = tuple(lists.values[one] for one in cut)
    weighted = folds.weights is not None
    often = np.ones((len(some), len(passes.X)), dtype=float if weighted else np.float32)
    for fit, records in enumerate(changed):
        often[fit, records] = 0.0 if own is None else own[fit]
    if folds.weights is not None:
        often *= folds.weights(some)
    return FewFits(passes, scale, reach, changed, own, often, weighted, penalty)


def _settle(
    problem: FewFits, found: Anchor, far: bool
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return the coordinates of each fit, and which are optima beyond doubt."""
    n, q = len(problem.passes.X), len(problem.scale)
    enough = negligible(problem.passes.family, q) / problem.reach
    near = Until(enough, noise=1e-15 * float(np.sqrt(n * q)))
    start = found.theta * problem.scale
    theta, done = np.tile(start, (len(problem), 1)), np.zeros(len(problem), dtype=bool)
    inverse: Inverses | None
    inverse = Identity(grows=True) if far else problem.fold_hessians(start)
    before, hope = np.full(len(problem), np.inf), ~done
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for number in range(1 + HESSIANS):
            left = np.flatnonzero(hope)
            if not len(left):
                break
            rest, at = problem.part(left), theta[left]
            apart = number < ANEW and _are_apart(rest)
            if inverse is None:
                inverse = rest.class_hessians(at) if apart else rest.own_hessians(at)
            rough = rest.rounded() if inverse.single else None
            gradient = (rough or rest).gradient(at)
            # new Hessians without what ties classes make steps little better
            renews = number < ANEW and not apart
            cost = _cost_of_hessians(rest) if renews else np.inf
            most = REMEMBERED if rough or apart else STEPS
            until = replace(near, cost=cost, most=most)
            theta[left], done[left] = climb(rest, at, gradient, inverse, until, rough)
            moved = np.sqrt(((theta[left] - at) ** 2).sum(axis=1))
            nearer = (moved > NEARBY * np.sqrt(q)) | (moved < GAIN * before[left])
            hope[left] = ~done[left] & (moved > 0) & (nearer | (number < ANEW))
            before[left], inverse = moved, None
        if done.any() and not problem.passes.bounded:
            done[done] = _not_separated(problem.part(done), theta[done])
    return theta, done


def _are_far(passes: Passes, folds: Folds) -> bool:
    """Return whether the optimum of all records is of no use to the folds.

    Chance alone separates two classes of fewer than two records for each coefficient
    (Cover 1965), so that little else than the ridge bounds the coefficients. With a
    few more they depend much on single records, unless the ridge is strong; the way
    from 0 is shorter then if gradients may be of single precision.
    """
    left = len(passes.X) - int(folds.changed[0].sizes.max(initial=0))
    if passes.family.quadratic or left >= ALONE * passes.size:
        return False
    if left < 2 * passes.size:
        return True
    if passes.rounded is passes:
        return False
    rows = passes.X[:: max(1, len(passes.X) // FEW_ROWS)]
    information = np.einsum("ij,ij->j", rows, rows) / 4 * (len(passes.X) / len(rows))
    return float(np.mean(passes.ridge < STRONG * information)) > 0.5


def _are_apart(problem: FewFits) -> bool:
    """Return whether it saves time to leave out of Hessians what ties classes."""
    enough = PLENTY * problem.passes.size * len(problem)
    more = SOME if np.count_nonzero(problem.often) >= enough else FURTHER
    return _cost_of_hessians(problem) - _cost_of_hessians(problem, apart=True) > more


def _cost_of_hessians(problem: FewFits, apart: bool = False) -> float:
    """Return how many passes take about as long as a Hessian for each fit.

    Products of the columns for two different classes take twice as long as those of
    one; without the former each class has a matrix of its own.
    """
    p, (width, free) = problem.passes.X.shape[1], problem.passes.family.basis.shape
    products, matrices, q = (width, width, p) if apart else (free**2, 1, free * p)
    own = float(np.count_nonzero(problem.often))
    time = own * products * p**2 / RATE_OF_PRODUCTS
    time += len(problem) * matrices * q**3 / 3 / RATE_OF_TRIANGLES
    return float(time / _time_of_pass(problem))


def _time_of_pass(problem: FewFits) -> float:
    """Return about how long a pass for all fits takes, in seconds."""
    n, p = problem.passes.X.shape
    width = problem.passes.family.width
    return float(n * len(problem) * width * (4 * p / FLOPS + EACH))


def _not_separated(problem: FewFits, theta: Matrix) -> NDArray[np.bool_]:
    """Return which fits cannot be separated, as their predictions are moderate.

    Otherwise a fit of its own would call a fold separated only if a step with
    negligible gain could still move them, and the Hessian shows whether it could.
    """
    passes = problem.passes
    sure = np.asarray(passes.spread(theta / problem.scale) < passes.family.moderate)
    rest = np.flatnonzero(~sure)
    if len(rest):
        classes = max(passes.family.width, 2)
        total = len(passes.X) if passes.weights is None else passes.weights.sum()
        norm = problem.part(rest).own_hessians(theta[rest]).norm
        sure[rest] = is_steep(total, norm * problem.reach**2, classes)
    return sure

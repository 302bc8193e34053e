"""The fits of a few large folds, near the optimum of all records.

The fit to all records comes first, roughly; the mean Hessian of the folds near its
optimum, or one of each, with quasi-Newton updates, leads all of them to their own in
few gradients, the first of which are in single precision if columns are many. The
Hessian of many classes is taken as if these were independent.
Folds of few records for each coefficient have little in common, and are fitted from 0.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from statcv.models.base import TrainingSet
from statcv.models.batched.blocks import Block, few, pieces
from statcv.models.batched.downdate import Factored, Identity, Inverse, Whole
from statcv.models.batched.folds import Folds
from statcv.models.batched.problem import (
    MAX_FREE_CLASSES,
    MAX_VARIANCES,
    MIN_FACTORED,
    Problem,
    by_blocks,
)
from statcv.models.batched.quasi_newton import MAX_STEPS, MAX_STEPS_ROUGH, Until, settle
from statcv.models.families import Family, curvature, family_of, longest_row, negligible
from statcv.numeric.arrays import Bools, Floats
from statcv.numeric.memory import LARGEST
from statcv.numeric.threads import product

# ---- when folds are few and large, and when they are far from all records ----

MAX_FITS_SMALL = 40  # fits up to which this is quicker if records are not small
# values of all records above which this may be quicker for any number of fits
MIN_CELLS_OF_MANY = 2**18
# values that a fit leaves out above which its optimum is far from that of all records
MAX_CELLS_CHANGED = 3500
MIN_RECORDS_NEAR = 2  # records for each coefficient of folds that are near each other
MAX_CHANGES_NEAR = 100  # changed records for each column up to which Hessians differ
MAX_CELLS_SMALL = 2**15  # values of all records up to which other ways are as quick


def are_few_and_large(folds: Folds, shape: tuple[int, ...], classes: int = 0) -> bool:
    """Return whether folds change so many records that each is best fitted from all.

    That is said of folds with the same outcome only. Fits of a continuous outcome, of
    no classes, are not far from each other, as their Hessians are the same everywhere.
    """
    n, p = shape
    least = int(folds.changes[0].sizes.min(initial=n))
    if folds.outcome is not None or not p or few(least, 1):
        return False
    size = n * p * (classes**2 if classes > 2 else 1)
    if len(folds) > MAX_FITS_SMALL:
        far = least * p * (classes - 1) > MAX_CELLS_CHANGED
        return far or (size > MIN_CELLS_OF_MANY and not few(least, p))
    return size > MAX_CELLS_SMALL


def _are_far(problem: Problem, folds: Folds) -> bool:
    """Return whether the optimum of all records is of no use to the folds.

    Chance alone separates two classes of fewer than two records for each coefficient
    (Cover 1965), so that little else than the ridge bounds the coefficients.
    """
    left = len(problem.X) - int(folds.changes[0].sizes.max(initial=0))
    size = problem.family.basis.shape[1] * problem.X.shape[1]
    return not problem.family.quadratic and left < MIN_RECORDS_NEAR * size


def _differ(problem: Problem, often: Floats) -> bool:
    """Return whether folds differ so much that each is worth a Hessian of its own.

    Those of many records for each column are alike. All Hessians together are quickly
    computed if each record is left out about once.
    """
    p, free = problem.X.shape[1], problem.family.basis.shape[1]
    size = max(often.size, len(often) * (p * free) ** 2)
    costly = free > MAX_FREE_CLASSES and not problem.by_class
    if costly or len(often) > MAX_FITS_SMALL or size > MAX_VARIANCES:
        return False
    changes = np.count_nonzero(often != 1)
    return bool(changes < min(MAX_CHANGES_NEAR * p * len(often), 2 * often.shape[1]))


# ---- Hessians near the optimum of all records ----


def _own_inverses(problem: Problem, theta: Floats, often: Floats) -> Inverse | None:
    """Return the inverse Hessian of each fit; None if it costs many digits.

    What folds leave out adds up to all records where each is left out once: the sums
    for all folds take as long as one Hessian.

    Parameters
    ----------
    problem : Problem
        That of all records.
    theta : numpy.ndarray, shape (1, q)
        Coordinates of all fits.
    often : numpy.ndarray, shape (m, n)
        Weight of each record in each fit.
    """
    large = theta.shape[1] > MIN_FACTORED
    precision = np.float32 if large else np.float64
    each, variances = problem.split(problem.linear(theta))
    lost, classes = 1 - often, variances.shape[1]
    lean = Block.of_counts(lost.repeat(classes, axis=0))
    gone = replace(each, block=lean, ridge=None).hessian(
        np.tile(variances, (1, len(lost), 1)), precision
    )
    kept = (1 - lost.sum(axis=0, keepdims=True)).repeat(classes, axis=0)
    rest = replace(each, block=Block.of_counts(kept)).hessian(variances, precision)
    gone = gone.reshape(len(lost), *rest.shape)
    own = (gone.sum(axis=0) + rest - gone).reshape(-1, *rest.shape[1:])
    found = Factored.of(own, precision) if large else Whole.of(own)
    return problem.joined(found) if found.usable.all() else None


def _mean_inverses(problem: Problem, theta: Floats, often: Floats) -> Inverse | None:
    """Return the inverse of the mean Hessian for each fit, as for their own."""
    share = Block.of_counts(np.full((1, len(problem.X)), often.mean()))
    each, variances = replace(problem, block=share).split(problem.linear(theta))
    found = each.rough_inverse(variances)
    if not found.usable.all():
        return None
    return problem.joined(found).part(np.zeros(len(often), dtype=int))


# ---- the fits ----

LARGEST_SINGLE = 1e18  # value whose square single precision holds
NEAR = 0.3  # the distance from the optimum of all records, in standard errors
MAX_FITS = 256  # fits at most whose gradients are summed at once
MAX_CELLS = 2**26  # records times fits, at most, whose gradients are summed at once
SHARE_LEFT = 0.3  # share of a negligible distance, as its forecast may be too small


def fit_large_folds(
    records: TrainingSet, folds: Folds, ridge: Floats, own: Floats | None = None
) -> tuple[Floats, Bools] | None:
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
    return fit_few(records, family_of(records, ridge), folds, ridge, own)


def fit_few(
    records: TrainingSet,
    family: Family,
    folds: Folds,
    ridge: Floats,
    own: Floats | None = None,
) -> tuple[Floats, Bools] | None:
    """Fit folds as :func:`fit_large_folds` does, whatever their number and size."""
    (n, p), free = records.X.shape, int(family.basis.shape[1])
    one = Block.of_counts(np.ones((1, n)))
    # a ridge on all columns but one at most gives every fit an optimum
    bounded = bool(np.count_nonzero(ridge) >= p - 1)
    every = Problem(records.X, None, family, one, records.weights, None)
    scale = np.sqrt(_diagonal(every) + np.tile(ridge, free))
    if not (scale > 0).all():
        return None
    # coordinates in which the Hessian of all records has a unit diagonal at 0
    every = replace(
        every,
        turn=1 / scale,
        ridge=np.tile(ridge, free) / scale**2 if ridge.any() else None,
        surely=lambda block, theta: np.full(len(theta), bounded),
    )
    far = _are_far(every, folds)
    # long steps and large Hessians need few digits, but the first step of a quadratic
    # function needs all; a copy beyond the memory that is kept saves no time
    large = not family.quadratic and len(scale) > MIN_FACTORED
    short = far or (large and 4 * records.X.size <= LARGEST)
    short &= float(np.abs(records.X).max(initial=0.0)) < LARGEST_SINGLE
    X: Any = records.X.astype(np.float32) if short else records.X
    rough = replace(every, X=X) if short else every
    theta = np.zeros((1, len(scale)))
    if not (far or family.quadratic):
        # the distance between optima of two samples grows as the root of the number of
        # coordinates
        near = Until(max(NEAR, NEAR * float(np.sqrt(len(scale))) / 3))
        theta, known = settle(every, theta, near, None, Identity(), rough)
        if not known.all():
            return None
    least = scale.reshape(-1, p).min(axis=0)

    def longest(rows: slice) -> float:
        return float((records.X[rows] ** 2 @ least**-2).max(initial=0.0))

    square = max(by_blocks(longest, records.X.shape, 1))
    reach = float(np.sqrt(square)) * longest_row(family)
    enough = SHARE_LEFT * negligible(family, len(scale)) / reach
    # a Hessian of one fold costs many steps, but folds that are far need one early
    most = MAX_STEPS_ROUGH if far else 2 * MAX_STEPS
    until = Until(enough, 1e-15 * float(np.sqrt(n * len(scale))), most)
    coefficients = np.empty((len(folds), family.width, p))
    sure = np.empty(len(folds), dtype=bool)
    # residuals of all these fits are in memory at once
    size = int(np.clip(MAX_CELLS // n, 1, MAX_FITS))
    for some in pieces(np.arange(len(folds)), size):
        often = folds.counts_in(n, some)
        if folds.weights is not None:
            often *= folds.weights(some)
        penalty, block = every.ridge, Block.of_counts(often)
        if own is not None:
            penalty = (np.tile(own[some], free) / scale**2)[:, None]
        problem = replace(every, block=block, ridge=penalty)
        at = np.tile(theta, (len(some), 1))
        # folds that have little in common start from 0
        inverse: Inverse | None = Identity()
        if not far:
            find = _own_inverses if _differ(every, often) else _mean_inverses
            inverse = find(rough, theta, often)
            if inverse is None:
                return None
        first = replace(problem, X=X) if short else problem
        at, sure[some] = settle(problem, at, until, None, inverse, first)
        coefficients[some] = problem.coefficients(at)
    return (coefficients, sure) if sure.any() else None


def _diagonal(problem: Problem) -> Floats:
    """Return the diagonal of the Hessian at coefficients of 0, shape (q,)."""
    family = problem.family
    own = [number for number, (a, b) in enumerate(family.pairs) if a == b]

    def sums(rows: slice) -> Floats:
        X, part = problem.X[rows], family.part(rows)
        variances = part.variances(np.zeros((1, family.width, len(X))))
        curved = curvature(part, variances)[own, 0]
        if problem.weights is not None:
            curved = curved * problem.weights[rows]
        return product(curved, X**2)

    return reduce(np.add, by_blocks(sums, problem.X.shape, family.width)).ravel()

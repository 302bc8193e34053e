"""The fits of a few large folds, near the optimum of all records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.blocks import few
from statcv.models.batched.downdate import Inverse
from statcv.models.batched.folds import Folds
from statcv.models.batched.passes.problem import FewFits
from statcv.models.batched.passes.sums import Passes
from statcv.models.batched.quasi_newton import MAX_STEPS, Identity, Until, climb, settle
from statcv.models.families import family_of, longest_row, negligible

# ---- when folds are few and large, and when they are far from all records ----

MAX_FITS_SMALL = 40  # fits up to which passes are quicker if records are not small
# values of all records above which passes may be quicker for any number of fits
MIN_CELLS_OF_MANY = 2**18
# values that a fit leaves out above which its optimum is far from that of all records
MAX_CELLS_CHANGED = 3500
MIN_RECORDS_NEAR = 3  # records for each coefficient of folds that are near each other
MAX_CELLS_SMALL = 2**15  # values of all records up to which other ways are as quick


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
    if len(folds) > MAX_FITS_SMALL:
        far = least * p * (classes - 1) > MAX_CELLS_CHANGED
        return far or (size > MIN_CELLS_OF_MANY and not few(least, p))
    return size > MAX_CELLS_SMALL


def _are_far(passes: Passes, folds: Folds) -> bool:
    """Return whether the optimum of all records is of no use to the folds.

    Chance alone separates two classes of fewer than two records for each coefficient
    (Cover 1965), so that little else than the ridge bounds the coefficients. With a few
    more they still depend much on single records, and the way from 0 is as short.
    """
    left = len(passes.X) - int(folds.changed[0].sizes.max(initial=0))
    return not passes.family.quadratic and left < MIN_RECORDS_NEAR * passes.size


# ---- a point near the optimum of all records ----

MAX_HESSIANS = 4  # Hessians of all records at most
NEAR = 0.3  # the distance from the optimum of all records, in standard errors


def _anchor(passes: Passes, far: bool) -> tuple[Matrix, Matrix] | None:
    """Search for the optimum of all records, roughly; None without one.

    The roots of the diagonal of a Hessian are returned as well, shape (q,).
    Coefficients of 0 serve folds that are far from the optimum, and least squares.
    """
    q = passes.size
    theta = np.zeros((1, q))
    scale = np.sqrt(passes.diagonal(theta))
    if not (scale > 0).all():
        return None
    if far or passes.family.quadratic:
        return theta, scale
    every = FewFits(passes, scale, 1.0, np.ones((1, len(passes.X))), passes.penalty)
    # the distance between optima of two samples grows as the root of their coordinates
    near = Until(max(NEAR, NEAR * float(np.sqrt(q)) / 3))
    inverse: Inverse = Identity()
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        # the Hessian of all records costs more than some gradients
        for _ in range(MAX_HESSIANS):
            there, done = climb(every.rounded(), theta * scale, inverse, near)
            theta = there / scale
            if done.all():
                return theta, scale
            triangle = every.mean_hessian(there)
            if triangle is None:
                break
            inverse = triangle
    return None


# ---- the fits ----

MAX_FITS = 256  # fits at most whose gradients are summed at once
MAX_CELLS = 2**26  # records times fits, at most, whose gradients are summed at once
ROUGH = 1e-5  # the distance that gradients of single precision leave, in each direction
SHARE_LEFT = 0.1  # share of a negligible distance, as its forecast may be too small
MAX_STEPS_ALONE = 200  # steps at most from 0 of folds of several classes


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
    far, (n, p) = _are_far(passes, folds), passes.X.shape
    found = _anchor(passes, far)
    if found is None:
        return None
    theta, scale = found
    least, width = scale.reshape(-1, p).min(axis=0), passes.family.width
    reach = passes.longest(passes.unit * least) * longest_row(passes.family)
    enough = SHARE_LEFT * negligible(passes.family, len(scale)) / reach
    # one Hessian of several classes costs many steps
    steps = MAX_STEPS_ALONE if far and width > 1 else MAX_STEPS
    until = Until(enough, noise=1e-15 * float(np.sqrt(n * len(scale))), most=steps)
    # gradients of single precision suffice for the way to the vicinity
    rough = Until(ROUGH * np.sqrt(len(scale)), 3 * ROUGH * np.sqrt(len(scale)), steps)
    coefficients = np.empty((len(folds), width, p))
    sure = np.empty(len(folds), dtype=bool)
    # residuals of all these fits are in memory at once
    most = int(np.clip(MAX_CELLS // n, 1, MAX_FITS))
    for start in range(0, len(folds), most):
        some = np.arange(start, min(start + most, len(folds)))
        penalty = passes.penalty if own is None else passes.penalties(own[some])
        often = folds.counts_in(n, some)
        if folds.weights is not None:
            often *= folds.weights(some)
        problem = FewFits(passes, scale, reach, often, penalty)
        # from 0 where folds have little in common, else from the optimum of all
        inverse = Identity() if far else problem.mean_hessian(theta * scale)
        at = np.tile(theta * scale, (len(some), 1))
        if inverse is not None:
            at, _ = climb(problem.rounded(), at, inverse, rough)
        if far and width == 1:
            inverse = None  # each fit gets a Hessian of its own
        at, sure[some], _ = settle(problem, at, until, inverse=inverse)
        beta = passes.coefficients(at / scale)
        coefficients[some] = beta.reshape(len(some), width, p)
    return (coefficients, sure) if sure.any() else None

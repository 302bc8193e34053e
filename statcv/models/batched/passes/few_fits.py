"""The fits of a few large folds, near the optimum of all records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.downdate import Inverse
from statcv.models.batched.folds import Folds
from statcv.models.batched.new_levels import Numbers
from statcv.models.batched.passes.anchor import Anchor, find_anchor
from statcv.models.batched.passes.choices import are_far, are_few_and_large
from statcv.models.batched.passes.problem import FewFits
from statcv.models.batched.passes.sums import Passes
from statcv.models.batched.quasi_newton import NEARBY, Identity, Until, climb
from statcv.models.batched.separation import not_separated
from statcv.models.families import family_of, longest_row, negligible

MAX_FITS = 256  # fits at most whose gradients are summed at once
MAX_CELLS = 2**26  # records times fits, at most, whose gradients are summed at once
MAX_HESSIANS = 20  # own Hessians at most of a fold
STEPS_FAR = 18  # steps from 0 that bring folds of two classes near their optima
MAX_STEPS_ALONE = 200  # steps at most from 0 of folds of several classes
# the share of its length to which a short way must fall with each new Hessian
MAX_SHARE_LEFT = 0.5


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
    far = are_far(passes, folds)
    for sums in passes.precisions:
        found = find_anchor(sums, far)
        if found is not None:
            break
    else:
        return None
    p, width = passes.X.shape[1], passes.family.width
    least, quick = found.scale.reshape(-1, p).min(axis=0), passes.precisions[0]
    reach = quick.longest(quick.unit * least) * longest_row(passes.family)
    coefficients = np.empty((len(folds), width, p))
    sure = np.empty(len(folds), dtype=bool)
    # residuals of all these fits are in memory at once
    most = int(np.clip(MAX_CELLS // len(passes.X), 1, MAX_FITS))
    for start in range(0, len(folds), most):
        some = np.arange(start, min(start + most, len(folds)))
        penalty = passes.penalty if own is None else passes.penalties(own[some])
        problem = _problem(passes, found.scale, reach, folds, some, penalty)
        theta, sure[some] = _settle(problem, found, far)
        beta = passes.coefficients(theta / found.scale)
        coefficients[some] = beta.reshape(len(some), width, p)
    return (coefficients, sure) if sure.any() else None


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
    # one Hessian of several classes costs many steps
    steps = MAX_STEPS_ALONE if problem.family.width > 1 else STEPS_FAR
    # from 0 where folds have little in common, else from the optimum of all
    inverse: Inverse | None = Identity() if far else problem.fold_hessians(start)
    before, hope = np.full(len(problem), np.inf), ~done
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for number in range(1 + MAX_HESSIANS):
            left = np.flatnonzero(hope)
            if not len(left):
                break
            rest, at = problem.part(left), theta[left]
            if inverse is None:
                inverse = rest.own_hessians(at)
            rough = rest.rounded() if inverse.single else None
            most = steps if far and not number else near.most
            until = replace(near, most=most)
            theta[left], done[left] = climb(rest, at, inverse, until, rough)
            moved = np.sqrt(((theta[left] - at) ** 2).sum(axis=1))
            # a fit that no longer moves is done with, converged or not
            nearer = (moved > NEARBY * np.sqrt(q)) | (
                moved < MAX_SHARE_LEFT * before[left]
            )
            hope[left] = ~done[left] & (moved > 0) & nearer
            before[left], inverse = moved, None
        if done.any() and not problem.passes.bounded:
            done[done] = not_separated(problem.part(done), theta[done])
    return theta, done

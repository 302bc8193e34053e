"""Binary logistic regression in all folds together.

In coordinates where the Hessian of the fit to all records is the identity, that of
a fold is the identity less a few rows. Steps by this fixed matrix, with the exact
gradient of each fold, take two matrix products for all folds of a block; Broyden's
update makes them converge faster than linearly. Folds that do not yield get their
own Hessian, and in the end a fit of their own, which also judges separation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet, refuse_missing
from statcv.models.chord import SINGULAR, STEPS, follow, squares_of
from statcv.models.downdate import Inverse
from statcv.models.folds import FoldFits, Folds
from statcv.models.logit_centre import find_centre
from statcv.models.logit_problem import Problem
from statcv.models.logit_series import NearCentre, Series
from statcv.models.newton import FLOOR, MOVING, TOLERANCE

if TYPE_CHECKING:
    from statcv.models.logit import Logit

HESSIANS = 8  # of its own that a fold gets
FAR = 1.0  # a step that moves a linear predictor by more is looked at first
SECANTS = 10  # at most, by which such a step is shortened
ACCURACY = 1e-12  # of linear predictors
REST = 4e-11  # what a series may leave out of them: 1e-11 of probabilities
LARGE = 15.0  # a linear predictor beyond which separation is looked for


def fit_logit_folds(model: Logit, records: TrainingSet, folds: Folds) -> FoldFits:
    """Fit a binary outcome in every fold, as :class:`~statcv.models.Logit` would.

    Parameters
    ----------
    model : Logit
    records : TrainingSet
        All records; ``y`` may have a row for each of several outcomes, then
        ``folds.outcome`` says which.
    folds : Folds

    Returns
    -------
    FoldFits

    Examples
    --------
    >>> from statcv.models import Logit
    >>> X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5]])
    >>> y = np.array([0, 1, 0, 0, 1, 1])
    >>> records = TrainingSet(X, y, "binary", 2, ("one", "x"), 0, None, seed=0)
    >>> fits = fit_logit_folds(Logit(C=1.0), records, Folds.leaving_out([[0], [5]]))
    >>> fits.coefficients.round(3)
    array([[-0.475,  0.299],
           [-1.022,  0.299]])
    """
    refuse_missing(records, "logistic regression")
    fits = FoldFits.empty(len(folds), records.X.shape[1])
    centre = find_centre(model, records)
    if centre is not None:
        n, p = centre.X.shape
        series = None
        if folds.outcome is None and Series.worthwhile(centre, folds):
            series = Series.around(centre)
        each = n if series is None else len(series.cubic)
        for block in folds.blocks(n, p, each):
            theta, fitted = _fit_block(Problem.of(centre, block), series)
            fits.coefficients[block.fits] = theta @ centre.back
            fits.converged[block.fits] = fitted
    fits.coefficients[folds.empty_columns(records.X, records.weights)] = 0.0
    return fits.refit(model, records, folds)


def _fit_block(
    problem: Problem, series: Series | None
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return the coefficients of each fit, and whether they are beyond doubt."""
    block, q = problem.block, len(problem.centre.theta)
    theta, gradient = problem.start()
    inverse = problem.common_hessian()
    weighted = block.counts is not None and block.few(q)  # which it leaves aside
    bound = np.full(len(block), np.inf) if weighted else np.maximum(inverse.norm, 1)
    if series is None or block.counts is not None:
        return settle(problem, theta, gradient, inverse, bound)[:2]
    near = NearCentre.of(problem, series)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found, done, _ = _iterate(near, theta, inverse.times(gradient), inverse)
        found = np.where(done[:, None], found, theta)
        moved = np.sqrt(squares_of(found - theta)) * problem.centre.reach
        bound = bound * np.exp(moved)  # there
        wrong = series.error(found - theta) * bound * problem.centre.reach
        sure = done & (wrong <= REST)
        part = problem.part(sure)
        sure[sure] = _not_separated(part, found[sure], found[sure], bound[sure])
    for left in problem.batches(~sure, each=block.n):
        rest, start = problem.part(left), found[left]
        from_there = start, rest.gradient(start), inverse.part(left), bound[left]
        found[left], sure[left], _ = settle(rest, *from_there)
    return found, sure


def settle(
    problem: Problem, theta: Matrix, gradient: Matrix, inverse: Inverse, bound: Matrix
) -> tuple[Matrix, NDArray[np.bool_], int]:
    """Look for the optima, and make sure that they are such.

    Parameters
    ----------
    problem : Problem
    theta, gradient : numpy.ndarray, shape (m, q)
        Where to start, and the gradient there.
    inverse : Inverse
        Like the Hessian's there.
    bound : numpy.ndarray, shape (m,)
        Of the largest eigenvalue of the inverse Hessian at the start.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
    sure : numpy.ndarray of bool, shape (m,)
        Where it is the optimum beyond doubt.
    steps : int
        Taken by ``inverse``, at most; ``STEPS`` where it did not lead to all optima.
    """
    at, bound = theta.copy(), bound.copy()
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        theta, done, steps = _approach(problem, theta, gradient, inverse)
        for _ in range(HESSIANS):
            if done.all():
                break
            for left in problem.batches(~done):
                rest = problem.part(left)
                at[left] = theta[left]
                gradient, own = rest.own_hessian(at[left])
                bound[left] = own.norm
                theta[left], done[left], _ = _approach(rest, at[left], gradient, own)
        for some in problem.batches(done):
            part = problem.part(some)
            done[some] = _not_separated(part, theta[some], at[some], bound[some])
    return theta, done, steps


def _approach(
    problem: Problem, theta: Matrix, gradient: Matrix, inverse: Inverse
) -> tuple[Matrix, NDArray[np.bool_], int]:
    """Iterate, but where the first step goes too far only shorten it.

    Returns where each fit ended, whether its gradient vanishes there, and how many
    steps that took, ``STEPS`` where some gradient does not vanish.
    """
    usable = inverse.norm <= SINGULAR
    step = inverse.times(gradient)
    far = usable & (squares_of(step) * problem.centre.reach**2 > FAR**2)
    short = _shortened(problem, theta, gradient, step, far) if far.any() else far
    if usable.all() and not short.any():
        return _iterate(problem, theta, step, inverse)
    found, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    found[short] += step[short]
    go = usable & ~short
    if go.any():
        part = problem.part(go), theta[go], step[go], inverse.part(go)
        found[go], done[go], _ = _iterate(*part)
    return found, done, STEPS


def _shortened(
    problem: Problem,
    theta: Matrix,
    gradient: Matrix,
    step: Matrix,
    far: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Shorten, in place, steps that go too far, and tell which were.

    Those do at whose end the objective rises more steeply than it falls at their
    beginning. Looked at are those that move a linear predictor far.
    """
    left = np.flatnonzero(far)
    left = left[np.abs(step[left] @ problem.centre.across).max(axis=1) > FAR]
    short = np.zeros(len(step), dtype=bool)
    for _ in range(SECANTS):
        if not len(left):
            break
        falls = np.einsum("bp,bp->b", gradient[left], step[left])
        ahead = problem.part(left).gradient(theta[left] + step[left])
        rises = -np.einsum("bp,bp->b", ahead, step[left])
        steep = rises > falls
        left, falls, rises = left[steep], falls[steep], rises[steep]
        short[left] = True
        step[left] *= np.maximum(falls / (falls + rises), 0.1)[:, None]
    return short


def _iterate(
    problem: Problem | NearCentre, theta: Matrix, step: Matrix, inverse: Inverse
) -> tuple[Matrix, NDArray[np.bool_], int]:
    """Step until the gradient vanishes; ``step`` is the first."""
    enough = ACCURACY / problem.centre.reach
    noise = 1e-15 * np.sqrt(theta.shape[1] * problem.block.n)
    return follow(problem, theta, step, inverse, enough, noise)


def _not_separated(
    problem: Problem, theta: Matrix, at: Matrix, bound: Matrix
) -> NDArray[np.bool_]:
    """Tell which fits cannot be separated.

    Where all linear predictors are moderate, they are not. Else a fit of its own
    would call a fold separated only if a step that gains next to nothing could
    still move them. Whether it could, the Hessian tells: one known on the way, which
    shrinks by a factor of exp(moved) at most, or that at the end.

    Parameters
    ----------
    problem : Problem
    theta : numpy.ndarray, shape (m, q)
    at : numpy.ndarray, shape (m, q)
        Where the Hessians are known.
    bound : numpy.ndarray, shape (m,)
        Of the largest eigenvalue of the inverse Hessians there.
    """
    centre, block = problem.centre, problem.block
    reach = centre.reach
    moved = np.sqrt(squares_of(theta - centre.theta)) * reach
    sure = np.asarray(centre.largest + moved < LARGE)
    if sure.all():
        return sure
    least = (MOVING / 2) ** 2 / (2 * (TOLERANCE + FLOOR) * np.log(2))
    total = block.total(centre.weights)

    def steep(some: NDArray[np.intp], moved: Matrix) -> NDArray[np.bool_]:
        furthest = bound[some] * reach**2 * np.exp(moved)
        return np.asarray(total[some] * furthest < least)

    rest = np.flatnonzero(~sure)
    moved = np.sqrt(squares_of(theta[rest] - at[rest])) * reach
    sure[rest] = steep(rest, moved)
    rest = np.flatnonzero(~sure)
    eta, before = theta[rest] @ centre.across, at[rest] @ centre.across
    moderate = np.abs(eta).max(axis=1, initial=0) < LARGE
    moved = np.abs(eta - before).max(axis=1, initial=0)
    sure[rest] = moderate | steep(rest, moved)
    rest = np.flatnonzero(~sure)
    if len(rest):
        inverse = problem.part(rest).own_hessian(theta[rest])[1]
        regular = inverse.norm <= SINGULAR
        for number, place in enumerate(rest.tolist()):
            used = centre.X[block.counted(place) * centre.weights > 0]
            across = used @ inverse.matrices[number]
            furthest = np.einsum("ij,ij->i", across, used).max()
            sure[place] = regular[number] and total[place] * furthest < least
    return sure

"""Binary logistic regression in all folds together.

In coordinates where the Hessian of the fit to all records is the identity, that of a
fold is the identity minus a few rows. Steps by this fixed matrix, with the exact
gradient of each fold, take two matrix products for all folds of a block; Broyden's
update makes them converge faster than linearly. Folds that do not converge get their
own Hessian, and finally a fit of their own, which also judges separation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, RidgeModel, TrainingSet
from statcv.models.batched.chord import (
    ACCURACY,
    SINGULAR,
    approach,
    follow,
    squares_of,
)
from statcv.models.batched.downdate import Inverse
from statcv.models.batched.folds import CELLS, Block, FoldFits, Folds
from statcv.models.batched.logit.newton import refit_logit
from statcv.models.batched.logit.problem import (
    Centre,
    Penalties,
    Problem,
    find_centre,
    logistic,
)
from statcv.models.batched.passes import fit_by_passes
from statcv.models.newton import LARGE, is_steep
from statcv.models.spread import diagonal

# ---- gradients near the fit to all records, by their power series ----

TIMES = 4  # records for each cubic term from which the series is used
# the largest root of a record's leverage with which the series is used
HELD = 0.25


@dataclass(frozen=True, eq=False)
class Series:
    """The gradient of all records around the centre, penalty included.

    Attributes
    ----------
    centre : Centre
    linear : numpy.ndarray, shape (q, q)
    quadratic, cubic : numpy.ndarray, shape (terms, q)
        What moves, and products of two and of three of their entries, take from it.
    """

    centre: Centre
    linear: Matrix
    quadratic: Matrix
    cubic: Matrix

    @classmethod
    def worthwhile(cls, centre: Centre, folds: Folds) -> bool:
        """Tell whether the series takes less time than it saves, and is good enough."""
        n, q = centre.X.shape
        terms = comb(q + 2, 3)
        return TIMES * terms <= n and terms <= len(folds) and centre.reach <= HELD

    @classmethod
    def around(cls, centre: Centre) -> Series:
        """Sum the terms over the records, some at a time."""
        n, q = centre.X.shape
        linear = centre.roots.T @ centre.roots
        if centre.ridge is not None:
            linear += centre.ridge
        eta = centre.X @ centre.theta
        skew = logistic(-eta) - logistic(eta)
        second = centre.weights * centre.variance * skew / 2
        third = centre.weights * centre.variance * (1 - 6 * centre.variance) / 6
        quadratic = np.zeros((comb(q + 1, 2), q))
        cubic = np.zeros((comb(q + 2, 3), q))
        size = max(1, CELLS // len(cubic))
        for start in range(0, n, size):
            some = slice(start, start + size)
            X = centre.X[some]
            two, three = _products(X)
            quadratic += two.T @ (second[some, None] * X)
            cubic += three.T @ (third[some, None] * X)
        quadratic *= _orders(q, 2)[:, None]
        cubic *= _orders(q, 3)[:, None]
        return cls(centre, linear, quadratic, cubic)

    def taken(self, move: Matrix) -> Matrix:
        """Return what moves from the centre, shape (m, q), take from the gradient."""
        two, three = _products(move)
        return np.asarray(
            move @ self.linear + two @ self.quadratic + three @ self.cubic
        )

    def error(self, move: Matrix) -> Matrix:
        """Bound the length of what the series leaves out of the gradient, shape (m,).

        The fourth derivative of the logistic function is nowhere larger than its
        first, which summed over the records is the identity at most; that grows on
        the way by a factor of exp(far) at most.
        """
        length = np.sqrt(squares_of(move))
        far = self.centre.reach * length
        return np.asarray(np.exp(far) * far**3 * length / 24)


@dataclass(frozen=True, eq=False)
class NearCentre:
    """Fits that leave out few records, with their gradients by a series.

    Attributes
    ----------
    series : Series
    block : Block
    level : numpy.ndarray, shape (m, q)
        The gradient of all records at the centre.
    across, rows : numpy.ndarray, shape (m, width, q)
        From coefficients to linear predictors of the records left out, and from
        probabilities to what they take from the gradient.
    ridge : numpy.ndarray, shape (m, q, q), or None
        What the penalty of each fit has beyond that of the centre.
    """

    series: Series
    block: Block
    level: Matrix
    across: Matrix
    rows: Matrix
    ridge: Matrix | None

    @classmethod
    def of(cls, problem: Problem, series: Series) -> NearCentre:
        """Set up the fits of a problem, which have all the same outcome."""
        centre, block = problem.centre, problem.block
        level = centre.residuals @ centre.rows
        if centre.ridge is not None:
            level = level - centre.theta @ centre.ridge
        rows = centre.rows[block.rows] * block.less[:, :, None]
        levels = np.tile(level, (len(block), 1))
        across = centre.across.T[block.rows]
        return cls(series, block, levels, across, rows, problem.ridge)

    @property
    def centre(self) -> Centre:
        """The fit to all records."""
        return self.series.centre

    def part(self, chosen: NDArray[Any]) -> NearCentre:
        """Return some of the fits."""
        return replace(
            self,
            block=self.block.part(chosen),
            level=self.level[chosen],
            across=self.across[chosen],
            rows=self.rows[chosen],
            ridge=None if self.ridge is None else self.ridge[chosen],
        )

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, less the penalty's."""
        every = self.level - self.series.taken(theta - self.centre.theta)
        if self.ridge is not None:
            every -= np.einsum("bp,bpq->bq", theta, self.ridge)
        against = logistic(-np.einsum("bmp,bp->bm", self.across, theta))
        return np.asarray(every - np.einsum("bm,bmp->bp", against, self.rows))


def _products(rows: Matrix) -> tuple[Matrix, Matrix]:
    """Return the products of two entries of each row, and of three, in rising order."""
    q = rows.shape[1]
    two = np.hstack([rows[:, a : a + 1] * rows[:, a:] for a in range(q)])
    from_a = np.cumsum([0, *range(q, 1, -1)]).tolist()
    three = [rows[:, a : a + 1] * two[:, start:] for a, start in enumerate(from_a)]
    return two, np.hstack(three)


def _orders(q: int, factors: int) -> Matrix:
    """Return in how many orders the factors of each product can be written."""
    orders = {2: {1: 1, 2: 2}, 3: {1: 1, 2: 3, 3: 6}}[factors]
    products = combinations_with_replacement(range(q), factors)
    return np.array([orders[len(set(one))] for one in products], dtype=float)


# ---- the fits of all folds ----

HESSIANS = 8  # own Hessians at most of a fold without a ridge, under separation too
BOUNDED = 40  # own Hessians at most of a fold with a ridge, which has an optimum


def fit_logit_folds(model: RidgeModel, records: TrainingSet, folds: Folds) -> FoldFits:
    """Fit a binary outcome in every fold, as :class:`~statcv.models.Logit` would.

    Parameters
    ----------
    model : Logit
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
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
    fits = sure_logit_fits(model, records, folds)
    return refit_logit(fits, model, records, folds)


def sure_logit_fits(
    model: RidgeModel,
    records: TrainingSet,
    folds: Folds,
    penalties: Penalties | None = None,
    own: Matrix | None = None,
) -> FoldFits:
    """Return the fits that are beyond doubt; the others have not converged.

    Parameters
    ----------
    model, records, folds
        As in :func:`fit_logit_folds`.
    penalties : callable, optional
        Function of the numbers of m fits that returns the matrix of the ridge of each,
        shape (m, p, p), if fits have their own; those of ``model`` are about the same.
    own : numpy.ndarray, shape (fits, p), optional
        Strength of the ridge on each column in each fit, in place of such matrices.
    """
    fits = FoldFits.empty(len(folds), records.X.shape[1])
    made = None
    if own is not None:
        penalties = partial(diagonal, own)
        made = fit_by_passes(records, folds, model.ridge(records), own)
    elif penalties is None:
        made = fit_by_passes(records, folds, model.ridge(records))
    if made is not None:
        fits.coefficients[:], fits.converged[:] = made[0][:, 0], made[1]
    centre = None if made is not None else find_centre(model, records)
    if centre is not None:
        n, p = centre.X.shape
        series = None
        if folds.outcome is None and Series.worthwhile(centre, folds):
            series = Series.around(centre)
        each = n if series is None else len(series.cubic)
        for block in folds.blocks(n, p, each):
            theta, fitted = _fit_block(Problem.of(centre, block, penalties), series)
            fits.coefficients[block.fits] = theta @ centre.back
            fits.converged[block.fits] = fitted
    empty = folds.empty_columns(records.X, records.weights)
    if empty is not None:
        fits.coefficients[empty] = 0.0
    return fits


def _fit_block(
    problem: Problem, series: Series | None
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return the coefficients of each fit, and whether they are beyond doubt."""
    block, q = problem.block, len(problem.centre.theta)
    theta, gradient = problem.start()
    inverse = problem.common_hessian()
    # the common Hessian leaves such weights aside
    weighted = block.counts is not None and block.few(q)
    bound = np.full(len(block), np.inf) if weighted else inverse.norm
    if series is None or block.counts is not None:
        return settle(problem, theta, gradient, inverse, bound)[:2]
    near = NearCentre.of(problem, series)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        step = inverse.times(gradient)
        found, done, _ = follow(near, theta, step, inverse, *_precision(near))
        found = np.where(done[:, None], found, theta)
        moved = np.sqrt(squares_of(found - theta)) * problem.centre.reach
        bound = bound * np.exp(moved)  # there
        wrong = series.error(found - theta) * bound * problem.centre.reach
        sure = done & (wrong <= ACCURACY)
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
    """Search for the optima, and verify them.

    Parameters
    ----------
    problem : Problem
    theta, gradient : numpy.ndarray, shape (m, q)
        Where to start, and the gradient there.
    inverse : Inverse
        Approximate inverse of the Hessian there.
    bound : numpy.ndarray, shape (m,)
        Bound on the largest eigenvalue of the inverse Hessian at the start.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
    sure : numpy.ndarray of bool, shape (m,)
        Whether it is the optimum beyond doubt.
    steps : int
        Largest number of steps by ``inverse``; ``STEPS`` if it did not reach all
        optima.
    """
    at, bound = theta.copy(), bound.copy()
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        precision = _precision(problem)
        theta, done, steps = approach(problem, theta, gradient, inverse, *precision)
        for _ in range(HESSIANS if problem.centre.ridge is None else BOUNDED):
            if done.all():
                break
            for left in problem.batches(~done):
                rest = problem.part(left)
                at[left] = theta[left]
                gradient, own = rest.own_hessian(at[left])
                bound[left] = own.norm
                theta[left], done[left], _ = approach(
                    rest, at[left], gradient, own, *precision
                )
        for some in problem.batches(done):
            part = problem.part(some)
            done[some] = _not_separated(part, theta[some], at[some], bound[some])
    return theta, done, steps


def _precision(problem: Problem | NearCentre) -> tuple[float, float]:
    """Return the length of a negligible step, and that of rounding."""
    n, q = problem.centre.X.shape
    return ACCURACY / problem.centre.reach, 1e-15 * float(np.sqrt(n * q))


def _not_separated(
    problem: Problem, theta: Matrix, at: Matrix, bound: Matrix
) -> NDArray[np.bool_]:
    """Return which fits cannot be separated.

    If all linear predictors are moderate, or a ridge bounds a fit to both classes, they
    are not. Otherwise a fit of its own would call a fold separated only if a step with
    negligible gain could still move them. The Hessian shows whether it could: one known
    on the way, which shrinks by a factor of at most exp(moved), or that at the end.

    Parameters
    ----------
    problem : Problem
    theta : numpy.ndarray, shape (m, q)
    at : numpy.ndarray, shape (m, q)
        Where the Hessians are known.
    bound : numpy.ndarray, shape (m,)
        Bound on the largest eigenvalue of the inverse Hessians there.
    """
    centre, block = problem.centre, problem.block
    reach = centre.reach
    moved = np.sqrt(squares_of(theta - centre.theta)) * reach
    sure = np.asarray(centre.largest + moved < LARGE)
    if centre.bounded and problem.ridge is None:
        sure |= block.has_classes(centre.y, centre.weights, 2)
    if sure.all():
        return sure
    total = block.total(centre.weights)

    def steep(some: NDArray[np.intp], moved: Matrix) -> NDArray[np.bool_]:
        furthest = bound[some] * reach**2 * np.exp(moved)
        return is_steep(total[some], furthest)

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
            sure[place] = regular[number] and is_steep(total[place], furthest)
    return sure

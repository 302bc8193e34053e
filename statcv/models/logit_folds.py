"""Binary logistic regression in all folds together.

In coordinates where the Hessian of the fit to all records is the identity, that of
a fold is the identity less a few rows. Steps by this fixed matrix, with the exact
gradient of each fold, take two matrix products for all folds of a block; Broyden's
update makes them converge faster than linearly. Folds that do not yield get their
own Hessian, and in the end a fit of their own, which also judges separation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet, refuse_missing
from statcv.models.downdate import Inverse, Whole, by_counts, by_lists, inverted
from statcv.models.folds import Block, FoldFits, Folds
from statcv.models.logit_centre import Centre, find_centre
from statcv.models.newton import FLOOR, MOVING, TOLERANCE

if TYPE_CHECKING:
    from statcv.models.logit import Logit

STEPS = 30  # of a fold with one Hessian
HESSIANS = 3  # of its own that a fold gets
ACCURACY = 1e-12  # of linear predictors
SINGULAR = 1e8  # an inverse Hessian that is larger is taken for none
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
        for block in folds.blocks(n, p, each=n):
            theta, fitted = _fit_block(_Problem.of(centre, block))
            fits.coefficients[block.fits] = theta @ centre.back
            fits.converged[block.fits] = fitted
    fits.coefficients[folds.empty_columns(records.X, records.weights)] = 0.0
    return fits.refit(model, records, folds)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The optima that some fits look for.

    Attributes
    ----------
    centre : Centre
    block : Block
    observed : numpy.ndarray, shape (m, q)
        The part of the gradient that does not depend on coefficients.
    room : numpy.ndarray, shape (m, n)
        Where hyperbolic tangents are written.
    """

    centre: Centre
    block: Block
    observed: Matrix
    room: Matrix

    @classmethod
    def of(cls, centre: Centre, block: Block) -> _Problem:
        """Set up the fits of a block."""
        y = centre.y if block.outcome is None else centre.y[block.outcome]
        observed = block.sums(2 * y - 1, centre.rows)
        return cls(centre, block, observed, room=np.empty((len(block), block.n)))

    def start(self) -> tuple[Matrix, Matrix]:
        """Return the centre for each fit, and the gradient there."""
        theta = np.tile(self.centre.theta, (len(self.block), 1))
        explained = self.block.sums(self.centre.tangents, self.centre.rows)
        return theta, self.observed - explained - self._penalty(theta)

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, less the penalty's."""
        tanh = np.matmul(theta, self.centre.across, out=self.room[: len(theta)])
        np.tanh(tanh, out=tanh)
        self.block.multiply(tanh)
        return np.asarray(
            self.observed - tanh @ self.centre.rows - self._penalty(theta)
        )

    def _penalty(self, theta: Matrix) -> Matrix | float:
        return 0.0 if self.centre.ridge is None else theta @ self.centre.ridge

    def part(self, chosen: NDArray[np.bool_]) -> _Problem:
        """Return the problem of some of the fits."""
        return replace(
            self,
            block=self.block.part(chosen),
            observed=self.observed[chosen],
        )

    def common_hessian(self) -> Inverse:
        """Return the inverse Hessian of each fit at the centre.

        Where few records change, their weights in the fit are left aside: these are
        near 1 in most plans, and cost only steps.
        """
        few = self.block.few(len(self.centre.theta))
        made: Inverse = (by_lists if few else by_counts)(self.centre.roots, self.block)
        return made

    def own_hessian(self, theta: Matrix) -> Whole:
        """Return the inverse Hessian of each fit at its coefficients."""
        X, q = self.centre.X, len(self.centre.theta)
        made = np.empty((len(theta), q, q))
        for place, one in enumerate(theta):
            variance = (1 - np.tanh(one @ self.centre.across) ** 2) / 4
            counts = self.block.counted(place) * self.centre.weights
            made[place] = (X.T * (counts * variance)) @ X
        if self.centre.ridge is not None:
            made += self.centre.ridge
        return Whole(inverted(made))


def _fit_block(problem: _Problem) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return the coefficients of each fit, and whether they are beyond doubt."""
    theta, gradient = problem.start()
    common = problem.common_hessian()
    theta, done = _iterate(problem, theta, gradient, common)
    for _ in range(HESSIANS):
        left = ~done
        if not left.any():
            break
        rest = problem.part(left)
        again = theta[left]
        inverse = rest.own_hessian(again)
        theta[left], done[left] = _iterate(rest, again, rest.gradient(again), inverse)
    if done.any():
        bound = common.norm[done]
        done[done] = _not_separated(problem.part(done), theta[done], bound)
    return theta, done


def _iterate(
    problem: _Problem, theta: Matrix, gradient: Matrix, inverse: Inverse
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Step until the gradient vanishes, by one matrix and Broyden's updates of it.

    Returns where each fit ended, and whether its gradient vanishes there.
    """
    found, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    usable = inverse.norm <= SINGULAR
    if not usable.all():
        problem, inverse = problem.part(usable), inverse.part(usable)
        theta, gradient = theta[usable], gradient[usable]
    which = np.flatnonzero(usable)
    enough = ACCURACY / problem.centre.reach
    noise = 1e-15 * np.sqrt(theta.shape[1] * problem.block.n)
    steps: list[Matrix] = []
    squares: list[Matrix] = []
    before = np.full(len(theta), np.inf)
    for _ in range(STEPS):
        step = inverse.times(gradient)
        size = np.sqrt(_squares(step))
        step = _updated(step, steps, squares)
        square = _squares(step)
        size = np.maximum(size, np.sqrt(square))  # an update may be led astray
        rate = np.where(before < np.inf, size / before, 1.0)
        close = (size * rate <= enough) | (size <= noise)
        go = ~close & (rate <= 1)
        ahead = theta + step
        found[which[close]] = ahead[close]
        done[which[close]] = True
        if not go.all():
            lost = ~close & ~go
            found[which[lost]] = theta[lost]
            if not go.any():
                break
            which, ahead, before = which[go], ahead[go], size[go]
            problem, inverse = problem.part(go), inverse.part(go)
            steps = [one[go] for one in [*steps, step]]
            squares = [one[go] for one in [*squares, square]]
        else:
            before = size
            steps.append(step)
            squares.append(square)
        theta = ahead
        gradient = problem.gradient(theta)
    else:
        found[which] = theta
    return found, done


def _squares(rows: Matrix) -> Matrix:
    return np.asarray(np.einsum("bp,bp->b", rows, rows))


def _updated(step: Matrix, steps: list[Matrix], squares: list[Matrix]) -> Matrix:
    """Apply Broyden's updates, each given by a step and the one after it."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for (earlier, later), square in zip(pairwise(steps), squares, strict=False):
            step += later * (np.einsum("bp,bp->b", earlier, step) / square)[:, None]
        if steps:
            along = np.einsum("bp,bp->b", steps[-1], step) / squares[-1]
            step /= (1 - along)[:, None]
    return step


def _not_separated(
    problem: _Problem, theta: Matrix, bound: Matrix
) -> NDArray[np.bool_]:
    """Tell which fits cannot be separated.

    Where all linear predictors are moderate, they are not. Else a fit of its own
    would call a fold separated only if a step that gains next to nothing could
    still move them. Whether it could, the Hessian tells: that at the centre, which
    shrinks on the way by a factor of exp(moved) at most, or the fit's own.

    Parameters
    ----------
    problem : _Problem
    theta : numpy.ndarray, shape (m, q)
    bound : numpy.ndarray, shape (m,)
        Of the largest eigenvalue of the inverse Hessians at the centre.
    """
    centre, block = problem.centre, problem.block
    reach = centre.reach
    moved = np.sqrt(((theta - centre.theta) ** 2).sum(axis=1)) * reach
    sure = centre.largest + moved < LARGE
    least = (MOVING / 2) ** 2 / (2 * (TOLERANCE + FLOOR) * np.log(2))
    if block.counts is None:
        lost = (block.less * centre.weights[block.rows]).sum(axis=1)
        total = centre.weights.sum() - lost
        with np.errstate(over="ignore"):
            sure |= total * bound * reach**2 * np.exp(moved) < least
    for place in np.flatnonzero(~sure).tolist():
        if np.abs(centre.X @ theta[place]).max() < LARGE:
            sure[place] = True
            continue
        one = problem.part(np.arange(len(theta)) == place)
        inverse = one.own_hessian(theta[place : place + 1])
        counts = block.counted(place) * centre.weights
        used = centre.X[counts > 0]
        furthest = np.einsum("ij,ij->i", used @ inverse.matrices[0], used).max()
        regular = inverse.norm[0] <= SINGULAR
        sure[place] = regular and counts.sum() * furthest < least
    return np.asarray(sure)

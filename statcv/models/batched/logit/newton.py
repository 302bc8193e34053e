"""Logistic fits by Newton's method from 0, side by side.

The method is that of :func:`statcv.models.newton.minimise`, step for step, so that fits
under separation, whose predictions depend on where it stops, are the same to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, RidgeModel, TrainingSet
from statcv.models.batched.folds import FoldFits, Folds
from statcv.models.batched.gram import grams, kept_products_of
from statcv.models.newton import (
    ARMIJO,
    CONDITION,
    EXTREME,
    FLOOR,
    MAX_HALVINGS,
    MAX_ITERATIONS,
    MOVING,
    TOLERANCE,
    column_units,
)

Bools = NDArray[np.bool_]

BLOCK = 4  # values of the rows of a block of fits, in units of CELLS


def refit_logit(
    fits: FoldFits, model: RidgeModel, records: TrainingSet, folds: Folds
) -> FoldFits:
    """Make by Newton's method from 0, in place, the fits that have not converged.

    Parameters
    ----------
    fits : FoldFits
    model : Logit
    records : TrainingSet
        All records, with a binary outcome or several.
    folds : Folds
    """
    left = np.flatnonzero(~fits.converged)
    if not len(left):
        return fits
    n, p = records.X.shape
    unit = column_units(records.X)
    X, ridge = records.X / unit, model.ridge(records) / unit**2
    sign = np.where(records.y == 1, 1.0, -1.0)
    given = np.ones(n) if records.weights is None else records.weights
    again = folds.chosen(left)
    for block in again.blocks(n, p, each=(n + p) * p, larger=BLOCK):
        weights = np.tile(given, (len(block), 1))
        block.multiply(weights)
        own = sign[None] if block.outcome is None else sign[block.outcome]
        own = np.broadcast_to(own, weights.shape)
        beta, converged, separated = minimise_all(Likelihoods(X, own, weights, ridge))
        numbers = left[block.fits]
        fits.coefficients[numbers] = beta / unit
        fits.converged[numbers] = converged
        fits.separated[numbers] = separated
        fits.refitted[numbers] = True
    return fits


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Minus the log-likelihoods of some fits, with the penalty.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
    sign : numpy.ndarray, shape (m, n)
        1 for the positive class and -1 for the other.
    weights : numpy.ndarray, shape (m, n)
        Weights of the records in each fit; 0 for those on which it does not train.
    ridge : numpy.ndarray, shape (p,)
    """

    X: Matrix
    sign: Matrix
    weights: Matrix
    ridge: Matrix

    def __len__(self) -> int:
        return len(self.weights)

    def part(self, chosen: NDArray[np.intp] | Bools) -> Likelihoods:
        """Return some of the fits."""
        return replace(self, sign=self.sign[chosen], weights=self.weights[chosen])

    def loss(self, eta: Matrix, beta: Matrix) -> Matrix:
        """Return the value of each, shape (m,)."""
        margin = self.sign * eta
        each = np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0)
        fit = np.einsum("mn,mn->m", self.weights, each)
        return np.asarray(fit + 0.5 * (self.ridge * beta**2).sum(axis=1))

    def furthest(self, eta: Matrix) -> Matrix:
        """Return the largest absolute linear predictor of a training record, (m,)."""
        return np.asarray(np.where(self.weights > 0, np.abs(eta), 0.0).max(axis=1))

    def extreme(self, eta: Matrix) -> Bools:
        """Return whether fitted probabilities come near 0 or 1, shape (m,)."""
        small = np.exp(-self.furthest(eta))
        return np.asarray(small / (1 + small) < EXTREME)

    def gradient(self, eta: Matrix, beta: Matrix) -> Matrix:
        """Return the direction of steepest descent of each, shape (m, p)."""
        residual = self.weights * self.sign * _expit(-self.sign * eta)
        return np.asarray(residual @ self.X - self.ridge * beta)

    def newton(self, eta: Matrix, gradient: Matrix) -> Matrix:
        """Return each gradient times the inverse Hessian."""
        variance = self.weights * _expit(eta) * _expit(-eta)
        step, well = self._solved_well(variance, gradient)
        ill = np.flatnonzero(~well)
        if len(ill):
            turned = _Turned.of(self._rows(np.sqrt(variance[ill])))
            step[ill] = turned.inverse_gram(gradient[ill])
        return step

    def cautious(self, eta: Matrix, beta: Matrix, gradient: Matrix) -> Matrix:
        """Return each gradient times the inverse of a matrix above the Hessian."""
        half = np.maximum(np.abs(eta) / 2, 1e-8)
        bound = np.tanh(half) / (4 * half)
        wrong = self.sign * eta < 0
        variance = np.where(wrong, bound, _expit(eta) * _expit(-eta))
        variance = np.maximum(variance, 1e-300) * self.weights
        step, well = self._solved_well(variance, gradient)
        ill = np.flatnonzero(~well)
        if len(ill):
            some, root = self.part(ill), np.sqrt(variance[ill])
            residual = some.weights * some.sign * _expit(-some.sign * eta[ill])
            working = np.divide(residual, root, out=np.zeros_like(root), where=root > 0)
            pull = (-np.sqrt(self.ridge) * beta[ill])[:, self.ridge > 0]
            rows = self._rows(root)
            step[ill] = _least_squares(rows, np.hstack([working, pull]))
        return step

    def _solved_well(self, variance: Matrix, gradient: Matrix) -> tuple[Matrix, Bools]:
        p, products = self.X.shape[1], kept_products_of(self.X)
        if products is None:
            hessian = np.stack([(self.X.T * one) @ self.X for one in variance])
        else:
            hessian = grams(variance, products, p)
        hessian[:, np.arange(p), np.arange(p)] += self.ridge
        return solve_all_well(hessian, gradient)

    def _rows(self, root: Matrix) -> Matrix:
        """Return the weighted rows of each fit, and those of the penalty."""
        rows = self.X * root[:, :, None]
        if not self.ridge.any():
            return np.asarray(rows)
        penalty = np.diag(np.sqrt(self.ridge))[self.ridge > 0]
        return np.hstack([rows, np.tile(penalty, (len(root), 1, 1))])


def _expit(eta: Matrix) -> Matrix:
    small = np.exp(-np.abs(eta))
    return np.asarray(np.where(eta >= 0, 1.0, small) / (1.0 + small))


# ---- the method ----


@dataclass(eq=False)
class _Points:
    """Coefficients and linear predictors of some fits, and their objectives there."""

    beta: Matrix
    eta: Matrix
    loss: Matrix

    def part(self, chosen: NDArray[np.intp] | Bools) -> _Points:
        return _Points(self.beta[chosen], self.eta[chosen], self.loss[chosen])

    def put(self, places: NDArray[np.intp], other: _Points) -> None:
        self.beta[places] = other.beta
        self.eta[places] = other.eta
        self.loss[places] = other.loss


def minimise_all(problem: Likelihoods) -> tuple[Matrix, Bools, Bools]:
    """Minimise each objective from 0.

    Parameters
    ----------
    problem : Likelihoods

    Returns
    -------
    beta : numpy.ndarray, shape (m, p)
    converged, separated : numpy.ndarray of bool, shape (m,)
        As in :class:`statcv.models.newton.Optimum`.

    Examples
    --------
    >>> X, weights = np.array([[-1.0], [0.0], [1.0]]), np.array([[1.0, 2.0, 1.0]])
    >>> sign = np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
    >>> both = Likelihoods(X, sign, np.tile(weights, (2, 1)), np.zeros(1))
    >>> minimise_all(both)[2]
    array([False,  True])
    """
    m, p = len(problem), problem.X.shape[1]
    beta, eta = np.zeros((m, p)), np.zeros(problem.weights.shape)
    every = _Points(beta, eta, problem.loss(eta, beta))
    converged, moved = np.zeros(m, dtype=bool), np.zeros(m)
    which, start = np.arange(m), every.loss.copy()
    here, rest = every.part(which), problem
    for _ in range(MAX_ITERATIONS):
        slack = TOLERANCE * np.abs(here.loss) + FLOOR * np.abs(start[which])
        ahead, found, last = _stepped(rest, here, slack)
        moved[which[found]] = rest.furthest(ahead.eta - here.eta)[found]
        every.put(which[found], ahead.part(found))
        ended = ~found | (last & converged[which])
        converged[which[found]] = last[found]
        if ended.all():
            break
        if ended.any():
            which, rest = which[~ended], rest.part(~ended)
            ahead = ahead.part(~ended)
        here = ahead
    separated = (moved > MOVING) & problem.extreme(every.eta)
    maybe = np.flatnonzero(separated)
    if len(maybe):
        some, at = problem.part(maybe), every.part(maybe)
        more = some.newton(at.eta, some.gradient(at.eta, at.beta))
        separated[maybe] = some.furthest(more @ problem.X.T) > MOVING
    return every.beta, converged | separated, separated


def _stepped(
    problem: Likelihoods, here: _Points, slack: Matrix
) -> tuple[_Points, Bools, Bools]:
    """Return the points after a step, which were found, and which gain nothing more."""
    gradient = problem.gradient(here.eta, here.beta)
    step = problem.newton(here.eta, gradient)
    ahead, found = _search(problem, here, step, gradient, slack)
    last = found & (_promise(step, gradient) <= slack)
    stuck = np.flatnonzero(~found | last)
    if len(stuck):
        some, at, pull = problem.part(stuck), here.part(stuck), gradient[stuck]
        other = some.cautious(at.eta, at.beta, pull)
        worth = np.flatnonzero(_promise(other, pull) > slack[stuck])
        stuck, some, at = stuck[worth], some.part(worth), at.part(worth)
        beyond, better = _search(some, at, other[worth], pull[worth], slack[stuck])
        better &= ~found[stuck] | (beyond.loss < ahead.loss[stuck])
        ahead.put(stuck[better], beyond.part(better))
        found[stuck[better]], last[stuck[better]] = True, False
    return ahead, found, last


def _promise(step: Matrix, gradient: Matrix) -> Matrix:
    """Return what each step gains if the objective is quadratic."""
    return np.asarray((step * gradient).sum(axis=1) / 2)


def _search(
    problem: Likelihoods, here: _Points, step: Matrix, gradient: Matrix, slack: Matrix
) -> tuple[_Points, Bools]:
    """Halve each step until it lowers the objective by enough, and tell which did."""
    promise, across = _promise(step, gradient), step @ problem.X.T
    found = np.zeros(len(step), dtype=bool)
    ahead = _Points(here.beta.copy(), here.eta.copy(), here.loss.copy())
    left, rest = np.arange(len(step)), problem
    for halving in range(MAX_HALVINGS + 1):
        if not len(left):
            break
        length = 0.5**halving
        beta = here.beta[left] + length * step[left]
        eta = here.eta[left] + length * across[left]
        there = _Points(beta, eta, rest.loss(eta, beta))
        enough = here.loss[left] - ARMIJO * length * promise[left] + slack[left]
        lower = there.loss <= enough
        ahead.put(left[lower], there.part(lower))
        found[left[lower]] = True
        left, rest = left[~lower], rest.part(~lower)
    return ahead, found


# ---- systems of equations, side by side ----


def solve_all_well(matrices: Matrix, vectors: Matrix) -> tuple[Matrix, Bools]:
    """Solve for symmetric matrices, and tell where that costs few digits.

    Parameters
    ----------
    matrices : numpy.ndarray, shape (m, p, p)
    vectors : numpy.ndarray, shape (m, p)

    Returns
    -------
    solved : numpy.ndarray, shape (m, p)
        0 where it would cost many digits.
    well : numpy.ndarray of bool, shape (m,)

    Examples
    --------
    >>> matrices = np.array([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]])
    >>> solve_all_well(matrices, np.ones((2, 2)))
    (array([[0.5 , 0.25],
           [0.  , 0.  ]]), array([ True, False]))
    """
    diagonal = np.einsum("mpp->mp", matrices)
    size = np.sqrt(np.where(diagonal > 0, diagonal, np.nan))
    scaled = matrices / (size[:, :, None] * size[:, None, :])
    well = _least_pivots(scaled) ** 2 * CONDITION > 1
    solved = np.zeros_like(vectors)
    right = (vectors[well] / size[well])[:, :, None]
    solved[well] = np.linalg.solve(scaled[well], right)[:, :, 0] / size[well]
    return solved, well


def _least_pivots(matrices: Matrix) -> Matrix:
    """Return the least diagonal entry of each Cholesky factor; NaN without one."""
    m, p, _ = matrices.shape
    L, least = np.zeros((p, m, p)), np.ones(m)  # columns of the factors come first
    with np.errstate(invalid="ignore", divide="ignore"):
        for j in range(p):
            rest = matrices[:, j:, j].copy()
            if j:
                rest -= np.einsum("kmi,km->mi", L[:j, :, j:], L[:j, :, j])
            pivot = np.sqrt(rest[:, 0])
            L[j, :, j:] = rest / pivot[:, None]
            least = np.minimum(least, pivot)
    return least


@dataclass(frozen=True, eq=False)
class _Turned:
    """Singular values of several matrices of k rows, and what they turn.

    Attributes
    ----------
    inverse : numpy.ndarray, shape (m, r)
        Inverse singular values; 0 for directions that the rows do not determine.
    turn : numpy.ndarray, shape (m, r, p)
    """

    inverse: Matrix
    turn: Matrix

    @classmethod
    def of(cls, rows: Matrix) -> _Turned:
        R = np.linalg.qr(rows, mode="r")
        _, size, turn = np.linalg.svd(R, full_matrices=False)
        return cls(_inverse(size, max(rows.shape[1:])), turn)

    def inverse_gram(self, vectors: Matrix) -> Matrix:
        along = np.matmul(self.turn, vectors[:, :, None])[:, :, 0] * self.inverse**2
        return np.asarray(np.matmul(along[:, None], self.turn)[:, 0])


def _inverse(size: Matrix, longest: int) -> Matrix:
    least = np.finfo(float).eps * longest * size.max(axis=1, initial=0.0)
    kept = size > least[:, None]
    return np.divide(1.0, size, out=np.zeros_like(size), where=kept)


def _least_squares(rows: Matrix, values: Matrix) -> Matrix:
    """Return the shortest solutions of least squares, shape (m, p)."""
    Q, R = np.linalg.qr(rows)
    U, size, turn = np.linalg.svd(R, full_matrices=False)
    target = np.matmul(values[:, None], Q)
    along = np.matmul(target, U)[:, 0] * _inverse(size, max(rows.shape[1:]))
    return np.asarray(np.matmul(along[:, None], turn)[:, 0])

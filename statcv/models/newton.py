"""Newton's method with step halving, and its check for separation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet

MAX_ITERATIONS = 200
MAX_HALVINGS = 10
ARMIJO = 1e-4  # the share of the promised gain that a step must bring
TOLERANCE = 1e-13  # the share of the current objective in a negligible gain
FLOOR = 1e-14  # the share of the objective at the start in a negligible gain
CONDITION = 1e6  # about the largest condition number of a matrix solved as it is
EXTREME = 1e-9  # the distance from 0 or 1 below which a probability is extreme
# the change of linear predictors at the end above which extreme fits are separated
MOVING = 0.1
LARGE = 15.0  # linear predictors that are all smaller are those of no separation


class Objective(Protocol):
    """A function of linear predictors and coefficients, to be minimised."""

    def loss(self, eta: Matrix, beta: Matrix) -> float:
        """Return its value."""

    def gradient(self, eta: Matrix, beta: Matrix) -> Matrix:
        """Return the direction of steepest descent, shaped as ``beta``."""

    def newton(self, eta: Matrix, beta: Matrix) -> Matrix:
        """Return the gradient times the inverse Hessian."""

    def cautious(self, eta: Matrix, beta: Matrix) -> Matrix:
        """Return the gradient times the inverse of a matrix above the Hessian.

        Unlike the Hessian it does not vanish with records on the wrong side.
        """

    def extreme(self, eta: Matrix) -> bool:
        """Return whether fitted probabilities come near 0 or 1."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The end of Newton's method.

    Attributes
    ----------
    beta : numpy.ndarray
    converged : bool
        Whether the objective could not be lowered any further, or the fit is separated:
        there is no optimum then, and where the steps end is a matter of rounding.
    separated : bool
        Whether coefficients would run to infinity: under separation every further step
        lowers the objective by a negligible amount, yet moves the linear predictors by
        about one.
    """

    beta: Matrix
    converged: bool
    separated: bool


def minimise(beta: Matrix, X: Matrix, objective: Objective) -> Optimum:
    """Minimise ``objective.loss(X @ beta, beta)``.

    Newton's steps are halved until they lower it by enough. If no step does, or no step
    has a gain left, since the Hessian vanishes with records that are far on the wrong
    side, cautious steps are tried. The last gain is followed by one more step, for the
    digits of predictions that no longer show in the objective.

    Parameters
    ----------
    beta : numpy.ndarray, shape (p,) or (p, classes)
        Where to start.
    X : numpy.ndarray, shape (n, p)
    objective : Objective
    """
    here = _Point.at(beta, X @ beta, objective)
    start, moved, converged = here.loss, 0.0, False
    for _ in range(MAX_ITERATIONS):
        slack = TOLERANCE * abs(here.loss) + FLOOR * abs(start)
        gradient = objective.gradient(here.eta, here.beta)
        step = objective.newton(here.eta, here.beta)
        ahead = _search(here, step, gradient, X, objective, slack)
        last = ahead is not None and _promise(step, gradient) <= slack
        if ahead is None or last:
            step = objective.cautious(here.eta, here.beta)
            if _promise(step, gradient) > slack:
                other = _search(here, step, gradient, X, objective, slack)
                if other is not None and (ahead is None or other.loss < ahead.loss):
                    ahead, last = other, False
        if ahead is None:
            break  # no step lowers the objective
        moved = float(np.abs(ahead.eta - here.eta).max(initial=0.0))
        here = ahead
        if last and converged:
            break
        converged = last
    separated = moved > MOVING and objective.extreme(here.eta)
    if separated:
        more = objective.newton(here.eta, here.beta)
        separated = bool(np.abs(X @ more).max() > MOVING)
    return Optimum(here.beta, converged or separated, separated)


def is_steep(
    total: Matrix | float, furthest: Matrix | float, classes: int = 2
) -> NDArray[np.bool_]:
    """Return whether `minimise` would not call fits separated.

    It would if a step with negligible gain still moved a linear predictor.

    Parameters
    ----------
    total : float or numpy.ndarray
        The sum of the weights of each fit.
    furthest : float or numpy.ndarray
        The most that x H⁻¹ x is for a record x and the Hessian H, at the end.
    classes : int
    """
    least = (MOVING / 2) ** 2 / (2 * (TOLERANCE + FLOOR) * np.log(classes))
    return np.asarray(total * furthest < least)


@dataclass(frozen=True, eq=False)
class _Point:
    """Coefficients, linear predictors, and the objective there."""

    beta: Matrix
    eta: Matrix
    loss: float

    @classmethod
    def at(cls, beta: Matrix, eta: Matrix, objective: Objective) -> _Point:
        return cls(beta, eta, objective.loss(eta, beta))


def _promise(step: Matrix, gradient: Matrix) -> float:
    """Return what a step gains if the objective is quadratic."""
    return float((step * gradient).sum()) / 2


def _search(
    here: _Point,
    step: Matrix,
    gradient: Matrix,
    X: Matrix,
    objective: Objective,
    slack: float,
) -> _Point | None:
    """Halve a step until it lowers the objective by enough; None if it never does."""
    promise = _promise(step, gradient)
    across = X @ step  # so that rounding of X @ beta does not hide a small gain
    for halving in range(MAX_HALVINGS + 1):
        length = 0.5**halving
        eta = here.eta + length * across
        ahead = _Point.at(here.beta + length * step, eta, objective)
        if ahead.loss <= here.loss - ARMIJO * length * promise + slack:
            return ahead
    return None


def column_units(X: Matrix) -> NDArray[np.float64]:
    """Return for each column the power of two by which to divide it.

    Columns of very different size would cost digits, and least squares would treat the
    small ones as linearly dependent.
    """
    largest = np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
    return np.asarray(np.exp2(np.rint(np.log2(np.where(largest > 0, largest, 1.0)))))


def solve_well(matrix: Matrix, right: Matrix) -> Matrix | None:
    """Solve for a symmetric matrix; None if that would cost many digits.

    The right side is a vector, or a matrix with a column for each of several.
    """
    size = np.sqrt(matrix.diagonal())
    if not (size > 0).all():
        return None
    try:
        L = np.linalg.cholesky(matrix / np.outer(size, size))
    except np.linalg.LinAlgError:
        return None
    if not L.diagonal().min(initial=1.0) ** 2 * CONDITION > 1:
        return None
    half = np.linalg.solve(L, (right.T / size).T)
    return np.asarray((np.linalg.solve(L.T, half).T / size).T)


def inverse_gram(rows: Matrix, vector: Matrix) -> Matrix:
    """Multiply a vector by the inverse of ``rows.T @ rows``.

    It uses an orthogonal decomposition of the rows or, if columns are dependent, the
    inverse on the span of the rows.
    """
    R = np.linalg.qr(rows, mode="r")
    _, size, turn = np.linalg.svd(R, full_matrices=False)
    kept = size > np.finfo(float).eps * max(rows.shape) * size.max(initial=0.0)
    turn = turn[kept]
    return np.asarray(turn.T @ (turn @ vector / size[kept] ** 2))


def positive_weights(
    training: TrainingSet,
) -> tuple[NDArray[np.intp] | slice, Matrix]:
    """Return which rows have a weight above zero, and their weights."""
    if training.weights is None:
        return slice(None), np.ones(len(training.X))
    used = np.flatnonzero(training.weights > 0)
    return used, training.weights[used]

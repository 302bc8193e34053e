"""Newton's method with step halving, and how it tells separation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet

MAX_ITERATIONS = 100
MAX_HALVINGS = 30
TOLERANCE = 1e-13  # a gain below this share of the objective is the last
FLOOR = 1e-14  # or below this share of the objective at the start
EXTREME = 1e-9  # a fitted probability this near 0 or 1 may mean separation,
MOVING = 0.1  # and does where linear predictors still moved by this at the end


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where Newton's method ended.

    Attributes
    ----------
    beta : numpy.ndarray
    converged : bool
        Whether the objective could not be lowered any further.
    separated : bool
        Whether coefficients would run to infinity: under separation every further
        step lowers the objective by next to nothing, yet moves the linear
        predictors by about one.
    """

    beta: Matrix
    converged: bool
    separated: bool


def minimise(
    beta: Matrix,
    X: Matrix,
    loss: Callable[[Matrix, Matrix], float],
    direction: Callable[[Matrix, Matrix], Matrix],
    extreme: Callable[[Matrix], bool],
) -> Optimum:
    """Minimise ``loss(X @ beta, beta)`` by steps, halved until they do not raise it.

    Parameters
    ----------
    beta : numpy.ndarray, shape (p,) or (p, classes)
        Where to start.
    X : numpy.ndarray, shape (n, p)
    loss, direction : callable
        The objective, and the Newton step, at (eta, beta).
    extreme : callable
        Whether fitted probabilities at eta come near 0 or 1.
    """
    eta = X @ beta
    start = now = loss(eta, beta)
    converged, moved = False, 0.0
    for _ in range(MAX_ITERATIONS):
        slack = TOLERANCE * now + FLOOR * start
        step = direction(eta, beta)
        ahead, after = eta, now
        for _ in range(MAX_HALVINGS):
            ahead = X @ (beta + step)
            after = loss(ahead, beta + step)
            if after - now <= slack:
                break
            step = step / 2
        else:
            break  # no step along the direction lowers the objective
        moved = float(np.abs(ahead - eta).max())
        gain, beta, eta, now = now - after, beta + step, ahead, after
        if gain <= slack:
            converged = True
            break
    return Optimum(beta, converged, moved > MOVING and extreme(eta))


def column_units(X: Matrix) -> NDArray[np.float64]:
    """Return for each column the power of two by which to divide it.

    Columns of very different size would cost digits, and make the least squares
    take the small ones for linearly dependent.
    """
    largest = np.abs(X).max(axis=0, initial=0.0)
    return np.asarray(np.exp2(np.rint(np.log2(np.where(largest > 0, largest, 1.0)))))


def positive_weights(
    training: TrainingSet,
) -> tuple[NDArray[np.intp] | slice, Matrix]:
    """Return which rows have a weight above zero, and their weights."""
    if training.weights is None:
        return slice(None), np.ones(len(training.y))
    used = np.flatnonzero(training.weights > 0)
    return used, training.weights[used]

"""Steps by fixed matrices towards the optima of several fits at once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.downdate import Inverse

STEPS = 30  # of a fit by one matrix
CROWDED = 0.7  # the share of fits still going below which the others make room
SINGULAR = 1e8  # an inverse Hessian that is larger is taken for none

P = TypeVar("P", bound="Gradients")


class Gradients(Protocol):
    """Some fits, each with an objective of its own."""

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the direction of steepest ascent of each fit, shape (m, q)."""

    def part(self: P, chosen: NDArray[Any]) -> P:
        """Return some of the fits."""


def follow(
    problem: Gradients,
    theta: Matrix,
    step: Matrix,
    inverse: Inverse,
    enough: float,
    noise: float,
) -> tuple[Matrix, NDArray[np.bool_], int]:
    """Step until the gradients vanish, with Broyden's updates of the inverses.

    Parameters
    ----------
    problem : Gradients
    theta, step : numpy.ndarray, shape (m, q)
        Where to start, and the first step.
    inverse : Inverse
        Near those of the Hessians.
    enough : float
        A distance from the optimum that is as good as none.
    noise : float
        The length of steps that rounding makes.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
        Where each fit ended.
    done : numpy.ndarray of bool, shape (m,)
        Whether the gradient vanishes there.
    steps : int
        How many it took; ``STEPS`` where some gradient does not vanish.
    """
    found, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    which, going = np.arange(len(theta)), np.ones(len(theta), dtype=bool)
    before = np.sqrt(squares_of(step))
    steps: list[Matrix] = []
    squares: list[Matrix] = []
    while len(steps) < STEPS:
        square = squares_of(step)
        if steps:
            step = _updated(step, steps, squares)
            plain, square = square, squares_of(step)
            size = np.sqrt(np.maximum(plain, square))  # an update may be led astray
        else:
            size = before
        rate = size / before
        close = (size * rate <= enough) | (size <= noise)
        halt = going & (close | ~(rate <= 1))
        theta = theta + step
        steps.append(step)
        squares.append(square)
        before = size
        if halt.any():
            # where steps grow, the last did no good
            back = sum(steps[-2:] if len(steps) > 2 else steps[-1:])
            found[which[halt]] = np.where(close[:, None], theta, theta - back)[halt]
            done[which[halt]] = close[halt]
            going &= ~halt
            left = np.count_nonzero(going)
            if left == 0:
                break
            if left < CROWDED * len(going):
                problem, inverse = problem.part(going), inverse.part(going)
                which, theta, before = which[going], theta[going], before[going]
                steps = [one[going] for one in steps]
                squares = [one[going] for one in squares]
                going = going[going]
        step = inverse.times(problem.gradient(theta))
    else:
        found[which[going]] = theta[going]
    return found, done, len(steps) if done.all() else STEPS


def squares_of(rows: Matrix) -> Matrix:
    """Return the squared length of each row."""
    return np.asarray(np.einsum("bp,bp->b", rows, rows))


def _updated(step: Matrix, steps: list[Matrix], squares: list[Matrix]) -> Matrix:
    """Apply Broyden's updates, each given by a step and the one after it."""
    for (earlier, later), square in zip(pairwise(steps), squares, strict=False):
        step += later * (np.einsum("bp,bp->b", earlier, step) / square)[:, None]
    along = np.einsum("bp,bp->b", steps[-1], step) / squares[-1]
    step /= (1 - along)[:, None]
    return step

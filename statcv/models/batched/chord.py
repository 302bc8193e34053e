"""Steps by fixed matrices towards the optima of several fits at once.

Fits near a known one take steps by a matrix that is about the inverse Hessian, with
their exact gradients; Broyden's updates make them converge faster than linearly. Fits
that do not converge get their own Hessians.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.downdate import SINGULAR, Inverse, squares_of
from statcv.models.batched.problem import Problem
from statcv.models.batched.separation import not_separated

ACCURACY = 4e-11  # the error of linear predictors: 1e-11 in probabilities
STEPS = 30  # steps at most that a fit makes by one matrix
CROWDED = 0.7  # the share of unfinished fits below which finished ones are removed

MAX_HESSIANS = 8  # own Hessians at most of a fit without a ridge, under separation too
# own Hessians at most of a fit with a ridge, which has an optimum
MAX_HESSIANS_BOUNDED = 40
MAX_UNCHECKED = 1.0  # a step that moves a linear predictor by more is checked first
# secants at most by which a step farther than MAX_UNCHECKED is shortened
MAX_SECANTS = 10

P = TypeVar("P", bound="Steps")


class Steps(Protocol):
    """Some fits, each with an objective of its own."""

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the direction of steepest ascent of each fit, shape (m, q)."""

    def furthest(self, step: Matrix) -> Matrix:
        """Return by how much a step moves some linear predictor at most, (m,)."""

    def part(self: P, chosen: NDArray[Any]) -> P:
        """Return some of the fits."""


@dataclass(frozen=True, eq=False)
class Precision:
    """Of which size steps are negligible.

    Attributes
    ----------
    reach : float
        The most that a step of length 1 moves a linear predictor.
    noise : float
        The length of steps that rounding makes.
    scale : float
        The size of what is negligible, in units of linear predictors.
    """

    reach: float
    noise: float
    scale: float = 1.0

    @property
    def enough(self) -> float:
        """The length of a negligible step."""
        return ACCURACY * self.scale / self.reach


def settle(
    problem: Problem,
    theta: Matrix,
    precision: Precision,
    gradient: Matrix | None = None,
    inverse: Inverse | None = None,
) -> tuple[Matrix, NDArray[np.bool_], int]:
    """Search for the optima, and judge whether there are any.

    Parameters
    ----------
    problem : Problem
    theta : numpy.ndarray, shape (m, q)
        Where to start.
    precision : Precision
    gradient, inverse : numpy.ndarray, shape (m, q), and Inverse, optional
        The gradient there, and an approximate inverse of the Hessian; fits have their
        own Hessians otherwise.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
    sure : numpy.ndarray of bool, shape (m,)
        Whether it is the optimum beyond doubt.
    steps : int
        Largest number of steps by ``inverse``; ``STEPS`` if it did not reach all
        optima.
    """
    theta, done, steps = theta.copy(), np.zeros(len(theta), dtype=bool), STEPS
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if inverse is not None and gradient is not None:
            theta, done, steps = approach(problem, theta, gradient, inverse, precision)
        # fits that are far get the Hessian of where they are, as in Newton's method
        for _ in range(MAX_HESSIANS if problem.ridge is None else MAX_HESSIANS_BOUNDED):
            if done.all():
                break
            for left in problem.batches(~done):
                rest = problem if len(left) == len(theta) else problem.part(left)
                gradient, own = rest.own_hessian(theta[left])
                theta[left], done[left], _ = approach(
                    rest, theta[left], gradient, own, precision
                )
        for some in problem.batches(done):
            part = problem if len(some) == len(theta) else problem.part(some)
            done[some] = not_separated(part, theta[some])
    return theta, done, steps


def approach(
    problem: Steps,
    theta: Matrix,
    gradient: Matrix,
    inverse: Inverse,
    precision: Precision,
) -> tuple[Matrix, NDArray[np.bool_], int]:
    """Follow the steps, but only shorten a first one that goes too far.

    Parameters
    ----------
    problem : Problem
    theta, gradient : numpy.ndarray, shape (m, q)
        Where to start, and the gradient there.
    inverse, precision
        As in :func:`follow`.

    Returns
    -------
    theta, done, steps
        As :func:`follow` returns them.
    """
    usable = inverse.norm <= SINGULAR
    step = inverse.times(gradient)
    # Cauchy-Schwarz: a predictor moves by at most reach times the length of a step
    far = usable & (squares_of(step) * precision.reach**2 > MAX_UNCHECKED**2)
    short, ahead = far, None
    if far.any():
        short, ahead = shortened(problem, theta, gradient, step, far)
    if usable.all() and not short.any():
        return follow(problem, theta, step, inverse, precision, ahead)
    found, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    found[short] += step[short]
    go = usable & ~short
    if go.any():
        part = problem.part(go), theta[go], step[go], inverse.part(go)
        found[go], done[go], _ = follow(*part, precision)
    return found, done, STEPS


def shortened(
    problem: Steps,
    theta: Matrix,
    gradient: Matrix,
    step: Matrix,
    far: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], Matrix | None]:
    """Shorten, in place, steps that go too far, and return which were.

    A step goes too far if the objective rises more steeply at its end than it falls at
    its beginning. Only steps that move a linear predictor far are checked. The
    gradients at the ends are returned too, if all were computed and no step is changed.
    """
    left, short = np.flatnonzero(far), np.zeros(len(step), dtype=bool)
    some = problem if len(left) == len(step) else problem.part(left)
    left = left[some.furthest(step[left]) > MAX_UNCHECKED]
    found: Matrix | None = None
    for _ in range(MAX_SECANTS):
        if not len(left):
            break
        every = len(left) == len(step)
        # slopes along the step, at its beginning and at its end
        falls = np.einsum("bp,bp->b", gradient[left], step[left])
        some = problem if every else problem.part(left)
        ahead = some.gradient(theta[left] + step[left])
        rises = -np.einsum("bp,bp->b", ahead, step[left])
        steep = rises > falls
        found = ahead if every and not steep.any() else None
        left, falls, rises = left[steep], falls[steep], rises[steep]
        short[left] = True
        # the secant: where the slope along the step is 0 by linear interpolation
        step[left] *= np.maximum(falls / (falls + rises), 0.1)[:, None]
    return short, None if short.any() else found


def follow(
    problem: Steps,
    theta: Matrix,
    step: Matrix,
    inverse: Inverse,
    precision: Precision,
    ahead: Matrix | None = None,
) -> tuple[Matrix, NDArray[np.bool_], int]:
    """Step until the gradients vanish, with Broyden's updates of the inverses.

    Parameters
    ----------
    problem : Steps
    theta, step : numpy.ndarray, shape (m, q)
        Where to start, and the first step.
    inverse : Inverse
        Approximate inverses of the Hessians.
    precision : Precision
    ahead : numpy.ndarray, shape (m, q), optional
        The gradient at the end of the first step, if known.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
        Where each fit ended.
    done : numpy.ndarray of bool, shape (m,)
        Whether the gradient vanishes there.
    steps : int
        Number of steps; ``STEPS`` if some gradient does not vanish.
    """
    found, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    which, going = np.arange(len(theta)), np.ones(len(theta), dtype=bool)
    before, slower = np.sqrt(squares_of(step)), np.ones(len(theta))
    enough, noise = precision.enough, precision.noise
    steps: list[Matrix] = []
    squares: list[Matrix] = []
    while len(steps) < STEPS:
        square = squares_of(step)
        if steps:
            # Broyden: earlier steps tell how the matrix differs from the Hessian
            step = _updated(step, steps, squares)
            plain, square = square, squares_of(step)
            size = np.sqrt(np.maximum(plain, square))  # an update may be led astray
        else:
            size = before
        # convergence is about linear, so that the rest is the rate times this step
        rate = size / before
        # a rate may be small by chance, where a step was right in one direction only
        close = (size * np.maximum(rate, slower) <= enough) | (size <= noise)
        # a step that is not finite has a rate of NaN, which ends the fit as well
        halt = going & (close | ~(rate <= 1))
        theta = theta + step
        steps.append(step)
        squares.append(square)
        before, slower = size, rate
        if halt.any():
            # if steps grow, the last did not help
            back = sum(steps[-2:] if len(steps) > 2 else steps[-1:])
            found[which[halt]] = np.where(close[:, None], theta, theta - back)[halt]
            done[which[halt]] = close[halt]
            going &= ~halt
            left = np.count_nonzero(going)
            if left == 0:
                break
            if left < CROWDED * len(going):
                # most fits have ended, and no longer take part in the products
                problem, inverse = problem.part(going), inverse.part(going)
                which, theta = which[going], theta[going]
                before, slower = before[going], slower[going]
                steps = [one[going] for one in steps]
                squares = [one[going] for one in squares]
                going = going[going]
                ahead = None
        gradient = problem.gradient(theta) if ahead is None else ahead
        step, ahead = inverse.times(gradient), None
    else:
        found[which[going]] = theta[going]
    return found, done, len(steps) if done.all() else STEPS


def _updated(step: Matrix, steps: list[Matrix], squares: list[Matrix]) -> Matrix:
    """Apply Broyden's updates, each given by a step and the one after it."""
    for (earlier, later), square in zip(pairwise(steps), squares, strict=False):
        step += later * (np.einsum("bp,bp->b", earlier, step) / square)[:, None]
    # Sherman-Morrison: the latest update involves the step that it leads to, for which
    # it is solved (Kelley 1995, chapter 7)
    along = np.einsum("bp,bp->b", steps[-1], step) / squares[-1]
    step /= (1 - along)[:, None]
    return step

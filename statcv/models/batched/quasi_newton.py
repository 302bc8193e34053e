"""The optima of several concave functions at once, by gradients alone.

The method is that of limited memory of Broyden, Fletcher, Goldfarb and Shanno (Liu &
Nocedal 1989), which starts from an approximate inverse of the Hessian and remembers
the latest steps. A step along which the function first rises, and then falls nearly as
steeply, is shortened, but not so much that it still rises steeply. Long steps may be
made in single precision. Fits that do not converge get their own Hessians.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from statcv.models.batched.downdate import Identity, Inverse, dot
from statcv.models.batched.problem import Problem
from statcv.numeric.arrays import Array, Bools, Floats
from statcv.numeric.newton import is_steep

ACCURACY = 4e-11  # the error of linear predictors: 1e-11 in probabilities
MAX_STEPS = 30  # steps at most that a fit makes by one matrix
MAX_HESSIANS = 8  # own Hessians at most of a fit without a ridge, under separation too
# own Hessians at most of a fit with a ridge, which has an optimum
MAX_HESSIANS_BOUNDED = 40
MAX_SHORTENINGS = 12  # times that a step is shortened, at most
OVERSHOT = 0.9  # the steepest fall at the end of a step, of the rise at its beginning
UNDERSHOT = 0.5  # the steepest rise at the end of a shortened step, likewise
CROWDED = 0.7  # the share of unfinished fits below which finished ones are removed
REMEMBERED = 10  # steps that are remembered
# length of steps below which single precision ends, over the root of the number of
# coordinates
LEAST_ROUGH = 1e-4
MAX_STEPS_ROUGH = 20  # steps in single precision at most, whose errors may stay long
P = TypeVar("P", bound="Gradients")


class Gradients(Protocol):
    """Some fits, each with a concave objective of its own."""

    def gradient(self, theta: Floats) -> Floats:
        """Return the direction of steepest ascent of each fit, shape (m, q)."""

    def part(self: P, chosen: Array) -> P:
        """Return some of the fits."""


@dataclass(frozen=True)
class Until:
    """When steps end.

    Attributes
    ----------
    enough : float
        A distance from the optimum that is negligible.
    noise : float
        The length of steps that rounding makes.
    most : int
        Number of steps after which they end in any case.
    """

    enough: float
    noise: float = 0.0
    most: int = MAX_STEPS


def settle(
    problem: Problem,
    theta: Floats,
    until: Until,
    gradient: Floats | None = None,
    inverse: Inverse | None = None,
    rough: Problem | None = None,
) -> tuple[Floats, Bools]:
    """Search for the optima, and judge whether there are any.

    Parameters
    ----------
    problem : Problem
    theta : numpy.ndarray, shape (m, q)
        Where to start.
    until : Until
        When steps by ``inverse`` end; those by their own Hessians are ``MAX_STEPS``.
    gradient, inverse : numpy.ndarray, shape (m, q), and Inverse, optional
        The gradient there, and an approximate inverse of the Hessian; fits have their
        own Hessians otherwise.
    rough : Problem, optional
        The problem in single precision, for the first steps by ``inverse``.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
    sure : numpy.ndarray of bool, shape (m,)
        Whether it is the optimum beyond doubt.
    """
    theta, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if inverse is not None:
            theta, done = climb(problem, theta, inverse, until, gradient, rough)
        until = replace(until, most=MAX_STEPS)
        # fits that are far get the Hessian of where they are, as in Newton's method
        unbounded = problem.ridge is None
        for _ in range(MAX_HESSIANS if unbounded else MAX_HESSIANS_BOUNDED):
            if done.all():
                break
            for left, rest in problem.batches(~done):
                at = theta[left]
                gradient, own = rest.own_hessian(at)
                theta[left], done[left] = climb(rest, at, own, until, gradient)
        for some, part in problem.batches(done):
            done[some] = not_separated(part, theta[some])
    return theta, done


def climb(
    problem: Gradients,
    theta: Floats,
    inverse: Inverse,
    until: Until,
    gradient: Floats | None = None,
    rough: Gradients | None = None,
) -> tuple[Floats, Bools]:
    """Step until the gradients vanish.

    Parameters
    ----------
    problem : Gradients
    theta : numpy.ndarray, shape (m, q)
        Where to start.
    inverse : Inverse
        Approximate inverses of minus the Hessians.
    until : Until
    gradient : numpy.ndarray, shape (m, q), optional
        The gradient at the start, if known.
    rough : Gradients, optional
        The same fits in single precision, which serve while steps are long.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
        Where each fit ended.
    done : numpy.ndarray of bool, shape (m,)
        Whether the gradient vanishes there.
    """
    found, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    which, memory = np.arange(len(theta)), Memory(inverse)
    before = slower = np.full(len(theta), np.inf)
    going = np.ones(len(theta), dtype=bool)
    current = problem if rough is None else rough
    if gradient is None:
        gradient = current.gradient(theta)
    least = LEAST_ROUGH * float(np.sqrt(theta.shape[1]))
    for number in range(until.most):
        step = memory.direction(gradient)
        rises = dot(gradient, step)
        size = np.sqrt(dot(step, step))
        # convergence is superlinear at best: the rate foretells the next step
        rate = np.where(np.isfinite(before), size / before, 1.0)
        close = size * np.maximum(rate, slower.clip(max=1.0)) <= until.enough
        close = (close | (size <= until.noise)) & (rises >= 0)
        if current is not problem:
            # rounding errors of single precision look like small steps
            close &= until.enough >= least
            if number >= MAX_STEPS_ROUGH or (size < least).any():
                current = problem
        halt = going & (close | ~(rises > 0))
        if halt.any():
            found[which[halt]] = (theta + np.where(close[:, None], step, 0.0))[halt]
            done[which[halt]] = close[halt]
            going &= ~halt
            if not going.any():
                break
            if np.count_nonzero(going) < CROWDED * len(going):
                problem, memory = problem.part(going), memory.part(going)
                current = problem
                which, theta, gradient = which[going], theta[going], gradient[going]
                step, rises, size = step[going], rises[going], size[going]
                rate, slower, going = rate[going], slower[going], going[going]
        step, ahead = _ahead(current, theta, step, rises, going)
        memory.add(step, gradient - ahead)
        theta, gradient = theta + step, ahead
        before, slower = size, rate
    found[which[going]] = theta[going]
    return found, done


def _ahead(
    problem: Gradients, theta: Floats, step: Floats, rises: Floats, going: Bools
) -> tuple[Floats, Floats]:
    """Return steps that do not go too far, and the gradients at their ends."""
    ahead = problem.gradient(theta + step)
    slope = dot(ahead, step)
    # the half of the strong Wolfe condition that excludes steps that are too long
    far = going & ~(slope >= -OVERSHOT * rises)
    if not far.any():
        return step, ahead
    # the top of each function lies between two lengths, with its slopes there
    length, low, high = np.ones(len(step)), np.zeros(len(step)), np.ones(len(step))
    rise, fall = rises.copy(), -slope
    for _ in range(MAX_SHORTENINGS):
        some = np.flatnonzero(far)
        if not len(some):
            break
        # the secant along the step, which neither stays nor turns back
        part = np.clip(rise[some] / (rise[some] + fall[some]), 0.05, 0.95)
        part = np.where(np.isfinite(part), part, 0.05)
        length[some] = low[some] + part * (high - low)[some]
        tried = length[some, None] * step[some]
        ahead[some] = problem.part(some).gradient(theta[some] + tried)
        slope = dot(ahead[some], step[some])
        beyond = ~(slope >= -OVERSHOT * rises[some])
        short = slope > UNDERSHOT * rises[some]
        after, before = some[beyond], some[short]
        high[after], fall[after] = length[after], -slope[beyond]
        # the other end counts half, or the secant would stay at this one
        low[before], rise[before] = length[before], slope[short]
        fall[before] /= 2
        far[some] = beyond | short
    return length[:, None] * step, ahead


class Memory:
    """The latest steps, and what they took from the gradients.

    Attributes
    ----------
    inverse : Inverse
        The matrices that are updated.
    kept : list of tuple of numpy.ndarray
        The step of each fit, what it took, and 1 over their product, or 0.
    """

    def __init__(self, inverse: Inverse) -> None:
        self.inverse = inverse
        self.kept: list[tuple[Floats, Floats, Floats]] = []

    def add(self, step: Floats, taken: Floats) -> None:
        """Remember a step; one that took nothing has no effect."""
        product = dot(taken, step)
        # a step along which the gradient did not fall shows no curvature
        self.kept.append((step, taken, np.where(product > 0, 1 / product, 0.0)))
        # the oldest step shows curvature that is farther away
        del self.kept[:-REMEMBERED]

    def direction(self, gradient: Floats) -> Floats:
        """Multiply gradients by the updated inverses (Nocedal 1980)."""
        rest, shares = gradient.copy(), []
        for step, taken, scale in reversed(self.kept):
            share = scale * dot(step, rest)
            rest -= share[:, None] * taken
            shares.append(share)
        made = np.array(self.inverse.times(rest))
        if self.kept and isinstance(self.inverse, Identity):
            # the latest step shows how curved the function is
            _, taken, scale = self.kept[-1]
            size = 1 / (scale * dot(taken, taken))
            made *= np.where(np.isfinite(size), size, 1.0)[:, None]
        shares.reverse()
        for (step, taken, scale), share in zip(self.kept, shares, strict=True):
            made += (share - scale * dot(taken, made))[:, None] * step
        return made

    def part(self, chosen: Array) -> Memory:
        """Return what is remembered of some fits."""
        made = Memory(self.inverse.part(chosen))
        made.kept = [(a[chosen], b[chosen], c[chosen]) for a, b, c in self.kept]
        return made


# ---- whether fits are separated ----


def not_separated(problem: Problem, theta: Floats) -> Bools:
    """Return which fits cannot be separated, shape (m,).

    If all linear predictors are moderate, they are not. Otherwise a fit of its own
    would call a fold separated only if a step with negligible gain could still move
    them, and the Hessian shows whether it could.

    Parameters
    ----------
    problem : Problem
    theta : numpy.ndarray, shape (m, q)
        The optima.
    """
    moderate = problem.family.moderate
    # least squares has an optimum whatever the outcomes are
    if moderate == np.inf:
        return np.ones(len(theta), dtype=bool)
    sure = problem.surely(problem.block, theta)
    rest = np.flatnonzero(~sure)
    if len(rest):
        sure[rest] = problem.part(rest).spread(theta[rest]) < moderate
        rest = np.flatnonzero(~sure)
    if len(rest):
        total, furthest = problem.part(rest).steepness(theta[rest])
        sure[rest] = is_steep(total, furthest, max(problem.family.width, 2))
    return sure

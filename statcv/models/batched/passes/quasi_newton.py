"""The optima of several concave functions at once, by gradients alone.

The method is that of limited memory of Broyden, Fletcher, Goldfarb and Shanno (Liu &
Nocedal 1989), which starts from an approximate inverse of the Hessian and remembers
the latest steps. A step along which the function first rises, and then falls nearly as
steeply, is shortened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.passes.sources import (
    STALLED,
    Gradients,
    GradientSource,
    RoughGradients,
)
from statcv.models.batched.passes.updates import Identity, Inverses, Memory, dot

MAX_STEPS = 20  # steps at most with one approximate inverse, unless others cost more
MAX_SHORTENINGS = 12  # times that a step is shortened, at most
OVERSHOT = 0.9  # the steepest fall at the end of a step, of the rise at its beginning
SHORT = 0.05  # a step in each direction after which Hessians serve for the rest
SEEN = 3  # steps after which the rate of the latest two predicts later ones
BROYDEN = 0.7  # the share of steps that quasi-Newton updates leave
NEWTON = 12  # steps that are left with new Hessians, about
CROWDED = 0.7  # the share of unfinished fits below which finished ones are removed


@dataclass(frozen=True)
class Until:
    """When steps end.

    Attributes
    ----------
    enough : float
        A distance from the optimum that is negligible.
    noise : float
        The length of steps that rounding makes.
    cost : float
        Number of steps that take as long as new Hessians. Steps end where more would be
        left to do than with these.
    most : int
        Number of steps after which they end in any case.
    """

    enough: float
    noise: float = 0.0
    cost: float = np.inf
    most: int = MAX_STEPS


def climb(
    problem: Gradients,
    theta: Matrix,
    gradient: Matrix,
    inverse: Inverses,
    until: Until,
    rough: RoughGradients | None = None,
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Step until the gradients vanish.

    Parameters
    ----------
    problem : Gradients
    theta : numpy.ndarray, shape (m, q)
        Where to start.
    gradient : numpy.ndarray, shape (m, q)
        The gradient there.
    inverse : Inverses
        Approximate inverses of minus the Hessians.
    until : Until
    rough : RoughGradients, optional
        The same fits with gradients of single precision, for the way to the vicinity
        of the optimum, from where they are precise again. The first gradient is then
        one of these.

    Returns
    -------
    theta : numpy.ndarray, shape (m, q)
        Where each fit ended.
    done : numpy.ndarray of bool, shape (m,)
        Whether the gradient vanishes there.
    """
    found, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    enough, q = until.enough, theta.shape[1]
    source = GradientSource(problem, rough)
    which, memory = np.arange(len(theta)), Memory(inverse, *theta.shape)
    before = slower = np.full(len(theta), np.inf)
    going = np.ones(len(theta), dtype=bool)
    crude = isinstance(inverse, Identity) and rough is not None
    for number in range(until.most):
        step = memory.direction(gradient)
        rises = dot(gradient, step)
        size = np.sqrt(dot(step, step))
        # convergence is superlinear at best: the rate foretells the next step
        rate = np.where(np.isfinite(before), size / before, 1.0)
        close = (size * np.maximum(rate, slower.clip(max=1.0)) <= enough) | (
            size <= until.noise
        )
        close &= (rises >= 0) & source.precise
        stale = False
        if close.any():
            exact = source.is_exact(theta, enough)
            stale = bool((going & close & ~exact).any())
            close &= exact
        halt = going & (close | ~(rises > 0))
        idle = (rate > STALLED) & (slower > STALLED)
        renews = number > SEEN and not (crude or source.precise)
        if renews and _are_short(size[going], q):
            # the geometric mean of two rates, as single ones vary by direction
            pace = np.sqrt(rate * slower)[going]
            if _steps_left(size[going], pace, enough) > until.cost + NEWTON:
                break
        if halt.any():
            found[which[halt]] = (theta + np.where(close[:, None], step, 0.0))[halt]
            done[which[halt]] = close[halt]
            going &= ~halt
            if not going.any():
                break
            if np.count_nonzero(going) < CROWDED * len(going):
                source, memory = source.part(going), memory.part(going)
                which, theta, gradient = which[going], theta[going], gradient[going]
                step, rises, size = step[going], rises[going], size[going]
                rate, idle, going = rate[going], idle[going], going[going]
        # gradients of single precision suffice until steps are as small as these
        some = slice(None) if going.all() else going
        precise = stale or source.is_used_up(size[some], rate[some], idle[some], q)
        gradients = source.gradients(precise)
        if precise:  # the gradient changes by what was rounded, too
            ahead = gradients.gradient(theta + step)
            if source.near is not None or idle[some].any():
                memory = memory.forgotten()
        else:
            step, ahead = _ahead(gradients, theta, step, rises, going)
            memory.add(step, gradient - ahead)
        theta, gradient = theta + step, ahead
        before, slower = size, rate
        idling = crude and memory.count and idle[some].any()
        if idling and _are_short(size[some], q):
            break
        source.move(precise, theta, gradient, size[some])
    found[which[going]] = theta[going]
    return found, done


def _are_short(size: Matrix, coordinates: int) -> bool:
    """Return whether steps are so short that new Hessians serve for the rest."""
    return bool(size.max() <= SHORT * np.sqrt(coordinates))


def _steps_left(size: Matrix, rate: Matrix, enough: float) -> float:
    """Return about how many steps the slowest fit has to go, from a size and rate."""
    rate = np.clip(rate, 1e-3, 0.95)
    # size × rateᵗ = enough, solved for the number t of steps
    steps = np.log(enough / size) / np.log(rate) * BROYDEN
    return float(steps.max(initial=0.0))


def _ahead(
    problem: Gradients,
    theta: Matrix,
    step: Matrix,
    rises: Matrix,
    going: NDArray[np.bool_],
) -> tuple[Matrix, Matrix]:
    """Return steps that do not go too far, and the gradients at their ends."""
    ahead = problem.gradient(theta + step)
    # the half of the strong Wolfe condition that excludes steps that are too long
    far = going & ~(dot(ahead, step) >= -OVERSHOT * rises)
    if not far.any():
        return step, ahead
    length = np.ones(len(step))
    for _ in range(MAX_SHORTENINGS):
        if not far.any():
            break
        some = np.flatnonzero(far)
        falls = -dot(ahead[some], step[some])
        # the secant along the step, which neither stays nor turns back
        part = np.clip(rises[some] / (rises[some] + falls), 0.05, 0.95)
        length[some] *= np.where(np.isfinite(part), part, 0.05)
        tried = length[some, None] * step[some]
        ahead[some] = problem.part(some).gradient(theta[some] + tried)
        far[some] = ~(dot(ahead[some], step[some]) >= -OVERSHOT * rises[some])
    return length[:, None] * step, ahead

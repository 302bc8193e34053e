"""Newton's method with step halving from 0, side by side, and its check for separation.

Several fits take their steps together; a single fit is a batch of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from statcv.numeric.arrays import Array, Bools, Floats, Numbers

MAX_ITERATIONS = 200
MAX_HALVINGS = 10
ARMIJO = 1e-4  # the share of the promised gain that a step must bring
TOLERANCE = 1e-13  # the share of the current objective in a negligible gain
FLOOR = 1e-14  # the share of the objective at the start in a negligible gain
# the change of linear predictors at the end above which extreme fits are separated
MOVING = 0.1

O = TypeVar("O", bound="Objective")  # noqa: E741


class Objective(Protocol):
    """Functions of linear predictors and coefficients, to be minimised.

    There is one for each of m fits, whose coefficients have the shape (m, q), and whose
    linear predictors have the shape (m, width, n).
    """

    @property
    def size(self) -> tuple[int, int]:
        """The number of fits, and of coefficients."""

    def part(self: O, chosen: Array) -> O:
        """Return some of the fits."""

    def linear(self, beta: Floats) -> Floats:
        """Return the linear predictors."""

    def loss(self, eta: Floats, beta: Floats) -> Floats:
        """Return the values, shape (m,)."""

    def gradient(self, eta: Floats, beta: Floats) -> Floats:
        """Return the direction of steepest descent of each, shape (m, q)."""

    def newton(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse Hessian."""

    def cautious(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse of a matrix above the Hessian.

        Unlike the Hessian it does not vanish with records on the wrong side.
        """

    def furthest(self, eta: Floats) -> Floats:
        """Return the largest linear predictor of a training record, (m,)."""

    def extreme(self, eta: Floats) -> Bools:
        """Return whether fitted probabilities come near 0 or 1, shape (m,)."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The end of Newton's method.

    Attributes
    ----------
    beta : numpy.ndarray
    converged : bool or numpy.ndarray of bool
        Whether the objective could not be lowered any further, or the fit is separated:
        there is no optimum then, and where the steps end is a matter of rounding.
    separated : bool or numpy.ndarray of bool
        Whether coefficients would run to infinity: under separation every further step
        lowers the objective by a negligible amount, yet moves the linear predictors by
        about one.
    loss : numpy.ndarray or None
        The objective there.
    """

    beta: Floats
    converged: Any
    separated: Any
    loss: Any = None


@dataclass(eq=False)
class _Points:
    """Coefficients and linear predictors of some fits, and their objectives there."""

    beta: Floats
    eta: Floats
    loss: Floats

    def part(self, chosen: Numbers | Bools) -> _Points:
        return _Points(self.beta[chosen], self.eta[chosen], self.loss[chosen])

    def put(self, places: Numbers | Bools, other: _Points) -> None:
        self.beta[places] = other.beta
        self.eta[places] = other.eta
        self.loss[places] = other.loss


def minimise(
    problem: Objective, negligible: float = 0.0, near: Floats | None = None
) -> Optimum:
    """Minimise each objective from 0, or from coefficients near its optimum.

    Newton's steps are halved until they lower it by enough. If no step does, or no step
    has a gain left, since the Hessian vanishes with records that are far on the wrong
    side, cautious steps are tried. The last gain is followed by one more step, for the
    digits of predictions that no longer show in the objective, unless it is given.

    Parameters
    ----------
    problem : Objective
        Those of m fits.
    negligible : float, default 0
        Gain after which there is no further step, if it exceeds that of rounding.
    near : numpy.ndarray, shape (m, q), optional
        Coefficients from which steps begin; those of separated fits are replaced by 0.

    Returns
    -------
    Optimum
        With arrays for the m fits.
    """
    m, q = problem.size
    beta = np.zeros((m, q)) if near is None else near.copy()
    eta = problem.linear(beta)
    if near is not None and (far := problem.extreme(eta)).any():
        beta[far], eta[far] = 0.0, 0.0
    here, rest = _Points(beta, eta, problem.loss(eta, beta)), problem
    which, before = np.arange(m), eta.copy()
    every = here.part(which)
    converged, start = np.zeros(m, dtype=bool), here.loss.copy()
    for _ in range(MAX_ITERATIONS):
        # a gain of less is rounding of the objective
        slack = TOLERANCE * np.abs(here.loss) + FLOOR * np.abs(start[which])
        slack += negligible
        ahead, found, last = _stepped(rest, here, slack)
        before[which[found]] = here.eta[found]
        every.put(which[found], ahead.part(found))
        ended = ~found | (last & (converged[which] | (negligible > 0)))
        converged[which[found]] = last[found]
        if ended.all():
            break
        if ended.any():
            which, rest = which[~ended], rest.part(~ended)
            ahead = ahead.part(~ended)
        here = ahead
    # under separation the last step and the next one still move the linear predictors
    separated = np.zeros(m, dtype=bool)
    maybe = np.flatnonzero(problem.extreme(every.eta))
    if len(maybe):
        moved = problem.part(maybe).furthest(every.eta[maybe] - before[maybe])
        maybe = maybe[moved > MOVING]
    if len(maybe):
        some, at = problem.part(maybe), every.part(maybe)
        more = some.newton(at.eta, some.gradient(at.eta, at.beta))
        separated[maybe] = some.furthest(some.linear(more)) > MOVING
    return Optimum(every.beta, converged | separated, separated, every.loss)


def _stepped(
    problem: Objective, here: _Points, slack: Floats
) -> tuple[_Points, Bools, Bools]:
    """Return the points after a step, which were found, and which gain nothing more."""
    gradient = problem.gradient(here.eta, here.beta)
    step = problem.newton(here.eta, gradient)
    ahead, found = _search(problem, here, step, gradient, slack)
    # a negligible gain may still move predictions in their last digits
    last = found & (_promise(step, gradient) <= slack)
    again = ~found
    if last.any():  # a cautious step promises no more, but where the Hessian vanishes
        again |= last & (problem.extreme(here.eta) | ~step.any(axis=1))
    if len(stuck := np.flatnonzero(again)):
        some, at, pull = problem.part(stuck), here.part(stuck), gradient[stuck]
        # far on the wrong side a record has next to no information
        other = some.cautious(at.eta, pull)
        worth = np.flatnonzero(_promise(other, pull) > slack[stuck])
        if not len(worth):
            return ahead, found, last
        stuck, some, at = stuck[worth], some.part(worth), at.part(worth)
        beyond, better = _search(some, at, other[worth], pull[worth], slack[stuck])
        better &= ~found[stuck] | (beyond.loss < ahead.loss[stuck])
        ahead.put(stuck[better], beyond.part(better))
        found[stuck[better]], last[stuck[better]] = True, False
    return ahead, found, last


def _promise(step: Floats, gradient: Floats) -> Floats:
    """Return what each step gains if the objective is quadratic."""
    return np.asarray((step * gradient).sum(axis=1) / 2)


def _search(
    problem: Objective, here: _Points, step: Floats, gradient: Floats, slack: Floats
) -> tuple[_Points, Bools]:
    """Halve each step until it lowers the objective by enough, and tell which did."""
    # linear predictors add up, so that rounding does not hide a small gain
    promise, across = _promise(step, gradient), problem.linear(step)
    beta, eta = here.beta + step, here.eta + across
    ahead = _Points(beta, eta, problem.loss(eta, beta))
    # Armijo's rule: a share of the gain that a quadratic would give
    found = ahead.loss <= here.loss - ARMIJO * promise + slack
    for halving in range(1, MAX_HALVINGS + 1):
        left = np.flatnonzero(~found)
        if not len(left):
            break
        length, at = 0.5**halving, here.part(left)
        beta, eta = at.beta + length * step[left], at.eta + length * across[left]
        there = _Points(beta, eta, problem.part(left).loss(eta, beta))
        lower = there.loss <= at.loss - ARMIJO * length * promise[left] + slack[left]
        ahead.put(left[lower], there.part(lower))
        found[left[lower]] = True
    ahead.put(~found, here.part(~found))
    return ahead, found


def is_steep(
    total: Floats | float, furthest: Floats | float, classes: int = 2
) -> Bools:
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
    # Cauchy-Schwarz: a move δ of a predictor gains δ²/(2 x H⁻¹ x) or more
    least = (MOVING / 2) ** 2 / (2 * (TOLERANCE + FLOOR) * np.log(classes))
    return np.asarray(total * furthest < least)

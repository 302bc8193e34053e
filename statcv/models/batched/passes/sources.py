"""Where gradients come from, as the optimum comes nearer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix

ROUGH = 1e-5  # the distance that gradients of single precision leave, in each direction
DIGITS = 1e-3  # the share of a distance at which its digits may be used up
STALLED = 0.5  # the ratio of two steps in turn above which steps may lack digits
MIN_STEPS_IDLE = 2  # steps from a place after which idle ones may lack digits
NEARBY = 0.01  # a distance in each direction at which idle steps lack digits
# the share of a distance, at most, that another place for precise gradients leaves
MAX_SHARE_LEFT = 0.1
P = TypeVar("P", bound="Gradients")


class Gradients(Protocol):
    """Some fits, each with a concave objective of its own."""

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the direction of steepest ascent of each fit, shape (m, q)."""

    def part(self: P, chosen: NDArray[Any]) -> P:
        """Return some of the fits."""


class NearGradients(Gradients, Protocol):
    """The same fits near a place whose gradients are known."""

    def error(self, theta: Matrix) -> Matrix:
        """Return about how far from an optimum rounding makes it, shape (m,)."""


class RoughGradients(Gradients, Protocol):
    """The same fits with gradients of few digits."""

    def around(self, theta: Matrix, gradient: Matrix) -> NearGradients:
        """Return the fits with precise gradients near a place where they are known."""


@dataclass(frozen=True, eq=False)
class Origin:
    """A place whose gradients are known, for those nearby.

    Attributes
    ----------
    theta : numpy.ndarray, shape (m, q)
        The numbers of the place of each fit.
    gradient : numpy.ndarray, shape (m, q)
        The gradient there.
    state : numpy.ndarray, shape (m, ..., n)
        What changes of the derivatives by linear predictors are functions of.
    """

    theta: Matrix
    gradient: Matrix
    state: Matrix

    def part(self, chosen: NDArray[Any]) -> Origin:
        """Return the place of some of the fits."""
        return Origin(self.theta[chosen], self.gradient[chosen], self.state[chosen])


class GradientSource:
    """Where gradients come from, as the optimum comes nearer.

    The first are of single precision, if there are such. In the vicinity of the
    optimum a precise gradient is computed once, to which later ones add what differs
    from there. When the digits of these are used up, another place is taken.

    Attributes
    ----------
    problem : Gradients
        Precise gradients.
    rough : RoughGradients or None
        Gradients of single precision; None if they are of no use.
    """

    def __init__(self, problem: Gradients, rough: RoughGradients | None) -> None:
        self.problem, self.rough = problem, rough
        self.near: NearGradients | None = None
        self.farthest, self.steps = np.inf, 0

    @property
    def precise(self) -> bool:
        """Whether the latest gradients are precise."""
        return self.rough is None or self.near is not None

    def is_exact(self, theta: Matrix, enough: float) -> NDArray[np.bool_]:
        """Return whether rounding has cost less than is negligible, shape (m,)."""
        if self.near is None:
            return np.ones(len(theta), dtype=bool)
        return self.near.error(theta) <= enough

    def is_used_up(
        self, size: Matrix, rate: Matrix, idle: NDArray[np.bool_], coordinates: int
    ) -> bool:
        """Return whether the next gradient is to be computed precisely.

        Parameters
        ----------
        size, rate : numpy.ndarray, shape (m,)
            The length of each fit's step, and its share of that of the step before.
        idle : numpy.ndarray of bool, shape (m,)
            Whether the latest steps came no nearer.
        coordinates : int
            The number of coordinates.
        """
        if self.rough is None:
            return False
        idle = idle & (self.steps >= MIN_STEPS_IDLE)
        if self.near is not None:
            idle |= (rate > STALLED) & (size <= DIGITS * self.farthest)
            return bool(idle.any())
        each = size / np.sqrt(coordinates)
        return bool(
            ((each * rate.clip(max=1.0) <= ROUGH) | idle & (each <= NEARBY)).all()
        )

    def gradients(self, precise: bool) -> Gradients:
        """Return the gradients for the next step, precise ones for another place."""
        return self.problem if precise else self.near or self.rough or self.problem

    def move(
        self, precise: bool, theta: Matrix, gradient: Matrix, size: Matrix
    ) -> None:
        """Take another place, whose gradient is precise, after steps of some sizes."""
        self.steps += 1
        if not precise or self.rough is None:
            return
        most = float(size.max())
        # few digits are left where another place hardly shortened the distance
        if self.near is not None and most > MAX_SHARE_LEFT * self.farthest:
            self.rough = self.near = None
        else:
            self.near = self.rough.around(theta, gradient)
        self.farthest, self.steps = most, 0

    def part(self, chosen: NDArray[Any]) -> GradientSource:
        """Return the gradients of some of the fits."""
        rough = None if self.rough is None else self.rough.part(chosen)
        near = None if self.near is None else self.near.part(chosen)
        made = GradientSource(self.problem.part(chosen), rough)
        made.near, made.farthest, made.steps = near, self.farthest, self.steps
        return made

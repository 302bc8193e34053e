"""The optima of several concave functions at once, by gradients alone.

The method is that of limited memory of Broyden, Fletcher, Goldfarb and Shanno (Liu &
Nocedal 1989), which starts from an approximate inverse of the Hessian and remembers
the latest steps. A step along which the function first rises, and then falls nearly as
steeply, is shortened.

Places, the steps between them and gradients have q coordinates. Where the basis of
these is not orthonormal, places and steps have twice as many numbers: first their
products with the basis, which times the coordinates of a gradient give the inner
product of the two, and then their coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix

STEPS = 20  # steps at most with one approximate inverse, unless others cost more
ROUGH = 1e-5  # the distance that gradients of single precision leave, in each direction
DIGITS = 1e-3  # the share of a distance at which its digits may be used up
STALLED = 0.5  # the ratio of two steps in turn above which steps may lack digits
IDLE = 2  # steps from a place after which idle ones may lack digits
NEARBY = 0.01  # a distance in each direction at which idle steps lack digits
GAIN = 0.1  # the least that a place for precise gradients shortens the distance
SHORTENED = 12  # times that a step is shortened, at most
OVERSHOT = 0.9  # the steepest fall at the end of a step, of the rise at its beginning
REMEMBERED = 40  # steps that are remembered
SHORT = 0.05  # a step in each direction after which Hessians serve for the rest
SEEN = 3  # steps after which the rate of the latest two predicts later ones
BROYDEN = 0.7  # the share of steps that quasi-Newton updates leave
NEWTON = 12  # steps that are left with new Hessians, about
CROWDED = 0.7  # the share of unfinished fits below which finished ones are removed

P = TypeVar("P", bound="Gradients")
Q = TypeVar("Q", bound="Inverses")
B = TypeVar("B", bound="Basis")


class Gradients(Protocol):
    """Some fits, each with a concave objective of its own."""

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the direction of steepest ascent of each fit, shape (m, q).

        ``theta`` has the numbers of a place for each fit.
        """

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


class Inverses(Protocol):
    """Approximate inverses of minus the Hessians of some fits."""

    @property
    def single(self) -> bool:
        """Whether they have few digits, which suffice for gradients on the way too."""

    def times(self, gradients: Matrix) -> Matrix:
        """Return the step that each matrix makes of a gradient, shape (m, q)."""

    def part(self: Q, chosen: NDArray[Any]) -> Q:
        """Return some of the matrices."""


class Basis(Protocol):
    """What places are coordinates of, which is not orthonormal."""

    def with_products(self, coordinates: Matrix) -> Matrix:
        """Put products with the basis before coordinates, shape (m, q)."""

    def part(self: B, chosen: NDArray[Any]) -> B:
        """Return that of some of the fits."""


@dataclass(frozen=True, eq=False)
class Origin:
    """A place whose gradients are known, for those nearby.

    Attributes
    ----------
    theta : numpy.ndarray, shape (m, q) or (m, 2 q)
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


@dataclass(frozen=True)
class Identity:
    """An approximate inverse where Hessians have a diagonal of 1.

    Attributes
    ----------
    grows : bool
        Whether it takes the size that the latest step shows, if that is larger, as
        where classes are separated better and better, so that curvatures become less.
    basis : Basis or None
        What places are coordinates of; None if it is orthonormal.
    """

    grows: bool = False
    basis: Basis | None = None
    single = True

    def times(self, gradients: Matrix) -> Matrix:
        """Return the gradients as steps."""
        if self.basis is None:
            return gradients
        return self.basis.with_products(gradients)

    def part(self, chosen: NDArray[Any]) -> Identity:
        """Return the same for some of the fits."""
        if self.basis is None:
            return self
        return replace(self, basis=self.basis.part(chosen))


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
    most: int = STEPS


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
    theta : numpy.ndarray, shape (m, q) or (m, 2 q)
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
    theta : numpy.ndarray, shape (m, q) or (m, 2 q)
        Where each fit ended.
    done : numpy.ndarray of bool, shape (m,)
        Whether the gradient vanishes there.
    """
    found, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    q, enough = gradient.shape[1], until.enough
    source = _Source(problem, rough)
    which, memory = np.arange(len(theta)), _Memory(inverse, theta.shape, q)
    before = slower = np.full(len(theta), np.inf)
    going = np.ones(len(theta), dtype=bool)
    crude = isinstance(inverse, Identity) and rough is not None
    for number in range(until.most):
        step = memory.direction(gradient)
        rises = _dot(gradient, step)
        size = np.sqrt(_dot(step[:, -q:], step).clip(min=0.0))
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
        some = slice(None) if going.all() else going
        anew = stale or source.is_used_up(size[some], rate[some], idle[some], q)
        gradients = source.gradients(anew)
        if anew:  # the gradient changes by what was rounded, too
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
        source.move(anew, theta, gradient, size[some])
    found[which[going]] = theta[going]
    return found, done


def _are_short(size: Matrix, coordinates: int) -> bool:
    """Return whether steps are so short that new Hessians serve for the rest."""
    return bool(size.max() <= SHORT * np.sqrt(coordinates))


def _steps_left(size: Matrix, rate: Matrix, enough: float) -> float:
    """Return about how many steps the slowest fit has to go, from a size and rate."""
    rate = np.clip(rate, 1e-3, 0.95)
    steps = np.log(enough / size) / np.log(rate) * BROYDEN
    return float(steps.max(initial=0.0))


class _Source:
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
        idle = idle & (self.steps >= IDLE)
        if self.near is not None:
            idle |= (rate > STALLED) & (size <= DIGITS * self.farthest)
            return bool(idle.any())
        each = size / np.sqrt(coordinates)
        return bool(
            ((each * rate.clip(max=1.0) <= ROUGH) | idle & (each <= NEARBY)).all()
        )

    def gradients(self, anew: bool) -> Gradients:
        """Return the gradients for the next step, precise ones for another place."""
        return self.problem if anew else self.near or self.rough or self.problem

    def move(self, anew: bool, theta: Matrix, gradient: Matrix, size: Matrix) -> None:
        """Take another place, whose gradient is precise, after steps of some sizes."""
        self.steps += 1
        if not anew or self.rough is None:
            return
        most = float(size.max())
        if self.near is not None and most > GAIN * self.farthest:  # too few digits
            self.rough = self.near = None
        else:
            self.near = self.rough.around(theta, gradient)
        self.farthest, self.steps = most, 0

    def part(self, chosen: NDArray[Any]) -> _Source:
        """Return the gradients of some of the fits."""
        rough = None if self.rough is None else self.rough.part(chosen)
        near = None if self.near is None else self.near.part(chosen)
        made = _Source(self.problem.part(chosen), rough)
        made.near, made.farthest, made.steps = near, self.farthest, self.steps
        return made


def _ahead(
    problem: Gradients,
    theta: Matrix,
    step: Matrix,
    rises: Matrix,
    going: NDArray[np.bool_],
) -> tuple[Matrix, Matrix]:
    """Return steps that do not go too far, and the gradients at their ends."""
    ahead = problem.gradient(theta + step)
    far = going & ~(_dot(ahead, step) >= -OVERSHOT * rises)
    if not far.any():
        return step, ahead
    length = np.ones(len(step))
    for _ in range(SHORTENED):
        if not far.any():
            break
        some = np.flatnonzero(far)
        falls = -_dot(ahead[some], step[some])
        part = np.clip(rises[some] / (rises[some] + falls), 0.05, 0.95)
        length[some] *= np.where(np.isfinite(part), part, 0.05)
        tried = length[some, None] * step[some]
        ahead[some] = problem.part(some).gradient(theta[some] + tried)
        far[some] = ~(_dot(ahead[some], step[some]) >= -OVERSHOT * rises[some])
    return length[:, None] * step, ahead


class _Memory:
    """Steps, and what they took from the gradients, in compact form.

    The updated inverse is that of Byrd, Nocedal & Schnabel (1994), equation 3.1. Steps
    are scaled, so that each times what it took is 1.

    Attributes
    ----------
    steps : numpy.ndarray, shape (2, m, REMEMBERED, q or 2 q)
        The steps, and what they took from the gradients times the inverses at the
        start.
    taken : numpy.ndarray, shape (m, REMEMBERED, q)
        What they took.
    squares : numpy.ndarray, shape (2, m, REMEMBERED, REMEMBERED)
        The inverse of the triangle of products of each step with what it and later
        ones took; and products of what two steps took, with the inverses at the start
        between them.
    count : int
        The number of steps.
    """

    def __init__(self, inverse: Any, shape: tuple[int, ...], q: int) -> None:
        fits, size = shape
        self.inverse, self.count = inverse, 0
        self.steps = np.empty((2, fits, REMEMBERED, size))
        self.taken = np.empty((fits, REMEMBERED, q))
        self.squares = np.zeros((2, fits, REMEMBERED, REMEMBERED))
        self.before: Matrix | None = None
        self.latest: tuple[Matrix, Matrix, Matrix] | None = None

    def add(self, step: Matrix, taken: Matrix) -> None:
        """Remember a step; one that took nothing has no effect."""
        product = _dot(taken, step)[:, None]
        scale = np.where(product > 0, 1 / np.sqrt(product), 0.0)
        self.latest = step * scale, taken * scale, scale

    def direction(self, gradient: Matrix) -> Matrix:
        """Multiply gradients by the updated inverses."""
        plain = self.inverse.times(gradient)
        if self.latest is not None and self.before is not None:
            step, taken, scale = self.latest
            self._grow(step, taken, (self.before - plain) * scale)
        self.before, self.latest = plain, None
        if not self.count:
            return np.asarray(plain)
        steps, turned = self.steps[:, :, : self.count]
        triangle, inner = self.squares[:, :, : self.count, : self.count]
        q = gradient.shape[1]
        along = _times(steps[:, :, :q], gradient)
        across = _times(turned[:, :, :q], gradient)
        first = _times(triangle, along)
        right = _times(inner, first) - across
        start = plain - np.matmul(first[:, None], turned)[:, 0]
        if isinstance(self.inverse, Identity) and self.inverse.grows:
            latest = inner[:, -1, -1:]
            size = np.where((latest > 0) & (latest < 1), 1 / latest, 1.0)
            right, start = right * size, start * size
        second = np.matmul((right + first)[:, None], triangle)
        return np.asarray(start + np.matmul(second, steps)[:, 0])

    def _grow(self, step: Matrix, taken: Matrix, turned: Matrix) -> None:
        if self.count == REMEMBERED:
            self.steps[:, :, :-1] = self.steps[:, :, 1:]
            self.taken[:, :-1] = self.taken[:, 1:]
            self.squares[:, :, :-1, :-1] = self.squares[:, :, 1:, 1:]
            self.count -= 1
        k, q = self.count, taken.shape[1]
        self.count += 1
        self.steps[:, :, k], self.taken[:, k] = (step, turned), taken
        steps, took = self.steps[0, :, : self.count], self.taken[:, : self.count]
        triangle, inner = self.squares[:, :, : self.count, : self.count]
        column = _times(steps[:, :k, :q], taken)
        triangle[:, k, :k], triangle[:, k, k] = 0.0, 1.0
        triangle[:, :k, k] = -_times(triangle[:, :k, :k], column)
        inner[:, :, k] = inner[:, k] = _times(took, turned[:, :q])

    def forgotten(self) -> _Memory:
        """Return the memory without steps, as they may be due to rounding."""
        fits, _, size = self.steps.shape[1:]
        return _Memory(self.inverse, (fits, size), self.taken.shape[2])

    def part(self, chosen: NDArray[Any]) -> _Memory:
        """Return what is remembered of some fits."""
        made = _Memory(self.inverse.part(chosen), (0, 0), 0)
        made.steps, made.taken = self.steps[:, chosen], self.taken[chosen]
        made.squares, made.count = self.squares[:, chosen], self.count
        if self.before is not None:
            made.before = self.before[chosen]
        return made


def _times(matrices: Matrix, vectors: Matrix) -> Matrix:
    return np.asarray(np.matmul(matrices, vectors[:, :, None])[:, :, 0])


def _dot(first: Matrix, second: Matrix) -> Matrix:
    return np.asarray(np.einsum("bp,bp->b", first, second[:, : first.shape[1]]))

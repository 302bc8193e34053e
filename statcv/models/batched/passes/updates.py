"""Quasi-Newton updates of approximate inverses of Hessians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix

REMEMBERED = 40  # steps that are remembered
Q = TypeVar("Q", bound="Inverses")


class Inverses(Protocol):
    """Approximate inverses of minus the Hessians of some fits."""

    @property
    def single(self) -> bool:
        """Whether they have few digits, which suffice for gradients on the way too."""

    def times(self, gradients: Matrix) -> Matrix:
        """Return the step that each matrix makes of a gradient, shape (m, q)."""

    def part(self: Q, chosen: NDArray[Any]) -> Q:
        """Return some of the matrices."""


@dataclass(frozen=True)
class Identity:
    """An approximate inverse where Hessians have a diagonal of 1.

    Attributes
    ----------
    grows : bool
        Whether it takes the size that the latest step shows, if that is larger, as
        where classes are separated better and better, so that curvatures become less.
    """

    grows: bool = False
    single = True

    def times(self, gradients: Matrix) -> Matrix:
        """Return the gradients as steps."""
        return gradients

    def part(self, chosen: NDArray[Any]) -> Identity:
        """Return the same for some of the fits."""
        return self


class Memory:
    """Steps, and what they took from the gradients, in compact form.

    The updated inverse is that of Byrd, Nocedal & Schnabel (1994), equation 3.1. Steps
    are scaled, so that each times what it took is 1.

    Attributes
    ----------
    steps : numpy.ndarray, shape (2, m, REMEMBERED, q)
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

    def __init__(self, inverse: Any, fits: int, q: int) -> None:
        self.inverse, self.count = inverse, 0
        self.steps = np.empty((2, fits, REMEMBERED, q))
        self.taken = np.empty((fits, REMEMBERED, q))
        self.squares = np.zeros((2, fits, REMEMBERED, REMEMBERED))
        self.before: Matrix | None = None
        self.latest: tuple[Matrix, Matrix, Matrix] | None = None

    def add(self, step: Matrix, taken: Matrix) -> None:
        """Remember a step; one that took nothing has no effect."""
        product = dot(taken, step)[:, None]
        # a step along which the gradient did not fall shows no curvature
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
        # the compact form: H₀g, plus what the steps and their changes add
        along = times(steps, gradient)
        across = times(turned, gradient)
        first = times(triangle, along)
        right = times(inner, first) - across
        start = plain - np.matmul(first[:, None], turned)[:, 0]
        if isinstance(self.inverse, Identity) and self.inverse.grows:
            latest = inner[:, -1, -1:]
            # the latest step shows how curved the function still is
            size = np.where((latest > 0) & (latest < 1), 1 / latest, 1.0)
            right, start = right * size, start * size
        second = np.matmul((right + first)[:, None], triangle)
        return np.asarray(start + np.matmul(second, steps)[:, 0])

    def _grow(self, step: Matrix, taken: Matrix, turned: Matrix) -> None:
        if self.count == REMEMBERED:
            # the oldest step is forgotten, as it shows curvature that is farther away
            self.steps[:, :, :-1] = self.steps[:, :, 1:]
            self.taken[:, :-1] = self.taken[:, 1:]
            self.squares[:, :, :-1, :-1] = self.squares[:, :, 1:, 1:]
            self.count -= 1
        k = self.count
        self.count += 1
        self.steps[:, :, k], self.taken[:, k] = (step, turned), taken
        steps, took = self.steps[0, :, : self.count], self.taken[:, : self.count]
        triangle, inner = self.squares[:, :, : self.count, : self.count]
        column = times(steps[:, :k], taken)
        # the inverse of a triangle grows by a column for each step
        triangle[:, k, :k], triangle[:, k, k] = 0.0, 1.0
        triangle[:, :k, k] = -times(triangle[:, :k, :k], column)
        inner[:, :, k] = inner[:, k] = times(took, turned)

    def forgotten(self) -> Memory:
        """Return the memory without steps, as they may be due to rounding."""
        fits, _, q = self.taken.shape
        return Memory(self.inverse, fits, q)

    def part(self, chosen: NDArray[Any]) -> Memory:
        """Return what is remembered of some fits."""
        made = Memory(self.inverse.part(chosen), 0, 0)
        made.steps, made.taken = self.steps[:, chosen], self.taken[chosen]
        made.squares, made.count = self.squares[:, chosen], self.count
        if self.before is not None:
            made.before = self.before[chosen]
        return made


def times(matrices: Matrix, vectors: Matrix) -> Matrix:
    """Multiply vectors, shape (m, p), each by its matrix."""
    return np.asarray(np.matmul(matrices, vectors[:, :, None])[:, :, 0])


def dot(first: Matrix, second: Matrix) -> Matrix:
    """Return the inner products of rows."""
    return np.asarray(np.einsum("bp,bp->b", first, second))

"""A point near the optimum of all records, from a sample of them first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.passes.quasi_newton import Until, climb
from statcv.models.batched.passes.sums import Passes
from statcv.models.batched.passes.updates import Identity

HEAVY = 64  # coefficients whose products cost more than some gradients
SAMPLE = 40  # records of the sample for each coefficient
MIN_SAMPLE = 2000  # records of the sample at least
MAX_NEWTON_STEPS = 30
NEAR = 0.3  # the distance from the optimum of all records, in standard errors
SLOW = 0.3  # a rate of convergence that is worth another Hessian
MAX_GROWTH = 4.0  # a growth of the distance after which there may be no optimum


@dataclass(frozen=True, eq=False)
class Anchor:
    """A point near the optimum of all records.

    Attributes
    ----------
    theta : numpy.ndarray, shape (1, q)
    scale : numpy.ndarray, shape (q,)
        The roots of the diagonal of a Hessian.
    """

    theta: Matrix
    scale: Matrix


def find_anchor(passes: Passes) -> Anchor | None:
    """Search for the optimum of all records, roughly; None without one."""
    if passes.family.quadratic:
        return without_search(passes)
    q, n = passes.size, len(passes.X)
    theta = np.zeros((1, q))
    # a sample has nearly the same optimum, at a fraction of the cost
    size = max(MIN_SAMPLE, SAMPLE * q)
    if n > 4 * size:
        start = find_anchor(passes.sample(size))
        theta = theta if start is None else start.theta
    by_gradients = _by_gradients(passes, theta) if q >= HEAVY else None
    return by_gradients or _by_hessians(passes, theta)


def without_search(passes: Passes) -> Anchor | None:
    """Return coefficients of 0; None if a column has no variation there."""
    theta = np.zeros((1, passes.size))
    scale = np.sqrt(passes.diagonal(theta))
    return Anchor(theta, scale) if (scale > 0).all() else None


def _by_gradients(passes: Passes, theta: Matrix) -> Anchor | None:
    """Search without the Hessian, whose products cost more than some gradients."""
    scale = np.sqrt(passes.diagonal(theta))
    if not (scale > 0).all():
        return None
    one = _Every(passes, scale)
    there = theta * scale
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        found, done = climb(
            one, there, one.gradient(there), Identity(), Until(_near(passes))
        )
    return Anchor(found / scale, scale) if done.all() else None


def _near(passes: Passes) -> float:
    """Return a distance, in standard errors, that is near, as folds are farther."""
    # the distance between optima of two samples grows as the root of their coordinates
    return float(max(NEAR, NEAR * np.sqrt(passes.size) / 3))


@dataclass(frozen=True, eq=False)
class _Every:
    """The fit to all records, in coordinates whose Hessian has a diagonal of 1."""

    passes: Passes
    scale: Matrix

    def gradient(self, theta: Matrix) -> Matrix:
        return np.asarray(self.passes.gradient(theta / self.scale) / self.scale)

    def part(self, chosen: NDArray[Any]) -> _Every:
        return self


def _by_hessians(passes: Passes, theta: Matrix) -> Anchor | None:
    before, near = np.inf, _near(passes)
    for _ in range(MAX_NEWTON_STEPS):
        triangle = passes.triangle(theta)
        if triangle is None:
            return None
        gradient = passes.gradient(theta)
        for number in range(MAX_NEWTON_STEPS):
            step = triangle.solve(gradient)
            distance = float(np.sqrt(max((step @ gradient.T).item(), 0.0)))
            if not np.isfinite(distance) or distance > MAX_GROWTH * before:
                return None
            # the same Hessian serves while steps shrink quickly
            if distance <= near or (number and distance > SLOW * before):
                break
            theta, before = theta + step, distance
            gradient = passes.gradient(theta)
        if distance <= near:
            return Anchor(theta, triangle.scale)
    return None

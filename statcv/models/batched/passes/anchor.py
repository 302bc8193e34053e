"""A point near the optimum of all records, from a sample of them first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.models.base import Matrix
from statcv.models.batched.downdate import Inverse
from statcv.models.batched.passes.problem import FewFits
from statcv.models.batched.passes.sums import Passes
from statcv.models.batched.quasi_newton import Identity, Until, climb

SAMPLE = 40  # records of the sample for each coefficient
MIN_SAMPLE = 2000  # records of the sample at least
MAX_HESSIANS = 4  # Hessians of all records at most
NEAR = 0.3  # the distance from the optimum of all records, in standard errors


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


def find_anchor(passes: Passes, far: bool = False) -> Anchor | None:
    """Search for the optimum of all records, roughly; None without one.

    Coefficients of 0 serve folds that are far from it, and least squares.
    """
    q, n = passes.size, len(passes.X)
    theta = np.zeros((1, q))
    # a sample has nearly the same optimum, at a fraction of the cost
    size = max(MIN_SAMPLE, SAMPLE * q)
    if n > 4 * size and not (far or passes.family.quadratic):
        start = find_anchor(passes.sample(size))
        theta = theta if start is None else start.theta
    scale = np.sqrt(passes.diagonal(theta))
    if not (scale > 0).all():
        return None
    if far or passes.family.quadratic:
        return Anchor(theta, scale)
    every = FewFits.of_all(passes, scale)
    # the distance between optima of two samples grows as the root of their coordinates
    near = Until(max(NEAR, NEAR * float(np.sqrt(q)) / 3))
    inverse: Inverse = Identity()
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        # the Hessian of all records costs more than some gradients
        for _ in range(MAX_HESSIANS):
            there, done = climb(every, theta * scale, inverse, near)
            theta = there / scale
            if done.all():
                return Anchor(theta, scale)
            inverse = triangles = every.fold_hessians(there)
            if None in triangles.triangles:
                break
    return None

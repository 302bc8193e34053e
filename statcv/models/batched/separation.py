"""The judge of separation, whichever way fits were made."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.families import Family
from statcv.numeric.newton import is_steep

P = TypeVar("P", bound="Judged")


class Judged(Protocol):
    """Some fits whose optima were found."""

    @property
    def family(self) -> Family:
        """Their log-likelihood."""

    def part(self: P, chosen: NDArray[Any]) -> P:
        """Return some of the fits."""

    def seems_moderate(self, theta: Matrix) -> NDArray[np.bool_]:
        """Return which fits need no look at the records, shape (m,)."""

    def spread(self, theta: Matrix) -> Matrix:
        """Return the largest spread of the predictors of a record, (m,)."""

    def steepness(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Return total weights, and the most that x H⁻¹ x is for a record x, (m,)."""


def not_separated(problem: Judged, theta: Matrix) -> NDArray[np.bool_]:
    """Return which fits cannot be separated, shape (m,).

    If all linear predictors are moderate, they are not. Otherwise a fit of its own
    would call a fold separated only if a step with negligible gain could still move
    them, and the Hessian shows whether it could.

    Parameters
    ----------
    problem : Judged
    theta : numpy.ndarray, shape (m, q)
        The optima.
    """
    moderate = problem.family.moderate
    # least squares has an optimum whatever the outcomes are
    if moderate == np.inf:
        return np.ones(len(theta), dtype=bool)
    sure = problem.seems_moderate(theta)
    rest = np.flatnonzero(~sure)
    if len(rest):
        sure[rest] = problem.part(rest).spread(theta[rest]) < moderate
        rest = np.flatnonzero(~sure)
    if len(rest):
        total, furthest = problem.part(rest).steepness(theta[rest])
        sure[rest] = is_steep(total, furthest, max(problem.family.width, 2))
    return sure

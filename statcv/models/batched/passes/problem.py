"""The optimisation problem of a few fits, near the optimum of all records.

Their Hessians have Cholesky factors, by which steps are solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.new_levels import Numbers
from statcv.models.batched.passes.sums import Passes
from statcv.models.families import Family
from statcv.numeric.threads import product, shared

MAX_CONDITION = 1e10  # the largest condition number of a Hessian


@dataclass(frozen=True, eq=False)
class FewFits:
    """The optimisation problem of a few fits, near the optimum of all records.

    Coordinates are those in which the Hessian there has a unit diagonal.

    Attributes
    ----------
    passes : Passes
        All records.
    scale : numpy.ndarray, shape (q,)
        What divides coordinates to become those of the passes.
    reach : float
        The most that a step of length 1 moves a linear predictor.
    changed : tuple of numpy.ndarray of int
        For each fit the records that do not occur exactly once, rising.
    times : tuple of numpy.ndarray, or None
        How often each of them occurs; None if never.
    often : numpy.ndarray, shape (m, n)
        How often each fit trains on each record, or its weight beyond the record's own.
    weighted : bool
        Whether there are such weights.
    penalty : numpy.ndarray, shape (q,) or (m, q)
        The ridge on the coordinates of the passes, of each fit if they have their own;
        Hessians have that of all records.
    """

    passes: Passes
    scale: Matrix
    reach: float
    changed: tuple[Numbers, ...]
    times: tuple[Matrix, ...] | None
    often: Matrix
    weighted: bool
    penalty: Matrix

    def __len__(self) -> int:
        return len(self.changed)

    @classmethod
    def of_all(cls, passes: Passes, scale: Matrix) -> FewFits:
        """Return the fit to all records."""
        often = np.ones((1, len(passes.X)))
        none = (np.zeros(0, dtype=np.intp),)
        return cls(passes, scale, 1.0, none, None, often, False, passes.penalty)

    def part(self, chosen: NDArray[Any]) -> FewFits:
        """Return the problem of some of the fits; this one, without a copy, of all."""
        some, times = np.arange(len(self))[chosen], self.times
        if len(some) == len(self):
            return self
        return replace(
            self,
            changed=tuple(self.changed[one] for one in some),
            times=None if times is None else tuple(times[one] for one in some),
            often=self.often[chosen],
            penalty=self.penalty if self.penalty.ndim == 1 else self.penalty[chosen],
        )

    def batches(self, chosen: NDArray[np.bool_]) -> list[Numbers]:
        """Return some of the fits in one batch, as there are not many."""
        return [np.flatnonzero(chosen)]

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, minus the penalty's."""
        passes, fits, there = self.passes, len(self), theta / self.scale
        beta, width = passes.coefficients(there), passes.family.width

        def sums(rows: slice) -> Matrix:
            X = passes.X[rows]
            by_fit = (beta @ X.T).reshape(fits, width, len(X))
            with np.errstate(over="ignore", invalid="ignore"):
                passes.family.pull(by_fit, rows)
            if passes.weights is not None:
                by_fit *= passes.weights[rows]
            by_fit *= self.often[:, None, rows]
            return product(by_fit.reshape(-1, len(X)), X)

        pulled = passes.gathered(passes.summed(fits, sums)) - there * self.penalty
        return np.asarray(pulled / self.scale)

    @property
    def family(self) -> Family:
        """The log-likelihood."""
        return self.passes.family

    @property
    def bounded(self) -> bool:
        """Whether there is an optimum, by a ridge on all columns but one at most."""
        ridge = self.passes.ridge
        return bool(np.count_nonzero(ridge) >= len(ridge) - 1)

    def seems_moderate(self, theta: Matrix) -> NDArray[np.bool_]:
        """Return whether fits are bounded; the records of others are examined."""
        return np.full(len(theta), self.bounded)

    def spread(self, theta: Matrix) -> Matrix:
        """Return the largest spread of linear predictors of each fit, (fits,)."""
        return self.passes.spread(theta / self.scale)

    def steepness(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Return the total weight, and a bound on x H⁻¹ x, of each fit, (fits,)."""
        passes = self.passes
        total = len(passes.X) if passes.weights is None else passes.weights.sum()
        # x H⁻¹ x is at most the squared length of x times the largest eigenvalue of H⁻¹
        norm = self.own_hessian(theta)[1].norm
        return np.full(len(self), float(total)), norm * self.reach**2

    def fold_hessians(self, theta: Matrix) -> Triangles:
        """Return the inverse Hessian of each fit at coordinates of all, (1, q)."""
        there, less = theta / self.scale, None
        if self.weighted:
            return self._inverted(self.passes.hessians(there, *self._trained))
        if self.times is not None:
            less = [1 - times for times in self.times]
        parts = self.passes.hessians(there, self.changed, less)
        # if each record is held out once, the parts add up to all
        every = [slice(None)]
        total = sum(parts) if self.divided else self.passes.hessians(there, every)[0]
        return self._inverted([total - part for part in parts])

    def own_hessian(self, theta: Matrix) -> tuple[Matrix, Triangles]:
        """Return the gradient and the inverse Hessian of each fit at theta, (m, q)."""
        found = self.passes.hessians(theta / self.scale, *self._trained)
        return self.gradient(theta), self._inverted(found)

    def _inverted(self, hessians: list[Matrix]) -> Triangles:
        """Return the inverses of Hessians of the passes, with the penalty."""
        penalty, units = np.diag(self.passes.penalty), np.outer(self.scale, self.scale)
        return Triangles.of([(one + penalty) / units for one in hessians])

    @cached_property
    def _trained(self) -> tuple[list[Numbers], list[Matrix]]:
        """The training records of each fit, and how often they count."""
        lists = [np.flatnonzero(often) for often in self.often]
        often = [often[own] for often, own in zip(self.often, lists, strict=True)]
        return lists, often

    @property
    def divided(self) -> bool:
        """Whether each record is held out by just one fit."""
        held = np.bincount(np.concatenate(self.changed), minlength=len(self.passes.X))
        return self.times is None and bool((held == 1).all())


@dataclass(frozen=True, eq=False)
class Triangles:
    """Inverses of Hessians by their Cholesky factors, one for each fit.

    Attributes
    ----------
    factors : tuple of numpy.ndarray or None
        Triangles, the lower parts of (q, q); None for a Hessian without an inverse.
    """

    factors: tuple[Matrix | None, ...]

    @classmethod
    def of(cls, hessians: Sequence[Matrix]) -> Triangles:
        """Decompose Hessians in coordinates in which their diagonals are alike."""
        return cls(tuple(shared(_factor, hessians, len(hessians[0]) ** 3 / 10)))

    def times(self, vectors: Matrix) -> Matrix:
        """Multiply vectors, shape (m, q), each by its inverse; NaN without one."""
        from scipy.linalg import cho_solve

        made = np.full_like(vectors, np.nan)
        for fit, factor in enumerate(self.factors):
            if factor is not None:
                made[fit] = cho_solve((factor, True), vectors[fit], check_finite=False)
        return made

    def part(self, chosen: NDArray[Any]) -> Triangles:
        """Return the inverses of some of the fits."""
        some = np.arange(len(self.factors))[chosen]
        return Triangles(tuple(self.factors[one] for one in some))

    @property
    def norm(self) -> Matrix:
        """Bounds on the largest eigenvalues of the inverses, one for each fit."""
        made = np.full(len(self.factors), np.inf)
        for fit, factor in enumerate(self.factors):
            if factor is not None:
                half = np.linalg.inv(np.tril(factor))
                made[fit] = np.linalg.norm(half.T @ half)  # Frobenius norm
        return made


def _factor(hessian: Matrix) -> Matrix | None:
    """Return the Cholesky factor of a Hessian; None if it would cost many digits."""
    from scipy.linalg import LinAlgError, cho_factor

    try:
        lower, _ = cho_factor(hessian, lower=True, check_finite=False)
    except LinAlgError:
        return None
    # the ratio of the diagonal to a squared pivot is at most the condition number
    pivot, most = lower.diagonal().min(initial=1.0) ** 2, hessian.diagonal().max()
    return np.asarray(lower) if pivot * MAX_CONDITION > most else None

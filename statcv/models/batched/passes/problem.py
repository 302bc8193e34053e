"""The optimisation problem of a few fits, near the optimum of all records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.new_levels import Numbers
from statcv.models.batched.passes.sums import Passes
from statcv.models.batched.passes.triangles import Triangles
from statcv.models.families import Family
from statcv.numeric.threads import product


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

    def rounded(self) -> FewFits | None:
        """Return the problem with rows of single precision, if that saves time."""
        rounded = self.passes.rounded
        return None if rounded is self.passes else replace(self, passes=rounded)

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, minus the penalty's.

        Where all fits are at the same place, that takes half the time.
        """
        passes, fits = self.passes, len(self)
        # at one place the residuals of all fits are the same
        alike = (theta[:, 0] == theta[0, 0]).all() and (theta == theta[0]).all()
        there = (theta[:1] if alike else theta) / self.scale
        beta, width = passes.coefficients(there), passes.family.width

        def sums(rows: slice) -> Matrix:
            X = passes.X[rows]
            by_fit = (beta @ X.T).reshape(len(there), width, len(X))
            with np.errstate(over="ignore", invalid="ignore"):
                passes.family.pull(by_fit, rows)
            if passes.weights is not None:
                by_fit *= passes.weights[rows]
            if len(there) < fits:
                by_fit = by_fit.repeat(fits, axis=0)
            by_fit *= self.often[:, None, rows]
            return product(by_fit.reshape(-1, len(X)), X)

        total = passes.summed(fits, sums)
        pulled = passes.gathered(total) - there * self.penalty
        return np.asarray(pulled / self.scale)

    @property
    def family(self) -> Family:
        """The log-likelihood."""
        return self.passes.family

    def seems_moderate(self, theta: Matrix) -> NDArray[np.bool_]:
        """Return that all fits need a look at the records."""
        return np.zeros(len(theta), dtype=bool)

    def spread(self, theta: Matrix) -> Matrix:
        """Return the largest spread of linear predictors of each fit, (fits,)."""
        return self.passes.spread(theta / self.scale)

    def steepness(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Return the total weight, and a bound on x H⁻¹ x, of each fit, (fits,)."""
        passes = self.passes
        total = len(passes.X) if passes.weights is None else passes.weights.sum()
        # x H⁻¹ x is at most the squared length of x times the largest eigenvalue of H⁻¹
        norm = self.own_hessians(theta).norm
        return np.full(len(self), float(total)), norm * self.reach**2

    def fold_hessians(self, theta: Matrix) -> Triangles:
        """Return the inverse Hessian of each fit at coordinates of all, (1, q)."""
        there = theta / self.scale
        if self.weighted:
            return self.own_hessians(np.tile(theta, (len(self), 1)))

        less = None
        if self.times is not None:
            less = [1 - times for times in self.times]

        def hessians(passes: Passes) -> list[Matrix]:
            parts = passes.hessians(there, self.changed, less)
            # if each record is held out once, the parts add up to all
            every = [slice(None)]
            total = sum(parts) if self.divided else passes.hessians(there, every)[0]
            return [total - part for part in parts]

        return Triangles(self.passes.triangles(hessians), self.scale)

    def own_hessians(self, theta: Matrix) -> Triangles:
        """Return the inverse Hessian of each fit at its coordinates, shape (m, q)."""
        there = theta / self.scale
        found = self.passes.triangles(lambda sums: sums.hessians(there, *self._trained))
        return Triangles(found, self.scale)

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

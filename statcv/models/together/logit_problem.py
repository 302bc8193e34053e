"""The likelihoods of several fits: their gradients and Hessians, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.together.downdate import (
    Inverse,
    Whole,
    by_counts,
    by_lists,
    symmetric_inverse,
)
from statcv.models.together.folds import CELLS, Block
from statcv.models.together.logit_centre import Centre
from statcv.models.together.products import grams

ALONE = 8  # so many fits or fewer make their Hessians one by one


@dataclass(frozen=True, eq=False)
class Problem:
    """The optima that some fits look for.

    Attributes
    ----------
    centre : Centre
    block : Block
    room : numpy.ndarray, shape (m, n)
        Where residuals are written.
    sign : numpy.ndarray, shape (m, n), or None
        1 or -1 by class, where each fit has its own outcome.
    """

    centre: Centre
    block: Block
    room: Matrix
    sign: Matrix | None

    @classmethod
    def of(cls, centre: Centre, block: Block) -> Problem:
        """Set up the fits of a block."""
        sign = None if block.outcome is None else centre.sign[block.outcome]
        return cls(centre, block, np.empty((len(block), block.n)), sign)

    def __len__(self) -> int:
        return len(self.block)

    @property
    def reach(self) -> float:
        """The most that a step of length 1 moves a linear predictor."""
        return self.centre.reach

    def part(self, chosen: NDArray[Any]) -> Problem:
        """Return the problem of some of the fits."""
        sign = None if self.sign is None else self.sign[chosen]
        return replace(self, block=self.block.part(chosen), sign=sign)

    def batches(
        self, chosen: NDArray[np.bool_], each: int = 0
    ) -> list[NDArray[np.intp]]:
        """Cut some of the fits into batches of bounded memory.

        That is four times a block's for their Hessians, and a block's for as many
        numbers of each as are given.
        """
        places = np.flatnonzero(chosen)
        size = 4 * CELLS // max(len(self.centre.theta) ** 2, 4 * each, 1)
        size = max(size, 1)
        return [places[i : i + size] for i in range(0, len(places), size)]

    def start(self) -> tuple[Matrix, Matrix]:
        """Return the centre for each fit, and the gradient there."""
        theta = np.tile(self.centre.theta, (len(self), 1))
        residuals = self.centre.residuals
        if self.block.outcome is not None:
            residuals = residuals[self.block.outcome]
        gradient = self.block.sums(residuals, self.centre.rows)
        return theta, gradient - self._penalty(theta)

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, less the penalty's."""
        return self._gradient(theta, self._against(theta))

    def furthest(self, step: Matrix) -> Matrix:
        """Return by how much a step moves some linear predictor at most, (m,)."""
        return np.asarray(np.abs(step @ self.centre.across).max(axis=1, initial=0.0))

    def _against(self, theta: Matrix) -> Matrix:
        """Return the probabilities of the classes that were not observed.

        They keep their digits near 0, where probabilities near 1 would lose them.
        """
        eta = np.matmul(theta, self.centre.across, out=self.room[: len(theta)])
        if self.sign is not None:
            eta *= self.sign
        with np.errstate(over="ignore"):
            np.exp(eta, out=eta)
        eta += 1
        return np.reciprocal(eta, out=eta)

    def _gradient(self, theta: Matrix, against: Matrix) -> Matrix:
        if self.sign is not None:
            against *= self.sign
        self.block.multiply(against)
        return np.asarray(against @ self.centre.rows - self._penalty(theta))

    def _penalty(self, theta: Matrix) -> Matrix | float:
        return 0.0 if self.centre.ridge is None else theta @ self.centre.ridge

    def common_hessian(self) -> Inverse:
        """Return the inverse Hessian of each fit at the centre.

        Where few records change, their weights in the fit are left aside: these are
        near 1 in most plans, and cost only steps.
        """
        few = self.block.few(len(self.centre.theta))
        made: Inverse = (by_lists if few else by_counts)(self.centre.roots, self.block)
        return made

    def own_hessian(self, theta: Matrix) -> tuple[Matrix, Whole]:
        """Return the gradient and the inverse Hessian of each fit at theta."""
        centre, q = self.centre, theta.shape[1]
        against = self._against(theta)
        variance = against * (1 - against)
        variance *= centre.weights
        self.block.multiply(variance)
        products = None if len(theta) <= ALONE else centre.products
        if products is None:
            made = np.empty((len(theta), q, q))
            for place, one in enumerate(variance):
                made[place] = (centre.X.T * one) @ centre.X
        else:
            made = grams(variance, products, q)
        if centre.ridge is not None:
            made += centre.ridge
        with np.errstate(invalid="ignore", over="ignore"):
            return self._gradient(theta, against), Whole(symmetric_inverse(made))

"""Counts with a linear logarithm of their mean: Poisson and negative binomial."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.families.family import EVERY, Family


@dataclass(frozen=True, eq=False)
class Counts(Family):
    """Counts, with the logarithm of the mean minus an offset as linear predictor.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,), or (outcomes, 1, n)
    dispersion : float or numpy.ndarray, shape (fits, 1, 1)
        The variance is the mean plus so many times its square: 0 for Poisson, 1 / theta
        for the negative binomial distribution.
    """

    dispersion: Any = 0.0

    @property
    def moderate(self) -> float:
        """Logarithms of means above minus this are those of no separation."""
        return 15.0

    def chosen(self, outcomes: NDArray[Any]) -> Counts:
        """Return the log-likelihoods of some of several outcomes, or of some fits."""
        made = super().chosen(outcomes)
        if np.ndim(self.dispersion):
            made = replace(made, dispersion=self.dispersion[outcomes])
        return made

    def mean(self, eta: Matrix) -> Matrix:
        """Return the means."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.added(eta)))

    def loss(self, eta: Matrix) -> Matrix:
        """Return minus the log-likelihoods, but for a constant."""
        mean, spread = self.mean(eta), self.dispersion
        if np.ndim(spread):
            with np.errstate(divide="ignore", invalid="ignore"):
                size = (1 / spread + self.y) * np.log1p(spread * mean)
            mean = np.where(spread > 0, size, mean)
        return np.asarray((mean - self.y * self.added(eta))[:, 0])

    def pull(self, eta: Matrix, rows: slice = EVERY) -> None:
        """Put residuals, over what the variance exceeds the mean by, in their place."""
        self.add_to(eta, rows)
        np.exp(eta, out=eta)
        more = 1 + self.dispersion * eta if np.ndim(self.dispersion) else None
        np.subtract(self.y[..., rows], eta, out=eta)
        if more is not None:
            eta /= more

    def variances(self, eta: Matrix) -> Matrix:
        """Return the observed information of each record."""
        mean, spread = self.mean(eta), self.dispersion
        if np.ndim(spread):
            mean = mean * ((1 + spread * self.y) / (1 + spread * mean) ** 2)
        return np.asarray(mean.swapaxes(0, 1))

    def cautious(self, eta: Matrix) -> Matrix:
        """Return the larger of mean and count, for counts above their mean."""
        more = np.maximum(self.mean(eta), self.y).swapaxes(0, 1)
        return np.asarray(np.maximum(more, 1e-300))

    def spread(self, eta: Matrix) -> Matrix:
        """Return minus the logarithm of the mean, where it is below 1."""
        return np.asarray(np.maximum(-self.added(eta), 0.0)[:, 0])

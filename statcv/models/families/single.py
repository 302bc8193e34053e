"""Outcomes of one linear predictor: two classes, and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from statcv.models.base import Matrix
from statcv.models.families.family import EVERY, Family
from statcv.numeric.logistic import expit


@dataclass(frozen=True, eq=False)
class TwoClasses(Family):
    """Two classes, with the logarithm of the odds as linear predictor.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,), or (outcomes, 1, n)
        1 for the positive class and -1 for the other.
    """

    @property
    def moderate(self) -> float:
        """Linear predictors that are all smaller are those of no separation."""
        # the least probability is then 3e-7
        return 15.0

    @property
    def codes(self) -> Sequence[int]:
        """The signs of the two classes."""
        return -1, 1

    @property
    def targets(self) -> Matrix:
        """The share of the positive class in the outcomes of each record."""
        mean = self.y.mean(axis=0) if self.several else self.y[None]
        return np.asarray((mean + 1) / 2)

    def mean(self, eta: Matrix) -> Matrix:
        """Return the probability of the positive class."""
        return expit(self.added(eta))

    def loss(self, eta: Matrix) -> Matrix:
        """Return minus the log-likelihoods."""
        margin = (self.y * self.added(eta))[:, 0]
        # log(1 + exp(-margin)), which would overflow as it stands
        return np.asarray(np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0))

    def pull(self, eta: Matrix, rows: slice = EVERY) -> None:
        """Put residuals in the place of linear predictors.

        They are probabilities of the class that was not observed, which keep their
        digits near 0.
        """
        sign = self.y[..., rows]
        # y / (1 + exp(y eta)): an exponential that overflows gives 0, as it should
        self.add_to(eta, rows)
        eta *= sign
        np.exp(eta, out=eta)
        eta += 1
        np.divide(sign, eta, out=eta)

    def variances(self, eta: Matrix) -> Matrix:
        """Return the variances of the outcomes."""
        small = np.exp(-np.abs(self.added(eta)))
        return np.asarray((small / (1 + small) ** 2).swapaxes(0, 1))

    def cautious(self, eta: Matrix) -> Matrix:
        """Bound the loss of records on the wrong side as Jaakkola & Jordan (2000)."""
        at = self.added(eta)
        # tanh(x) / x is 1 at so small an x, where 0 would divide by 0
        half = np.maximum(np.abs(at) / 2, 1e-8)
        # the curvature of a parabola above the loss that touches it here
        bound = (np.tanh(half) / (4 * half)).swapaxes(0, 1)
        wrong = (self.y * at < 0).swapaxes(0, 1)
        made = np.where(wrong, bound, self.variances(eta))
        # a variance that underflows to 0 would leave a Hessian of zeros
        return np.asarray(np.maximum(made, 1e-300))

    def spread(self, eta: Matrix) -> Matrix:
        """Return the linear predictor without its sign."""
        return np.asarray(np.abs(self.added(eta)[:, 0]))


@dataclass(frozen=True, eq=False)
class Numeric(Family):
    """A continuous outcome with a linear mean, as in least squares.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,), or (outcomes, 1, n)
    """

    quadratic = True
    accuracy = 4e-11

    def loss(self, eta: Matrix) -> Matrix:
        """Return half the squared residuals."""
        return np.asarray((self.y - eta)[:, 0] ** 2 / 2)

    def pull(self, eta: Matrix, rows: slice = EVERY) -> None:
        """Put residuals in the place of means."""
        np.subtract(self.y[..., rows], eta, out=eta)

    def variances(self, eta: Matrix) -> Matrix:
        """Return 1."""
        return np.ones_like(eta.swapaxes(0, 1))

    def spread(self, eta: Matrix) -> Matrix:
        """Return 0, since nothing is separated."""
        return np.zeros_like(eta[:, 0])

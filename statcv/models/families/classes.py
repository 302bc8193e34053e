"""Several classes, with a linear predictor each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.families.family import EVERY, Family
from statcv.numeric.logistic import softmax

EXTREME = 1e-9  # the distance from 0 or 1 below which a probability is extreme


@dataclass(frozen=True, eq=False)
class Classes(Family):
    """Several classes, with a linear predictor each.

    Attributes
    ----------
    y : numpy.ndarray of int, shape (n,), or (outcomes, n)
    basis : numpy.ndarray, shape (classes, free)
    """

    @property
    def pairs(self) -> Sequence[tuple[int, int]]:
        """Each two combinations of classes, one of them with itself too."""
        free = range(self.basis.shape[1])
        return list(combinations_with_replacement(free, 2))

    @cached_property
    def _two(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Each two classes."""
        return np.triu_indices(self.width, k=1)

    @cached_property
    def directions(self) -> Matrix:
        """The differences of each two classes."""
        first, second = self._two
        return np.asarray(self.basis[first] - self.basis[second])

    @property
    def codes(self) -> Sequence[int]:
        """The classes as numbers from 0."""
        return range(self.width)

    @property
    def targets(self) -> Matrix:
        """The shares of the classes in the outcomes of each record."""
        observed = self.y == np.arange(self.width).reshape(-1, *[1] * self.y.ndim)
        return np.asarray(observed.mean(axis=1) if self.several else observed, float)

    @property
    def moderate(self) -> float:
        """A difference of linear predictors at which no probability is near 0."""
        # a probability is at least exp(-spread) / K, here e times what is extreme
        return float(-np.log(EXTREME * self.width) - 1)

    def mean(self, eta: Matrix) -> Matrix:
        """Return the probabilities of the classes."""
        return softmax(eta, axis=-2)

    def loss(self, eta: Matrix) -> Matrix:
        """Return minus the log-likelihoods."""
        top = eta.max(axis=1)
        # log-sum-exp minus the largest predictor, so that no exponential overflows
        total = np.log(np.exp(eta - top[:, None]).sum(axis=1))
        return np.asarray(total + top - eta.reshape(-1)[self._observed(eta, EVERY)])

    def _observed(self, eta: Matrix, rows: slice) -> NDArray[np.intp]:
        """Return where the predictors of the classes observed are, (fits, rows)."""
        fits, classes, m = eta.shape
        fit = np.arange(fits)[:, None] * (classes * m)
        return np.asarray(self.y[..., rows] * m + np.arange(m) + fit)

    def pull(self, eta: Matrix, rows: slice = EVERY) -> None:
        """Put residuals in the place of linear predictors.

        That of the class observed is the sum of the other probabilities, which keeps
        its digits near 0.
        """
        place = self._observed(eta, rows)
        # the largest exponential is 1, so that none overflows
        eta -= eta.max(axis=1, keepdims=True)
        np.exp(eta, out=eta)
        flat = eta.reshape(-1)
        observed = flat[place]
        flat[place] = 0.0
        others = eta.sum(axis=1)
        total = others + observed
        eta /= -total[:, None]
        flat[place] = others / total

    def variances(self, eta: Matrix) -> Matrix:
        """Return the products of the probabilities of each two classes."""
        shares, (first, second) = softmax(eta, axis=1).swapaxes(0, 1), self._two
        return np.asarray(shares[first] * shares[second])

    def cautious(self, eta: Matrix) -> Matrix:
        """Bound the information of records on the wrong side as Böhning (1992)."""
        observed = eta.reshape(-1)[self._observed(eta, EVERY)]
        top = eta.max(axis=1)
        share = np.exp(observed - top) / np.exp(eta - top[:, None]).sum(axis=1)
        # ½(I − 11ᵀ/K), above the covariance of any probabilities
        return np.where(share < 0.5, 0.5 / self.width, self.variances(eta))

    def spread(self, eta: Matrix) -> Matrix:
        """Return the largest difference of two linear predictors."""
        return np.asarray(eta.max(axis=1) - eta.min(axis=1))

    def rounded(self) -> Classes:
        """Return the log-likelihood, which serves every precision."""
        return self


def free_classes(ridge: Matrix, width: int) -> NDArray[np.intp]:
    """Return which of some linear predictors have coefficients of their own."""
    return np.arange(0 if width == 1 or (ridge > 0).any() else 1, width)


def contrasts(ridge: Matrix, classes: int) -> Matrix:
    """Return a basis of the coefficients that classes may have, (classes, c).

    Class 0 has no coefficients without a penalty; with one, those of all classes sum
    to zero.
    """
    identity = np.eye(classes)[:, 1:]
    if not (ridge > 0).any():
        return identity
    # orthonormal sum-to-zero contrasts: the ridge on them is that on the classes
    columns = np.column_stack([np.ones(classes), identity])
    return np.asarray(np.linalg.qr(columns)[0][:, 1:], dtype=float)


def class_names(names: tuple[str, ...], free: NDArray[np.intp]) -> tuple[str, ...]:
    """Return the names of the coefficients, class by class."""
    return tuple(f"{name}[{k}]" for k in free for name in names)

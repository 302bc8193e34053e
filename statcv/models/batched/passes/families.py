"""The log-likelihoods of outcomes, as functions of linear predictors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.multinomial import contrasts
from statcv.models.newton import EXTREME

SHORT = 0.01  # numbers whose exponential needs few terms in single precision
ALIGNED = 8  # directions, of which one may be that of a record, about
FAR = 32  # times the negligible error of a record that a step may end short, at most


class Family(Protocol):
    """The log-likelihood of an outcome, as a function of linear predictors."""

    @property
    def width(self) -> int:
        """The number of linear predictors of a fit."""

    @property
    def basis(self) -> Matrix:
        """What their coefficients are combinations of, shape (width, free)."""

    @property
    def pairs(self) -> Sequence[tuple[int, int]]:
        """Each two of what is free that have second derivatives other than 0."""

    @property
    def apart(self) -> Family:
        """The same, as if each linear predictor were free and alone."""

    @property
    def moderate(self) -> float:
        """A spread of linear predictors below which classes are not separated."""

    @property
    def quadratic(self) -> bool:
        """Whether the second derivatives are the same everywhere."""

    @property
    def accuracy(self) -> float:
        """The largest error of linear predictors that is negligible."""

    def pull(self, eta: Matrix, rows: slice) -> None:
        """Put the derivatives by the linear predictors in the place of these.

        Shape (fits, width, rows).
        """

    def state(self, eta: Matrix, rows: slice) -> Matrix:
        """Return that of which changes of the derivatives are functions.

        Shape (fits, width, rows).
        """

    def change(self, moved: Matrix, state: Matrix, rows: slice) -> None:
        """Put changes of the derivatives in the place of those of linear predictors.

        Shape (fits, width, rows). They have as many digits as the moves.
        """

    def curvature(self, eta: Matrix) -> Matrix:
        """Return minus the second derivatives, shape (pairs, m)."""

    def spread(self, eta: Matrix) -> Matrix:
        """Return the largest linear predictor, or difference of two, (fits,)."""

    def part(self, some: slice) -> Family:
        """Return the log-likelihood of some records."""

    def rounded(self) -> Family:
        """Return the log-likelihood for linear predictors of single precision."""


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """Two classes, with the logarithm of the odds as linear predictor.

    Attributes
    ----------
    sign : numpy.ndarray, shape (n,)
        1 for the positive class and -1 for the other.
    """

    sign: Matrix
    width = 1
    basis = np.ones((1, 1))
    pairs = ((0, 0),)
    moderate = 15.0
    quadratic = False
    accuracy = 1e-10  # 2.5e-11 of probabilities

    @property
    def apart(self) -> TwoClasses:
        """The same, as there is one linear predictor."""
        return self

    def pull(self, eta: Matrix, rows: slice) -> None:
        """Put residuals in the place of linear predictors."""
        sign = self.sign[rows]
        eta *= sign
        np.exp(eta, out=eta)
        eta += 1
        np.divide(sign, eta, out=eta)

    def state(self, eta: Matrix, rows: slice) -> Matrix:
        """Return the probabilities of the classes that were not observed."""
        eta *= self.sign[rows]
        np.exp(eta, out=eta)
        eta += 1
        return np.divide(1, eta, out=eta)

    def change(self, moved: Matrix, state: Matrix, rows: slice) -> None:
        """Put changes of residuals in the place of those of linear predictors."""
        sign = self.sign[rows]
        moved *= -sign
        growth = _growth(moved)
        np.multiply(state, growth, out=moved)
        moved += 1
        np.divide(growth, moved, out=moved)
        moved *= state
        moved *= 1 - state
        moved *= sign

    def curvature(self, eta: Matrix) -> Matrix:
        """Return the variances of the outcomes."""
        small = np.exp(-np.abs(eta))
        return np.asarray(small / (1 + small) ** 2)

    def spread(self, eta: Matrix) -> Matrix:
        """Return the largest linear predictor of each fit."""
        return np.asarray(np.abs(eta).max(axis=(1, 2), initial=0.0))

    def part(self, some: slice) -> TwoClasses:
        """Return the log-likelihood of some records."""
        return TwoClasses(self.sign[some])

    def rounded(self) -> TwoClasses:
        """Return the log-likelihood for linear predictors of single precision."""
        return TwoClasses(self.sign.astype(np.float32))


@dataclass(frozen=True, eq=False)
class Classes:
    """Several classes, with a linear predictor each.

    Attributes
    ----------
    y : numpy.ndarray of int, shape (n,)
    basis : numpy.ndarray, shape (classes, free)
    tied : bool
        Whether second derivatives by two of what is free count.
    """

    y: NDArray[np.intp]
    basis: Matrix
    tied: bool = True
    quadratic = False
    accuracy = 1e-10  # 2.5e-11 of probabilities

    @property
    def width(self) -> int:
        """The number of classes."""
        return len(self.basis)

    @property
    def pairs(self) -> Sequence[tuple[int, int]]:
        """Each two combinations of classes, or each with itself."""
        free = self.basis.shape[1]
        after = [free if self.tied else a + 1 for a in range(free)]
        return [(a, b) for a in range(free) for b in range(a, after[a])]

    @property
    def apart(self) -> Classes:
        """The same, as if each class were free and alone."""
        return Classes(self.y, np.eye(self.width), tied=False)

    @property
    def moderate(self) -> float:
        """A difference of linear predictors at which no probability is near 0."""
        return float(-np.log(EXTREME * self.width) - 1)

    def pull(self, eta: Matrix, rows: slice) -> None:
        """Put residuals in the place of linear predictors.

        That of the class observed is the sum of the other probabilities, which keeps
        its digits near 0.
        """
        fits, classes, m = eta.shape
        place = (
            self.y[rows] * m + np.arange(m) + np.arange(fits)[:, None] * (classes * m)
        )
        eta -= eta.max(axis=1, keepdims=True)
        np.exp(eta, out=eta)
        flat = eta.reshape(-1)
        observed = flat[place]
        flat[place] = 0.0
        others = eta.sum(axis=1)
        total = others + observed
        eta /= -total[:, None]
        flat[place] = others / total

    def state(self, eta: Matrix, rows: slice) -> Matrix:
        """Return the probabilities of the classes."""
        eta -= eta.max(axis=1, keepdims=True)
        np.exp(eta, out=eta)
        eta /= eta.sum(axis=1, keepdims=True)
        return eta

    def change(self, moved: Matrix, state: Matrix, rows: slice) -> None:
        """Put changes of residuals in the place of those of linear predictors."""
        growth = _growth(moved)
        mean = (state * growth).sum(axis=1, keepdims=True)
        np.subtract(mean, growth, out=moved)
        moved *= state
        moved /= 1 + mean

    def curvature(self, eta: Matrix) -> Matrix:
        """Return covariances of the indicators of the classes, in the basis."""
        shares = np.exp(eta - eta.max(axis=0))
        shares /= shares.sum(axis=0)
        mixed = self.basis.T @ shares
        first, second = np.transpose(self.pairs)
        made = (self.basis[:, first] * self.basis[:, second]).T @ shares
        made -= mixed[first] * mixed[second]
        return np.asarray(made)

    def spread(self, eta: Matrix) -> Matrix:
        """Return the largest difference of two linear predictors of each fit."""
        apart = eta.max(axis=1) - eta.min(axis=1)
        return np.asarray(apart.max(axis=1, initial=0.0))

    def part(self, some: slice) -> Classes:
        """Return the log-likelihood of some records."""
        return replace(self, y=self.y[some])

    def rounded(self) -> Classes:
        """Return the log-likelihood, which serves every precision."""
        return self


@dataclass(frozen=True, eq=False)
class Numeric:
    """A continuous outcome with a linear mean, as in least squares.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,)
    """

    y: Matrix
    width = 1
    basis = np.ones((1, 1))
    pairs = ((0, 0),)
    moderate = np.inf
    quadratic = True
    accuracy = 4e-11

    @property
    def apart(self) -> Numeric:
        """The same, as there is one linear predictor."""
        return self

    def pull(self, eta: Matrix, rows: slice) -> None:
        """Put residuals in the place of means."""
        np.subtract(self.y[rows], eta, out=eta)

    def state(self, eta: Matrix, rows: slice) -> Matrix:
        """Return an array that is not used."""
        return eta

    def change(self, moved: Matrix, state: Matrix, rows: slice) -> None:
        """Put changes of residuals in the place of those of means."""
        np.negative(moved, out=moved)

    def curvature(self, eta: Matrix) -> Matrix:
        """Return 1."""
        return np.ones_like(eta)

    def spread(self, eta: Matrix) -> Matrix:
        """Return 0, since nothing is separated."""
        return np.zeros(len(eta))

    def part(self, some: slice) -> Numeric:
        """Return the log-likelihood of some records."""
        return Numeric(self.y[some])

    def rounded(self) -> Numeric:
        """Return the log-likelihood for means of single precision."""
        return Numeric(self.y.astype(np.float32))


def _growth(moved: Matrix) -> Matrix:
    """Return exp(x) - 1, which a short series gives for small numbers."""
    if max(moved.max(initial=0.0), -moved.min(initial=0.0)) > SHORT:
        return np.asarray(np.expm1(moved))
    growth = moved / 6
    growth += 0.5
    growth *= moved
    growth += 1
    growth *= moved
    return np.asarray(growth)


def negligible(family: Family, coordinates: int) -> float:
    """Return by how much a step may end short, in units of linear predictors.

    Of many directions, that in which it ends short is hardly that of a record.
    """
    return family.accuracy * float(np.clip(coordinates / ALIGNED, 1, FAR))


def longest_row(family: Family) -> float:
    """Return the most that a class moves if what is free does by a length of 1."""
    return float(np.sqrt((family.basis**2).sum(axis=1).max()))


def family_of(records: TrainingSet, ridge: Matrix) -> Family:
    """Return the log-likelihood of two or more classes."""
    if records.kind == "multiclass":
        return Classes(records.y, contrasts(ridge, records.n_classes))
    return TwoClasses(2.0 * records.y - 1.0)

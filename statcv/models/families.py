"""The log-likelihoods of outcomes, as functions of linear predictors.

The information of a record is a sum of variances along directions that are the same
everywhere: one direction for two classes or a number, and the difference of each two
classes for several. No digits are lost where probabilities come near 0 or 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar, TypeVar

import numpy as np

from statcv.models.base import TrainingSet
from statcv.numeric.arrays import Array, Floats, Numbers
from statcv.numeric.logistic import expit, softmax

ALIGNED = 8  # directions, of which one may be that of a record, about
# times the negligible error of a record that a step may end short, at most
MAX_SHORTFALL = 32
EVERY = slice(None)
ONE = np.ones((1, 1))  # the basis of a single linear predictor

F = TypeVar("F", bound="Family")


@dataclass(frozen=True, eq=False)
class Family(ABC):
    """The log-likelihood of an outcome, as a function of its linear predictors.

    Fits may have an outcome each. Arrays have the shape (fits, width, rows), unless
    another is given.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,)
        The outcomes. If there are several, as one for each fit, these come first.
    basis : numpy.ndarray, shape (width, free)
        What coefficients are combinations of.
    offset : numpy.ndarray, shape (n,) or (fits, 1, n), or None
        What is added to a single linear predictor.
    """

    y: Array
    basis: Floats = field(default_factory=lambda: ONE)
    offset: Floats | None = None
    # whether the second derivatives are the same everywhere
    quadratic: ClassVar[bool] = False
    # the largest negligible error of linear predictors: 2.5e-11 of probabilities
    accuracy: ClassVar[float] = 1e-10

    @property
    def width(self) -> int:
        """The number of linear predictors of a fit."""
        return len(self.basis)

    @property
    def directions(self) -> Floats:
        """The directions of the information of a record, shape (directions, free)."""
        return ONE

    @property
    def pairs(self) -> Sequence[tuple[int, int]]:
        """Each two of what is free that have second derivatives other than 0."""
        return ((0, 0),)

    @property
    def moderate(self) -> float:
        """A spread of linear predictors below which classes are not separated."""
        return np.inf

    @property
    def several(self) -> bool:
        """Whether there are several outcomes."""
        return self.y.ndim > 1

    @property
    def codes(self) -> Sequence[int]:
        """What stands for each class among the outcomes."""
        return ()

    @property
    def targets(self) -> Floats:
        """The outcomes as mean values, on average of several, (width, rows)."""
        return np.asarray(self.y.mean(axis=0) if self.several else self.y[None])

    def chosen(self: F, outcomes: Array) -> F:
        """Return the log-likelihoods of some of several outcomes, or of some fits."""
        made = replace(self, y=self.y[outcomes]) if self.several else self
        if self.offset is not None and self.offset.ndim > 1:
            made = replace(made, offset=self.offset[outcomes])
        return made

    def part(self: F, some: slice) -> F:
        """Return the log-likelihood of some records."""
        offset = None if self.offset is None else self.offset[..., some]
        return replace(self, y=self.y[..., some], offset=offset)

    def added(self, eta: Floats) -> Floats:
        """Return linear predictors with the offset."""
        return eta if self.offset is None else eta + self.offset

    def add_to(self, eta: Floats, rows: slice = EVERY) -> None:
        """Add the offset to linear predictors in place."""
        if self.offset is not None:
            eta += self.offset[..., rows]

    def mean(self, eta: Floats) -> Floats:
        """Return the mean values at linear predictors, each (width, rows)."""
        return eta

    @abstractmethod
    def loss(self, eta: Floats) -> Floats:
        """Return minus the log-likelihoods, shape (fits, rows)."""

    @abstractmethod
    def pull(self, eta: Floats, rows: slice = EVERY) -> None:
        """Put the derivatives by the linear predictors in the place of these."""

    @abstractmethod
    def variances(self, eta: Floats) -> Floats:
        """Return variances along the directions, shape (directions, fits, rows)."""

    def cautious(self, eta: Floats) -> Floats:
        """Return variances that are higher for records on the wrong side.

        With these Newton's method does not go too far.
        """
        return self.variances(eta)

    @abstractmethod
    def spread(self, eta: Floats) -> Floats:
        """Return the largest linear predictor, or difference of two, (fits, rows)."""


def curvature(family: Family, variances: Floats) -> Floats:
    """Return minus the second derivatives by each two of what is free.

    Parameters
    ----------
    family : Family
    variances : numpy.ndarray, shape (directions, ...)

    Returns
    -------
    numpy.ndarray, shape (pairs, ...)

    Examples
    --------
    >>> from statcv.models.families import Classes, contrasts
    >>> several = Classes(np.array([0]), contrasts(np.zeros(1), 3))
    >>> curvature(several, several.variances(np.zeros((1, 3, 1)))).ravel().round(3)
    array([ 0.222, -0.111,  0.222])
    """
    if family.width == 1:
        return variances
    first, second = np.transpose(family.pairs)
    along = family.directions
    # Σ v d dᵀ over the directions d with their variances v
    turn = (along[:, first] * along[:, second]).T
    flat = variances.reshape(len(along), -1)
    return np.asarray((turn @ flat).reshape(len(turn), *variances.shape[1:]))


def negligible(family: Family, coordinates: int) -> float:
    """Return by how much a step may end short, in units of linear predictors.

    Of many directions, that in which it ends short is hardly that of a record.
    """
    return family.accuracy * float(np.clip(coordinates / ALIGNED, 1, MAX_SHORTFALL))


def longest_row(family: Family) -> float:
    """Return the most that a class moves if what is free does by a length of 1."""
    return float(np.sqrt((family.basis**2).sum(axis=1).max()))


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
    def targets(self) -> Floats:
        """The share of the positive class in the outcomes of each record."""
        mean = self.y.mean(axis=0) if self.several else self.y[None]
        return np.asarray((mean + 1) / 2)

    def mean(self, eta: Floats) -> Floats:
        """Return the probability of the positive class."""
        return expit(self.added(eta))

    def loss(self, eta: Floats) -> Floats:
        """Return minus the log-likelihoods."""
        margin = (self.y * self.added(eta))[:, 0]
        # log(1 + exp(-margin)), which would overflow as it stands
        return np.asarray(np.log1p(np.exp(-np.abs(margin))) + np.maximum(-margin, 0))

    def pull(self, eta: Floats, rows: slice = EVERY) -> None:
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

    def variances(self, eta: Floats) -> Floats:
        """Return the variances of the outcomes."""
        small = np.exp(-np.abs(self.added(eta)))
        return np.asarray((small / (1 + small) ** 2).swapaxes(0, 1))

    def cautious(self, eta: Floats) -> Floats:
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

    def spread(self, eta: Floats) -> Floats:
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

    def loss(self, eta: Floats) -> Floats:
        """Return half the squared residuals."""
        return np.asarray((self.y - eta)[:, 0] ** 2 / 2)

    def pull(self, eta: Floats, rows: slice = EVERY) -> None:
        """Put residuals in the place of means."""
        np.subtract(self.y[..., rows], eta, out=eta)

    def variances(self, eta: Floats) -> Floats:
        """Return 1."""
        return np.ones_like(eta.swapaxes(0, 1))

    def spread(self, eta: Floats) -> Floats:
        """Return 0, since nothing is separated."""
        return np.zeros_like(eta[:, 0])


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
    def _two(self) -> tuple[Numbers, Numbers]:
        """Each two classes."""
        return np.triu_indices(self.width, k=1)

    @cached_property
    def directions(self) -> Floats:
        """The differences of each two classes."""
        first, second = self._two
        return np.asarray(self.basis[first] - self.basis[second])

    @property
    def codes(self) -> Sequence[int]:
        """The classes as numbers from 0."""
        return range(self.width)

    @property
    def targets(self) -> Floats:
        """The shares of the classes in the outcomes of each record."""
        observed = self.y == np.arange(self.width).reshape(-1, *[1] * self.y.ndim)
        return np.asarray(observed.mean(axis=1) if self.several else observed, float)

    @property
    def moderate(self) -> float:
        """A difference of linear predictors at which no probability is near 0."""
        # a probability is at least exp(-spread) / K, here e times what is extreme
        return float(-np.log(EXTREME * self.width) - 1)

    def mean(self, eta: Floats) -> Floats:
        """Return the probabilities of the classes."""
        return softmax(eta, axis=-2)

    def loss(self, eta: Floats) -> Floats:
        """Return minus the log-likelihoods."""
        top = eta.max(axis=1)
        # log-sum-exp minus the largest predictor, so that no exponential overflows
        total = np.log(np.exp(eta - top[:, None]).sum(axis=1))
        return np.asarray(total + top - eta.reshape(-1)[self._observed(eta, EVERY)])

    def _observed(self, eta: Floats, rows: slice) -> Numbers:
        """Return where the predictors of the classes observed are, (fits, rows)."""
        fits, classes, m = eta.shape
        fit = np.arange(fits)[:, None] * (classes * m)
        return np.asarray(self.y[..., rows] * m + np.arange(m) + fit)

    def pull(self, eta: Floats, rows: slice = EVERY) -> None:
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

    def variances(self, eta: Floats) -> Floats:
        """Return the products of the probabilities of each two classes."""
        shares, (first, second) = softmax(eta, axis=1).swapaxes(0, 1), self._two
        return np.asarray(shares[first] * shares[second])

    def cautious(self, eta: Floats) -> Floats:
        """Bound the information of records on the wrong side as Böhning (1992)."""
        observed = eta.reshape(-1)[self._observed(eta, EVERY)]
        top = eta.max(axis=1)
        share = np.exp(observed - top) / np.exp(eta - top[:, None]).sum(axis=1)
        # ½(I − 11ᵀ/K), above the covariance of any probabilities
        return np.where(share < 0.5, 0.5 / self.width, self.variances(eta))

    def spread(self, eta: Floats) -> Floats:
        """Return the largest difference of two linear predictors."""
        return np.asarray(eta.max(axis=1) - eta.min(axis=1))


def free_classes(ridge: Floats, width: int) -> Numbers:
    """Return which of some linear predictors have coefficients of their own."""
    return np.arange(0 if width == 1 or (ridge > 0).any() else 1, width)


def contrasts(ridge: Floats, classes: int) -> Floats:
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


def class_names(names: tuple[str, ...], free: Numbers) -> tuple[str, ...]:
    """Return the names of the coefficients, class by class."""
    return tuple(f"{name}[{k}]" for k in free for name in names)


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

    def chosen(self, outcomes: Array) -> Counts:
        """Return the log-likelihoods of some of several outcomes, or of some fits."""
        made = super().chosen(outcomes)
        if np.ndim(self.dispersion):
            made = replace(made, dispersion=self.dispersion[outcomes])
        return made

    def mean(self, eta: Floats) -> Floats:
        """Return the means."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.added(eta)))

    def loss(self, eta: Floats) -> Floats:
        """Return minus the log-likelihoods, but for a constant."""
        mean, spread = self.mean(eta), self.dispersion
        if np.ndim(spread):
            with np.errstate(divide="ignore", invalid="ignore"):
                size = (1 / spread + self.y) * np.log1p(spread * mean)
            mean = np.where(spread > 0, size, mean)
        return np.asarray((mean - self.y * self.added(eta))[:, 0])

    def pull(self, eta: Floats, rows: slice = EVERY) -> None:
        """Put residuals, over what the variance exceeds the mean by, in their place."""
        self.add_to(eta, rows)
        np.exp(eta, out=eta)
        more = 1 + self.dispersion * eta if np.ndim(self.dispersion) else None
        np.subtract(self.y[..., rows], eta, out=eta)
        if more is not None:
            eta /= more

    def variances(self, eta: Floats) -> Floats:
        """Return the observed information of each record."""
        mean, spread = self.mean(eta), self.dispersion
        if np.ndim(spread):
            mean = mean * ((1 + spread * self.y) / (1 + spread * mean) ** 2)
        return np.asarray(mean.swapaxes(0, 1))

    def cautious(self, eta: Floats) -> Floats:
        """Return the larger of mean and count, for counts above their mean."""
        more = np.maximum(self.mean(eta), self.y).swapaxes(0, 1)
        return np.asarray(np.maximum(more, 1e-300))

    def spread(self, eta: Floats) -> Floats:
        """Return minus the logarithm of the mean, where it is below 1."""
        return np.asarray(np.maximum(-self.added(eta), 0.0)[:, 0])


# ---- the log-likelihood of some records ----


def width_of(records: TrainingSet) -> int:
    """Return the number of linear predictors: one, or one for each of the classes."""
    return records.n_classes if records.kind == "multiclass" else 1


def family_of(records: TrainingSet, ridge: Floats) -> Family:
    """Return the log-likelihood of the outcomes of some records.

    Parameters
    ----------
    records : TrainingSet
        Records with one outcome, or a row of ``y`` for each of several.
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.
    """
    if records.kind == "multiclass":
        return Classes(records.y, contrasts(ridge, records.n_classes))
    y = records.y if records.y.ndim == 1 else records.y[:, None]
    if records.kind == "count":
        return Counts(y.astype(float), offset=records.offset)
    if records.kind == "continuous":
        return Numeric(y.astype(float))
    return TwoClasses(2.0 * y - 1.0, offset=records.offset)

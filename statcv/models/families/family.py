"""The protocol of log-likelihoods as functions of linear predictors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix

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

    y: NDArray[Any]
    basis: Matrix = field(default_factory=lambda: ONE)
    offset: Matrix | None = None
    # whether the second derivatives are the same everywhere
    quadratic: ClassVar[bool] = False
    # the largest negligible error of linear predictors: 2.5e-11 of probabilities
    accuracy: ClassVar[float] = 1e-10

    @property
    def width(self) -> int:
        """The number of linear predictors of a fit."""
        return len(self.basis)

    @property
    def directions(self) -> Matrix:
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
    def targets(self) -> Matrix:
        """The outcomes as mean values, on average of several, (width, rows)."""
        return np.asarray(self.y.mean(axis=0) if self.several else self.y[None])

    def chosen(self: F, outcomes: NDArray[Any]) -> F:
        """Return the log-likelihoods of some of several outcomes, or of some fits."""
        made = replace(self, y=self.y[outcomes]) if self.several else self
        if self.offset is not None and self.offset.ndim > 1:
            made = replace(made, offset=self.offset[outcomes])
        return made

    def part(self: F, some: slice) -> F:
        """Return the log-likelihood of some records."""
        offset = None if self.offset is None else self.offset[..., some]
        return replace(self, y=self.y[..., some], offset=offset)

    def rounded(self: F) -> F:
        """Return the log-likelihood for linear predictors of single precision."""
        offset: Any = self.offset
        if offset is not None:
            offset = offset.astype(np.float32)
        return replace(self, y=self.y.astype(np.float32), offset=offset)

    def added(self, eta: Matrix, rows: slice = EVERY) -> Matrix:
        """Return linear predictors with the offset."""
        return eta if self.offset is None else eta + self.offset[..., rows]

    def add_to(self, eta: Matrix, rows: slice = EVERY) -> None:
        """Add the offset to linear predictors in place."""
        if self.offset is not None:
            eta += self.offset[..., rows]

    def mean(self, eta: Matrix) -> Matrix:
        """Return the mean values at linear predictors, each (width, rows)."""
        return eta

    @abstractmethod
    def loss(self, eta: Matrix) -> Matrix:
        """Return minus the log-likelihoods, shape (fits, rows)."""

    @abstractmethod
    def pull(self, eta: Matrix, rows: slice = EVERY) -> None:
        """Put the derivatives by the linear predictors in the place of these."""

    @abstractmethod
    def variances(self, eta: Matrix) -> Matrix:
        """Return variances along the directions, shape (directions, fits, rows)."""

    def cautious(self, eta: Matrix) -> Matrix:
        """Return variances that are higher for records on the wrong side.

        With these Newton's method does not go too far.
        """
        return self.variances(eta)

    @abstractmethod
    def spread(self, eta: Matrix) -> Matrix:
        """Return the largest linear predictor, or difference of two, (fits, rows)."""


def curvature(family: Family, variances: Matrix) -> Matrix:
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
    return np.asarray((turn @ flat).reshape(-1, *variances.shape[1:]))


def negligible(family: Family, coordinates: int) -> float:
    """Return by how much a step may end short, in units of linear predictors.

    Of many directions, that in which it ends short is hardly that of a record.
    """
    return family.accuracy * float(np.clip(coordinates / ALIGNED, 1, MAX_SHORTFALL))


def longest_row(family: Family) -> float:
    """Return the most that a class moves if what is free does by a length of 1."""
    return float(np.sqrt((family.basis**2).sum(axis=1).max()))

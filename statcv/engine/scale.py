"""The mean and the spread of linear predictors in the training sets of fits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv.engine.information import TINY
from statcv.engine.rows import Rows

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

SUMS = ("total", "first", "second", "sums", "products")
SAMPLE = 1000  # records, more or less, whose mean is near that of all


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted sums of linear predictors η, and of their products with rows.

    Attributes
    ----------
    rows : Rows
    beta : numpy.ndarray, shape (fits, p)
        The coefficients.
    middle : numpy.ndarray, shape (fits, 1)
        A number near the mean of η, from which its distance is taken.
    total, first, second, largest : numpy.ndarray, shape (fits,)
        The sums of the weights, of the distances and of their squares, and the largest
        absolute value of η.
    sums, products : numpy.ndarray, shape (fits, r)
        The sums of the rows of the basis, and of their products with the distances.
    """

    rows: Rows
    beta: Floats
    middle: Floats
    total: Floats
    first: Floats
    second: Floats
    largest: Floats
    sums: Floats
    products: Floats

    @classmethod
    def none(cls, rows: Rows, beta: Floats) -> Moments:
        """Return the sums over no records."""
        fits, r = len(beta), rows.basis.shape[1]
        some = rows.part(slice(0, None, max(1, len(rows.basis) // SAMPLE)))
        middle = some.along(beta).mean(axis=1, keepdims=True)
        return cls(
            rows=rows,
            beta=beta,
            middle=middle,
            total=np.zeros(fits),
            first=np.zeros(fits),
            second=np.zeros(fits),
            largest=np.zeros(fits),
            sums=np.zeros((fits, r)),
            products=np.zeros((fits, r)),
        )

    def add(self, part: Rows, eta: Floats, weights: Floats) -> None:
        """Add some rows, with linear predictors and weights of shape (fits, m)."""
        np.maximum(self.largest, np.abs(eta).max(axis=1), out=self.largest)
        distance = eta - self.middle
        apart = weights * distance
        self.total[:] += weights.sum(axis=1)
        self.first[:] += apart.sum(axis=1)
        self.second[:] += np.einsum("bn,bn->b", apart, distance)
        self.sums[:] += weights @ part.basis
        self.products[:] += apart @ part.basis

    def copied(self) -> Moments:
        """Return the same sums, to which others may be added."""
        sums = {name: getattr(self, name).copy() for name in (*SUMS, "largest")}
        return replace(self, **sums)

    def join(self, other: Moments) -> None:
        """Add the sums over other records."""
        np.maximum(self.largest, other.largest, out=self.largest)
        for name in SUMS:
            np.add(getattr(self, name), getattr(other, name), out=getattr(self, name))

    def scale(self) -> Scale:
        """Return the scale of the linear predictors."""
        total = self.total[:, None]
        away = self.first / self.total
        variance = self.second / self.total - away**2
        least = (TINY * self.largest) ** 2
        spread = np.sqrt(np.maximum(variance, 0.0))
        rate = np.divide(1.0, spread, out=np.zeros_like(away), where=variance > least)
        centre = self.sums / total
        along = self.products / total - away[:, None] * centre
        turned = self.rows.turned
        return Scale(self.middle[:, 0] + away, rate, turned(centre), turned(along))


@dataclass(frozen=True, eq=False)
class Scale:
    """The mean and the spread of linear predictors in the training sets of fits.

    Attributes
    ----------
    mean, rate : numpy.ndarray, shape (fits,)
        The mean, and one over the standard deviation, 0 if there is no spread.
    centre, along : numpy.ndarray, shape (fits, p)
        The mean of the design matrix, and its covariance with the linear predictor.
    """

    mean: Floats
    rate: Floats
    centre: Floats
    along: Floats

    def through(
        self, target: Floats, owner: Numbers, slope: Floats, standardised: Floats
    ) -> Floats:
        """Return derivatives by coefficients, of a function of what is standardised.

        Parameters
        ----------
        target : numpy.ndarray, shape (fits, p)
            The same, of the function of linear predictors.
        owner : numpy.ndarray of int, shape (m,)
            The fit of each prediction, in rising order.
        slope, standardised : numpy.ndarray, shape (m,)
            The derivative by each standardised prediction, and its value.
        """
        ends = np.searchsorted(owner, np.arange(len(target) + 1))
        filled = ends[1:] > ends[:-1]
        sums, moments = np.zeros((2, len(target), 1))
        if filled.any():
            begins = ends[:-1][filled]
            sums[filled, 0] = np.add.reduceat(slope, begins)
            moments[filled, 0] = np.add.reduceat(slope * standardised, begins)
        rate = self.rate[:, None]
        shifted = (target - sums * self.centre) * rate
        return np.asarray(shifted - moments * self.along * rate**2)

"""The first-order changes of a metric, and the smoothing that steps need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.discrimination.order import is_rising, rising_order
from statcv.metrics.inputs import Floats, Ints

WIDTH = math.sqrt(5)  # half-width of a parabolic kernel whose sd is 1
POWER = -0.25  # of the number of records, in the sd of the kernel
_IN_CACHE = 2**13  # places whose sums stay in the cache
SAME = 1e-12  # sd, relative to the size of predictions, of those that all tie


@dataclass(frozen=True, eq=False)
class Placements:
    """How each record is placed among those of the other of two classes.

    Attributes
    ----------
    share : numpy.ndarray, shape (n,)
        The share of the other class that a record is on the right side of, where a tie
        counts one half.
    area : float
        The area under the ROC curve.
    tied : float
        The share of the pairs of two classes that tie.
    """

    share: Floats
    area: float
    tied: float


@dataclass(frozen=True, eq=False)
class Derivative:
    """The derivatives of a metric, record by record.

    Attributes
    ----------
    weight : numpy.ndarray, shape (n,)
        The derivative by the weight of each record; they sum to 0.
    prediction : numpy.ndarray, shape (n,) or (n, K)
        The derivative by each prediction. A metric that changes in steps as predictions
        change is smoothed first.
    placed : Placements or None
        The placements, for an area under a ROC curve.
    """

    weight: Floats
    prediction: Floats
    placed: Placements | None = None


class Derive(Protocol):
    """A function that returns the derivatives of a metric."""

    def __call__(
        self,
        y: NDArray[Any],
        x: Floats,
        baseline: Floats | None = None,
        threshold: Floats | float | None = None,
    ) -> Derivative:
        """Return the derivatives, as functions of outcomes and predictions.

        A metric that reads the order of predictions, or classes, is given them (and
        thresholds) on the scale of the linear predictor, where it is smoothed; without
        a threshold that of class 1 is 0 there.
        """


def bandwidth(x: Floats) -> float:
    """Return the half-width of the kernel for predictions on a scale; 0 if all tie."""
    n = x.size
    spread = float(np.std(x)) if n else 0.0
    if not spread > SAME * float(np.abs(x).max(initial=0.0)):
        return 0.0
    return float(WIDTH * spread * n**POWER)


def kernel(distance: Floats, width: float) -> Floats:
    """Return the parabolic kernel of a half-width, which integrates to 1."""
    if width <= 0:
        return np.zeros_like(distance)
    scaled = distance / width
    return np.where(np.abs(scaled) < 1, 0.75 * (1 - scaled**2) / width, 0.0)


def kernel_sums(at: Floats, points: Floats, values: Floats, width: float) -> Floats:
    """Return at each place the sum of values, each weighted by its kernel.

    Parameters
    ----------
    at : numpy.ndarray, shape (m,)
    points : numpy.ndarray, shape (k,)
    values : numpy.ndarray, shape (k,) or (r, k)
        The values; each of several rows is summed by itself.
    width : float
        The half-width of the kernel.

    Returns
    -------
    numpy.ndarray, shape (m,) or (r, m)

    Examples
    --------
    >>> kernel_sums(np.array([0.0]), np.array([0.0, 1.0]), np.ones(2), 2.0)
    array([0.65625])
    """
    rows = np.atleast_2d(values)
    found = np.zeros((len(rows), len(at)))
    if width > 0 and len(points):
        order = None if is_rising(points) else rising_order(points)
        asked = order
        if at is not points:
            asked = None if is_rising(at) else rising_order(at)
        middle = points.mean()
        scaled, here = (_in(points, order) - middle) / width, _in(at, asked)
        here = (here - middle) / width
        # rising places are found much faster
        last = np.searchsorted(scaled, here + 1, side="right")
        if at is points:  # a point is before all that reach not as far as it
            first = np.cumsum(np.bincount(last))[: len(points)]
        else:
            first = np.searchsorted(scaled, here - 1, side="left")
        totals = np.zeros((3, len(points) + 1))
        for row, one in zip(rows, found, strict=True):
            moment = _in(row, order)
            for total in totals:
                np.cumsum(moment, out=total[1:])
                moment = moment * scaled
            for begin in range(0, len(at), _IN_CACHE):
                some = slice(begin, begin + _IN_CACHE)
                sums = _between(totals, first[some], last[some], here[some])
                sums *= 0.75 / width
                one[some if asked is None else asked[some]] = sums
    return found if values.ndim > 1 else found[0]


def _between(totals: Floats, first: Ints, last: Ints, here: Floats) -> Floats:
    """Return Σ 1 - (t - h)² over ranges of points t, from sums of 1, t and t²."""
    sums = np.zeros(len(here))
    for total, factor in zip(totals, (1 - here**2, 2 * here, -1.0), strict=True):
        part = total.take(last)
        part -= total.take(first)
        part *= factor
        sums += part
    return sums


def _in(values: Floats, order: Ints | None) -> Floats:
    """Return values in some order; as they are if it is None."""
    return values if order is None else values[order]

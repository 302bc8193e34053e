"""Derivatives by weights of metrics of the order of the predictions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.discrimination.order import Ties, in_rising_order, is_rising
from statcv.metrics.discrimination.ranking import begins_value
from statcv.metrics.influence.derivative import Derivative, Placements
from statcv.metrics.inputs import Floats, Ints

# ---- areas under ROC curves ----


def placements(positive: NDArray[np.bool_], x: Floats) -> Placements:
    """Return the share of the other class that each record is on the right side of.

    Parameters
    ----------
    positive : numpy.ndarray of bool, shape (n,)
    x : numpy.ndarray, shape (n,)
        Scores; a tie counts one half.

    Examples
    --------
    >>> found = placements(np.array([True, False, False]), np.array([0.4, 0.4, 0.1]))
    >>> found.share, found.area, found.tied
    (array([0.75, 0.5 , 1.  ]), 0.75, 0.5)
    """
    order, ones, rising = None, positive, x
    if not is_rising(x):
        order, rising = in_rising_order(x)
        ones = positive[order]
    n, high = len(x), int(np.count_nonzero(ones))
    hits = ones.astype(np.float64)
    others = np.cumsum(ones).astype(np.float64)  # a tenth of the time of numbers
    zeros = np.arange(1.0, n + 1)
    zeros -= others
    tied = 0.0
    new = begins_value(rising)
    if not new.all():
        ties = Ties.of(new)
        both = ties.halve(others) @ ties.halve(zeros)
        tied = float(both) / max(high * (n - high), 1)
    zeros /= max(n - high, 1)
    others /= -max(high, 1)
    others += 1
    share, above = others, np.flatnonzero(ones)
    share[above] = zeros[above]
    area = float(share @ hits) / high if high else float("nan")
    if order is not None:
        rising_share, share = share, np.empty(n)
        share[order] = rising_share
    return Placements(share, area, tied)


def auroc_derivative(y: NDArray[Any], x: Floats) -> Derivative:
    """Return the derivatives of the area under the ROC curve.

    That by the weight of a record is its placement minus the area, over the number of
    records of its class (DeLong, DeLong & Clarke-Pearson 1988).
    """
    positive = y == 1
    ones = int(positive.sum())
    if ones in (0, len(y)):
        return Derivative(np.full(len(y), np.nan))
    placed = placements(positive, x)
    size = np.where(positive, ones, len(y) - ones)
    return Derivative((placed.share - placed.area) / size, placed, placed.area)


def hand_till_derivative(y: NDArray[Any], x: Floats) -> Derivative:
    """Return the derivatives of Hand and Till's mean area."""
    classes = x.shape[1]
    weight = np.zeros(len(x))
    pairs = list(permutations(range(classes), 2))
    for a, b in pairs:
        own = np.flatnonzero((y == a) | (y == b))
        found = auroc_derivative(y[own] == a, x[own, a])
        weight[own] += found.weight / len(pairs)
    return Derivative(weight)


def ovr_derivative(y: NDArray[Any], x: Floats) -> Derivative:
    """Return the derivatives of the mean area of each class against the rest."""
    classes = x.shape[1]
    found = [auroc_derivative(y == a, x[:, a]) for a in range(classes)]
    return Derivative(np.mean([one.weight for one in found], axis=0))


# ---- the area under the precision-recall curve ----


@dataclass(frozen=True)
class DerivativeOfPrecision:
    """The derivatives of the area under the precision-recall curve.

    Attributes
    ----------
    method : {"average_precision", "trapezoid", "interpolated"}
        As in :func:`statcv.metrics.auprc`. Ties are not interpolated.
    """

    method: str

    def __call__(self, y: NDArray[Any], x: Floats) -> Derivative:
        """Return the derivatives.

        The average precision is the mean over positive records of the precision P among
        the N records that are ranked as high. A record j that is ranked as high as a
        positive record i changes the precision of i by (y_j - P_i) / N_i. For the other
        areas P is replaced by its mean with the precision among the records that are
        ranked higher.
        """
        positive = (y == 1).astype(float)
        ones = positive.sum()
        if not ones:
            return Derivative(np.full(len(x), np.nan))
        places = places_of(x)
        values = int(places.max()) + 1
        place: Ints | slice
        after: Ints | slice
        if values == len(x) and is_rising(x):  # as the records are
            place, after = slice(values), slice(1, values + 1)
            hits, above = positive, np.arange(values, 0.0, -1.0)
        else:
            place, after = places, places + 1
            hits = np.bincount(places, positive, values)
            above = np.cumsum(np.bincount(places, None, values)[::-1])[::-1]
        precision = np.cumsum(hits[::-1])[::-1] / above
        share = np.full(values, 1.0 if self.method == "average_precision" else 0.5)
        if self.method == "interpolated":  # constant below one positive record
            share[np.flatnonzero(hits)[-1]] = 1.0
        before = np.append(precision[1:], 1.0)
        height = precision
        if self.method != "average_precision":
            height = share * precision + (1 - share) * before
        area = float(hits @ height / ones)
        weight = positive * (height - area)[place]
        # the sums over the positive records whose precisions a record changes
        parts = [(share, precision, above, after)]
        if self.method != "average_precision":
            later = np.append(above[1:], np.inf)
            parts.append((1 - share, before, later, place))
        for part, level, count, reach in parts:
            rate = part * hits / count
            moved = np.append(0.0, np.cumsum(rate))
            lost = np.append(0.0, np.cumsum(rate * level))
            weight += positive * moved[reach] - lost[reach]
        value = area if self.method == "average_precision" else None
        return Derivative(weight / ones, value=value)


def places_of(x: Floats) -> NDArray[np.intp]:
    """Return which of the distinct numbers, in rising order, each one is."""
    if is_rising(x):
        return np.asarray(np.cumsum(begins_value(x)) - 1)
    order, rising = in_rising_order(x)
    place = np.empty(len(x), dtype=np.intp)
    place[order] = np.cumsum(begins_value(rising)) - 1
    return place

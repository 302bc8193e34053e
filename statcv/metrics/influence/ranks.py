"""Derivatives by weights of metrics of the order of the predictions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.discrimination.by_value import RankedRecords, placement_counts
from statcv.metrics.discrimination.concordance import concordance_counts
from statcv.metrics.influence.derivative import Derivative, Placements
from statcv.metrics.inputs import Floats

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
    counts, tied = placement_counts(positive, x)
    high = int(np.count_nonzero(positive))
    low = len(x) - high
    share = counts / np.where(positive, max(low, 1), max(high, 1))
    area = float(share @ positive) / high if high else float("nan")
    return Placements(share, area, tied / max(high * low, 1))


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
        ranked = RankedRecords.of(x)
        values = len(ranked.begins)
        place = ranked.of_records(np.arange(values, dtype=float)).astype(np.intp)
        after = place + 1
        hits, above = ranked.sums(positive), len(x) - ranked.begins
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


# ---- the concordance with a continuous outcome ----


def concordance_derivative(y: NDArray[Any], x: Floats) -> Derivative:
    """Return the derivatives of the share of concordant pairs."""
    counts = concordance_counts(y, x)
    total = counts.rivals.sum() / 2
    with np.errstate(divide="ignore", invalid="ignore"):  # no two outcomes differ
        share = counts.won.sum() / 2 / total
        moved = counts.won - share * counts.rivals
        return Derivative(moved / total)

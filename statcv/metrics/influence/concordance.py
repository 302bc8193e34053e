"""How the concordance with a continuous outcome changes with each record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.discrimination.rounding import round_significant
from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.inputs import Floats

FEW = 256  # records that are compared in a square table


@dataclass(frozen=True, eq=False)
class Counts:
    """The comparisons of each record with all records of another outcome.

    Attributes
    ----------
    won : numpy.ndarray, shape (n,)
        The number of concordant pairs; one half for tied predictions.
    rivals, tied : numpy.ndarray, shape (n,)
        The number of pairs, and of those whose predictions tie.
    """

    won: Floats
    rivals: Floats
    tied: Floats


def concordance_counts(y: NDArray[Any], x: Floats) -> Counts:
    """Count the concordant pairs of each record.

    Records in the order of the outcome are halved again and again, and each half is
    compared with the other by sorting, in a time of order n (log n)².

    Parameters
    ----------
    y, x : numpy.ndarray, shape (n,)
        Outcomes and predictions.

    Examples
    --------
    >>> counts = concordance_counts(np.array([1, 2, 2]), np.array([0.5, 0.5, 0.1]))
    >>> counts.won, counts.rivals, counts.tied
    (array([0.5, 0.5, 0. ]), array([2., 1., 1.]), array([1., 1., 0.]))
    """
    x = np.asarray(x, dtype=float)
    _, place, same = np.unique(y, return_inverse=True, return_counts=True)
    order, rounded = np.argsort(place, kind="stable"), round_significant(x)
    starts = np.append(0, np.cumsum(same))
    won, tied = np.zeros(len(x)), np.zeros(len(x))

    def compare(own: NDArray[np.intp], other: NDArray[np.intp], side: float) -> None:
        rivals = np.sort(rounded[other])
        below = np.searchsorted(rivals, rounded[own], side="left")
        reached = np.searchsorted(rivals, rounded[own], side="right")
        higher = (below + reached) / 2
        won[own] += higher if side > 0 else len(other) - higher
        tied[own] += reached - below

    for first, middle, last in _halves(starts):
        if middle == first:  # few records, all compared with each other
            own = order[starts[first] : starts[last]]
            side = np.sign(place[own, None] - place[own])
            sign = np.sign(rounded[own, None] - rounded[own])
            won[own] += (np.abs(side) * (1 + side * sign) / 2).sum(axis=1)
            tied[own] += (np.abs(side) * (sign == 0)).sum(axis=1)
        else:
            low = order[starts[first] : starts[middle]]
            high = order[starts[middle] : starts[last]]
            compare(high, low, 1.0)
            compare(low, high, -1.0)
    return Counts(won, (len(x) - same[place]).astype(float), tied)


def _halves(starts: NDArray[np.intp]) -> Iterator[tuple[int, int, int]]:
    """Yield ranges of distinct outcomes, each with the place that halves it.

    Where few records remain, the place is the beginning of the range.
    """
    ranges = [(0, len(starts) - 1)]
    while ranges:
        first, last = ranges.pop()
        if last - first < 2:
            continue
        if starts[last] - starts[first] <= FEW:
            yield first, first, last
            continue
        half = (starts[first] + starts[last]) // 2
        middle = int(np.searchsorted(starts, half))
        middle = min(max(middle, first + 1), last - 1)
        yield first, middle, last
        ranges += [(first, middle), (middle, last)]


def concordance_derivative(y: NDArray[Any], x: Floats) -> Derivative:
    """Return the derivatives of the share of concordant pairs."""
    counts = concordance_counts(y, x)
    total = counts.rivals.sum() / 2
    with np.errstate(divide="ignore", invalid="ignore"):  # no two outcomes differ
        share = counts.won.sum() / 2 / total
        moved = counts.won - share * counts.rivals
        return Derivative(moved / total)

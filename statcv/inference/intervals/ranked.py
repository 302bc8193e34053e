"""Predictions in rising order within groups, and the pairs that are ranked right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics import round_significant

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class RankedGroups:
    """Predictions in rising order within groups.

    Attributes
    ----------
    order : numpy.ndarray of int, shape (m,)
        The original position of each prediction, in rising order.
    positive : numpy.ndarray of bool, shape (m,)
        Whether its record is positive.
    begin, end : numpy.ndarray of int, shape (m,)
        The first position of the predictions that tie with it, and one past the last.
    group : numpy.ndarray of int, shape (m,)
        Its group.
    bounds : numpy.ndarray of int, shape (groups + 1,)
        The position at which each group begins, and one past the last.
    missing : numpy.ndarray of bool, shape (groups,)
        Whether a prediction of the group is NaN.
    """

    order: Numbers
    positive: NDArray[np.bool_]
    begin: Numbers
    end: Numbers
    group: Numbers
    bounds: Numbers
    missing: NDArray[np.bool_]

    @classmethod
    def of(
        cls, y: NDArray[Any], predicted: Floats, group: Numbers, groups: int
    ) -> RankedGroups:
        """Order predictions, which tie if they are equal to 12 significant digits."""
        values = round_significant(predicted)
        # rising order within each group
        order = np.lexsort((values, group))
        own, rising = group[order], values[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (own[1:] != own[:-1]) | (rising[1:] != rising[:-1])
        begin = np.flatnonzero(new)
        size = np.diff(np.append(begin, len(order)))
        return cls(
            order=order,
            positive=y[order] == 1,
            begin=np.repeat(begin, size),
            end=np.repeat(begin + size, size),
            group=own,
            bounds=np.searchsorted(own, np.arange(groups + 1)),
            missing=np.bincount(group, np.isnan(values), groups) > 0,
        )

    def wins(self) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return correctly ranked pairs, all pairs and the class of each prediction.

        A positive record is paired with the negative ones of its group, and a negative
        record with the positive ones. A tie counts half, and the count is NaN if a
        prediction of the group is missing. All arrays are in the original order.
        """
        first, last = self.bounds[self.group], self.bounds[self.group + 1]
        # a tie is half below and half above
        below = _running(~self.positive)
        above = _running(self.positive)
        won = np.where(
            self.positive,
            (below[self.begin] + below[self.end]) / 2 - below[first],
            above[last] - (above[self.begin] + above[self.end]) / 2,
        )
        rivals = np.where(
            self.positive, below[last] - below[first], above[last] - above[first]
        )
        won[self.missing[self.group]] = np.nan
        back = np.empty(len(self.order), dtype=np.intp)
        back[self.order] = np.arange(len(self.order))
        return won[back], rivals[back], self.positive[back]

    def pairs(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the weight of correctly ranked pairs, and of all pairs, in each group.

        Parameters
        ----------
        weights : numpy.ndarray, shape (times, m)
            The weight of each prediction, in the original order; the weight of a pair
            is the product of its two weights.

        Returns
        -------
        won, pairs : numpy.ndarray, shape (times, groups)
            The total weights.
        """
        rising = weights[:, self.order]
        ones = np.flatnonzero(self.positive)
        # weight of the negative records below each positive one
        zeros = _running(np.where(self.positive, 0.0, rising))
        begin, end = self.begin[ones], self.end[ones]
        first = self.bounds[self.group[ones]]
        below = (zeros[:, begin] + zeros[:, end]) / 2 - zeros[:, first]
        won = np.zeros_like(rising)
        won[:, ones] = rising[:, ones] * below
        positives = _running(np.where(self.positive, rising, 0.0))
        pairs = _within(positives, self.bounds) * _within(zeros, self.bounds)
        total = _within(_running(won), self.bounds)
        total[:, self.missing] = np.nan
        return total, pairs


def _running(values: NDArray[Any]) -> Floats:
    """Return cumulative sums along the last axis, starting with 0."""
    sums = np.zeros((*values.shape[:-1], values.shape[-1] + 1))
    np.cumsum(values, axis=-1, out=sums[..., 1:])
    return sums


def _within(running: Floats, bounds: Numbers) -> Floats:
    return running[..., bounds[1:]] - running[..., bounds[:-1]]

"""Concordance of predictions with times to an event (Harrell, Uno).

Two records are compared if one has its event while the other is still at risk, also if
the other is censored at that time. The pair is concordant if the first has the higher
prediction; a tie counts one half. Two events at the same time are not compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.inputs import Floats, Ints, real_number
from statcv.metrics.survival.known import (
    ValueOf,
    by_censoring,
    censoring_curve,
    with_ties,
)
from statcv.numeric.survival import RiskSets


def harrell_c(y: ArrayLike, prediction: ArrayLike) -> float:
    """Harrell's concordance: the share of comparable pairs that are ranked correctly.

    Parameters
    ----------
    y : array_like of shape (n,)
        Signed times: of an event if positive, of censoring if negative.
    prediction : array_like of shape (n,)
        Scores, higher for earlier events.

    Returns
    -------
    float
        The share, in which a tie of predictions counts one half; NaN without
        comparable pairs, or if a prediction is NaN.

    Raises
    ------
    MetricError
        If a time is 0 or not finite, or the lengths differ.

    References
    ----------
    Harrell, Califf, Pryor, Lee & Rosati (1982), JAMA 247:2543.

    Examples
    --------
    >>> harrell_c([5, -8, 12, 20], [0.9, 0.5, 0.6, 0.1])
    1.0
    """
    return ValueOf(Concordance())(y, prediction)


def uno_c(
    y: ArrayLike,
    prediction: ArrayLike,
    *,
    tau: float | None = None,
    censoring: ArrayLike | None = None,
) -> float:
    """Uno's concordance, which does not depend on the distribution of censoring.

    A pair has the weight 1 / G(T-)², where T is the time of its event and G the
    probability of not being censored.

    Parameters
    ----------
    y, prediction : array_like of shape (n,)
        As in `harrell_c`.
    tau : float, optional
        Largest time whose events count; by default that of the last event.
    censoring : array_like of shape (n_train,), optional
        Signed times from which G is estimated, such as those of the training records;
        by default `y`. Beyond the last of these times, G keeps its last value above 0.

    Returns
    -------
    float
        The share; NaN as in `harrell_c`.

    Raises
    ------
    MetricError
        As in `harrell_c`, or if `tau` is not a number.

    References
    ----------
    Uno, Cai, Pencina, D'Agostino & Wei (2011), Statistics in Medicine 30:1105.

    Examples
    --------
    >>> round(uno_c([5, -8, 12, 20], [0.5, 0.9, 0.6, 0.1]), 3)
    0.619
    """
    last = None if tau is None else real_number(tau, "tau")
    return ValueOf(Concordance(True, last))(y, prediction, censoring=censoring)


@dataclass(frozen=True)
class Concordance:
    """Harrell's or Uno's concordance of weighted records.

    Attributes
    ----------
    uno : bool
        Whether pairs are weighted by the inverse probability of censoring.
    tau : float or None
        Largest time whose events count.
    """

    uno: bool = False
    tau: float | None = None

    def __call__(
        self, y: Floats, x: Floats, weights: Floats, **named: Floats | None
    ) -> Floats:
        """Return the concordance."""
        slot, ranks = RiskSets.of(y).slot, with_ties(x)
        events = weights * self._factor(y, weights, **named)
        right = _before(slot, -ranks, events)
        with np.errstate(all="ignore"):
            found = (weights * right).sum(1) / (
                weights * _before(slot, None, events)
            ).sum(1)
        found = np.minimum(found, 1.0)  # equal sums may be rounded apart
        return np.where(np.isnan(x).any(axis=1), np.nan, found)

    def derivative(self, y: Floats, x: Floats, **named: Floats | None) -> Derivative:
        """Return the derivatives."""
        slot, ranks, one = RiskSets.of(y).slot, with_ties(x)[None], np.ones((1, len(y)))
        factor = self._factor(y, one, **named)
        right, pairs = (_before(slot, by, factor)[0] for by in (-ranks, None))
        above, later = (_before(-slot, by, one)[0] for by in (ranks, None))
        total = pairs.sum()
        value = float(right.sum() / total)
        by_event = factor[0] * (above - value * later) / total
        weight = by_event + (right - value * pairs) / total
        if self.uno and named.get("censoring") is None:
            weight = weight - 2 * by_censoring(y, by_event)
        return Derivative(weight, None, value)

    def _factor(
        self,
        y: Floats,
        weights: Floats,
        censoring: Floats | None = None,
        uncensored: Floats | None = None,
    ) -> Floats:
        """Return the factor by which the pairs of each event are weighted."""
        counts = (y > 0) & (y <= (np.inf if self.tau is None else self.tau))
        if not self.uno:
            return counts[None].astype(float)
        if uncensored is None:
            uncensored = censoring_curve(y, weights, censoring).before(np.abs(y))
        return np.where(counts, 1 / uncensored**2, 0.0).reshape(-1, len(y))


def _before(slot: Ints, ranks: Floats | None, values: Floats) -> Floats:
    """Return sums of values over the records in smaller slots, and of smaller rank.

    Slots are compared bit by bit from the highest bit, in rising order of the ranks:
    among slots that agree so far, one that has the bit is above earlier ones that lack
    it.

    Parameters
    ----------
    slot : numpy.ndarray of int, shape (n,)
    ranks : numpy.ndarray, shape (m, n) or (1, n), or None
        Ranks, whose ties count one half; None if they do not matter.
    values : numpy.ndarray, shape (m, n) or (1, n)
    """
    place = np.unique(slot, return_inverse=True)[1].reshape(-1)
    if ranks is None:
        size = int(place.max()) + 1
        sums = np.array([np.bincount(place, row, size) for row in values])
        return np.asarray((np.cumsum(sums, axis=1) - sums)[:, place])
    own = np.broadcast_to(place, ranks.shape)
    found = _dominated(place, np.lexsort((own, ranks)), values)
    rising = np.sort(ranks, axis=1)
    if (rising[:, 1:] == rising[:, :-1]).any():  # once with and once without ties
        found += _dominated(place, np.lexsort((-own, ranks)), values)
        found /= 2
    return found


def _dominated(place: Ints, order: Ints, values: Floats) -> Floats:
    """Return sums of values over records earlier in the order, at smaller places."""
    sets, n = order.shape
    size = sets * n
    if sets > 1:  # one row, in which each set is a block
        values = np.take_along_axis(np.broadcast_to(values, (sets, n)), order, axis=1)
        values = values.reshape(1, size)
    else:
        values = values[:, order[0]]
    rank, record = place[order].ravel(), (order + n * np.arange(sets)[:, None]).ravel()
    begin = np.repeat(np.arange(sets) * n, n)
    end, position = begin + n, np.arange(size)
    sums = np.zeros_like(values)
    for bit in reversed(range(int(place.max()).bit_length())):
        has = (rank >> bit) & 1 == 1
        lacking = np.append(0, np.cumsum(~has))
        weight = np.zeros((len(values), size + 1))
        np.cumsum(values * ~has, axis=1, out=weight[:, 1:])
        upper = np.flatnonzero(has)
        sums[:, upper] += weight[:, upper] - weight[:, begin[upper]]
        # those that lack the bit come first in each block, in the same order
        middle = begin + lacking[end] - lacking[begin]
        before = lacking[:-1] - lacking[begin]
        moved = np.where(has, middle + position - begin - before, begin + before)
        begin, end = np.where(has, middle, begin), np.where(has, end, middle)
        again = np.empty_like(moved)
        again[moved] = position
        rank, record, begin, end = (one[again] for one in (rank, record, begin, end))
        values, sums = values[:, again], sums[:, again]
    found = np.empty_like(sums)
    found[:, record] = sums
    return found.reshape(-1, n)

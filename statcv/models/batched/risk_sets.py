"""Who is at risk at the time of each event, and how tied events leave.

Records are sorted by time, the latest first, so that sums over those at risk are
cumulative sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.batched.blocks import Numbers

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RiskSets:
    """Who is at risk at each distinct time of an event.

    Attributes
    ----------
    order : numpy.ndarray of int, shape (n,)
        The records, the latest first; positions refer to this order.
    times : numpy.ndarray, shape (k,)
        The distinct times of events, the latest first.
    last : numpy.ndarray of int, shape (k,)
        The position of the last record at risk at each of them.
    since : numpy.ndarray of int, shape (n,)
        The latest of these times at which each record is at risk; k if at none.
    dead : numpy.ndarray of int, shape (events,)
        The positions of the records with events.
    starts : numpy.ndarray of int, shape (k,)
        Where in ``dead`` those of each time begin.

    Examples
    --------
    >>> sets = RiskSets.of(np.array([2.0, -3.0, 1.0, 2.0]))
    >>> sets.times, sets.last, sets.since
    (array([2., 1.]), array([2, 3]), array([0, 0, 0, 1]))
    """

    order: Numbers
    times: Matrix
    last: Numbers
    since: Numbers
    dead: Numbers
    starts: Numbers

    @classmethod
    def of(cls, y: Matrix) -> RiskSets:
        """Sort signed times, shape (n,)."""
        order = risk_order(y)
        time, event = np.abs(y)[order], y[order] > 0
        times = np.unique(time[event])[::-1]
        last = np.searchsorted(-time, -times, side="right") - 1
        since = np.searchsorted(-times, -time)
        dead = np.flatnonzero(event)
        starts = np.searchsorted(since[dead], np.arange(len(times)))
        return cls(order, times, last, since, dead, starts)

    def total(self, values: Matrix) -> Matrix:
        """Return sums over the records at risk at each time, (…, k) of (…, n)."""
        return np.asarray(np.cumsum(values, axis=-1)[..., self.last])

    def earlier(self, values: Matrix) -> Matrix:
        """Return sums over the times at which each record is at risk, (…, n)."""
        sums = np.zeros((*values.shape[:-1], len(self.times) + 1))
        np.cumsum(values[..., ::-1], axis=-1, out=sums[..., -2::-1])
        return np.asarray(sums[..., self.since])

    def of_dead(self, values: Matrix) -> Matrix:
        """Return sums over the events of each time, (…, k) of (…, n)."""
        if not len(self.times):
            return np.zeros((*values.shape[:-1], 0))
        return np.add.reduceat(values[..., self.dead], self.starts, axis=-1)


def risk_order(y: Matrix) -> Numbers:
    """Return the order of signed times along the last axis, the latest first.

    Among equal times those of events come first, so that outcomes that are permuted
    have equal times in this order.
    """
    return np.lexsort((y < 0, -np.abs(y)))


@dataclass(frozen=True, eq=False)
class Tied:
    """Efron's treatment of ties: events of one time leave the risk set in equal parts.

    Of d events the l-th, from 0, finds the risk set without the share l/d of each.

    Attributes
    ----------
    time : numpy.ndarray of int, shape (t,)
        Which times have several events in some training set.
    rank : numpy.ndarray of int, shape (slots,)
        Which of these each event in turn belongs to.
    begins : numpy.ndarray of int, shape (t,)
        Where in ``rank`` each time begins.
    share : numpy.ndarray, shape (m, slots)
        What of each of the tied records has left before.
    weight : numpy.ndarray, shape (m, slots)
        The mean weight of the tied events; 0 beyond the events of a training set.
    """

    time: Numbers
    rank: Numbers
    begins: Numbers
    share: Matrix
    weight: Matrix

    @classmethod
    def of(cls, sets: RiskSets, counts: Matrix, weights: Matrix) -> Tied | None:
        """Return the ties of training sets; None if they have none."""
        events = sets.of_dead(counts * (weights > 0))
        most = events.max(axis=0, initial=0.0).astype(np.intp)
        time = np.flatnonzero(most > 1)
        if not len(time):
            return None
        rank = np.repeat(np.arange(len(time)), most[time])
        begins = np.cumsum(most[time]) - most[time]
        turn = np.arange(len(rank)) - begins[rank]
        many = np.maximum(events[:, time], 1.0)
        mean = sets.of_dead(weights)[:, time] / many
        used = turn < events[:, time][:, rank]
        share = np.where(used, turn / many[:, rank], 0.0)
        return cls(time, rank, begins, share, mean[:, rank] * used)

    def part(self, chosen: NDArray[Any] | slice) -> Tied:
        """Return the ties of some of the fits."""
        return replace(self, share=self.share[chosen], weight=self.weight[chosen])

    def summed(self, values: Matrix) -> Matrix:
        """Return sums over the events of each time, (m, t) of (m, slots)."""
        return np.add.reduceat(values, self.begins, axis=1)

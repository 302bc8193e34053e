"""Who is at risk at the time of each event, and how tied events leave.

Records are sorted by stratum and then by time, the latest first, so that sums over
those at risk are cumulative sums, which begin again in every stratum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from statcv.formula import is_strata
from statcv.numeric.arrays import Array, Floats, Numbers


def count_strata(names: Sequence[str]) -> int:
    """Return the number of strata of a design with some columns."""
    return 1 + sum(map(is_strata, names))


def strata_shares(X: Floats, names: Sequence[str]) -> Floats:
    """Return the share of each row in the strata of the baseline hazard, (…, strata).

    It is 1 in that of the record; a record whose stratum is not known has those of the
    training records. The reference level has no column.

    >>> strata_shares(np.array([[40.0, 0], [50, 1]]), ["age", "strata(sex)[T.f]"])
    array([[1., 0.],
           [0., 1.]])
    """
    others = X[..., [j for j, name in enumerate(names) if is_strata(name)]]
    return np.concatenate([1 - others.sum(axis=-1, keepdims=True), others], axis=-1)


@dataclass(frozen=True, eq=False)
class RiskSets:
    """Who is at risk at each distinct time of an event.

    Attributes
    ----------
    order : numpy.ndarray of int, shape (n,)
        The records by stratum, the latest first; positions refer to this order.
    times : numpy.ndarray, shape (k,)
        The distinct times of events in each stratum, the latest first.
    last : numpy.ndarray of int, shape (k,)
        The position of the last record at risk at each of them.
    since : numpy.ndarray of int, shape (n,)
        The latest of these times at which each record is at risk; k if at none.
    dead : numpy.ndarray of int, shape (events,)
        The positions of the records with events.
    starts : numpy.ndarray of int, shape (k,)
        Where in ``dead`` those of each time begin.
    strata : tuple of (slice, slice)
        The positions of the records of each stratum, and its times.

    Examples
    --------
    >>> sets = RiskSets.of(np.array([2.0, -3.0, 1.0, 2.0]))
    >>> sets.times, sets.last, sets.since
    (array([2., 1.]), array([2, 3]), array([0, 0, 0, 1]))
    """

    order: Numbers
    times: Floats
    last: Numbers
    since: Numbers
    dead: Numbers
    starts: Numbers
    strata: tuple[tuple[slice, slice], ...]

    @classmethod
    def of(cls, y: Floats, shares: Floats | None = None) -> RiskSets:
        """Sort signed times, shape (n,), within strata, given as shares if any."""
        shares = np.ones((len(y), 1)) if shares is None else shares
        own, count = shares.argmax(axis=1), shares.shape[1]
        order = risk_order(y, own)
        rank = np.unique(-np.abs(y), return_inverse=True)[1].reshape(-1)
        # a number for each time of each stratum, rising in this order
        key = (own * (len(y) + 1) + rank)[order]
        dead = np.flatnonzero(y[order] > 0)
        known, starts = np.unique(key[dead], return_index=True)
        last = np.searchsorted(key, known, side="right") - 1
        stratum, since = own[order], np.searchsorted(known, key)
        # before the first event of a stratum, the next is that of another
        since[np.append(stratum[last], -1)[since] != stratum] = len(known)
        ends = (
            np.searchsorted(of, np.arange(count + 1)) for of in (stratum, stratum[last])
        )
        slices = ([slice(*two) for two in pairwise(end.tolist())] for end in ends)
        strata = tuple(zip(*slices, strict=True))
        return cls(order, np.abs(y)[order][last], last, since, dead, starts, strata)

    def total(self, values: Floats) -> Floats:
        """Return sums over the records at risk at each time, (…, k) of (…, n)."""
        sums = np.empty(values.shape)
        for some, _ in self.strata:
            np.cumsum(values[..., some], axis=-1, out=sums[..., some])
        return sums[..., self.last]

    def earlier(self, values: Floats) -> Floats:
        """Return sums over the times at which each record is at risk, (…, n)."""
        sums = np.zeros((*values.shape[:-1], len(self.times) + 1))
        for _, some in self.strata:
            later = sums[..., some][..., ::-1]
            np.cumsum(values[..., some][..., ::-1], axis=-1, out=later)
        return np.asarray(sums[..., self.since])

    def met(self, jumps: Floats, own: Floats | None) -> Floats:
        """Return sums of jumps as each record meets them, (…, n).

        Those of its own time count without the share of tied events that left before.
        """
        made = self.earlier(jumps)
        if own is not None:
            made[..., self.dead] -= own[..., self.since[self.dead]]
        return made

    def of_dead(self, values: Floats) -> Floats:
        """Return sums over the events of each time, (…, k) of (…, n)."""
        if not len(self.times):
            return np.zeros((*values.shape[:-1], 0))
        return np.add.reduceat(values[..., self.dead], self.starts, axis=-1)


def risk_order(y: Floats, strata: Array) -> Numbers:
    """Return the order of signed times by stratum along the last axis, latest first.

    Among equal times those of events come first, so that outcomes that are permuted
    have equal times in this order.
    """
    return np.lexsort((y < 0, -np.abs(y), np.broadcast_to(strata, y.shape)))


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
    share: Floats
    weight: Floats

    @classmethod
    def of(cls, sets: RiskSets, counts: Floats, weights: Floats) -> Tied | None:
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

    def part(self, chosen: Array | slice) -> Tied:
        """Return the ties of some of the fits."""
        return replace(self, share=self.share[chosen], weight=self.weight[chosen])

    def summed(self, values: Floats) -> Floats:
        """Return sums over the events of each time, (m, t) of (m, slots)."""
        return np.add.reduceat(values, self.begins, axis=1)

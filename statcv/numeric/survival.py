"""Right-censored times in one array: of an event if positive, of censoring if negative.

One number per record lets such outcomes be selected, permuted and stored as any other.
Where an event and a censoring have the same time, the event comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.numeric.arrays import Array, Bools, Floats, Numbers

ROUNDING = 1e-12  # above one half, at which a curve has reached its median


def signed_times(time: Array, event: Array) -> Floats:
    """Return times with the sign of their status: negative if censored.

    Parameters
    ----------
    time : numpy.ndarray, shape (n,)
        Times above 0.
    event : numpy.ndarray, shape (n,)
        Whether the event was observed at that time; else the record was censored.

    Examples
    --------
    >>> signed_times(np.array([5.0, 8.0]), np.array([True, False]))
    array([ 5., -8.])
    """
    return np.where(np.asarray(event, dtype=bool), time, -np.asarray(time, dtype=float))


def times_of(y: Array) -> Floats:
    """Return the times of an event or of censoring."""
    return np.asarray(np.abs(y), dtype=float)


def events_of(y: Array) -> Bools:
    """Return whether the event was observed."""
    return np.asarray(y > 0)


def events_by(y: Array, horizon: float) -> Bools:
    """Return whether the event was observed by a time."""
    return np.asarray((y > 0) & (y <= horizon))


def free_at(y: Array, horizon: float) -> Bools:
    """Return whether a record is known to be without the event at a time."""
    return np.asarray(np.abs(y) > horizon)


def risk_of(log_hazard: Floats) -> Floats:
    """Return the risk by the logarithm of the cumulative hazard.

    >>> risk_of(np.array([-np.inf, -1.0, 800.0])).round(4)
    array([0.    , 0.3078, 1.    ])
    """
    with np.errstate(over="ignore"):
        return np.asarray(-np.expm1(-np.exp(log_hazard)))


@dataclass(frozen=True, eq=False)
class StepFunctions:
    """Several functions of time that are 1 at first and change at the same times.

    Attributes
    ----------
    times : numpy.ndarray, shape (T,)
        The times in rising order.
    values : numpy.ndarray, shape (m, T + 1)
        The values before the first time, and from each time on.
    """

    times: Floats
    values: Floats

    def at(self, time: Floats | float) -> Floats:
        """Return the values at some times, shape (m, times)."""
        return self.values[:, np.searchsorted(self.times, time, "right")]

    def before(self, time: Floats | float) -> Floats:
        """Return the limits from the left at some times, shape (m, times)."""
        return self.values[:, np.searchsorted(self.times, time, "left")]


@dataclass(frozen=True, eq=False)
class RiskSets:
    """The order of events and censorings, for estimates with any weights.

    Attributes
    ----------
    times : numpy.ndarray, shape (T,)
        The distinct times in rising order.
    slot : numpy.ndarray of int, shape (n,)
        The place of each record: 2k for an event at ``times[k]``, 2k + 1 for a
        censoring.
    """

    times: Floats
    slot: Numbers

    @classmethod
    def of(cls, y: Floats) -> RiskSets:
        """Return the risk sets of signed times."""
        times, place = np.unique(np.abs(y), return_inverse=True)
        return cls(times, (2 * place.reshape(-1) + (y < 0)).astype(np.intp))

    def sums(self, values: Floats) -> Floats:
        """Return the sum of values, shape (m, n), in each slot: (m, 2T)."""
        size = 2 * len(self.times)
        rows = [np.bincount(self.slot, row, size) for row in values]
        return np.array(rows, dtype=float).reshape(len(values), size)

    def at_risk(self, weights: Floats) -> Floats:
        """Return the weight of the records in each slot or later: (m, 2T + 1)."""
        later = np.cumsum(self.sums(weights)[:, ::-1], axis=1)[:, ::-1]
        return np.append(later, np.zeros((len(weights), 1)), axis=1)

    def curves(self, weights: Floats, censoring: bool = False) -> StepFunctions:
        """Return Kaplan-Meier estimates; see `kaplan_meier`."""
        risk = self.at_risk(weights)[:, int(censoring) :]
        before, after = risk[:, :-1:2], risk[:, 1::2]
        ends = before == 0 if not censoring else after == 0
        steps = np.divide(after, before, out=np.ones_like(after), where=~ends)
        start = np.ones((len(steps), 1))
        return StepFunctions(self.times, np.cumprod(np.append(start, steps, 1), axis=1))


def kaplan_meier(
    y: Floats, weights: Floats | None = None, censoring: bool = False
) -> StepFunctions:
    """Return Kaplan-Meier estimates for one or several sets of weights.

    Parameters
    ----------
    y : numpy.ndarray, shape (n,)
        Signed times.
    weights : numpy.ndarray, shape (m, n), optional
        Weights of the records; by default one set of equal weights.
    censoring : bool, default False
        Whether to estimate the probability of not being censored, in which records with
        an event are not at risk from that time on. The estimate keeps its last
        value above 0.

    Examples
    --------
    >>> curve = kaplan_meier(np.array([2.0, -3.0, 4.0, -5.0]))
    >>> curve.at(np.array([1, 2, 4])), curve.before(2.0)
    (array([[1.   , 0.75 , 0.375]]), array([1.]))
    """
    w = np.ones((1, len(y))) if weights is None else weights
    return RiskSets.of(y).curves(w, censoring)


def median_follow_up(y: Floats) -> float:
    """Return the median time to censoring, by the reverse Kaplan-Meier estimate.

    It is NaN if more than half of the records are estimated not to be censored.

    References
    ----------
    Schemper & Smith (1996), Controlled Clinical Trials 17:343.

    Examples
    --------
    >>> median_follow_up(np.array([2.0, -3, 4, -5, -6]))
    5.0
    """
    curve = kaplan_meier(-y)
    below = np.flatnonzero(curve.values[0, 1:] <= 0.5 + ROUNDING)
    return float(curve.times[below[0]]) if len(below) else float("nan")

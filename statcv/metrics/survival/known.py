"""Records whose status at a horizon is known, weighted for those whose is not.

A case has its event by the horizon, and a control outlives it. A case counts 1 / G(T-),
and a control 1 / G(t), where G is the Kaplan-Meier estimate of not being censored
(inverse probability of censoring weights).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import MetricError
from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.influence.weighted import DIGITS
from statcv.metrics.inputs import Bools, Floats, real_array, same_length, vector
from statcv.metrics.metric import Metric
from statcv.numeric.survival import (
    RiskSets,
    StepFunctions,
    events_by,
    free_at,
    kaplan_meier,
)


@dataclass(frozen=True, eq=False)
class Known:
    """Cases and controls at a horizon, with one or several sets of weights.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,)
        Signed times.
    horizon : float
    weights : numpy.ndarray, shape (m, n)
        Weights of the records.
    censoring : numpy.ndarray or None
        Signed times of the records from which G is estimated, with equal weights; by
        default those of `y` with their weights.
    uncensored : numpy.ndarray, shape (n,), or None
        G itself, if it is from the training sets of the records, which vary as these.
    """

    y: Floats
    horizon: float
    weights: Floats
    censoring: Floats | None = None
    uncensored: Floats | None = None

    @cached_property
    def case(self) -> Bools:
        """Whether a record has its event by the horizon."""
        return events_by(self.y, self.horizon)

    @cached_property
    def control(self) -> Bools:
        """Whether a record outlives the horizon."""
        return free_at(self.y, self.horizon)

    @cached_property
    def factor(self) -> Floats:
        """The inverse probability of being known, 0 for other records."""
        if self.uncensored is not None:
            return np.where(self.case | self.control, 1 / self.uncensored, 0.0)[None]
        curve = censoring_curve(self.y, self.weights, self.censoring)
        left, last = curve.before(np.abs(self.y)), curve.at(self.horizon)[:, None]
        return np.where(self.case, 1 / left, np.where(self.control, 1 / last, 0.0))

    @cached_property
    def own(self) -> Floats:
        """The weights of the records times `factor`: (m, n)."""
        return np.asarray(self.weights * self.factor)

    @property
    def both(self) -> Bools:
        """Whether there are cases and controls."""
        return np.asarray(
            (self.own @ self.case > 0) & (self.own @ self.control > 0), dtype=bool
        )

    @property
    def risk(self) -> Floats:
        """The Kaplan-Meier estimate of the risk at the horizon, from these records."""
        return 1 - kaplan_meier(self.y, self.weights).at(self.horizon)

    def derivative(self, by_own: Floats, by_weight: Floats | float = 0.0) -> Floats:
        """Return derivatives by the weights of records, by way of G too.

        Parameters
        ----------
        by_own, by_weight : numpy.ndarray, shape (n,)
            Derivatives by `own` of the first set, and by the weights otherwise.
        """
        direct = by_own * self.factor[0] + by_weight
        if self.censoring is not None:
            return np.asarray(direct)
        by_log = by_own * self.own[0]
        last = float(by_log @ self.control)
        return np.asarray(
            direct - by_censoring(self.y, by_log * self.case, self.horizon, last)
        )


def censoring_curve(
    y: Floats, weights: Floats, censoring: Floats | None
) -> StepFunctions:
    """Return the probability of not being censored."""
    if censoring is None:
        return kaplan_meier(y, weights, censoring=True)
    return kaplan_meier(np.asarray(censoring), censoring=True)


def by_censoring(
    y: Floats, before: Floats, horizon: float = 0.0, last: float = 0.0
) -> Floats:
    """Return derivatives of a function of log G by the weights of the records.

    Parameters
    ----------
    y : numpy.ndarray, shape (n,)
        Signed times, from which G is estimated with equal weights.
    before : numpy.ndarray, shape (n,)
        Derivatives of the function by log G just before the time of each record.
    horizon, last : float
        A time, and the derivative by log G at that time.
    """
    sets, one = RiskSets.of(y), np.ones((1, len(y)))
    place, censored = sets.slot // 2, sets.slot % 2 == 1
    risk = sets.at_risk(one)[0]
    first, rest = risk[1::2], risk[2::2]
    summed = np.bincount(place, before, len(first))
    later = np.append(np.cumsum(summed[::-1])[::-1][1:], 0.0)
    later += last * (sets.times <= horizon)
    each = np.divide(later, rest, out=np.zeros_like(later), where=rest > 0)
    # log G is the sum of log(rest / first), from which a record at risk takes a share
    through = np.append(0.0, np.cumsum(each * (first - rest) / np.maximum(first, 1)))
    return np.asarray(through[place + censored] - each[place] * censored)


def compares_in_all(metric: Metric, y: Floats, starts: NDArray[np.intp]) -> bool:
    """Return whether every part of some records has two that a metric compares.

    Parameters
    ----------
    metric : Metric
    y : numpy.ndarray, shape (n,)
        Signed times.
    starts : numpy.ndarray of int, shape (parts + 1,)
        Where each part begins, and n.
    """
    first = starts[:-1]
    if not (np.diff(starts) > 0).all():
        return False
    if metric.horizon is not None:
        side = metric.sides(y)
        both = [np.logical_or.reduceat(side == one, first) for one in (0, 1)]
        return bool((both[0] & both[1]).all())
    # an event is compared with every longer time
    earliest = np.minimum.reduceat(np.where(y > 0, y, np.inf), first)
    return bool((earliest < np.maximum.reduceat(np.abs(y), first)).all())


class Form(Protocol):
    """A metric of signed times, shape (n,), and predictions."""

    def __call__(self, *args: Any, **named: Any) -> Floats:
        """Return the metric for outcomes, predictions and weights: (m, n) or (1, n)."""

    def derivative(self, *args: Any, **named: Any) -> Derivative:
        """Return its derivatives for outcomes and predictions of equal weight."""


@dataclass(frozen=True)
class ValueOf:
    """The value of a metric for records of equal weight.

    Attributes
    ----------
    form : Form
    columns : int
        Number of columns of the predictions, if they have columns.
    """

    form: Form
    columns: int = 0

    def __call__(self, y: ArrayLike, prediction: ArrayLike, **named: Any) -> float:
        """Return the value; NaN if there is none."""
        times, read = checked_times(y), real_array(prediction, "prediction")
        if read.shape[1:] != ((self.columns,) if self.columns else ()) or not read.ndim:
            right = f"(n, {self.columns})" if self.columns else "(n,)"
            raise MetricError(
                f"The prediction has shape {read.shape}; it must be {right}."
            )
        same_length(times.size, len(read), "prediction")
        if named.get("censoring") is not None:
            named["censoring"] = checked_times(named["censoring"], "censoring")
        if not times.size:
            return float("nan")
        return float(self.form(times, read[None], np.ones((1, times.size)), **named)[0])


@dataclass(frozen=True)
class DerivativeOf:
    """The derivatives of a metric by the weights of the records.

    Attributes
    ----------
    form : Form
    """

    form: Form

    def __call__(self, y: Floats, x: Floats, **named: Any) -> Derivative:
        """Return the derivatives; NaN if the metric has no value."""
        value = float(self.form(y, x[None], np.ones((1, len(y))), **named)[0])
        if np.isnan(value):
            return Derivative(np.full(len(y), np.nan), None, value)
        with np.errstate(all="ignore"):
            return self.form.derivative(y, x, **named)


def checked_times(y: ArrayLike, name: str = "y") -> Floats:
    """Check signed times, and return them."""
    times = vector(y, name)
    odd = times[~(np.isfinite(times) & (times != 0))]
    if odd.size:
        raise MetricError(
            f"{name} must hold times of events as positive and times of censoring as "
            f"negative numbers, but {odd.size} of {times.size} values are neither, "
            f"such as {odd[0]:g}; leave these records out."
        )
    return times


def with_ties(x: Floats) -> Floats:
    """Return predictions as integers that tie where they differ by rounding error."""
    size = float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) or 1.0
    return np.rint(x * (DIGITS / size))

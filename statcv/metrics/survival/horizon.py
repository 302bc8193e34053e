"""Metrics of the risk predicted at one horizon, from cases and controls.

A case has its event by the horizon, and a control outlives it. A case counts 1 / G(T-),
and a control 1 / G(t), where G is the Kaplan-Meier estimate of not being censored
(inverse probability of censoring weights).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from statcv.errors import MetricError
from statcv.metrics.influence import placements, weighted
from statcv.metrics.influence.weighted import DIGITS, Derivative
from statcv.metrics.inputs import real_array, same_length, vector, wrong_shape
from statcv.metrics.metric import Metric
from statcv.numeric import survival
from statcv.numeric.arrays import ArrayLike, Bools, Floats, Numbers
from statcv.numeric.logistic import expit

Cut = Floats | float
Gradient = tuple[Floats, Floats | float]  # by the weights of the known, and of all


class Measure(Protocol):
    """A function of the weights of cases and controls, and of all records."""

    def value(self, known: Known, x: Floats, cut: Cut) -> Floats:
        """Return the value for each set of predictions, shape (m, n), or of weights."""

    def gradient(self, known: Known, x: Floats, value: float, cut: Cut) -> Gradient:
        """Return the derivatives by the weights of `known.own`, and of all records."""


@dataclass(frozen=True)
class AtHorizon:
    """A measure at a horizon, as a function of weighted records.

    Attributes
    ----------
    measure : Measure
    horizon : float
    """

    measure: Measure
    horizon: float

    def __call__(
        self,
        y: Floats,
        x: Floats,
        weights: Floats,
        threshold: Cut = 0.5,
        **named: Floats | None,
    ) -> Floats:
        """Return the metric; NaN without cases, controls or proper predictions."""
        known = Known(y, self.horizon, weights, **named)
        order = isinstance(self.measure, AreaAtHorizon)
        proper = np.isfinite(x) if order else (x >= 0) & (x <= 1)
        with np.errstate(all="ignore"):
            found = self.measure.value(known, np.where(proper, x, 0.0), threshold)
        usable = known.both & proper.all(axis=1) & np.isfinite(found)
        return np.where(usable, found, np.nan)

    def derivative(
        self, y: Floats, x: Floats, threshold: Cut = 0.5, **named: Floats | None
    ) -> Derivative:
        """Return the derivatives."""
        known = Known(y, self.horizon, np.ones((1, len(y))), **named)
        value = float(self.measure.value(known, x[None], threshold)[0])
        weight = known.derivative(*self.measure.gradient(known, x, value, threshold))
        if not isinstance(self.measure, AreaAtHorizon):
            return Derivative(weight, None, value)
        # placements of records of unknown status, whose weight is 0, mean nothing
        return Derivative(weight, placements(known.case, x, known.own[0]), value)


# ---- discrimination ----


@dataclass(frozen=True)
class AreaAtHorizon:
    """The cumulative/dynamic area under the ROC curve."""

    def value(self, known: Known, x: Floats, cut: Cut) -> Floats:
        """Return the weighted share of pairs in which the case has the higher risk."""
        if len(known.own) == len(x) == 1:
            return np.array([placements(known.case, x[0], known.own[0]).area])
        return weighted.auroc(known.case, x, known.own)

    def gradient(self, known: Known, x: Floats, value: float, cut: Cut) -> Gradient:
        """Return placements minus the area, over the weight of the record's class."""
        own = known.own[0]
        size = np.where(known.case, own @ known.case, own @ known.control)
        return (placements(known.case, x, own).share - value) / size, 0.0


# ---- means over records, and their ratios ----


def squared(case: Bools, x: Floats, cut: Cut) -> Floats:
    """Return the squared errors of risks."""
    return np.asarray((x - case) ** 2)


def benefit(case: Bools, x: Floats, cut: Cut) -> Floats:
    """Return the net benefit of each record, treated from a risk on."""
    treated = x - cut >= -weighted.ALIKE * np.abs(cut)
    return np.asarray(treated * np.where(case, 1.0, -cut / (1 - np.asarray(cut))))


@dataclass(frozen=True)
class MeanOf:
    """The mean of a function of single records.

    Attributes
    ----------
    casewise : callable
    """

    casewise: Callable[[Bools, Floats, Cut], Floats]

    def value(self, known: Known, x: Floats, cut: Cut) -> Floats:
        """Return the sum over known records by the weight of all."""
        each = known.own * self.casewise(known.case, x, cut)
        return np.asarray(each.sum(axis=1) / known.weights.sum(axis=1))

    def gradient(self, known: Known, x: Floats, value: float, cut: Cut) -> Gradient:
        """Return the derivatives."""
        each = self.casewise(known.case, x, cut)
        return each / len(x), np.full(len(x), -value / len(x))


@dataclass(frozen=True)
class ScaledBrier:
    """The share of the Brier score of Kaplan-Meier's risk that is removed."""

    def value(self, known: Known, x: Floats, cut: Cut) -> Floats:
        """Return 1 minus the ratio of the scores."""
        null = known.own * squared(known.case, known.risk[:, None], cut)
        left = (known.own * squared(known.case, x, cut)).sum(axis=1)
        return np.asarray(1 - left / null.sum(axis=1))

    def gradient(self, known: Known, x: Floats, value: float, cut: Cut) -> Gradient:
        """Return the derivatives.

        The risk of Kaplan and Meier minimises the score if censoring is estimated from
        the same records; if not, the score changes with this risk too.
        """
        risk = known.risk[0]
        null = squared(known.case, risk, cut)
        total = float(known.own[0] @ null)
        by_own = ((1 - value) * null - squared(known.case, x, cut)) / total
        slope = 2 * float(known.own[0] @ (risk - known.case)) / total
        same = Known(known.y, known.horizon, known.weights)
        of_risk = same.derivative(known.case / len(x), -risk / len(x))
        return by_own * (known.factor[0] > 0), (1 - value) * slope * of_risk


@dataclass(frozen=True)
class ObservedExpected:
    """The ratio of the observed risk to the mean prediction."""

    def value(self, known: Known, x: Floats, cut: Cut) -> Floats:
        """Return the ratio."""
        return np.asarray((known.own @ known.case) / (known.weights * x).sum(axis=1))

    def gradient(self, known: Known, x: Floats, value: float, cut: Cut) -> Gradient:
        """Return the derivatives."""
        return known.case / x.sum(), -value * x / x.sum()


# ---- calibration ----


@dataclass(frozen=True)
class RecalibrationAtHorizon:
    """The slope of a logistic regression on the logit of the risk, or its intercept.

    Known records have their inverse probabilities as weights (Blanche, Holt & Scheike
    2023). The intercept is that of a slope of 1.

    Attributes
    ----------
    slope : bool
    """

    slope: bool

    def value(self, known: Known, x: Floats, cut: Cut) -> Floats:
        """Return the coefficient; NaN if the classes are separated."""
        found = self._fit(known, x)[int(self.slope)]
        if not self.slope:
            return found
        ranks = with_ties(x)
        ends = [
            (np.where(some & (known.own > 0), sign * ranks, np.inf).min(axis=1) * sign)
            for sign in (1, -1)
            for some in (known.case, known.control)
        ]
        lowest, least, highest, largest = ends
        separated = (lowest >= largest) | (highest <= least)
        return np.where(separated, np.nan, found)

    def gradient(self, known: Known, x: Floats, value: float, cut: Cut) -> Gradient:
        """Return the derivatives."""
        a, b = (float(one[0]) for one in self._fit(known, x[None]))
        eta = _logit(x)
        fitted = expit(a + b * eta)
        curved = known.own[0] * fitted * (1 - fitted)
        return weighted.by_record(eta, known.case - fitted, curved, self.slope), 0.0

    def _fit(self, known: Known, x: Floats) -> tuple[Floats, Floats]:
        fit = weighted.WeightedRecalibration(self.slope)
        return fit.coefficients(known.case, _logit(x), known.own)


def _logit(x: Floats) -> Floats:
    inside = np.clip(x, weighted.SURE, 1 - weighted.SURE)
    return np.asarray(np.log(inside / (1 - inside)))


# ---- records with their weights ----


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
        return survival.events_by(self.y, self.horizon)

    @cached_property
    def control(self) -> Bools:
        """Whether a record outlives the horizon."""
        return survival.free_at(self.y, self.horizon)

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
        cases, controls = self.own @ self.case, self.own @ self.control
        return np.asarray((cases > 0) & (controls > 0), dtype=bool)

    @property
    def risk(self) -> Floats:
        """The Kaplan-Meier estimate of the risk at the horizon, from these records."""
        return 1 - survival.kaplan_meier(self.y, self.weights).at(self.horizon)

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
        by_way = by_censoring(self.y, by_log * self.case, self.horizon, last)
        return np.asarray(direct - by_way)


def censoring_curve(
    y: Floats, weights: Floats, censoring: Floats | None
) -> survival.StepFunctions:
    """Return the probability of not being censored."""
    if censoring is None:
        return survival.kaplan_meier(y, weights, censoring=True)
    return survival.kaplan_meier(np.asarray(censoring), censoring=True)


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
    sets, one = survival.RiskSets.of(y), np.ones((1, len(y)))
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


def compares_in_all(metric: Metric, y: Floats, starts: Numbers) -> bool:
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
            raise wrong_shape("The prediction", read, right)
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

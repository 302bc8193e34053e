"""Metrics of the risk predicted at one horizon, from cases and controls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from statcv.metrics.discrimination.by_value import RankedRecords
from statcv.metrics.influence import weighted
from statcv.metrics.influence.derivative import Derivative, Placements
from statcv.metrics.inputs import Bools, Floats
from statcv.metrics.survival.known import Known, with_ties
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
        order = isinstance(self.measure, Area)
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
        placed = _placed(known, x) if isinstance(self.measure, Area) else None
        return Derivative(weight, placed, value)


# ---- discrimination ----


@dataclass(frozen=True)
class Area:
    """The cumulative/dynamic area under the ROC curve."""

    def value(self, known: Known, x: Floats, cut: Cut) -> Floats:
        """Return the weighted share of pairs in which the case has the higher risk."""
        if len(known.own) == len(x) == 1:
            return np.array([_placed(known, x[0]).area])
        return weighted.auroc(known.case, x, known.own)

    def gradient(self, known: Known, x: Floats, value: float, cut: Cut) -> Gradient:
        """Return placements minus the area, over the weight of the record's class."""
        own = known.own[0]
        size = np.where(known.case, own @ known.case, own @ known.control)
        return (_placed(known, x).share - value) / size, 0.0


def _placed(known: Known, x: Floats) -> Placements:
    """Return placements among the weighted records of the other class.

    They mean nothing for records whose status is not known.
    """
    ranked, own = RankedRecords.of(x), known.own[0]
    ones, zeros = (ranked.sums(own * some) for some in (known.case, known.control))
    high, low = ones.sum(), zeros.sum()
    below, above = np.cumsum(zeros) - zeros / 2, high - np.cumsum(ones) + ones / 2
    share = np.where(
        known.case, ranked.of_records(below) / low, ranked.of_records(above) / high
    )
    area = min(float(ones @ below / (high * low)), 1.0)  # rounding may exceed it
    return Placements(share, area, float(ones @ zeros / (high * low)))


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
class Recalibration:
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
        if self.slope:
            away = eta - curved @ eta / curved.sum()
            return away * (known.case - fitted) / (curved @ away**2), 0.0
        return (known.case - fitted) / curved.sum(), 0.0

    def _fit(self, known: Known, x: Floats) -> tuple[Floats, Floats]:
        fit = weighted.WeightedRecalibration(self.slope)
        return fit.coefficients(known.case, _logit(x), known.own)


def _logit(x: Floats) -> Floats:
    inside = np.clip(x, weighted.SURE, 1 - weighted.SURE)
    return np.asarray(np.log(inside / (1 - inside)))

"""Curves of the risk predicted by a horizon, and of Kaplan and Meier, with bands.

A curve is a function of weighted records. A bootstrap sample is a set of weights, from
which the censoring weights are estimated too; predictions are taken as given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import pandas as pd

from statcv.metrics.areas.placements import normal_quantile, symmetric_limits
from statcv.metrics.discrimination.bands import UNMOVED, CurveBand, drawn_times
from statcv.metrics.discrimination.by_value import RankedRecords
from statcv.metrics.discrimination.curves import sensitivity_at
from statcv.metrics.influence.weighted import ALIKE
from statcv.metrics.inputs import clusters_of, sum_of_squares
from statcv.metrics.probabilities.brier_terms import (
    CalibrationGroups,
    quantile_groups,
    wilson,
)
from statcv.metrics.survival.horizon import AreaAtHorizon, AtHorizon, Known
from statcv.metrics.survival.smooth import Loess
from statcv.numeric.arrays import Floats, Numbers
from statcv.numeric.survival import RiskSets, events_of, kaplan_meier

TIMES = 25  # times at which an area is drawn
DRAWS = 500  # bootstrap samples of a band
AT_ONCE = 2**21  # weights of bootstrap samples that are held together


@dataclass(frozen=True, eq=False)
class RisksBy:
    """Predicted risks of an event by a horizon, with the times of the records.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,)
        Signed times.
    predicted : numpy.ndarray, shape (n,)
    horizon : float
    censoring : numpy.ndarray, optional
        Signed times from which censoring is estimated; by default `y`.
    clusters : numpy.ndarray of int, shape (n,), optional
        Clusters, which a bootstrap draws as a whole.
    seed : int

    Examples
    --------
    >>> y, risk = np.array([5.0, -8, 12, 20]), np.array([0.9, 0.5, 0.6, 0.1])
    >>> risks = RisksBy(y, risk, 10.0)
    >>> [one.round(3).tolist() for one in risks.roc()]
    [[0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 1.0, 1.0, 1.0, 1.0]]
    >>> risks.net_benefit(np.array([0.2])).estimate.round(4).tolist()
    [0.1562]
    """

    y: Floats
    predicted: Floats
    horizon: float
    censoring: Floats | None = None
    clusters: Numbers | None = None
    seed: int = 0

    @cached_property
    def known(self) -> Known:
        """The records whose status at the horizon is known, with their weights."""
        return self._sample(np.ones((1, len(self.y))))

    @cached_property
    def _unit(self) -> Numbers:
        return clusters_of(self.clusters, len(self.y))

    def _sample(self, weights: Floats) -> Known:
        return Known(self.y, self.horizon, weights, self.censoring)

    # ---- shares of cases and controls by falling risk ----

    @cached_property
    def _ranked(self) -> RankedRecords:
        return RankedRecords.of(self.predicted)

    def _falling(self, known: Known) -> list[tuple[Floats, Floats]]:
        """Return the weights of cases and controls from each risk on, for each set."""
        sides, ranked = (known.case, known.control), self._ranked
        return [ranked.falling(*(own * some for some in sides)) for own in known.own]

    def roc(self) -> tuple[Floats, Floats]:
        """Return false and true positive rates, whose area is the AUC at the horizon.

        They are NaN without cases or controls.
        """
        ((true, false),) = self._falling(self.known)
        with np.errstate(invalid="ignore"):
            return false / false[-1], true / true[-1]

    def roc_band(self, level: float = 0.95) -> CurveBand:
        """Return the sensitivity by false positive rate, with a pointwise band."""
        at = np.linspace(0, 1, 101)

        def heights(known: Known) -> Floats:
            sweeps = self._falling(known)
            return np.array([sensitivity_at(*one, at) for one in sweeps])

        return self._band(at, heights, level)

    def net_benefit(self, at: Floats, level: float | None = None) -> CurveBand:
        """Return the net benefit of treatment by threshold, with a band if wanted."""
        distinct = self.predicted[self._ranked.order][self._ranked.begins]
        treated = len(distinct) - np.searchsorted(distinct, at - ALIKE * at)
        odds = at / (1 - at)

        def heights(known: Known) -> Floats:
            sweeps = self._falling(known)
            worth = [true[treated] - odds * false[treated] for true, false in sweeps]
            return np.asarray(np.array(worth) / known.weights.sum(axis=1)[:, None])

        return self._band(at, heights, level)

    def treat_all(self, at: Floats) -> Floats:
        """Return the net benefit of treating all, by the risk of Kaplan and Meier."""
        risk = float(self.known.risk[0])
        return np.asarray(risk - (1 - risk) * at / (1 - at))

    def areas(self, level: float) -> CurveBand:
        """Return the AUC for the event by each of some times, with its limits.

        They are symmetric on the logit scale, by the influence of records or clusters.
        """
        events = np.unique(self.y[events_of(self.y)])
        at = np.unique(np.quantile(events, np.linspace(0.05, 0.95, TIMES)))
        found = []
        for time in at:
            form = AtHorizon(AreaAtHorizon(), float(time))
            given = self.y, self.predicted[None], self.known.weights
            area = float(form(*given, censoring=self.censoring)[0])
            lower = upper = np.nan
            if 0 < area < 1:
                change = form.derivative(self.y, self.predicted).weight[:, None]
                error = float(sum_of_squares(change, self._unit)[0, 0]) ** 0.5
                lower, upper = symmetric_limits(area, error, level, scale="logit")
            found.append((lower, area, upper))
        lower, area, upper = np.array(found).T
        return CurveBand(at, lower, area, upper, level, "pointwise")

    # ---- groups and calibration ----

    def codes(self, groups: int) -> Numbers:
        """Return the quantile group of each record; ties share one."""
        return quantile_groups(self.predicted, groups)

    def calibration(self, level: float | None = None) -> CurveBand:
        """Return the local regression of which ICI is the distance, perhaps banded."""
        loess = Loess.of(self.known, self.predicted)

        def heights(known: Known) -> Floats:
            with np.errstate(all="ignore"):  # NaN where neighbours do not determine it
                return loess.fitted(known.own)[0]

        return self._band(loess.at, heights, level)

    def heights(self, kind: str, at: Floats) -> Floats:
        """Return the decision or the calibration curve, NaN outside the predictions."""
        if kind == "decision":
            return self.net_benefit(at).estimate
        found = self.calibration()
        ends: dict[str, float] = {"left": np.nan, "right": np.nan}
        return np.asarray(np.interp(at, found.at, found.estimate, **ends))

    def groups(self, groups: int, level: float = 0.95) -> CalibrationGroups:
        """Return Kaplan-Meier risks in groups of the predicted risk.

        The risk is NaN in a group that was not followed up to the horizon.
        """
        codes = self.codes(groups)
        count = np.bincount(codes)
        each = [risk_by(self.y[codes == k], self.horizon, level) for k in set(codes)]
        lower, risk, upper = np.array(each).T
        predicted = np.bincount(codes, self.predicted) / count
        return CalibrationGroups(predicted, risk, lower, upper, count, level)

    # ---- bands ----

    def _band(
        self, at: Floats, heights: Callable[[Known], Floats], level: float | None
    ) -> CurveBand:
        """Return a curve with percentiles over bootstrap samples that have it.

        There are none without a level.
        """
        estimate, n = heights(self.known)[0], len(self.y)
        lower = upper = np.full(len(at), np.nan)
        reason = self.shortage
        if level is not None and not reason:
            order = np.lexsort((self.predicted, self.y))
            every = np.ones(n, dtype=bool)
            samples = drawn_times(every, order, self._unit, DRAWS, self.seed)
            found = []
            while some := list(islice(samples, max(1, AT_ONCE // n))):
                found.append(heights(self._sample(np.array(some))))
            ends = [(1 - level) / 2, (1 + level) / 2]
            table = pd.DataFrame(np.concatenate(found))
            lower, upper = table.quantile(ends).to_numpy()
            reason = UNMOVED if (lower == upper).all() else ""
        level = np.nan if level is None else level
        return CurveBand(at, lower, estimate, upper, level, "pointwise", reason)

    @property
    def shortage(self) -> str:
        """Why there is no band; empty if there is one."""
        for some, what in (
            (self.known.case, f"with the event by {self.horizon:g}"),
            (self.known.control, f"at risk after {self.horizon:g}"),
        ):
            if len(np.unique(self._unit[some])) < 2:
                return f"fewer than two records {what}, or all in one cluster"
        return ""


# ---- Kaplan and Meier ----


def survival_band(y: Floats, level: float = 0.95) -> CurveBand:
    """Return the Kaplan-Meier estimate at 0 and all times, with a pointwise band.

    The limits are Wilson's for the number of records without censoring that would have
    the same variance by Greenwood's formula (Rothman 1978, Journal of Chronic Diseases
    31:557).

    Examples
    --------
    >>> band = survival_band(np.array([2.0, -3, 4, -5]))
    >>> band.at.tolist(), band.estimate.tolist()
    ([0.0, 2.0, 3.0, 4.0, 5.0], [1.0, 0.75, 0.75, 0.375, 0.375])
    >>> band.lower.round(2).tolist()
    [1.0, 0.3, 0.3, 0.07, 0.07]
    """
    sets = RiskSets.of(y)
    risk = sets.at_risk(np.ones((1, len(y))))[0]
    before, after = risk[:-1:2], risk[1::2]
    events, survival = before - after, kaplan_meier(y).values[0, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(np.nan_to_num(events / (before * after), posinf=0.0))
        alike = (1 - survival) / (survival * greenwood)
    # without any variance, the records that are known to be with or without the event
    alike = np.where(survival == 1, before, alike)
    alike = np.where(survival == 0, np.cumsum(events), alike)
    lower, upper = wilson(survival, alike, normal_quantile(level))
    at, first = np.append(0.0, sets.times), np.ones(1)
    lower, estimate, upper = (np.append(first, one) for one in (lower, survival, upper))
    return CurveBand(at, lower, estimate, upper, level, "pointwise")


def risk_by(y: Floats, horizon: float, level: float) -> tuple[float, float, float]:
    """Return the Kaplan-Meier risk by a horizon between its limits.

    It is NaN if no record was followed up to the horizon, and not all had the event.
    """
    band = survival_band(y, level)
    if horizon > band.at[-1] and band.estimate[-1] > 0:
        return np.nan, np.nan, np.nan
    place = int(np.searchsorted(band.at, horizon, "right")) - 1
    survival = (band.upper, band.estimate, band.lower)
    lower, risk, upper = (float(1 - one[place]) for one in survival)
    return lower, risk, upper

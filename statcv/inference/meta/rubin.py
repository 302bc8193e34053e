"""Estimates over imputed data sets, pooled by Rubin's rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from statcv.inference.estimates.estimate import Estimate
from statcv.inference.intervals.interval import SCALES, Interval, wilson_limits
from statcv.inference.paired.tests import PairedTest
from statcv.metrics.areas.placements import symmetric_limits
from statcv.numeric.arrays import ArrayLike, Floats
from statcv.tables import Printed
from statcv.words import listed

COLUMNS = ("within_se", "between_sd", "df", "fmi")  # beside an estimate in a table
ALIKE = 1e-12  # relative: values over imputations that differ by rounding alone


@dataclass(frozen=True, repr=False)
class Rubin(Printed):
    """Estimates over imputed data sets, pooled by Rubin's rules.

    Attributes
    ----------
    estimate, se, df : float
        The mean over imputations, its standard error, and the degrees of freedom of
        Barnard and Rubin.
    within_se, between_sd : float
        The standard error within an imputed data set (root mean square), and the
        standard deviation of the estimates between them.
    fmi : float
        The fraction of information that is missing.
    """

    estimate: float
    se: float
    df: float
    within_se: float
    between_sd: float
    fmi: float

    def tested(
        self, level: float, most: float = math.inf, equal: float = math.nan
    ) -> PairedTest:
        """Return the test and interval, as :meth:`PairedTest.of` makes them."""
        df = math.nan if math.isinf(self.df) else self.df
        return PairedTest.of(self.estimate, self.se, level, df, most=most, equal=equal)


def rubin(values: ArrayLike, ses: ArrayLike, df: ArrayLike = math.inf) -> Rubin:
    """Pool estimates over imputed data sets.

    If all are equal, nothing is missing, and the degrees of freedom are those of the
    complete data.

    Parameters
    ----------
    values, ses : array_like, shape (imputations,)
        The estimates, nearly normal on their scale, and their standard errors.
    df : float or array_like
        Degrees of freedom of the complete data; the harmonic mean counts.

    References
    ----------
    Rubin (1987), Multiple Imputation for Nonresponse in Surveys; Barnard & Rubin
    (1999), Biometrika 86:948.

    Examples
    --------
    >>> found = rubin([1.0, 1.2, 1.1], [0.3, 0.3, 0.3], df=50)
    >>> round(found.se, 3), round(found.df, 1), round(found.fmi, 2)
    (0.321, 31.1, 0.18)
    """
    q, u = np.asarray(values, dtype=float), np.asarray(ses, dtype=float) ** 2
    m, within, nan = len(q), float(u.mean()), math.nan
    with np.errstate(invalid="ignore"):
        mean, between = float(q.mean()), float(q.var(ddof=1))
    if not (np.isfinite(q).all() and np.isfinite(u).all()):
        return Rubin(mean, nan, nan, nan, math.sqrt(between), nan)
    if np.ptp(q) <= ALIKE * np.abs(q).max():
        between = 0.0
    added = (1 + 1 / m) * between  # for a finite number of imputations
    share = added / (within + added) if added else 0.0
    rarity = float(np.mean(1 / np.asarray(df, dtype=float)))
    complete = 1 / rarity if rarity else math.inf
    fraction = share
    if 0 < share < 1:
        # precisions of both variances add up
        observed = (complete + 1) / (complete + 3) * complete * (1 - share)
        observed = math.inf if math.isinf(complete) else observed
        complete = 1 / (share**2 / (m - 1) + 1 / observed)
        fraction += (1 - share) * 2 / (complete + 3)
    elif share:
        complete = m - 1.0
    se, inner, outer = np.sqrt([within + added, within, between]).tolist()
    return Rubin(mean, se, complete, inner, outer, fraction)


@dataclass(frozen=True, eq=False, repr=False)
class Imputed(Printed):
    """The estimates of one metric in several imputed data sets.

    Attributes
    ----------
    each : sequence of Estimate
        One estimate per imputed data set, stated in one way.
    """

    each: Sequence[Estimate]

    @property
    def values(self) -> Floats:
        """The estimates."""
        return np.array([one.value for one in self.each])

    @property
    def n_undefined(self) -> int:
        """The number of imputations in which the metric has no value."""
        return int(np.isnan(self.values).sum())

    @cached_property
    def scale(self) -> str:
        """The scale of pooling: that of the intervals, if they share one.

        It is the logit for limits of Wilson's shape, which are symmetric on it.
        """
        found = {one.interval.scale.replace("wilson", "logit") for one in self.each}
        scale = found.pop() if len(found) == 1 else "identity"
        with np.errstate(all="ignore"):
            finite = np.isfinite(SCALES[scale].to(self.values)).all()
        return scale if finite else "identity"

    def _pooled(self, ses: Sequence[float]) -> Rubin:
        scale, df = SCALES[self.scale], np.array([i.interval.df for i in self.each])
        slopes = [scale.slope(value) for value in self.values]
        df[np.isnan(df)] = math.inf  # the normal distribution
        return rubin(scale.to(self.values), np.divide(ses, slopes), df)

    @cached_property
    def pooled(self) -> Rubin:
        """The estimates pooled on that scale; NaN where there is nothing to pool."""
        return self._pooled([one.se for one in self.each])

    @cached_property
    def estimate(self) -> Estimate:
        """The pooled estimate, whose interval has the shape of a single one."""
        value = float(SCALES[self.scale].back(self.pooled.estimate))
        make, sd = partial(self._interval, value), float(self.values.std(ddof=1))
        found = replace(self.each[0], value=value, sd=sd, make=make)
        return replace(found, n_undefined=self.n_undefined, n_values=len(self.each))

    def _interval(self, value: float) -> Interval:
        made, m = [one.interval for one in self.each], len(self.each)
        lacking = [one.assumes for one in made if math.isnan(one.se)]
        ends = np.array([[one.value, one.lower, one.upper] for one in self.each])
        methods = listed([*dict.fromkeys(one.method for one in made)])
        method = f"{methods}, pooled by Rubin's rules over {m} imputations"
        if (np.ptp(ends, axis=0) <= ALIKE * np.abs(ends).max(axis=0)).all():
            return replace(made[0], method=method)  # nothing is missing
        if self.n_undefined or lacking:
            why = f"{len(lacking)} of {m} imputations have no standard error, since "
            why += lacking[0]
            if self.n_undefined:
                why = f"it has no value in {self.n_undefined} of {m} imputations"
            return Interval.none(why)
        level, df = self.each[0].level, self.pooled.df
        slope, spread = SCALES[self.scale].slope(value), math.nan
        shape, constant = self.scale, [0.0, 0.0]
        if shape == "logit" and all(one.scale == "wilson" for one in made):
            shape, spread = "wilson", slope
            constant = np.mean([one.constant for one in made], axis=0).tolist()

        def limits(side: int) -> tuple[float, float, float]:
            # errors above and below may differ, also when they are pooled
            se = self._pooled([one.se_towards(1 - 2 * side) for one in made]).se * slope
            if shape == "wilson":
                fixed = min(constant[side], se**2)
                rate = (se**2 - fixed) / spread
                return *wilson_limits(value, rate, level, df, fixed), se
            t = math.nan if math.isinf(df) else df
            return *symmetric_limits(value, se, level, df=t, scale=shape), se

        (lower, _, below), (_, upper, above) = limits(0), limits(1)
        fixed = min(constant[0], below**2), min(constant[1], above**2)
        se = self.pooled.se * slope
        numbers = {"lower": lower, "upper": upper, "se": se, "df": df}
        found = replace(made[0], method=method, scale=shape, spread=spread, **numbers)
        return replace(found, constant=fixed, sides=(below, above))

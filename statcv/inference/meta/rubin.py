"""Estimates over imputed data sets, pooled by Rubin's rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.inference.estimates.estimate import Estimate
from statcv.inference.intervals.interval import Interval
from statcv.inference.intervals.scales import SCALES, wilson_limits
from statcv.metrics.areas.placements import symmetric_limits
from statcv.tables import Printed
from statcv.words import listed

ALIKE = 1e-12  # relative: values over imputations that differ by rounding alone


@dataclass(frozen=True, repr=False)
class Rubin(Printed):
    """Estimates over imputed data sets, pooled by Rubin's rules.

    Attributes
    ----------
    estimate, se, df : float
        The mean over imputations, its standard error, and the degrees of freedom of
        Barnard and Rubin.
    within, between : float
        The standard error within an imputed data set (root mean square), and the
        standard deviation of the estimates between them.
    fraction_missing : float
        The fraction of information that is missing.
    n : int
        The number of imputations.
    """

    estimate: float
    se: float
    df: float
    within: float
    between: float
    fraction_missing: float
    n: int

    @property
    def columns(self) -> dict[str, float]:
        """The numbers that stand beside an estimate in a table."""
        return {
            "within_se": self.within,
            "between_sd": self.between,
            "df": self.df,
            "fraction_missing": self.fraction_missing,
        }


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
    >>> round(found.se, 3), round(found.df, 1), round(found.fraction_missing, 3)
    (0.321, 31.1, 0.18)
    """
    q, u = np.asarray(values, dtype=float), np.asarray(ses, dtype=float) ** 2
    m, within, nan = len(q), float(u.mean()), math.nan
    with np.errstate(invalid="ignore"):
        mean, between = float(q.mean()), float(q.var(ddof=1))
    if not (np.isfinite(q).all() and np.isfinite(u).all()):
        return Rubin(mean, nan, nan, nan, math.sqrt(between), nan, m)
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
    return Rubin(
        estimate=mean,
        se=math.sqrt(within + added),
        df=complete,
        within=math.sqrt(within),
        between=math.sqrt(between),
        fraction_missing=fraction,
        n=m,
    )


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
    def values(self) -> NDArray[np.float64]:
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
        scale = SCALES[self.scale]
        slopes = [scale.slope(value) for value in self.values]
        df = [one.interval.df for one in self.each]
        return rubin(
            scale.to(self.values),
            np.divide(ses, slopes),
            np.where(np.isnan(df), math.inf, df),
        )

    @cached_property
    def pooled(self) -> Rubin:
        """The estimates pooled on that scale; NaN where there is nothing to pool."""
        return self._pooled([one.se for one in self.each])

    @cached_property
    def estimate(self) -> Estimate:
        """The pooled estimate, whose interval has the shape of a single one."""
        value = float(SCALES[self.scale].back(self.pooled.estimate))
        return replace(
            self.each[0],
            value=value,
            n_undefined=self.n_undefined,
            n_values=len(self.each),
            sd=float(self.values.std(ddof=1)),
            make=lambda: self._interval(value),
        )

    def _interval(self, value: float) -> Interval:
        made, m = [one.interval for one in self.each], len(self.each)
        lacking = [one.assumes for one in made if math.isnan(one.se)]
        ends = np.array([[one.value, one.lower, one.upper] for one in self.each])
        methods = listed([*dict.fromkeys(one.method for one in made)])
        method = f"{methods}, pooled by Rubin's rules over {m} imputations"
        if (np.ptp(ends, axis=0) <= ALIKE * np.abs(ends).max(axis=0)).all():
            return replace(made[0], method=method)  # nothing is missing
        if self.n_undefined:
            return Interval.none(
                f"it has no value in {self.n_undefined} of {m} imputations"
            )
        if lacking:
            return Interval.none(
                f"{len(lacking)} of {m} imputations have no standard error, since "
                f"{lacking[0]}"
            )
        level, df = self.each[0].level, self.pooled.df
        slope = SCALES[self.scale].slope(value)
        wilson = self.scale == "logit" and all(one.scale == "wilson" for one in made)
        shape = "wilson" if wilson else self.scale

        def limits(side: int) -> tuple[float, float, float]:
            # errors above and below may differ, also when they are pooled
            own = [one.se_towards(1 - 2 * side) for one in made]
            se = self._pooled(own).se * slope
            if shape == "wilson":
                rate = se**2 / (value * (1 - value))
                return *wilson_limits(value, rate, level, df), se
            t = math.nan if math.isinf(df) else df
            return *symmetric_limits(value, se, level, df=t, scale=shape), se

        (lower, _, below), (_, upper, above) = limits(0), limits(1)
        return Interval(
            lower,
            upper,
            self.pooled.se * slope,
            method,
            f"{made[0].assumes}; imputations are proper",
            df,
            shape,
            made[0].name,
            spread=value * (1 - value) if shape == "wilson" else math.nan,
            sides=(below, above),
        )

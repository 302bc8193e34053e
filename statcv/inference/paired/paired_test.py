"""The difference between two models, with Wald's test of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from statcv.metrics.areas.placements import ratio, symmetric_limits, tail


@dataclass(frozen=True)
class PairedTest:
    """The difference between two models, with its test.

    Attributes
    ----------
    difference, se, lower, upper : float
        The second estimate minus the first, its standard error and interval.
    statistic, p_value : float
    reason : str
        The reason why a number is missing or uninformative; otherwise empty.
    df : float
        Degrees of freedom of Student's t; NaN for the normal distribution.
    """

    difference: float
    se: float
    lower: float
    upper: float
    statistic: float
    p_value: float
    reason: str = ""
    df: float = math.nan

    @classmethod
    def unavailable(cls, difference: float, reason: str) -> PairedTest:
        """Return a test without a value, with the reason."""
        nan = float("nan")
        return cls(difference, nan, nan, nan, nan, nan, reason)

    @classmethod
    def of(
        cls,
        difference: float,
        se: float,
        level: float,
        df: float = math.nan,
        *,
        most: float = math.inf,
        reason: str = "",
    ) -> PairedTest:
        """Return Wald's test of a difference, and its interval.

        Parameters
        ----------
        difference, se : float
        level : float
            Confidence level of the interval.
        df : float
            Degrees of freedom of Student's t; the normal distribution unless given.
        most : float
            The largest possible difference, at which the limits end.
        reason : str
        """
        # a difference divided by its standard error, by Student's t or the normal
        lower, upper = symmetric_limits(difference, se, level, df=df)
        statistic = ratio(difference, se)
        return cls(
            difference=difference,
            se=se,
            lower=max(lower, -most),
            upper=min(upper, most),
            statistic=statistic,
            p_value=tail(statistic, df, "two-sided"),
            reason=reason,
            df=df,
        )

"""An estimate, with an interval that is computed when it is first needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from statcv.inference.intervals.interval import Interval


@dataclass(frozen=True)
class Estimate:
    """An estimate with its interval; ``float()`` returns the value.

    The interval is computed when it is first used, since it may need refits.

    Attributes
    ----------
    metric, label, how : str
        The metric, its label, and the way in which it is stated.
    value, level : float
        The estimate, and the confidence level of its interval.
    n_undefined, n_values : int
        The number of folds (or repeats) in which the metric has no value, and the
        number of all folds (or repeats).
    sd : float
        The standard deviation of the values: the Monte Carlo sd over repeats of a
        pooled or paired value, or the sd over folds of the values per fold. NaN if
        there is a single value, except for a sample of pairs, from which the Monte
        Carlo sd can be estimated.
    make : callable
        The function that computes the interval.
    bounds : tuple of float
        The least and the largest possible value, to which the interval is limited.
    """

    metric: str
    label: str
    how: str
    value: float
    level: float
    n_undefined: int
    n_values: int
    sd: float
    make: Callable[[], Interval] = field(repr=False, compare=False)
    bounds: tuple[float, float] = field(default=(-math.inf, math.inf), repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Keep the interval, but not the function that computes it."""
        return {**self.__dict__, "interval": self.interval, "make": None}

    @cached_property
    def interval(self) -> Interval:
        """The interval within the bounds, with a note if the estimate is outside."""
        made = self.make()
        lower, upper = max(made.lower, self.bounds[0]), min(made.upper, self.bounds[1])
        assumes, slack = made.assumes, 1e-12 * max(1.0, abs(self.value))
        if lower > self.value + slack or upper < self.value - slack:
            assumes += "; the estimate itself lies outside"
        return replace(made, lower=lower, upper=upper, assumes=assumes)

    @property
    def lower(self) -> float:
        """The lower limit of the interval; NaN if there is no interval."""
        return self.interval.lower

    @property
    def upper(self) -> float:
        """The upper limit of the interval; NaN if there is no interval."""
        return self.interval.upper

    @property
    def se(self) -> float:
        """The standard error, on the scale of the estimate."""
        return self.interval.se

    @property
    def method(self) -> str:
        """The method by which the interval was computed."""
        return self.interval.method

    @property
    def assumes(self) -> str:
        """The assumptions of the interval, or the reason why there is no interval."""
        return self.interval.assumes

    def with_interval(self, make: Callable[[], Interval]) -> Estimate:
        """Return the estimate with another interval."""
        return replace(self, make=make)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        stated = f"{self.label} {self.value:.3f} ({self.how.replace('_', ' ')})"
        if math.isnan(self.lower):
            return f"{stated}, no interval: {self.assumes}"
        return (
            f"{stated}, {100 * self.level:g}% interval {self.lower:.3f} to "
            f"{self.upper:.3f} by {self.method}"
        )

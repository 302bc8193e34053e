"""One number, with the interval that is made when it is asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from statcv.inference.intervals.interval import Interval


@dataclass(frozen=True)
class Estimate:
    """One number with its interval; ``float()`` of it is the number.

    The interval is made when it is first looked at, since it may need refits.

    Attributes
    ----------
    metric, label, how : str
    value, level : float
    n_undefined, n_values : int
        Folds (or repeats) in which the metric has no value, and all of them.
    sd : float
        Monte Carlo sd over repeats of the pooled or paired value; over folds of
        the values per fold. NaN where there is one, but for a sample of pairs, which
        tells of itself how far another one would be off.
    make : callable
        Makes the interval.
    bounds : tuple of float
        The least and the largest value, at which the interval ends.
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
        """Keep the interval, and not what makes it."""
        return {**self.__dict__, "interval": self.interval, "make": None}

    @cached_property
    def interval(self) -> Interval:
        """The interval, within the bounds; it says so where the number lies outside."""
        made = self.make()
        lower, upper = max(made.lower, self.bounds[0]), min(made.upper, self.bounds[1])
        assumes, slack = made.assumes, 1e-12 * max(1.0, abs(self.value))
        if lower > self.value + slack or upper < self.value - slack:
            assumes += "; the estimate itself lies outside"
        return replace(made, lower=lower, upper=upper, assumes=assumes)

    @property
    def lower(self) -> float:
        """The interval's lower limit; NaN where there is none."""
        return self.interval.lower

    @property
    def upper(self) -> float:
        """The interval's upper limit."""
        return self.interval.upper

    @property
    def se(self) -> float:
        """The standard error, on the number's own scale."""
        return self.interval.se

    @property
    def method(self) -> str:
        """How the interval was made."""
        return self.interval.method

    @property
    def assumes(self) -> str:
        """What the interval takes for granted, or why there is none."""
        return self.interval.assumes

    def with_interval(self, make: Callable[[], Interval]) -> Estimate:
        """Return the number with another interval."""
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

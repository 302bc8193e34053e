"""A method of the study, and its answer for a data set."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LEVEL = 0.95


@dataclass(frozen=True)
class Answer:
    """The answer of a method for one data set; NaN if it has none."""

    estimate: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    p: float = math.nan


@dataclass(frozen=True)
class Method:
    """An interval, a test or a point estimate.

    Attributes
    ----------
    metric, how, name : str
    kind : {"interval", "test", "estimate"}
    of : callable
        What the question reads of a data set → `Answer`.
    slow : bool
        Whether it is tried on a part of the data sets only.
    fits : callable
        How often it repeats the fits of the plan, for n records and a number of
        permutations.
    """

    metric: str
    how: str
    name: str
    kind: str
    of: Callable[[Any], Answer]
    slow: bool = False
    fits: Callable[[int, int], int] = lambda n, permutations: 0

    @property
    def label(self) -> tuple[str, str, str, str]:
        """What distinguishes it from the other methods of a cell."""
        return self.metric, self.how, self.name, self.kind

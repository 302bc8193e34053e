"""The attributes of comparisons and meta-analyses that plots read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pandas as pd

from statcv.inference import Readable
from statcv.inference.paired.contrasts import Contrasts


class Compared(Protocol):
    """A comparison of results, as a plot reads it."""

    @property
    def results(self) -> Mapping[str, Readable]:
        """The results by name."""

    @property
    def contrasts(self) -> Contrasts:
        """What is compared of them, and how."""

    @property
    def stated(self) -> str:
        """The label of the metric and of the way in which it is stated."""

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""

    @property
    def differences(self) -> pd.DataFrame:
        """One row per pair: first, second, difference, lower, upper, p."""


class Combined(Protocol):
    """A meta-analysis of comparisons in several data sets, as plots read it."""

    @property
    def table(self) -> pd.DataFrame:
        """One row per data set: difference, lower, upper, n."""

    @property
    def pooled(self) -> Any:
        """The mean over data sets with its intervals, or None."""

    @property
    def label(self) -> str:
        """The label of the difference."""

"""The attributes of comparisons and meta-analyses that plots read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.inference.paired.methods import PairedMethod
from statcv.inference.readable import Readable
from statcv.metrics import Metric


class Compared(Protocol):
    """A comparison of results, as plots read it."""

    @property
    def results(self) -> Mapping[str, Readable]:
        """The results by name."""

    @property
    def metric(self) -> Metric:
        """The metric by which they are compared."""

    @property
    def how(self) -> str:
        """The way in which the metric is stated and tested."""

    @property
    def stated(self) -> str:
        """The label of the metric and of the way in which it is stated."""

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""

    @property
    def method(self) -> PairedMethod:
        """The paired test."""

    @property
    def records(self) -> Any:
        """The predictions of all results by record, as the metric reads them."""

    def changes(self, first: str, second: str) -> NDArray[np.float64]:
        """Return each record's contribution; the mean of these is the difference."""

    def clusters(self, first: str, second: str) -> NDArray[np.intp] | None:
        """Return the cluster of each record; None if there are no clusters."""

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

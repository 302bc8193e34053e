"""What a picture may read of a comparison, and of several that are combined."""

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
    """Results side by side, as a picture reads them."""

    @property
    def results(self) -> Mapping[str, Readable]:
        """The results by name."""

    @property
    def metric(self) -> Metric:
        """What they are compared by."""

    @property
    def how(self) -> str:
        """The way in which the metric is stated and tested."""

    @property
    def stated(self) -> str:
        """The metric and the way in which it is stated, in words."""

    @property
    def level(self) -> float:
        """Of the intervals."""

    @property
    def method(self) -> PairedMethod:
        """The test."""

    @property
    def records(self) -> Any:
        """What the metric reads of each result, record by record."""

    def changes(self, first: str, second: str) -> NDArray[np.float64]:
        """Return each record's part in the difference, which is their mean."""

    def clusters(self, first: str, second: str) -> NDArray[np.intp] | None:
        """Return the cluster of each record; None where there are none."""

    @property
    def differences(self) -> pd.DataFrame:
        """One row per pair: first, second, difference, lower, upper, p."""


class Combined(Protocol):
    """Comparisons of several data sets, as a picture reads them."""

    @property
    def table(self) -> pd.DataFrame:
        """A row a data set: difference, lower, upper, n."""

    @property
    def pooled(self) -> Any:
        """The mean over data sets with its intervals, or None."""

    @property
    def label(self) -> str:
        """Of what is compared."""

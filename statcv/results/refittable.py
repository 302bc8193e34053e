"""A result whose model can be fitted again, as its tables, tests and reports see it."""

from __future__ import annotations

from typing import Any, Protocol

import pandas as pd

from statcv.inference import RandomEffects, Readable
from statcv.metrics import Metric
from statcv.results.call import Call
from statcv.results.final import FullModel
from statcv.results.refits import Refits
from statcv.results.selection import SelectionTable
from statcv.results.summary import Summary


class Refittable(Readable, Protocol):
    """What the modules of this room and of the report read of a result."""

    @property
    def refits(self) -> Refits:
        """The additional fits: all rows, jackknives and permutations."""

    @property
    def call(self) -> Call:
        """The arguments of the call."""

    @property
    def threshold(self) -> float | None:
        """The probability at which a record is classified as positive, if one."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings that the call gave."""

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics that the tables show."""

    @property
    def predictions(self) -> pd.DataFrame:
        """The held-out predictions, with one row per record and repeat."""

    @property
    def model(self) -> FullModel:
        """The model fitted to all rows."""

    @property
    def selection(self) -> SelectionTable:
        """How often each term was chosen in the training sets."""

    def _metric(self, name: str | Metric | None) -> Metric:
        """Return the metric of a name; the headline metric unless one is given."""

    def metrics(self, level: float = 0.95, *, by: Any = None) -> pd.DataFrame:
        """Return every metric, or those of groups of records."""

    def compare_groups(
        self, metric: str | Metric | None = None, *, by: Any, level: float = 0.95
    ) -> pd.DataFrame:
        """Return the differences of groups."""

    def heterogeneity(self, *, by: Any, level: float = 0.95) -> RandomEffects:
        """Return the random effects of groups."""

    def summary(self, level: float = 0.95, *, notes: bool = False) -> Summary:
        """Return the summary."""

"""The estimates of each cluster and their heterogeneity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from statcv.inference import RandomEffects
from statcv.report.facts import heterogeneity_table
from statcv.report.parts import (
    ReportTable,
    Said,
    Section,
    count,
    estimate_head,
    limits_cell,
    rounded,
)
from statcv.results.refittable import Refittable
from statcv.words import shared_digits

LEAST = 3  # least number of clusters for a variance between them
FEW = 4  # largest number of clusters of which every two are compared


@dataclass(frozen=True, eq=False)
class Clusters:
    """The headline metric of each cluster, and what differs between them.

    Attributes
    ----------
    label : str
        Label of the metric.
    level : float
        Confidence level of the intervals.
    own : pandas.DataFrame
        The rows of :meth:`~statcv.results.result.CVResult.metrics` for this metric.
    own_api : str
        Expression that gives the table of all metrics.
    spread : RandomEffects or None
        The random effects that combine the clusters; None if there are fewer than
        three, which do not determine a variance between them.
    spread_api : str
    differences : pandas.DataFrame or None
        Differences of every two clusters; None if there are many.
    differences_api : str
    """

    label: str
    level: float
    own: pd.DataFrame
    own_api: str
    spread: RandomEffects | None
    spread_api: str
    differences: pd.DataFrame | None
    differences_api: str

    @classmethod
    def of(cls, result: Refittable, by: Any, level: float) -> Clusters:
        """Compute the estimates of each cluster."""
        table, first = result.metrics(level, by=by), result.chosen_metrics[0]
        said = f"by={by!r}" if isinstance(by, str) else "by=by"
        own = table[table["metric"] == first.name]
        spread = differences = None
        if len(own) >= LEAST:
            spread = result.heterogeneity(by=by, level=level)
        if 1 < len(own) <= FEW:
            differences = result.compare_groups(first, by=by, level=level)
        compared = f"res.compare_groups({first.name!r}, {said}, level={level!r})"
        return cls(
            label=first.label,
            level=level,
            own=own,
            own_api=f"res.metrics({level!r}, {said})",
            spread=spread,
            spread_api=f"res.heterogeneity({said}, level={level!r})",
            differences=differences,
            differences_api=compared,
        )

    @property
    def group(self) -> Said:
        """The name of the grouping."""
        return Said(str(self.own.columns[1]), f"{self.own_api}.columns[1]")

    @property
    def number(self) -> Said:
        """The number of clusters."""
        api = f"{self.own_api}.iloc[:, 1].nunique()"
        return count(int(self.own.iloc[:, 1].nunique()), api)

    @property
    def section(self) -> Section:
        """The tables of clusters, of their differences and of their heterogeneity."""
        tables = [self._table()]
        if self.differences is not None:
            tables.append(self._differences(self.differences))
        if self.spread is not None:
            tables.append(heterogeneity_table(self.spread, self.spread_api))
        return Section("Clusters", tables=tuple(tables))

    def _table(self) -> ReportTable:
        """Return the estimates with their intervals, one row per cluster."""
        own, group, rows = self.own, self.group, []
        digits = shared_digits(own["lower"], own["upper"])
        for place, row in own.to_dict("index").items():
            at = f"{self.own_api}.loc[{place}, "
            label = Said(str(row[group.text]), f"{at}{group.text!r}]")
            n = count(int(row["n"]), f"{at}'n']")
            rows.append((label, n, limits_cell(row, at, digits)))
        hows = Said(
            ", ".join(own["how"].str.replace("_", " ").unique()),
            f"', '.join({self.own_api}.loc[{list(own.index)}, 'how']"
            ".str.replace('_', ' ').unique())",
        )
        caption = (f"{self.label} (", hows, ") by ", group)
        return ReportTable(
            caption, (group, "n", estimate_head(self.level)), tuple(rows)
        )

    def _differences(self, pairs: pd.DataFrame) -> ReportTable:
        """Return the differences of every two clusters."""
        rows = []
        for place, row in pairs.to_dict("index").items():
            at = f"{self.differences_api}.loc[{place}, "
            first, second = (
                Said(str(row[name]), f"{at}{name!r}]") for name in ("first", "second")
            )
            cell = limits_cell(row, at, value="difference")
            p = rounded(float(row["p_holm"]), f"{at}'p_holm']")
            rows.append((second, first, cell, p))
        caption = f"Differences of the {self.label}, second minus first"
        head = ("second", "first", estimate_head(self.level), "p (Holm)")
        return ReportTable(caption, head, tuple(rows))

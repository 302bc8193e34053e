"""The estimates of each cluster and their heterogeneity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.results.report.facts import heterogeneity_table
from statcv.results.report.parts import Said, Section, Table, count
from statcv.results.summary import column

if TYPE_CHECKING:
    from statcv.inference import RandomEffects
    from statcv.results.result import CVResult


@dataclass(frozen=True, eq=False)
class Clusters:
    """The headline metric of each cluster, and the random effects that combine them.

    Attributes
    ----------
    label : str
        Label of the metric.
    own : pandas.DataFrame
        The rows of :meth:`~statcv.results.result.CVResult.metrics` for this metric.
    spread : RandomEffects
    own_api, spread_api : str
        Expressions that give the table of all metrics, and the random effects.
    """

    label: str
    own: pd.DataFrame
    spread: RandomEffects
    own_api: str
    spread_api: str

    @classmethod
    def of(cls, result: CVResult, by: Any, level: float) -> Clusters:
        """Compute the estimates of each cluster."""
        table, first = result.metrics(level, by=by), result.chosen_metrics[0]
        said = repr(by) if isinstance(by, str) else "by"
        return cls(
            label=first.label,
            own=table[table["metric"] == first.name],
            spread=result.heterogeneity(by=by, level=level),
            own_api=f"res.metrics({level!r}, by={said})",
            spread_api=f"res.heterogeneity(by={said}, level={level!r})",
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
        """The tables of clusters and of their heterogeneity."""
        return Section(
            "Clusters",
            tables=(self._table(), heterogeneity_table(self.spread, self.spread_api)),
        )

    def _table(self) -> Table:
        """Return the estimates with their intervals, one row per cluster."""
        own, group, names = self.own, self.group, ("estimate", "lower", "upper")
        values = {name: own[name].tolist() for name in names}
        shown = {name: column(values[name], own["se"].tolist()) for name in names}
        sizes, labels = own["n"].tolist(), own.iloc[:, 1].tolist()
        rows = []
        for place, row in enumerate(own.index):
            at = f"{self.own_api}.loc[{row}, "
            cells = [
                Said(shown[name][place], f"{at}{name!r}]", values[name][place])
                for name in names
            ]
            label = Said(str(labels[place]), f"{at}{group.text!r}]")
            rows.append((label, count(sizes[place], f"{at}'n']"), *cells))
        caption = (f"{self.label} by ", group)
        return Table(caption, (group, "n", *names), tuple(rows))

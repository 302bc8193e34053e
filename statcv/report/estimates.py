"""The tables of a report: metrics, coefficients, clusters and paired differences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from statcv.errors import ArgumentError
from statcv.inference import RandomEffects
from statcv.report.characteristics import table1
from statcv.report.facts import heterogeneity_table, is_given, lists_coefficients
from statcv.report.parts import (
    Cited,
    Picture,
    Prose,
    ReportTable,
    Said,
    Section,
    Words,
    count,
    estimate_head,
    limits_cell,
    prose,
    rounded,
    shown,
    value_table,
)
from statcv.report.replay import stability_call
from statcv.results.refittable import Refittable
from statcv.results.summary import MANY
from statcv.tables import decimals
from statcv.words import limits_digits, shared_digits

# further columns of the metrics, and their heads
BARE = {
    "no_skill": "no skill",
    "boot632": ".632 estimate",
    "boot632plus": ".632+ estimate",
}
INSTABILITY = "Percentiles over models of each record's prediction by the final model."
Rows = list[tuple[Words, ...]]


def metrics_table(res: Cited, level: float) -> ReportTable:
    """Return the metrics with their intervals, and their values without skill."""
    table, api = res.thing.metrics(level), f"{res.api}.metrics({level!r})"
    bare = [name for name in BARE if name in table and table[name].notna().any()]
    rows: Rows = []
    for place, row in enumerate(table.to_dict("records")):
        at = f"{api}.loc[{place}, "
        digits = limits_digits(row["lower"], row["upper"])
        metric = res.thing.chosen_metrics[place].label
        label = Said(metric, f"{res.api}.chosen_metrics[{place}].label")
        how = Said(row["how"].replace("_", " "), f"{at}'how'].replace('_', ' ')")
        cells: Prose = tuple(
            shown(row[name], f"{at}{name!r}]", digits) for name in bare
        )
        rows.append(((label, " (", how, ")"), limits_cell(row, at), *cells))
    heads: Prose = tuple(Said(BARE[name], repr(BARE[name])) for name in bare)
    head = ("metric", estimate_head(level), *heads)
    return ReportTable("Metrics", head, tuple(rows))


def coefficient_tables(res: Cited) -> tuple[ReportTable, ...]:
    """Return the coefficients of the fit to all records, if these are not many."""
    if not lists_coefficients(res.thing):
        return ()
    whole, fits = res.thing.model.coefficients, res.thing.held.coefficients
    apis = {
        "coefficient": f"{res.api}.model.coefficients",
        "lowest of the folds": f"{res.api}.held.coefficients.min()",
        "highest of the folds": f"{res.api}.held.coefficients.max()",
    }
    parts = (whole.to_numpy(), fits.min().to_numpy(), fits.max().to_numpy())
    rows: Rows = []
    spreads = fits.std().to_numpy()
    spreads = spreads[spreads > 0]
    digits = decimals(float(spreads.min())) if len(spreads) else 3
    for place, name in enumerate(whole.index):
        cells = [
            shown(float(part[place]), f"{api}.iloc[{place}]", digits)
            for part, api in zip(parts, apis.values(), strict=True)
        ]
        rows.append((Said(str(name), f"{apis['coefficient']}.index[{place}]"), *cells))
    caption = prose("The model fitted to all {res.design.n:d} records", res=res)
    return (ReportTable(caption, ("term", *apis), tuple(rows)),)


def characteristics(res: Cited, by: Any) -> ReportTable | None:
    """Return the description of the records by cluster, or by class of the outcome.

    It is None for predictions of other software, for a formula of many columns, and if
    a column looks like an identifier.
    """
    result, said = res.thing, f"by={by!r}" if isinstance(by, str) else "by=by"
    if by is None:
        by = "outcome" if result.design.outcome.levels else None
        said = f"by={by!r}"
    unknown = is_given(result) and not result.validated
    if unknown or len(result.design.formula.columns) > MANY:
        return None
    try:
        made = table1(result, by)
    except ArgumentError:
        return None
    api, rows = f"scv.table1({res.api}, {said})", Rows()
    for place, (below, name, cells) in enumerate(made.body):
        row = [
            Said(cell, f"{api}.body[{place}][2][{k}]") for k, cell in enumerate(cells)
        ]
        label = Said(name, f"{api}.body[{place}][1]")
        rows.append((("– ", label) if below else label, *row))
    head = [Said(one, f"{api}.head[{k}]") for k, one in enumerate(made.head)]
    caption = "Characteristics of the records, those omitted included"
    return ReportTable(caption, tuple(head), tuple(rows))


# ---- stability ----


def stabilities(res: Cited) -> list[Cited]:
    """Return what was computed of the stability of predictions."""
    kept = res.thing.refits.stabilities.values()
    return [Cited(one, stability_call(one)) for one in kept]


def stability_section(place: int, found: Cited) -> Section:
    """Return the stability of predictions over some models."""
    title = prose("Stability over {found.described}", found=found)
    table = value_table(found.thing.overall, title, f"{found.api}.overall")
    draw = partial(found.thing.plot, "prediction")
    picture = Picture(f"stability-{place}", title, INSTABILITY, draw)
    items = found.each("notes")
    return Section(title, items=items, tables=(table,), pictures=(picture,))


# ---- a comparison ----


def estimates_in_words(res: Cited) -> Prose:
    """Return the estimates of all results of a comparison in one line."""
    words: Prose = (res.said("stated"), ": ")
    for place, (name, cell) in enumerate(_each(res)):
        words += ("; ",) * bool(place)
        words += (name, " ", *cell)
    return words


def comparison_tables(res: Cited) -> tuple[ReportTable, ReportTable]:
    """Return the estimates of all results, and their paired differences."""
    said = estimate_head(res.thing.level)
    estimates = ReportTable(res.said("stated"), ("result", said), tuple(_each(res)))
    digits, rows = _digits(res), Rows()
    for place, row in enumerate(res.thing.differences.to_dict("records")):
        at = f"{res.api}.differences.loc[{place}, "
        second, first = (Said(row[end], f"{at}{end!r}]") for end in ("second", "first"))
        cell = limits_cell(row, at, digits, "difference")
        tests = [rounded(row[name], f"{at}{name!r}]") for name in ("p", "p_holm")]
        rows.append(((second, " − ", first), cell, *tests))
    head = ("difference", said, "p", "p (Holm)")
    return estimates, ReportTable("Paired differences", head, tuple(rows))


def _each(res: Cited) -> list[tuple[Said, Prose]]:
    """Return the name of each result, and its estimate with the interval."""
    table, digits = res.thing.table, _digits(res)
    return [
        (
            Said(str(name), f"{res.api}.table.index[{place}]"),
            limits_cell(row, f"{res.api}.table.loc[{name!r}, ", digits),
        )
        for place, (name, row) in enumerate(table.to_dict("index").items())
    ]


def _digits(res: Cited) -> int:
    """Return the number of decimals of all estimates and differences."""
    pairs = res.thing.differences
    return shared_digits(pairs["lower"], pairs["upper"])


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

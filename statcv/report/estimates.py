"""The tables of a report: metrics, coefficients, clusters and paired differences."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from statcv.errors import ArgumentError
from statcv.report import parts
from statcv.report.characteristics import table1
from statcv.report.facts import heterogeneity_table, is_given, lists_coefficients
from statcv.report.parts import Cited, Prose, ReportTable, Said, Section, said
from statcv.report.prose import prose
from statcv.report.replay import stability_call
from statcv.results.result import CVResult
from statcv.results.summary import MANY
from statcv.tables import decimals
from statcv.words import SAME, limits_digits, shared_digits

# further columns of the metrics, and their heads
BARE = {"no_skill": "no skill", "boot632": ".632 estimate"}
BARE["boot632plus"] = ".632+ estimate"
INSTABILITY = "Percentiles over models of each record's prediction by the final model."
Rows = list[tuple[parts.Words, ...]]


def metrics_table(res: Cited, level: float) -> ReportTable:
    """Return the metrics with their intervals, and their values without skill."""
    table = res.metrics(level)
    known = [name for name in BARE if name in table.thing]
    bare = [name for name in known if table.thing[name].notna().any()]
    rows: Rows = []
    for place, metric in enumerate(res.chosen_metrics):
        row = partial(value_at, table, place)
        digits = limits_digits(row("lower").thing, row("upper").thing)
        cells = (parts.shown(row(name), digits) for name in bare)
        how = said(row("how").replace("_", " "))
        name = (said(metric.label), " (", how, ")")
        rows.append((name, parts.limits_cell(row), *cells))
    heads: Prose = tuple(Said(BARE[name], repr(BARE[name])) for name in bare)
    head = ("metric", parts.estimate_head(level), *heads)
    return ReportTable("Metrics", head, tuple(rows))


def value_at(table: Cited, label: Any, name: str) -> Cited:
    """Return a value of a table."""
    return table.loc[label, name]


def coefficient_tables(res: Cited) -> tuple[ReportTable, ...]:
    """Return the coefficients of the fit to all records, if these are not many."""
    if not lists_coefficients(res.thing):
        return ()
    whole, fits = res.model.coefficients, res.held.coefficients
    columns = {"coefficient": whole, "lowest of the folds": fits.min()}
    columns["highest of the folds"] = fits.max()
    finite = fits.thing[np.isfinite(fits.thing)]  # theta of counts may be infinite
    spreads = finite.std().to_numpy()
    spreads = spreads[spreads > SAME * spreads.max(initial=0.0)]
    digits = decimals(float(spreads.min())) if len(spreads) else 3
    rows: Rows = []
    for place, name in enumerate(whole.index):
        cells = [one.iloc[place] for one in columns.values()]
        size = max(abs(one.thing) for one in cells)
        rows.append((said(name), *(parts.shown(one, digits, size) for one in cells)))
    caption = prose("The model fitted to all {res.design.n|count} records", res=res)
    return (ReportTable(caption, ("term", *columns), tuple(rows)),)


def characteristics(res: Cited, by: Any) -> ReportTable | None:
    """Return the description of the records by cluster, or by class of the outcome.

    It is None for predictions of other software, for a formula of many columns, and if
    a column looks like an identifier.
    """
    result = res.thing
    if by is None:
        by = "outcome" if result.design.outcome.levels else None
    unknown = is_given(result) and not result.validated
    if unknown or len(result.design.formula.columns) > MANY:
        return None
    try:
        described = table1(result, by)
    except ArgumentError:
        return None
    named = parts.literal(by) or "by"
    made, rows = Cited(described, f"scv.table1({res.api}, by={named})"), Rows()
    for below, name, cells in made.body:
        label = ("– ", said(name)) if below.thing else said(name)
        rows.append((label, *map(said, cells)))
    caption = "Characteristics of the records, those omitted included"
    return ReportTable(caption, tuple(map(said, made.head)), tuple(rows))


# ---- stability ----


def stabilities(res: Cited) -> list[Cited]:
    """Return what was computed of the stability of predictions."""
    kept = res.thing.refits.stabilities.values()
    return [Cited(one, stability_call(one)) for one in kept]


def stability_section(place: int, found: Cited) -> Section:
    """Return the stability of predictions over some models."""
    title = prose("Stability over {found.described}", found=found)
    table = parts.value_table(found.overall, title)
    draw = partial(found.thing.plot, "prediction")
    picture = parts.Picture(f"stability-{place}", title, INSTABILITY, draw)
    items = tuple(map(said, found.notes))
    return Section(title, items=items, tables=(table,), pictures=(picture,))


# ---- a comparison ----


def estimates_in_words(res: Cited) -> Prose:
    """Return the estimates of all results of a comparison in one line."""
    each = [("; ", name, " ", *cell) for name, cell in _each(res)]
    return (said(res.stated), ": ", *sum(each, ())[1:])


def comparison_tables(res: Cited) -> tuple[ReportTable, ReportTable]:
    """Return the estimates of all results, and their paired differences."""
    head = parts.estimate_head(res.thing.level)
    estimates = ReportTable(said(res.stated), ("result", head), tuple(_each(res)))
    digits, rows = _digits(res), Rows()
    for place in range(len(res.thing.differences)):
        row = partial(value_at, res.differences, place)
        pair = (said(row("second")), " − ", said(row("first")))
        cell = parts.limits_cell(row, digits, "difference")
        tests = (parts.number_of(row(name)) for name in ("p", "p_holm"))
        rows.append((pair, cell, *tests))
    heads = ("difference", head, "p", "p (Holm)")
    return estimates, ReportTable("Paired differences", heads, tuple(rows))


def _each(res: Cited) -> list[tuple[Said, Prose]]:
    """Return the name of each result, and its estimate with the interval."""
    table, digits = res.table, _digits(res)
    return [
        (said(name), parts.limits_cell(partial(value_at, table, name.thing), digits))
        for name in table.index
    ]


def _digits(res: Cited) -> int:
    """Return the number of decimals of all estimates and differences."""
    pairs = res.thing.differences
    return shared_digits(pairs["lower"], pairs["upper"])


# ---- clusters ----

LEAST = 3  # least number of clusters for a variance between them
FEW = 4  # largest number of clusters of which every two are compared


def clusters_of(
    result: CVResult, by: Any, level: float
) -> tuple[Section, dict[str, parts.Words]]:
    """Return the estimates of each cluster, and what a checklist says of them.

    Fewer than three clusters do not determine a variance between them, and many are
    not compared two by two.
    """
    res, first = Cited(result), result.chosen_metrics[0]
    table = res.metrics(level, by=by)
    own = table.thing[table.thing["metric"] == first.name]
    group, estimate = said(table.columns[1]), parts.estimate_head(level)
    groups = Cited(own.iloc[:, 1], f"{table.api}.iloc[:, 1]")
    number = parts.count(groups.nunique())
    facts: dict[str, parts.Words] = {"group": group, "clusters": (number, " clusters")}
    rows: Rows = []
    digits = shared_digits(own["lower"], own["upper"])
    for place in own.index:
        row = partial(value_at, table, place)
        label, n = said(row(group.text)), parts.count(row("n"))
        rows.append((label, n, parts.limits_cell(row, digits)))
    of_hows = f"{table.api}.loc[{list(own.index)}, 'how'].str.replace('_', ' ')"
    text = ", ".join(own["how"].str.replace("_", " ").unique())
    hows = Said(text, f"', '.join({of_hows}.unique())")
    caption: parts.Words = (f"{first.label} (", hows, ") by ", group)
    tables = [ReportTable(caption, (group, "n", estimate), tuple(rows))]
    if 1 < len(own) <= FEW:
        pairs, rows = res.compare_groups(first.name, by=by, level=level), []
        for place in pairs.thing.index:
            row = partial(value_at, pairs, place)
            cell = parts.limits_cell(row, value="difference")
            names = (said(row(name)) for name in ("second", "first"))
            rows.append((*names, cell, parts.number_of(row("p_holm"))))
        caption = f"Differences of the {first.label}, second minus first"
        head = ("second", "first", estimate, "p (Holm)")
        tables.append(ReportTable(caption, head, tuple(rows)))
    if len(own) >= LEAST:
        spread = res.heterogeneity(by=by, level=level)
        tables.append(heterogeneity_table(spread))
        facts["grouping"] = group
        facts["i2"] = parts.number_of(spread.i2)
        facts["tau2"] = parts.number_of(spread.tau2)
    return Section("Clusters", tables=tuple(tables)), facts

"""The tables of a report: metrics, coefficients, clusters and paired differences."""

from __future__ import annotations

from functools import partial
from typing import Any

from statcv.errors import ArgumentError
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


# ---- clusters ----

LEAST = 3  # least number of clusters for a variance between them
FEW = 4  # largest number of clusters of which every two are compared


def clusters_of(
    result: Refittable, by: Any, level: float
) -> tuple[Section, dict[str, Words]]:
    """Return the estimates of each cluster, and what a checklist says of them.

    Fewer than three clusters do not determine a variance between them, and many are
    not compared two by two.
    """
    first, said = result.chosen_metrics[0], "by=by"
    if isinstance(by, str):
        said = f"by={by!r}"
    table, api = result.metrics(level, by=by), f"res.metrics({level!r}, {said})"
    own = table[table["metric"] == first.name]
    group = Said(str(own.columns[1]), f"{api}.columns[1]")
    number = count(int(own.iloc[:, 1].nunique()), f"{api}.iloc[:, 1].nunique()")
    facts: dict[str, Words] = {"group": group, "clusters": (number, " clusters")}
    rows: Rows = []
    digits = shared_digits(own["lower"], own["upper"])
    for place, row in own.to_dict("index").items():
        at = f"{api}.loc[{place}, "
        label = Said(str(row[group.text]), f"{at}{group.text!r}]")
        n = count(int(row["n"]), f"{at}'n']")
        rows.append((label, n, limits_cell(row, at, digits)))
    hows = Said(
        ", ".join(own["how"].str.replace("_", " ").unique()),
        f"', '.join({api}.loc[{list(own.index)}, 'how']"
        ".str.replace('_', ' ').unique())",
    )
    caption: Words = (f"{first.label} (", hows, ") by ", group)
    estimate = estimate_head(level)
    tables = [ReportTable(caption, (group, "n", estimate), tuple(rows))]
    if 1 < len(own) <= FEW:
        rows, api = [], f"res.compare_groups({first.name!r}, {said}, level={level!r})"
        pairs = result.compare_groups(first, by=by, level=level)
        for place, row in pairs.to_dict("index").items():
            at = f"{api}.loc[{place}, "
            one, two = (Said(str(row[n]), f"{at}{n!r}]") for n in ("first", "second"))
            p = rounded(float(row["p_holm"]), f"{at}'p_holm']")
            rows.append((two, one, limits_cell(row, at, value="difference"), p))
        caption = f"Differences of the {first.label}, second minus first"
        head = ("second", "first", estimate, "p (Holm)")
        tables.append(ReportTable(caption, head, tuple(rows)))
    if len(own) >= LEAST:
        spread = result.heterogeneity(by=by, level=level)
        api = f"res.heterogeneity({said}, level={level!r})"
        tables.append(heterogeneity_table(spread, api))
        facts["grouping"] = group
        facts["i2"] = rounded(float(spread.i2), f"{api}.i2")
        facts["tau2"] = rounded(float(spread.tau2), f"{api}.tau2")
    return Section("Clusters", tables=tuple(tables)), facts

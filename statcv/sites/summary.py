"""A result over sites as text, as a report and as a picture."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

from statcv.results.summary import Summary
from statcv.sites.disclosure import UNGUARDED, disclosure_sheet
from statcv.sites.plan import SitesPlan
from statcv.sites.pooled import PooledSums, QueriedSums
from statcv.tables import Table, column, row_digits, shown_frame
from statcv.words import plural, sentence_case

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from statcv.sites.result import SitesResult


def heading_of(result: SitesResult) -> list[str]:
    """Return how records were held out, and what was fitted, in a line or two."""
    sites = plural(len(result.source.sums.sites), "site")
    if isinstance(result.source, QueriedSums):
        folds = plural(len(result.source.sums.by_fold), "fold")
        return [f"Sums of {sites}, made by a query; {folds}"]
    plan = result.plan
    label = sentence_case(plan.learner.label)
    first = f"Cross-validation of {sites}: {_folds_in_words(plan)}"
    return [first, f"{label}: {plan.formula}"]


def _folds_in_words(plan: SitesPlan) -> str:
    return f"{plan.k} folds, {plan.stratify['sentence']}"


def summary_of(result: SitesResult, level: float) -> Summary:
    """Return model, folds, sites and metrics as text and tables."""
    metrics = result.metrics(level)
    assert isinstance(metrics, Table)
    by_site, headline = result.by_site(level=level), result.estimate(level=level)
    sites = by_site.drop(columns="se")
    for name in ("estimate", "lower", "upper", "without"):
        digits = row_digits(by_site, "lower", "upper")
        sites[name] = column(by_site[name].tolist(), [], digits)
    tables = {"Metrics": metrics.set_index("metric"), "Sites": by_site}
    if isinstance(result.source, QueriedSums):
        title = "Held-out predictions of sites, from sums made by a query"
        tables["Folds"] = result.folds
        facts, notes = _of_query(result.source, headline.assumes)
    else:
        title = f"Cross-validation of {result.plan.formula} over sites"
        if not result.plan.grown:
            tables["Model"] = result.model
        method = f"Interval of {headline.label}: {headline.method}; {headline.assumes}."
        facts, notes = _of_run(result, level)
        notes.insert(0, method)
    shown = {"Metrics": shown_frame(metrics).drop(columns="how")}
    shown[f"{headline.label} by site"] = sites
    return Summary(
        title=title,
        headline=str(headline),
        facts=tuple(facts),
        tables=tables,
        shown=shown,
        notes=tuple(notes),
    )


FactsAndNotes = tuple[list[tuple[str, str]], list[str]]


def _of_query(source: QueriedSums, assumes: str) -> FactsAndNotes:
    """Return facts and notes of sums that were made by a query."""
    sums = source.sums
    facts = [
        ("sites", ", ".join(sums.sites)),
        ("outcome", f"{int(sums.total['positive'])} of {sums.n} positive"),
        ("scheme", plural(len(sums.by_fold), "fold")),
    ]
    notes = [
        f"Intervals: DeLong's for auROC, of records for means; each {assumes}.",
        f"auROC is computed from counts in at most {_order_in_words(sums)}",
    ]
    if lost := sum(number != 0 for number in source.left_out.values()):
        notes.append(
            f"{plural(lost, 'site')} omitted rows in which something is missing, "
            "or is not an outcome or a probability."
        )
    return facts, notes


def _of_run(result: SitesResult, level: float) -> FactsAndNotes:
    """Return facts and notes of a run."""
    run, plan = result.run, result.plan
    found = result.heterogeneity(level=level)
    notes = [
        f"Sites combined by random effects: {found.estimate:.3f} "
        f"({found.lower:.3f} to {found.upper:.3f}), I² "
        f"{found.i2:.0%}, p of no heterogeneity {found.p_heterogeneity:.3f}.",
        "Estimates of sites take the fits of all sites as given; `without` leaves "
        "the site out.",
    ]
    if plan.binary:
        notes.append(f"auROC is computed from counts in {_order_in_words(run.sums)}")
    if lost := int(run.progress.fits.open[: plan.k].sum()):
        notes.append(
            f"{plural(lost, 'fold')} did not converge: classes may be "
            "separated; agree on model='firth'."
        )
    if plan.grown:
        notes.append(UNGUARDED)
    sent = max(run.bytes_up.values())
    facts = [
        ("model", plan.learner.label),
        ("scheme", f"{plan.scheme}: {_folds_in_words(plan)}"),
        ("sites", f"{', '.join(run.sums.sites)}; n = {run.sums.n}"),
        ("exchange", f"{run.progress.round} rounds, at most {sent} bytes from a site"),
        ("plan", plan.fingerprint[:12]),
    ]
    return facts, notes


def _order_in_words(sums: PooledSums) -> str:
    """Say how many intervals there are, and what the order within them does."""
    return (
        f"{len(sums.edges) + 1} intervals. The order within them is unknown, and taken "
        "as random: that adds a standard error of about "
        f"{sums.order_se('per_fold'):.2g}, which the interval counts. Whatever the "
        f"order, the error is at most {sums.bound('per_fold'):.2g}."
    )


def write_report_of(
    result: SitesResult, path: str | PathLike[str], level: float
) -> PathLike[str]:
    """Write a report of plan, sites, disclosure, estimates and heterogeneity."""
    from statcv import report

    report.check_path(path)
    res, value_table = report.Cited(result), report.value_table
    summary, folds = res.summary(level=level), res.folds.set_index("fold")
    if isinstance(result.source, QueriedSums):
        made = report.general_report(summary, [value_table(folds, "Folds")])
        return report.write_report(made, path)
    document, plan = res.plan.document, result.plan
    agreed = [(name, report.said(document[name])) for name in plan.document]
    sheet = report.Cited(disclosure_sheet(plan), "scv.sites.disclosure_sheet(res.plan)")
    tables = [
        report.named_values("Plan", *agreed),
        value_table(res.sites, "Sites"),
        report.heterogeneity_table(res.heterogeneity(level=level)),
        value_table(folds[list(result.folds.columns[2:])], "Folds"),
    ]
    if not plan.grown:
        tables.append(value_table(res.model, "Fit of all records"))
    tables.append(value_table(sheet.set_index("array"), "What leaves each site"))
    about = "Headline metric of each site, and of all sites, with intervals."
    drawn = partial(result.plot, level=level)
    forest = report.Picture("sites", "Estimates by site", about, drawn)
    made = report.general_report(summary, tables, [forest])
    return report.write_report(made, path)


def plot_sites(result: SitesResult, ax: Axes | None, level: float) -> Axes:
    """Draw the headline metric of each site, and of all, as a forest plot."""
    from statcv.plots import plot_forest

    table = result.by_site(level=level)[["estimate", "lower", "upper", "n"]]
    one = result.estimate(level=level)
    table.loc["all sites"] = [one.value, one.lower, one.upper, result.n]
    made = plot_forest(table.astype({"n": int}), ax=ax)
    made.set_xlabel(f"{one.label} ({one.how.replace('_', ' ')})")
    return made

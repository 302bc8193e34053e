"""What a report contains, by the kind of result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from statcv.errors import ArgumentError
from statcv.plots.drawn import named_results
from statcv.plots.referee import MAX_CLASSES, PANELS
from statcv.report import estimates, parts
from statcv.report.checklists import GUIDELINES, answers_of, checklist, same_or_each
from statcv.report.facts import data_flow, names_of, session
from statcv.report.methods_paragraph import methods_section
from statcv.report.parts import Cited, ReportTable, Section, said
from statcv.report.prose import phrase, prose
from statcv.report.replay import comparison_draws, replay, replay_comparison
from statcv.results.comparison.comparison import Comparison
from statcv.results.pooling import Pooled
from statcv.results.result import CVResult
from statcv.results.writing.styles import check_style
from statcv.words import stored_rows


def shown_tables(summary: Cited) -> tuple[ReportTable, ...]:
    """Return the rounded tables of a summary."""
    return tuple(
        parts.text_table(table, caption, f"{summary.api}.shown[{caption!r}]")
        for caption, table in summary.thing.shown.items()
    )


def notes_of(summary: Cited) -> Section:
    """Return the notes of a summary."""
    return Section("Notes", items=tuple(map(said, summary.notes)))


def facts_of(summary: Cited) -> ReportTable:
    """Return what a summary says of model, scheme and data."""
    rows = [(said(name), said(text)) for name, text in summary.facts]
    return parts.named_values("Model, scheme and data", *rows)


# ---- one result ----


def result_report(
    result: CVResult, style: str | None, by: Any, level: float
) -> parts.Report:
    """Return the report of a cross-validation, or of an external validation.

    Parameters
    ----------
    result : CVResult
    style, by, level
        The arguments of :meth:`~statcv.results.result.CVResult.report`.
    """
    by = result.call.by if by is None else by
    check_style(style, by)
    res, model = Cited(result), result.validated
    summary = res.summary(level=level, notes=True)
    options: dict[str, Any] = {"style": style, "by": by}
    options = {name: value for name, value in options.items() if value is not None}
    if level != 0.95:
        options["level"] = level
    table = estimates.characteristics(res, by)
    described = () if table is None else (table,)
    tables = (facts_of(summary), data_flow(res), *described)
    sections = [
        Section("Call and data", (phrase("sentence", res, level),), tables=tables)
    ]
    if style == "tripod+ai":
        sections.append(methods_section({"": res}, level))
    if model and model.text:
        label = said(res.learner.label)
        sections.append(Section("Model", (label,), code=(model.text,)))
    external = result.scores.external
    if not external:
        scheme = prose("Scheme: {res.plan.sentence}.", res=res)
        findings = tuple(said(one.sentence) for one in res.audit.findings)
        sections.append(Section("Folds and their audit", (scheme,), findings))
    tables = (estimates.metrics_table(res, level), *estimates.coefficient_tables(res))
    if model:  # the summary states each group
        tables += shown_tables(summary)[1:]
    sections.append(Section("Estimates", tables=tables))
    facts: dict[str, parts.Words] = {}
    if by is not None:
        clusters, facts = estimates.clusters_of(result, by, level)
        sections.append(clusters)
    moved = estimates.stabilities(res)
    sections += map(estimates.stability_section, range(len(moved)), moved)
    sections.append(pictures_section(result, level))
    if style is not None:
        if described:
            facts["described"] = "see the table of characteristics"
        answers = answers_of(style, res, level, **facts)
        for found in moved if style == "tripod+ai" else ():
            over = "over {found.described}"
            error = "; mean absolute prediction error {found.mape|number} "
            answers[0]["12e"] += prose(
                f"; stability of predictions {over}", found=found
            )
            answers[0]["23a"] += prose(error + over, found=found)
        sections.append(checklist(GUIDELINES[style], answers))
    quiet, warned = ("The call gave no warning.",), tuple(map(said, res.warnings))
    warnings = Section("Warnings of the call", () if warned else quiet, warned)
    last = session(None if external else parts.count(res.seed), replay(result, options))
    every = (*sections, notes_of(summary), warnings, last)
    return parts.Report(said(summary.title), phrase("headline", res, level), every)


# ---- a comparison ----


def comparison_report(comparison: Comparison, style: str | None = None) -> parts.Report:
    """Return the report of a comparison.

    Parameters
    ----------
    comparison : Comparison
    style : str, optional
        Reporting guideline, as in
        :meth:`~statcv.results.comparison.comparison.Comparison.report`.

    Raises
    ------
    ArgumentError
        If the style is unknown, or is for one result alone.
    """
    if style == "tripod-cluster":
        name = next(iter(comparison.results))
        raise ArgumentError(
            "style='tripod-cluster' is for one result, since a comparison has no "
            f"estimates of each cluster; use res.results[{name!r}].report(path, "
            "style='tripod-cluster', by=...)."
        )
    check_style(style)
    res, level = Cited(comparison), comparison.level
    summary, names = res.summary(notes=True), names_of(comparison)
    results = {name.text: res.results[name.text] for name in names}
    sections = [Section("Data", tables=(facts_of(summary),))]
    if style == "tripod+ai":
        sections.append(methods_section(results, level, comparison))
    sections += [
        Section("Estimates and differences", tables=estimates.comparison_tables(res)),
        Section("Pictures", pictures=pictures_of_comparison(comparison)),
    ]
    if style is not None:
        each = {name: answers_of(style, one, level) for name, one in results.items()}
        lists = zip(*each.values(), strict=True)
        answers = tuple(same_or_each(names, own) for own in lists)
        if style == "tripod+ai":
            compared = prose("; {res.stated} compared by {res.method.title}", res=res)
            differ = "; see the estimates and differences"
            answers[0]["12e"] = (*answers[0]["12e"], *compared)
            answers[0]["23a"] = (*answers[0]["23a"], differ)
        sections.append(checklist(GUIDELINES[style], answers))
    sections.append(notes_of(summary))
    for named, one in zip(names, results.values(), strict=True):
        warned = tuple(map(said, one.warnings))
        quoted = ("The call gave warnings:",) * bool(warned)
        own = facts_of(one.summary(level=level, notes=True))
        sections.append(Section(("Result ", named), quoted, warned, (own,)))
    options = {} if style is None else {"style": style}
    first = next(iter(results.values()))
    seed = parts.count(first.seed) if comparison_draws(comparison) else None
    last = session(seed, replay_comparison(comparison, options))
    title = said(res.computed("'Comparison of results by ' + res.metric.label"))
    return parts.Report(title, estimates.estimates_in_words(res), (*sections, last))


# ---- a result over imputations, or over sites ----


def pooled_report(pooled: Pooled, level: float) -> parts.Report:
    """Return the report of results over imputed data sets.

    Parameters
    ----------
    pooled : Pooled
    level : float
        Confidence level of the intervals.
    """
    each = [one.estimate(level=level) for one in pooled.imputations]
    rows = [(one.value, one.lower, one.upper) for one in each]
    frame = pd.DataFrame(rows, columns=["estimate", "lower", "upper"])
    frame.index = pd.RangeIndex(1, len(each) + 1, name="imputation")
    columns = "(one.value, one.lower, one.upper)"
    table = Cited(frame, f"pd.DataFrame([{columns} for one in each])")
    title, text = "Estimates by imputation", "Headline metric in each imputed data set"
    text += ", and pooled, with intervals."
    draw = partial(pooled.plot, level=level)
    forest = parts.Picture("imputations", title, text, draw)
    tables, summary = [parts.value_table(table, each[0].label)], Cited(pooled).summary
    return general_report(summary(level=level), tables, [forest], "Imputations")


def pooled_comparison_report(comparison: Comparison) -> parts.Report:
    """Return the report of a comparison of results over imputed data sets.

    Parameters
    ----------
    comparison : PooledComparison
    """
    text = "Differences with intervals, pooled over imputations."
    forest = parts.Picture("differences", "Differences", text, comparison.plot)
    return general_report(Cited(comparison).summary(notes=True), [], [forest])


def general_report(
    summary: Cited,
    tables: Sequence[ReportTable],
    pictures: Sequence[parts.Picture] = (),
    further: str = "Plan, sites and disclosure",
) -> parts.Report:
    """Return the report of a result that has a summary and further tables.

    Parameters
    ----------
    summary : Cited
        Summary of the result.
    tables : sequence of ReportTable
        Further tables.
    pictures : sequence of parts.Picture
    further : str
        Heading of the further tables.
    """
    more = (Section(further, tables=tuple(tables)),) * bool(tables)
    sections = (
        Section("Plan and data", tables=(facts_of(summary),)),
        Section("Estimates", tables=shown_tables(summary)),
        Section("Pictures", pictures=tuple(pictures)),
        *more,
        notes_of(summary),
        session(None),
    )
    return parts.Report(said(summary.title), said(summary.headline), sections)


# ---- pictures, by the kind of outcome ----


# what is said of ordered classes instead
AT_CUTS = (
    (", each class against the others", " at each cut point"),
    ("one curve per class", "one curve per cut point"),
    ("share of a class", "share above a cut point"),
)


def _described(kind: str) -> list[tuple[str, ...]]:
    """Return the name, title and description of each picture; "none" of one omitted."""
    return [
        row[1:]
        for row in stored_rows("statcv.report", "templates/pictures.txt")
        if row[0] == kind
    ]


def pictures_section(result: CVResult, level: float) -> Section:
    """Return the pictures that ``result.plot()`` shows, and what is said of others.

    Parameters
    ----------
    result : CVResult
    level : float
        Confidence level of the bands.
    """
    kind, outcome = result.design.outcome.kind, result.design.outcome
    draws = PANELS[kind](named_results((result,), "report"), level)
    probabilities, external = result.scores.probabilities, result.scores.external
    if kind == "binary" and not probabilities:
        kind = "scores"
    elif kind == "survival" and not outcome.horizons:
        kind = "without horizon"
    many = len(outcome.levels) > MAX_CLASSES
    pictures = []
    for words, draw in zip(_described(kind), draws, strict=True):
        if words == ("none",):
            continue
        name, title, text = words
        if outcome.ordered:
            for a, b in AT_CUTS:
                title, text = title.replace(a, b), text.replace(a, b)
        if external:
            text = text.replace("held-out ", "").replace("Held-out p", "P")

        pictures.append(parts.Picture(name, title, text, draw))
    why = phrase("not_drawn", kind, outcome.ordered, many, probabilities)
    return Section("Pictures", prose=(why,) * bool(why), pictures=tuple(pictures))


def pictures_of_comparison(comparison: Comparison) -> tuple[parts.Picture, ...]:
    """Return the pictures of a comparison.

    Parameters
    ----------
    comparison : Comparison
    """
    results = comparison.results.values()
    names = ["forest"]
    if {one.design.outcome.kind for one in results} == {"binary"}:
        names.append("roc")
        if all(one.scores.probabilities for one in results):
            names.append("decision")
    first, more = next(iter(results)).design.outcome, {}
    if first.horizons:
        names, more = ["forest", "roc", "decision"], {"at": first.horizons[-1]}
    options: dict[str, Any] = {"forest": {}} | dict.fromkeys(names[1:], more)
    pictures = []
    for name, title, text in _described("comparison"):
        if name in options:
            draw = partial(comparison.plot, name, **options[name])
            pictures.append(parts.Picture(name, title, text, draw))
    return tuple(pictures)

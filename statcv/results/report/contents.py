"""What a report contains, by the kind of result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from statcv.errors import ArgumentError
from statcv.results.report.answers import answers_of, same_or_each
from statcv.results.report.checklists import GUIDELINES, checklist
from statcv.results.report.clusters import Clusters
from statcv.results.report.facts import (
    data_flow,
    lists_coefficients,
    sentence_parts,
    session,
    warnings_of,
    warnings_section,
)
from statcv.results.report.methods import methods_section
from statcv.results.report.parts import (
    Picture,
    Report,
    Said,
    Section,
    Table,
    Words,
    count,
    joined,
    named_values,
    text_table,
    value_table,
)
from statcv.results.report.pictures import pictures_of_comparison, pictures_section
from statcv.results.report.replay import comparison_draws, replay, replay_comparison
from statcv.results.styles import check_style
from statcv.results.summary import Summary

if TYPE_CHECKING:
    from statcv.results.comparison.comparison import Comparison
    from statcv.results.result import CVResult


def shown_tables(summary: Summary, api: str) -> tuple[Table, ...]:
    """Return the rounded tables of a summary."""
    return tuple(
        text_table(table, caption, f"{api}.shown[{caption!r}]")
        for caption, table in summary.shown.items()
    )


def notes_of(summary: Summary, api: str) -> tuple[Said, ...]:
    """Return the notes of a summary."""
    return tuple(
        Said(note, f"{api}.notes[{place}]") for place, note in enumerate(summary.notes)
    )


def facts_of(summary: Summary, api: str) -> Table:
    """Return what a summary says of model, scheme and data."""
    rows = [
        (Said(name, f"{api}.facts[{place}][0]"), Said(text, f"{api}.facts[{place}][1]"))
        for place, (name, text) in enumerate(summary.facts)
    ]
    return named_values("Model, scheme and data", *rows)


# ---- one result ----


def of_model(result: CVResult, root: str = "res") -> tuple[Table, ...]:
    """Return the coefficients of the fit to all records, if these are not many."""
    if not lists_coefficients(result):
        return ()
    api = f"{root}.model.coefficients.to_frame()"
    n = count(result.design.n, f"{root}.design.n")
    caption = ("The model, fitted to all ", n, " records, which predicts new ones")
    assert result.model.coefficients is not None
    return (value_table(result.model.coefficients.to_frame(), caption, api),)


def result_report(result: CVResult, style: str | None, by: Any, level: float) -> Report:
    """Return the report of a cross-validation, or of an external validation.

    Parameters
    ----------
    result : CVResult
    style, by, level
        The arguments of :meth:`~statcv.results.result.CVResult.report`.
    """
    check_style(style, by)
    api = f"res.summary(level={level!r})"
    summary = result.summary(level)
    options: dict[str, Any] = {"style": style, "by": by}
    options = {name: value for name, value in options.items() if value is not None}
    if level != 0.95:
        options["level"] = level
    clusters = None if by is None else Clusters.of(result, by, level)
    sections = [
        Section(
            "Call and data",
            prose=(sentence_parts(result, level),),
            tables=(facts_of(summary, api), data_flow(result)),
        )
    ]
    if style == "tripod+ai":
        sections.append(methods_section({"": result}, level))
    external = result.scores.external
    if not external:
        folds = Section(
            "Folds and their audit",
            prose=(Said(result.plan.sentence, "res.plan.sentence"),),
            items=tuple(
                Said(found.sentence, f"res.audit.findings[{place}].sentence")
                for place, found in enumerate(result.audit.findings)
            ),
        )
        sections.append(folds)
    sections += [
        Section("Estimates", tables=(*shown_tables(summary, api), *of_model(result))),
    ]
    if clusters is not None:
        sections.append(clusters.section)
    sections.append(pictures_section(result, level))
    if style is not None:
        answers = answers_of(style, result, level, clusters)
        sections.append(checklist(GUIDELINES[style], answers))
    sections += [
        Section("Notes", items=notes_of(summary, api)),
        warnings_section(result),
        Section(
            "Session and replay",
            tables=(session(None if external else count(result.seed, "res.seed")),),
            code=replay(result, options),
        ),
    ]
    headline = Said(summary.headline, f"{api}.headline")
    return Report(Said(summary.title, f"{api}.title"), headline, tuple(sections))


# ---- a comparison ----


def comparison_report(comparison: Comparison, style: str | None = None) -> Report:
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
    summary, api, level = comparison.summary(), "res.summary()", comparison.level
    results = dict(comparison.results)
    sections = [Section("Data", tables=(facts_of(summary, api),))]
    if style == "tripod+ai":
        sections.append(methods_section(results, level, comparison))
    sections += [
        Section("Estimates and differences", tables=shown_tables(summary, api)),
        Section("Pictures", pictures=pictures_of_comparison(comparison)),
    ]
    if style is not None:
        answers = same_or_each(
            {
                name: answers_of(style, one, level, root=f"res.results[{name!r}]")
                for name, one in results.items()
            }
        )
        if style == "tripod+ai":
            differ = "; see the estimates and differences"
            answers[0]["12e"] = (*answers[0]["12e"], *_compared(comparison))
            answers[0]["23a"] = (*answers[0]["23a"], differ)
        sections.append(checklist(GUIDELINES[style], answers))
    sections.append(Section("Notes", items=notes_of(summary, api)))
    sections += [
        _one_result(place, name, one, level)
        for place, (name, one) in enumerate(results.items())
    ]
    options = {} if style is None else {"style": style}
    sections.append(_end_of_comparison(comparison, options))
    return Report(
        Said(summary.title, f"{api}.title"), _estimates(comparison), tuple(sections)
    )


def _compared(comparison: Comparison) -> tuple[str | Said, ...]:
    """Return what was compared, and by which test."""
    stated = Said(comparison.stated, "res.stated")
    return (
        "; ",
        stated,
        " compared by ",
        Said(comparison.method.title, "res.method.title"),
    )


def _one_result(place: int, name: str, result: CVResult, level: float) -> Section:
    """Return what was fitted for one of the results, and the warnings of its call."""
    root = f"res.results[{name!r}]"
    api = f"{root}.summary(level={level!r})"
    return Section(
        ("Result ", Said(name, f"list(res.results)[{place}]")),
        prose=("The call gave warnings:",) * bool(result.warnings),
        items=warnings_of(result, root),
        tables=(facts_of(result.summary(level), api),),
    )


def _end_of_comparison(comparison: Comparison, options: dict[str, Any]) -> Section:
    """Return the session, and the calls that make the comparison again."""
    name, first = next(iter(comparison.results.items()))
    seed = None
    if comparison_draws(comparison):
        seed = count(first.seed, f"res.results[{name!r}].seed")
    return Section(
        "Session and replay",
        tables=(session(seed),),
        code=replay_comparison(comparison, options),
    )


def _estimates(comparison: Comparison) -> Words:
    """Return the estimates of all results in one line."""
    table = comparison.table
    each = [
        (
            Said(str(name), f"res.table.index[{place}]"),
            " ",
            Said(f"{value:.3f}", f"res.table.loc[{name!r}, 'estimate']", float(value)),
        )
        for place, (name, value) in enumerate(table["estimate"].items())
    ]
    return (Said(comparison.stated, "res.stated"), ": ", *joined(each, "; "))


# ---- a result over sites ----


def general_report(
    summary: Summary,
    level: float,
    tables: Sequence[Table],
    pictures: Sequence[Picture] = (),
) -> Report:
    """Return the report of a result that has a summary and further tables.

    Parameters
    ----------
    summary : Summary
    level : float
        Confidence level of the intervals.
    tables : sequence of Table
        Further tables.
    pictures : sequence of Picture
    """
    api = f"res.summary(level={level!r})"
    sections = (
        Section("Plan and data", tables=(facts_of(summary, api),)),
        Section("Estimates", tables=shown_tables(summary, api)),
        Section("Pictures", pictures=tuple(pictures)),
        Section("Plan, sites and disclosure", tables=tuple(tables)),
        Section("Notes", items=notes_of(summary, api)),
        Section("Session", tables=(session(None),)),
    )
    headline = Said(summary.headline, f"{api}.headline")
    return Report(Said(summary.title, f"{api}.title"), headline, sections)

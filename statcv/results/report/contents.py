"""What a report contains, by the kind of result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.results.report.checklists import probast_section, tripod_section
from statcv.results.report.facts import (
    data_flow,
    replay,
    rounded,
    sentence_parts,
    session,
)
from statcv.results.report.methods import methods_section
from statcv.results.report.parts import (
    Picture,
    Report,
    Said,
    Section,
    Table,
    frame_table,
    named_values,
)
from statcv.results.styles import check_style
from statcv.results.summary import Summary, column

if TYPE_CHECKING:
    from statcv.results.comparison.comparison import Comparison
    from statcv.results.result import CVResult


def shown_tables(summary: Summary, api: str) -> tuple[Table, ...]:
    """Return the rounded tables of a summary."""
    return tuple(
        frame_table(table, caption, f"{api}.shown[{caption!r}]")
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
        (name, Said(text, f"{api}.facts[{place}][1]"))
        for place, (name, text) in enumerate(summary.facts)
    ]
    return named_values("Model, scheme and data", *rows)


# ---- one result ----


def result_report(result: CVResult, style: str | None, by: Any, level: float) -> Report:
    """Return the report of a cross-validation.

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
    named = by if by is None or isinstance(by, str) else "by"
    sections = [
        Section(
            "Call and data",
            prose=(sentence_parts(result, level),),
            tables=(facts_of(summary, api), data_flow(result)),
        )
    ]
    if style == "tripod+ai":
        sections.append(methods_section(result, level))
    sections += [
        Section(
            "Folds and their audit",
            prose=((Said(result.plan.sentence, "res.plan.sentence"),),),
            items=tuple(
                Said(found.sentence, f"res.audit.findings[{place}].sentence")
                for place, found in enumerate(result.audit.findings)
            ),
        ),
        Section("Estimates", tables=shown_tables(summary, api)),
    ]
    if by is not None:
        sections.append(_clusters(result, by, named or "by", level))
    sections.append(Section("Pictures", pictures=pictures_of(result, level)))
    if style == "tripod+ai":
        sections.append(tripod_section(result, level, named))
    if style == "probast+ai":
        sections.append(probast_section(result, level))
    sections += [
        Section("Notes", items=notes_of(summary, api)),
        Section(
            "Session and replay",
            tables=(session(result.seed),),
            code=replay(result, options),
        ),
    ]
    headline = Said(summary.headline, f"{api}.headline")
    return Report(summary.title, headline, tuple(sections))


def pictures_of(result: CVResult, level: float) -> tuple[Picture, ...]:
    """Return the pictures that suit the outcome."""
    from statcv import plots

    kind, what = result.design.outcome.kind, result.design.formula.text
    if kind == "multiclass":
        return ()
    bias = Picture(
        "folds",
        "Balance of the folds",
        "Outcome of held-out records against that of the training sets.",
        lambda ax: plots.plot_bias(result, ax=ax),
    )
    if kind == "continuous":
        predicted = Picture(
            "predicted",
            "Predicted against observed",
            f"Held-out predictions of {what} against observed values.",
            lambda ax: plots.plot_predicted(result, ax=ax),
        )
        return (predicted, bias)
    roc = Picture(
        "roc",
        "ROC curve",
        f"Sensitivity against one minus specificity of held-out predictions of {what}.",
        lambda ax: plots.plot_roc(result, ax=ax),
    )
    risk = Picture(
        "risk",
        "Distributions of predicted risk",
        "Held-out predictions of each class, back to back.",
        lambda ax: plots.plot_risk(result, ax=ax),
    )
    if not result.scores.probabilities:
        return (roc, risk)
    calibration = Picture(
        "calibration",
        "Calibration",
        "Observed share of positives against held-out predicted probability.",
        lambda ax: plots.plot_calibration(result, ax=ax, level=level),
    )
    decision = Picture(
        "decision",
        "Decision curve",
        "Net benefit against threshold probability, beside treating all and none.",
        lambda ax: plots.plot_decision(result, ax=ax, level=level),
    )
    return (roc, calibration, decision, risk)


def _clusters(result: CVResult, by: Any, named: str, level: float) -> Section:
    """Return the estimates of each cluster and their heterogeneity."""
    table = result.metrics(level, by=by)
    first = result.chosen_metrics[0]
    own = table[table["metric"] == first.name].reset_index(drop=True)
    group = own.columns[1]
    ses = own["se"].tolist()
    shown = pd.DataFrame({"n": own["n"].map(str)})
    for name in ("estimate", "lower", "upper"):
        shown[name] = column(own[name].tolist(), ses)
    shown.index = pd.Index(own[group].map(str), name=str(group))
    spread = result.heterogeneity(by=by, level=level)
    api = f"res.heterogeneity(by={named!r}, level={level!r})"
    rows = [
        (said, rounded(float(getattr(spread, name)), f"{api}.{name}"))
        for name, said in (
            ("estimate", "mean over clusters"),
            ("lower", "lower limit"),
            ("upper", "upper limit"),
            ("tau2", "variance between clusters (tau²)"),
            ("i2", "share of heterogeneity (I²)"),
            ("p_heterogeneity", "p of no heterogeneity"),
        )
    ]
    return Section(
        "Clusters",
        tables=(
            frame_table(shown, f"{first.label} by {group}", ""),
            named_values("Heterogeneity, by random effects", *rows),
        ),
    )


# ---- a comparison ----


def comparison_report(comparison: Comparison) -> Report:
    """Return the report of a comparison.

    Parameters
    ----------
    comparison : Comparison
    """
    summary, api = comparison.summary(), "res.summary()"
    results = comparison.results
    drawn = [
        Picture(
            "forest",
            "Paired differences",
            f"Differences of the {comparison.stated} with their intervals.",
            lambda ax: comparison.plot("forest", ax=ax),
        )
    ]
    binary = {one.design.outcome.kind for one in results.values()} == {"binary"}
    if binary:
        drawn.append(
            Picture(
                "roc",
                "ROC curves",
                "Sensitivity against one minus specificity, one curve per result.",
                lambda ax: comparison.plot("roc", ax=ax),
            )
        )
    if binary and all(one.scores.probabilities for one in results.values()):
        drawn.append(
            Picture(
                "decision",
                "Decision curves",
                "Net benefit against threshold probability, one curve per result.",
                lambda ax: comparison.plot("decision", ax=ax),
            )
        )
    first = next(iter(results.values()))
    each = [
        Section(
            f"Result {name}",
            tables=(
                facts_of(
                    one.summary(comparison.level),
                    f"res.results[{name!r}].summary(level={comparison.level!r})",
                ),
            ),
            code=replay(one),
        )
        for name, one in results.items()
    ]
    table = comparison.table
    best = "; ".join(f"{name} {value:.3f}" for name, value in table["estimate"].items())
    sections = [
        Section("Data", tables=(facts_of(summary, api),)),
        Section("Estimates and differences", tables=shown_tables(summary, api)),
        Section("Pictures", pictures=tuple(drawn)),
        Section("Notes", items=notes_of(summary, api)),
        *each,
        Section(
            "Session",
            tables=(
                session(None),
                named_values("Seed", ("seed", Said(str(first.seed)))),
            ),
        ),
    ]
    return Report(summary.title, Said(f"{comparison.stated}: {best}"), tuple(sections))


# ---- a result over sites ----


def general_report(
    summary: Summary,
    level: float,
    tables: Mapping[str, pd.DataFrame],
    pictures: Sequence[Picture] = (),
) -> Report:
    """Return the report of a result that has a summary and further tables.

    Parameters
    ----------
    summary : Summary
    level : float
        Confidence level of the intervals.
    tables : mapping of str to pandas.DataFrame
        Further tables by their captions, of text.
    pictures : sequence of Picture
    """
    api = f"res.summary(level={level!r})"
    further = tuple(frame_table(t, name, "") for name, t in tables.items())
    sections = (
        Section("Plan and data", tables=(facts_of(summary, api),)),
        Section("Estimates", tables=shown_tables(summary, api)),
        Section("Pictures", pictures=tuple(pictures)),
        Section("Plan, sites and disclosure", tables=further),
        Section("Notes", items=notes_of(summary, api)),
        Section("Session", tables=(session(None),)),
    )
    headline = Said(summary.headline, f"{api}.headline")
    return Report(summary.title, headline, sections)

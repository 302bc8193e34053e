"""A result in words and rounded tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError
from statcv.formula import counted
from statcv.inference import Estimate, NullBias, Readable
from statcv.inference.refits.optimism_table import OptimismTable
from statcv.results.notes import notes_of
from statcv.results.summary import Summary, first_of
from statcv.tables import check_digits, column
from statcv.words import percent, plural


def with_optimism(summary: Summary, corrected: OptimismTable) -> Summary:
    """Return a summary with a table of metrics that are corrected for optimism."""
    caption = "Corrected for optimism by the bootstrap"
    return replace(
        summary,
        tables={**summary.tables, caption: corrected.to_frame()},
        shown={**summary.shown, caption: corrected.shown},
    )


def summarise(
    result: Readable,
    level: float,
    size: float | None = None,
    biases: Sequence[NullBias] = (),
    digits: int | None = None,
) -> Summary:
    """Return the summary of a result, with intervals of the given level.

    It states the number of repeats that would bring the Monte Carlo error below
    ``size``, or below a tenth of the standard error, and the biases without skill if
    they are given. Tables have ``digits`` decimals, or as many as their standard errors
    warrant.

    Raises
    ------
    ArgumentError
        If the size is not above 0, or ``digits`` is not a number of decimals.
    """
    check_digits(digits)
    if size is not None and not size > 0:
        raise ArgumentError(f"monte_carlo_error must be above 0, not {size!r}.")
    tables = {"Metrics": result.metrics(level).set_index("metric")}
    labels = [metric.label for metric in result.chosen_metrics]
    columns = _metrics(tables["Metrics"], labels, digits)
    sizes = result.plan.tests.sizes
    if result.scores.apart or len(sizes) == 1 or sizes.max() == 1:  # nothing to add
        columns = columns.drop(columns="per fold (sd)", errors="ignore")
    limits = f", with {percent(level)} intervals" if "lower" in columns else ""
    if limits and "fits" not in columns and _given(tables["Metrics"]).any():
        limits += " that take the fits as given"
    shown = {f"Metrics{limits}": columns}
    notes = [*notes_of(result, tables["Metrics"], level, size, biases)]
    spread = result.held.coefficients
    if spread is not None:
        caption = f"Coefficients over {_fits(result)}"
        table = spread.agg(["mean", "std", "min", "max"]).T
        tables[caption] = table = table.rename(columns={"std": "sd"})
        first = first_of(table)
        if len(first) < len(table):
            caption += f", the first {len(first)} of {len(table)}"
            notes.append(
                "All coefficients are in summary().tables, and those of each fit in "
                ".coefficients of the result."
            )
        sds = first["sd"].tolist()
        shown[caption] = first.apply(lambda one: column(one.tolist(), sds, digits))
    return Summary(
        title=f"{_kind(result)} of {result.design.formula.text}",
        headline=str(result.estimate(level=level)),
        facts=_facts(result),
        tables=tables,
        shown=shown,
        notes=tuple(notes),
    )


def short_text(result: Readable, headline: Estimate) -> str:
    """Return three lines: the model and data, the scheme, and the headline."""
    design, rows = result.design, result.rows
    if not result.learner.capabilities.refits and design.outcome.kind == "binary":
        rows += f"; {design.outcome.describe()}"  # not clear from the data alone
    return "\n".join(
        [
            f"{design.formula.text}: {result.learner.label}; {rows}",
            _scheme(result),
            str(headline),
        ]
    )


def rows_in_words(result: Readable) -> str:
    """Return the number of rows, and of those that were used, in words."""
    design = result.design
    text = f"n = {design.n}"
    if design.n < design.n_given:
        lost = design.n_given - design.n
        text += f" of {design.n_given}, {lost} incomplete"
    held = int(np.count_nonzero(np.bincount(result.held.row)))
    return text if held == design.n else f"{text}; {held} of them held out"


def _fits(result: Readable) -> str:
    """Count the fits, calling them folds if each fold has exactly one fit."""
    plan, scores = result.plan, result.scores
    one = plan.n_fits == plan.n_splits and not (scores.apart or scores.overlapping)
    return plural(plan.n_fits, "fold" if one else "fit")


def _metrics(
    table: pd.DataFrame, labels: list[str], digits: int | None
) -> pd.DataFrame:
    """Return the table of metrics as text, with equal decimals within a column."""
    ses = ((table["upper"] - table["lower"]) / 4).tolist()

    def shown_as(name: str) -> list[str]:
        return column(table[name].tolist(), ses, digits)

    columns = {name: shown_as(name) for name in ("estimate", "lower", "upper")}
    columns["how"] = table["how"].str.replace("_", " ").tolist()
    columns["no skill"] = shown_as("no_skill")
    folds = zip(
        table["per_fold"], shown_as("per_fold"), shown_as("per_fold_sd"), strict=True
    )
    columns["per fold (sd)"] = [
        "–" if np.isnan(value) else f"{mean} ({sd})" for value, mean, sd in folds
    ]
    for name, heading in (("boot632", ".632"), ("boot632plus", ".632+")):
        if name in table:
            columns[heading] = shown_as(name)
    given, there = _given(table), table["lower"].notna()
    if (there & given).any() and (there & ~given).any():
        kinds = {True: "given", False: "vary"}
        columns["fits"] = [
            kinds[kind] if known else "–"
            for kind, known in zip(given, there, strict=True)
        ]
    shown = pd.DataFrame(columns, index=labels)
    said = [name for name in shown if name == "estimate" or set(shown[name]) != {"–"}]
    return shown[said]


def _given(table: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each interval takes the fits as given."""
    return table["interval"].str.endswith("fits as given")


def _facts(result: Readable) -> tuple[tuple[str, str], ...]:
    design = result.design
    rows = result.rows
    if design.missing:
        rows += f" (missing: {counted(design.missing)})"
    if result.weights is not None:
        rows += "; weighted in the fits, not in the metrics"
    drawn = (("seed", f"{result.seed}; folds {result.plan.fingerprint}"),)
    return (
        ("model", result.learner.label),
        ("scheme", _scheme(result)),
        ("outcome", f"{design.outcome.name}: {design.outcome.describe()}"),
        ("rows", rows),
        *(() if result.scores.external else drawn),
    )


def _kind(result: Readable) -> str:
    return "External validation" if result.scores.external else "Cross-validation"


def _scheme(result: Readable) -> str:
    """Return the scheme and its sentence; an external validation is called that."""
    external = result.scores.external
    name = "external validation" if external else result.plan.scheme
    return f"{name}: {result.plan.sentence}"

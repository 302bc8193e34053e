"""The rows of a forest plot, read from results, comparisons, tables or estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError, ArgumentTypeError, ColumnError, suggestion
from statcv.inference import COMBINED, Estimate
from statcv.metrics import METRICS
from statcv.plots.protocol import Combined, ComparedResults
from statcv.words import percent

NUMBERS = ("estimate", "difference", "lower", "upper", "se", "n", "weight")
NOT_NAMES = {*NUMBERS, "metric", "how", "interval", "caveat", "n_folds", "n_undefined"}


@dataclass(frozen=True)
class Row:
    """One estimate with its interval.

    Attributes
    ----------
    name : str
        Name of the row.
    estimate, lower, upper : float
        Estimate and limits; NaN if there is no value.
    weight : float
        Weight, to which the area of the mark is proportional; NaN if all marks have the
        same size.
    prediction_lower, prediction_upper : float
        Limits of a prediction interval of a summary; NaN if there is none.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    weight: float = np.nan
    prediction_lower: float = np.nan
    prediction_upper: float = np.nan


@dataclass(frozen=True)
class ForestRows:
    """The rows of a forest plot, from top to bottom, with its labels.

    Attributes
    ----------
    rows : list of Row
        Estimates with their intervals.
    label : str
        Label of the axis.
    title : str
        Title of the plot.
    no_effect : float
        Value without skill, or without difference; NaN if it is not known.
    summary : object or None
        Combined estimate of a meta-analysis, if there is one.
    """

    rows: list[Row]
    label: str
    title: str = ""
    no_effect: float = np.nan
    summary: Any = None


def read_rows(
    estimates: Any, metric: str | None, how: str | None, level: float, names: str | None
) -> ForestRows:
    """Return the rows of a comparison, a table, or estimates by name.

    Raises
    ------
    ArgumentTypeError
        If ``estimates`` is of another type.
    ArgumentError
        If there are no rows, or an argument does not apply to ``estimates``.
    ColumnError
        If a table lacks a column.
    """
    if hasattr(estimates, "differences"):
        _refuse("a comparison", metric=metric, how=how, names=names)
        rows = _of_comparison(estimates)
    elif hasattr(estimates, "pooled") and hasattr(estimates, "table"):
        _refuse("a meta-analysis", metric=metric, how=how, names=names)
        rows = _of_combined(estimates)
    elif isinstance(estimates, pd.DataFrame):
        _refuse("a table", how=how)
        rows = _of_table(estimates, metric, names)
    elif isinstance(estimates, Mapping):
        _refuse("estimates by name", names=names)
        rows = _of_mapping(estimates, metric, how, level)
    else:
        raise ArgumentTypeError(
            "plot_forest() draws results or estimates by name, such as {'A': a, 'B': "
            "b}, a comparison, or a table with columns estimate, lower and upper, not "
            f"{type(estimates).__name__}."
        )
    if not rows.rows:
        raise ArgumentError("there are no estimates to draw.")
    return rows


def _refuse(what: str, **given: str | None) -> None:
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"{name}={value!r} means nothing for {what}.")


def _of_comparison(comparison: ComparedResults) -> ForestRows:
    table = comparison.differences[["first", "second", "difference", "lower", "upper"]]
    rows = _of_table(table, None, None).rows
    title = f"Paired differences, {percent(comparison.level)} intervals"
    return ForestRows(
        rows, f"difference in {comparison.contrasts.metric.label}", title, 0.0
    )


def _of_combined(combined: Combined) -> ForestRows:
    table = combined.table.assign(names=combined.table.index)
    if table["n"].isna().any():
        table = table.drop(columns="n")
    rows = _of_table(table, None, "names").rows
    return ForestRows(rows, combined.label, "Data sets", 0.0, combined.pooled)


def _of_table(table: pd.DataFrame, metric: str | None, names: str | None) -> ForestRows:
    number = "difference" if "difference" in table else "estimate"
    for column in (number, "lower", "upper"):
        if column not in table:
            raise ColumnError(
                f"the table has no column {column!r}; a forest plot needs estimate, "
                "lower and upper, and the columns are "
                f"{', '.join(map(str, table.columns))}."
            )
    label, table = _one_metric(table, number, metric, names)
    named, by = _names(table, names)
    if "n" in table:
        counts = table["n"].tolist()
        named = [
            f"{name} (n = {n:,.0f})" for name, n in zip(named, counts, strict=True)
        ]
    weight = table["weight"] if "weight" in table else np.full(len(table), np.nan)
    columns = [table[column].to_numpy(float) for column in (number, "lower", "upper")]
    numbers = zip(*columns, np.asarray(weight, dtype=float), strict=True)
    rows = [
        Row(name, *map(float, four)) for name, four in zip(named, numbers, strict=True)
    ]
    no_effect = 0.0 if number == "difference" else _no_skill(label)
    title = f"{label[0].upper() if label.islower() else label[0]}{label[1:]}"
    return ForestRows(rows, label, f"{title} by {by}" if by else title, no_effect)


def _one_metric(
    table: pd.DataFrame, number: str, metric: str | None, names: str | None
) -> tuple[str, pd.DataFrame]:
    """Return the label of the axis, and the rows of one metric."""
    if "metric" not in table or names == "metric":
        _refuse("a table without the column 'metric'", metric=metric)
        return number, table
    known = table["metric"].unique().tolist()
    if metric is None and not _name_columns(table):
        return number, table  # metrics are the rows
    chosen = known[0] if metric is None else metric
    if chosen not in known:
        raise ArgumentError(
            f"metric={metric!r} is not in the table, which has {', '.join(known)}."
            + suggestion(chosen, known)
        )
    table = table[table["metric"] == chosen]
    label = METRICS[chosen].label if chosen in METRICS else str(chosen)
    return label, table


def _names(table: pd.DataFrame, names: str | None) -> tuple[list[str], str]:
    """Return the names of the rows, and the name of the column they come from."""
    if names is not None:
        if names not in table:
            raise ColumnError(
                f"the table has no column {names!r}." + suggestion(names, table.columns)
            )
        return table[names].map(str).tolist(), names
    if {"first", "second"} <= set(table.columns):
        pairs = zip(table["second"], table["first"], strict=True)
        return [f"{second} minus {first}" for second, first in pairs], ""
    columns = _name_columns(table)
    if columns:
        return table[columns[0]].map(str).tolist(), columns[0]
    if "metric" in table and table["metric"].nunique() > 1:
        metrics = table["metric"].tolist()
        return [METRICS[m].label if m in METRICS else str(m) for m in metrics], ""
    return table.index.map(str).tolist(), str(table.index.name or "")


def _name_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that identify the rows, if the index does not."""
    if table.index.name is not None or table.index.dtype.kind not in "iu":
        return []
    return [
        str(column)
        for column in table.columns
        if column not in NOT_NAMES and table[column].dtype.kind != "f"
    ]


def _of_mapping(
    estimates: Mapping[str, Any], metric: str | None, how: str | None, level: float
) -> ForestRows:
    found: dict[str, Any] = {}
    for name, value in estimates.items():
        if hasattr(value, "scores"):
            found[str(name)] = value.estimate(metric, how, level)
        elif hasattr(value, "lower") and hasattr(value, "upper"):
            _refuse("estimates", metric=metric, how=how)
            found[str(name)] = value
        else:
            raise ArgumentTypeError(
                f"{name!r} is a {type(value).__name__}, neither a result nor an "
                "estimate with an interval."
            )
    known = [value for value in found.values() if isinstance(value, Estimate)]
    labels = {value.label for value in known}
    if len(labels) > 1:
        raise ArgumentError(
            f"the estimates are of {' and '.join(sorted(labels))}, which do not share "
            "an axis; choose one with metric=."
        )
    hows = {value.how for value in known}
    rows = [_row(_with_how(name, value, hows), value) for name, value in found.items()]
    label = next(iter(labels), "estimate")
    levels = {value.level for value in known if not np.isnan(value.lower)}
    title = f"{percent(*levels)} intervals" if len(levels) == 1 else ""
    return ForestRows(rows, label, title, _no_skill(label))


def _with_how(name: str, value: Any, hows: set[str]) -> str:
    """Return the name of a row, with how folds are combined if rows differ in that."""
    told = isinstance(value, Estimate) and len(hows) > 1
    return f"{name} ({COMBINED.get(value.how, value.how)})" if told else name


def _row(name: str, value: Any) -> Row:
    number = value.value if isinstance(value, Estimate) else value.estimate
    return Row(name, float(number), float(value.lower), float(value.upper))


def _no_skill(label: str) -> float:
    return 0.5 if "auROC" in label else np.nan


def summary_row(summary: Any) -> Row:
    """Return the row of a summary: an estimate, random effects, or numbers."""
    if isinstance(summary, Estimate):
        return _row("summary", summary)
    if hasattr(summary, "estimate") and hasattr(summary, "lower"):
        three = (summary.estimate, summary.lower, summary.upper)
        ends = [
            float(getattr(summary, f"prediction_{end}", np.nan))
            for end in ("lower", "upper")
        ]
        return Row("summary", *three, np.nan, *ends)
    if isinstance(summary, (tuple, list)) and len(summary) in (3, 5):
        estimate, lower, upper, *limits = map(float, summary)
        return Row("summary", estimate, lower, upper, np.nan, *limits)
    raise ArgumentTypeError(
        "summary must be (estimate, lower, upper), five numbers with a prediction "
        f"interval, or an estimate with an interval, not {summary!r}."
    )

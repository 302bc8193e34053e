"""Forest plots: intervals of results, data sets or groups, one below the other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import check_types, described, is_list, is_number
from statcv.errors import ArgumentError, ArgumentTypeError, ColumnError, suggestion
from statcv.inference import Estimate
from statcv.metrics import METRICS
from statcv.plots.base import COLOURS, GREY, TITLE, new_axes, written
from statcv.plots.protocol import Combined, Compared
from statcv.plots.splits import lay_out
from statcv.words import percent, stated

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NUMBERS = ("estimate", "difference", "lower", "upper", "se", "n", "weight")
NOT_NAMES = {
    *NUMBERS,
    "metric",
    "how",
    "interval",
    "caveat",
    "n_folds",
    "n_undefined",
}


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
    """

    name: str
    estimate: float
    lower: float
    upper: float
    weight: float = np.nan


@dataclass(frozen=True)
class Rows:
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
    estimates: Any,
    metric: str | None,
    how: str | None,
    level: float,
    names: str | None,
) -> Rows:
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


def _of_comparison(comparison: Compared) -> Rows:
    table = comparison.differences
    pairs = zip(table["second"], table["first"], strict=True)
    numbers = table[["difference", "lower", "upper"]].to_numpy(dtype=float).tolist()
    rows = [
        Row(f"{second} minus {first}", *three)
        for (second, first), three in zip(pairs, numbers, strict=True)
    ]
    title = f"Paired differences, {percent(comparison.level)} intervals"
    return Rows(rows, f"difference in {comparison.stated}", title, 0.0)


def _of_combined(combined: Combined) -> Rows:
    table = combined.table.assign(names=combined.table.index)
    if table["n"].isna().any():
        table = table.drop(columns="n")
    rows = _of_table(table, None, "names").rows
    return Rows(rows, combined.label, "Data sets", 0.0, combined.pooled)


def _of_table(table: pd.DataFrame, metric: str | None, names: str | None) -> Rows:
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
    return Rows(rows, label, f"{title} by {by}" if by else title, no_effect)


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
    if "how" in table and table["how"].nunique() == 1:
        label = stated(label, str(table["how"].iloc[0]))
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
) -> Rows:
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
    hows = {value.how.replace("_", " ") for value in known}
    methods = {value.method for value in known if not np.isnan(value.lower)}
    rows = [_row(_with_how(name, value, hows), value) for name, value in found.items()]
    label = next(iter(labels), "estimate")
    no_skill = _no_skill(label)
    if len(hows) == 1:
        label += f" ({next(iter(hows))})"
    title = ""
    levels = {value.level for value in known}
    if len(levels) == 1 and methods:
        title = f"{percent(levels.pop())} intervals"
        title += f" by {next(iter(methods))}" if len(methods) == 1 else ""
    return Rows(rows, label, title, no_skill)


def _with_how(name: str, value: Any, hows: set[str]) -> str:
    if len(hows) < 2 or not isinstance(value, Estimate):
        return name
    return stated(name, value.how)


def _row(name: str, value: Any) -> Row:
    number = value.value if isinstance(value, Estimate) else value.estimate
    return Row(name, float(number), float(value.lower), float(value.upper))


def _no_skill(label: str) -> float:
    return 0.5 if "auROC" in label else np.nan


@dataclass(frozen=True)
class Diamond:
    """The combined estimate of all rows.

    Attributes
    ----------
    estimate, lower, upper : float
        Estimate with its confidence limits.
    prediction_lower, prediction_upper : float
        Prediction interval for a further row; NaN if there is no such interval.
    """

    estimate: float
    lower: float
    upper: float
    prediction_lower: float = np.nan
    prediction_upper: float = np.nan

    @classmethod
    def of(cls, summary: Any) -> Diamond:
        """Return the diamond of an estimate, an object with limits, or 3 or 5 numbers.

        Raises
        ------
        ArgumentTypeError
            If ``summary`` is of another type.
        """
        if isinstance(summary, Estimate):
            return cls(summary.value, summary.lower, summary.upper)
        if hasattr(summary, "estimate") and hasattr(summary, "lower"):
            ends = [
                float(getattr(summary, f"prediction_{end}", np.nan))
                for end in ("lower", "upper")
            ]
            return cls(summary.estimate, summary.lower, summary.upper, *ends)
        if isinstance(summary, (tuple, list)) and len(summary) in (3, 5):
            return cls(*map(float, summary))
        raise ArgumentTypeError(
            "summary must be (estimate, lower, upper), five numbers with a prediction "
            f"interval, or an estimate with an interval, not {summary!r}."
        )


# ---- the plot ----

DIAMOND = COLOURS[1]
NAME = 32  # longest line of a row's name, in characters
# longest lines that are tried, in this order, in characters
WIDTHS = (NAME, 2 * NAME, 1000)
# sizes of names that are tried, relative to the usual size
SIZES = (1.0, 0.9, 0.8, 0.7)
LINES = 1.25  # height of a line, relative to the size of its characters


def plot_forest(
    estimates: Mapping[str, Any] | pd.DataFrame | Compared | Combined,
    ax: Axes | None = None,
    *,
    metric: str | None = None,
    how: str | None = None,
    level: float = 0.95,
    names: str | None = None,
    summary: Any = None,
    reference: float | None = None,
    xlim: tuple[float, float] | None = None,
) -> Axes:
    """Draw estimates with their intervals, one below the other in the order given.

    An interval that extends beyond the axis ends in an arrow. A row without an interval
    is a point, with a note.

    Parameters
    ----------
    estimates : mapping, pandas.DataFrame, Comparison or Combination
        Results or estimates by name; a table with columns ``estimate``, ``lower`` and
        ``upper``, such as ``result.metrics(by="site")`` returns; a comparison, whose
        differences are drawn; or a meta-analysis by :func:`statcv.meta_analysis`, with
        the mean over data sets. A table may also have a column ``n``, which is shown
        beside the names, and a column ``weight``, to which the areas of the marks are
        proportional.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; those of a new figure by default.
    metric, how : str, optional
        Arguments of ``result.estimate``, for results. For a table, ``metric`` selects
        the rows of one metric, by default the first.
    level : float, default 0.95
        Confidence level of the intervals, for results.
    names : str, optional
        Column of a table that names its rows. By default this is the index, or the
        first non-numeric column if the index only numbers the rows.
    summary : optional
        Combined estimate, drawn as a diamond below the rows: ``(estimate, lower,
        upper)``; five numbers with a prediction interval, which is a thin line; or an
        object with these attributes, such as ``result.heterogeneity()`` returns.
    reference : float, optional
        Position of a vertical line. By default it is at 0.5 for auROC and at 0 for
        differences, and there is no line for other metrics. NaN draws no line.
    xlim : tuple of float, optional
        Limits of the axis; by default the axis includes all finite limits.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If the estimates are of several metrics, or ``estimates`` has no intervals.
    ColumnError
        If a table lacks a column.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> a = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> b = a.update(formula=". ~ . + PSI")
    >>> ax = scv.plots.plot_forest({"GPA": a, "GPA and PSI": b})
    >>> ax.get_xlabel()
    'auROC (paired)'
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['GPA', 'GPA and PSI']
    """
    check_types(plot_forest, locals())
    found = read_rows(estimates, metric, how, level, names)
    together = found.summary if summary is None else summary
    diamond = None if together is None else Diamond.of(together)
    line = found.no_effect if reference is None else float(reference)
    low, high = _limits(found.rows, diamond, line, xlim)
    names_of_rows = [row.name for row in found.rows]
    names_of_rows += [] if diamond is None else ["summary"]
    labels = [fill(name, NAME) for name in names_of_rows]
    ax = _axes(ax, labels)
    if np.isfinite(line):
        ax.axvline(line, color=GREY, linewidth=0.9, linestyle=":", zorder=0)
    digits = _digits(found.rows)
    for place, row in enumerate(found.rows):
        _draw_row(ax, row, place, low, high, _area(row, found.rows))
        _write(ax, place, _said(row.estimate, row.lower, row.upper, digits))
    last = len(labels) - 1
    if diamond is not None:
        ax.axhline(last - 0.5, color=GREY, linewidth=0.6)
        _draw_diamond(ax, diamond, last, low, high)
        said = _said(diamond.estimate, diamond.lower, diamond.upper, digits)
        if not np.isnan(diamond.prediction_lower):
            ends = (diamond.prediction_lower, diamond.prediction_upper)
            said += "\nprediction " + _between(*ends, digits)
        _write(ax, last, said)
    ax.set_yticks(range(len(labels)), labels)
    ax.tick_params(axis="y", length=0, pad=8)
    ax.set(xlim=(low, high), ylim=(last + 0.6, -0.6), xlabel=found.label)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    ax.set_title(fill(found.title, TITLE - 4))
    _fit_texts(ax, names_of_rows)
    return ax


def _fit_texts(ax: Axes, names: list[str]) -> None:
    """Wrap names less, and write all texts smaller, until no two rows overlap."""
    lay_out(ax)
    bottom, top = ax.get_ylim()
    room = ax.get_window_extent().height / abs(bottom - top) * 72 / ax.figure.dpi
    usual = ax.get_yticklabels()[0].get_fontsize()
    for width, size in itertools.product(WIDTHS, usual * np.array(SIZES)):
        labels = [fill(name, width) for name in names]
        if _height(labels, size) <= room:
            break
    else:
        size = room / LINES
    ax.set_yticks(range(len(names)), labels, fontsize=size)
    for text in ax.texts:
        most = room / _height([text.get_text()], 1.0)
        text.set_fontsize(min(float(text.get_fontsize()), most))


def _height(labels: list[str], size: float) -> float:
    """Return the height of the highest label, in points."""
    return LINES * size * (1 + max(label.count("\n") for label in labels))


def _axes(ax: Axes | None, labels: list[str]) -> Axes:
    """Return ``ax``, or the Axes of a new figure with the height for its rows."""
    if ax is not None:
        return new_axes(ax)
    import matplotlib.pyplot as plt

    lines = 1 + max(label.count("\n") for label in labels)
    size = (6.5, min(1.3 + (0.2 + 0.16 * lines) * len(labels), 40))
    return plt.subplots(figsize=size, layout="constrained")[1]


def _limits(
    rows: list[Row],
    diamond: Diamond | None,
    line: float,
    xlim: tuple[float, float] | None,
) -> tuple[float, float]:
    """Return the limits of the axis, which by default include all finite values."""
    if xlim is not None:
        two = is_list(xlim) and len(xlim) == 2 and all(map(is_number, xlim))
        if not (two and np.isfinite(xlim).all() and xlim[0] < xlim[1]):
            raise ArgumentError(
                f"xlim must be two numbers in increasing order, not {described(xlim)}."
            )
        return float(xlim[0]), float(xlim[1])
    shown = [number for row in rows for number in (row.estimate, row.lower, row.upper)]
    if diamond is not None:
        shown += [diamond.estimate, diamond.lower, diamond.upper]
        shown += [diamond.prediction_lower, diamond.prediction_upper]
    known = np.array([*shown, line])
    known = known[np.isfinite(known)]
    if not len(known):
        return 0.0, 1.0
    margin = 0.05 * float(np.ptp(known)) or 0.05 * max(abs(float(known[0])), 1.0)
    return float(known.min()) - margin, float(known.max()) + margin


def _draw_row(
    ax: Axes, row: Row, place: int, low: float, high: float, area: float
) -> None:
    """Draw a point and its interval, with arrows where it extends beyond the axis."""
    colour = COLOURS[0]
    if not np.isnan([row.lower, row.upper]).any():
        ends = np.clip([row.lower, row.upper], low, high)
        (interval,) = ax.plot(ends, [place, place], color=colour, linewidth=1.6)
        interval.set_gid("interval")
        for end, beyond, mark in (
            (low, row.lower < low, "<"),
            (high, row.upper > high, ">"),
        ):
            if beyond:
                ax.plot(end, place, mark, color=colour, markersize=7, clip_on=False)
    if low <= row.estimate <= high:
        ax.scatter(row.estimate, place, s=area, color=colour, marker="s", zorder=3)


def _draw_diamond(
    ax: Axes, diamond: Diamond, place: int, low: float, high: float
) -> None:
    """Draw the summary, with its prediction interval as a line through it."""
    ends = np.clip([diamond.prediction_lower, diamond.prediction_upper], low, high)
    if not np.isnan(ends).any():
        ax.plot(ends, [place, place], color=DIAMOND, linewidth=1)
    if np.isnan([diamond.lower, diamond.upper]).any():
        ax.scatter(diamond.estimate, place, s=60, marker="D", color=DIAMOND)
        return
    across = [diamond.lower, diamond.estimate, diamond.upper, diamond.estimate]
    ax.fill(across, [place, place - 0.25, place, place + 0.25], color=DIAMOND, zorder=3)


def _area(row: Row, rows: list[Row]) -> float:
    """Return the area of a mark, in proportion to its weight if there are weights."""
    weights = np.array([other.weight for other in rows])
    if np.isnan(row.weight) or not np.nanmax(weights) > 0:
        return 36.0
    return 12.0 + 108.0 * row.weight / float(np.nanmax(weights))


def _write(ax: Axes, place: int, text: str) -> None:
    ax.text(
        1.02,
        place,
        text,
        transform=ax.get_yaxis_transform(),
        va="center",
        fontsize="small",
    )


def _digits(rows: list[Row]) -> int:
    """Return the number of decimals that the widths of the intervals justify."""
    widths = np.array([row.upper - row.lower for row in rows])
    widths = widths[np.isfinite(widths) & (widths > 0)]
    if not len(widths):
        return 3
    return int(np.clip(1 - np.floor(np.log10(np.median(widths))), 0, 5))


def _said(estimate: float, lower: float, upper: float, digits: int) -> str:
    if np.isnan(estimate):
        return "no value"
    said = written(estimate, digits)
    if np.isnan([lower, upper]).any():
        return f"{said}, no interval"
    return f"{said} ({_between(lower, upper, digits)})"


def _between(lower: float, upper: float, digits: int) -> str:
    return f"{written(lower, digits)} to {written(upper, digits)}"

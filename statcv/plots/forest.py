"""Forest plots: intervals of results, data sets or groups, one below the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import check_types, described, is_list, is_number, refuse_given
from statcv.errors import ArgumentError, ArgumentTypeError, ColumnError, suggestion
from statcv.inference import COMBINED, Estimate, metric_of
from statcv.inference.paired.records import is_result
from statcv.metrics import METRICS
from statcv.plots import base, drawn
from statcv.plots.base import figure_width
from statcv.plots.fit import name_rows
from statcv.words import p_value, percent, sentence_case, shared_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

Limits = tuple[float, float]
NUMBERS = ("estimate", "difference", "lower", "upper", "se", "n", "weight")
ENDS = ["estimate", "lower", "upper", "prediction_lower", "prediction_upper"]
ROW = [*ENDS, "weight"]  # the numbers of a row
NOT_NAMES = {*NUMBERS, "metric", "how", "interval", "caveat", "n_folds", "n_undefined"}


@dataclass(frozen=True)
class ForestRows:
    """The rows of a forest plot, from top to bottom, with its labels.

    Attributes
    ----------
    rows : pandas.DataFrame
        Estimate, limits, those of a prediction interval and weight of each row, by its
        name; NaN for what there is not.
    label : str
        Label of the axis.
    title : str
        Title of the plot.
    no_effect : float
        Value without skill, or without difference; NaN if it is not known.
    summary : object or None
        Combined estimate of a meta-analysis, if there is one.
    """

    rows: pd.DataFrame
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
        refuse_given("a comparison", metric=metric, how=how, names=names)
        columns = ["first", "second", "difference", "lower", "upper"]
        label = f"difference in {estimates.contrasts.metric.label}"
        title = f"Paired differences, {percent(estimates.level)} intervals"
        rows = _of_table(estimates.differences[columns], None, None)
        rows = replace(rows, label=label, title=title)
    elif hasattr(estimates, "pooled") and hasattr(estimates, "table"):
        refuse_given("a meta-analysis", metric=metric, how=how, names=names)
        table = estimates.table.assign(names=estimates.table.index)
        known = table.drop(columns="n") if table["n"].isna().any() else table
        rows = replace(_of_table(known, None, "names"), label=estimates.label)
        rows = replace(rows, title="Data sets", summary=estimates.pooled)
    elif isinstance(estimates, pd.DataFrame):
        refuse_given("a table", how=how)
        rows = _of_table(estimates, metric, names)
    elif isinstance(estimates, Mapping):
        refuse_given("estimates by name", names=names)
        rows = _of_mapping(estimates, metric, how, level)
    else:
        raise ArgumentTypeError(
            "plot_forest() draws results or estimates by name, such as {'A': a, 'B': "
            "b}, a comparison, or a table with columns estimate, lower and upper, not "
            f"{type(estimates).__name__}."
        )
    if rows.rows.empty:
        raise ArgumentError("there are no estimates to draw.")
    return rows


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
        named = list(map("{} (n = {:,.0f})".format, named, table["n"]))
    numbers = table.rename(columns={number: "estimate"}).reindex(columns=ROW)
    rows = numbers.astype(float).set_axis(named)
    no_effect = 0.0 if number == "difference" else _no_skill(label)
    title = sentence_case(label) if label.islower() else label
    return ForestRows(rows, label, f"{title} by {by}" if by else title, no_effect)


def _one_metric(
    table: pd.DataFrame, number: str, metric: str | None, names: str | None
) -> tuple[str, pd.DataFrame]:
    """Return the label of the axis, and the rows of one metric."""
    if "metric" not in table or names == "metric":
        refuse_given("a table without the column 'metric'", metric=metric)
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
    kinds = table.dtypes.map(lambda dtype: dtype.kind)
    return [str(one) for one in kinds.index[kinds != "f"] if one not in NOT_NAMES]


def _of_mapping(
    estimates: Mapping[str, Any], metric: str | None, how: str | None, level: float
) -> ForestRows:
    found: dict[str, Any] = {}
    for name, value in estimates.items():
        if hasattr(value, "scores"):
            found[str(name)] = value.estimate(metric, how, level)
        elif hasattr(value, "lower") and hasattr(value, "upper"):
            refuse_given("estimates", metric=metric, how=how)
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
    hows, named = {value.how for value in known}, []
    for name, value in found.items():
        # how folds are combined, if rows differ in that
        told = isinstance(value, Estimate) and len(hows) > 1
        how = f" ({COMBINED.get(value.how, value.how)})" if told else ""
        named.append(f"{name}{how}")
    rows = pd.DataFrame(map(_numbers, found.values()), named, ROW, dtype=float)
    label = next(iter(labels), "estimate")
    levels = {value.level for value in known if not np.isnan(value.lower)}
    title = f"{percent(*levels)} intervals" if len(levels) == 1 else ""
    return ForestRows(rows, label, title, _no_skill(label))


def _numbers(value: Any) -> dict[str, float]:
    """Return an estimate, its limits, and those of a prediction interval, if any."""
    number = value.value if isinstance(value, Estimate) else value.estimate
    ends = {name: float(getattr(value, name, np.nan)) for name in ENDS[1:]}
    return {"estimate": float(number), **ends}


def _no_skill(label: str) -> float:
    return 0.5 if "auROC" in label else np.nan


def summary_row(summary: Any) -> pd.DataFrame:
    """Return the row of a summary: an estimate, random effects, or numbers."""
    has_ends = hasattr(summary, "estimate") and hasattr(summary, "lower")
    if isinstance(summary, Estimate) or has_ends:
        numbers = _numbers(summary)
    elif isinstance(summary, (tuple, list)) and len(summary) in (3, 5):
        numbers = dict(zip(ENDS, map(float, summary), strict=False))
    else:
        raise ArgumentTypeError(
            "summary must be (estimate, lower, upper), five numbers with a prediction "
            f"interval, or an estimate with an interval, not {summary!r}."
        )
    return pd.DataFrame(numbers, ["summary"], ROW, dtype=float)


DIAMOND = base.COLOURS[1]


def plot_forest(
    *estimates: drawn.Drawn | Mapping[str, Any] | pd.DataFrame | drawn.Combined,
    ax: Axes | None = None,
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
    *estimates : CVResult, mapping, pandas.DataFrame, Comparison or Combination
        Results; a mapping of names to results or estimates; a table with columns
        ``estimate``, ``lower`` and ``upper``, such as ``result.metrics(by="site")``; a
        comparison, whose differences are drawn; or a meta-analysis by
        :func:`statcv.meta_analysis`. A table may also have a column ``n``, which is
        shown beside the names, and a column ``weight``, to which the areas of the marks
        are proportional.
    ax : matplotlib.axes.Axes, optional
    metric, how : str, optional
        Arguments of ``result.estimate``, for results. For a table, ``metric`` selects
        the rows of one metric, by default the first.
    level : float, default 0.95
        Confidence level of the intervals, for results.
    names : str, optional
        Column of a table that names its rows. By default this is the index, or the
        first non-numeric column if the index only numbers the rows.
    summary : optional
        Combined estimate, a diamond below the rows: ``(estimate, lower, upper)``; five
        numbers with a prediction interval; or what ``result.heterogeneity()`` returns.
    reference : float, optional
        Position of a vertical line; 0.5 for auROC and 0 for differences unless given.
        NaN draws none.
    xlim : tuple of float, optional
        Limits of the axis; by default the axis includes all finite limits.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If the estimates are of several metrics, or ``estimates`` has no intervals.
    ColumnError
        If a table lacks a column.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ax = scv.plots.plot_forest({"GPA": res.update(". ~ . - PSI"), "both": res})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['GPA', 'both']
    """
    check_types(plot_forest, locals())
    found = read_rows(_given(estimates), metric, how, level, names)
    together = found.summary if summary is None else summary
    every = found.rows
    if together is not None:
        every = pd.concat([every, summary_row(together)])
    line = found.no_effect if reference is None else float(reference)
    low, high = _limits(every, line, xlim)
    ax = base.axes_of_rows(ax, len(every), 0.38, width=6.4)
    if np.isfinite(line):
        ax.axvline(line, color=base.GREY, linewidth=0.9, linestyle=":", zorder=0)
    weights = found.rows["weight"]
    shares = weights / weights.max() if weights.max() > 0 else weights * np.nan
    areas = (12 + 108 * shares).fillna(36.0)  # in proportion to the weight
    rows, last = list(every.itertuples()), len(every) - 1
    for place, (row, area) in enumerate(zip(rows, areas, strict=False)):
        _draw_row(ax, row, place, (low, high), float(area))
    if together is not None:
        ax.axhline(last - 0.5, color=base.GREY, linewidth=0.6)
        _draw_diamond(ax, rows[-1], last, low, high)
    digits = shared_digits(found.rows["lower"], found.rows["upper"])
    ax.tick_params(axis="y", length=0, pad=8)
    ax.set(xlim=(low, high), ylim=(last + 0.6, -0.6), xlabel=found.label)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    ax.set_title(found.title)
    name_rows(ax, every.index.tolist(), [_said(row, digits) for row in rows])
    return ax


def _given(estimates: tuple[Any, ...]) -> Any:
    """Return what is drawn: one argument, or the results among several by name."""
    if len(estimates) == 1 and not is_result(estimates[0]):
        return estimates[0]
    named = drawn.named_results(estimates, "plot_forest")
    return {name or base.short_scheme(one.plan): one for name, one in named.items()}


def _limits(rows: pd.DataFrame, line: float, xlim: Limits | None) -> Limits:
    """Return the limits of the axis, which by default include all finite values."""
    if xlim is not None:
        two = is_list(xlim) and len(xlim) == 2 and all(map(is_number, xlim))
        if not (two and np.isfinite(xlim).all() and xlim[0] < xlim[1]):
            raise ArgumentError(
                f"xlim must be two numbers in increasing order, not {described(xlim)}."
            )
        return float(xlim[0]), float(xlim[1])
    known = np.array([*np.ravel(rows[ENDS]), line])
    known = known[np.isfinite(known)]
    if not len(known):
        return 0.0, 1.0
    margin = 0.05 * float(np.ptp(known)) or 0.05 * max(abs(float(known[0])), 1.0)
    return float(known.min()) - margin, float(known.max()) + margin


def _draw_row(ax: Axes, row: Any, place: int, limits: Limits, area: float) -> None:
    """Draw a point and its interval, with arrows where it extends beyond the axis."""
    (low, high), colour = limits, base.COLOURS[0]
    if not np.isnan([row.lower, row.upper]).any():
        ends = np.clip([row.lower, row.upper], low, high)
        (interval,) = ax.plot(ends, [place, place], color=colour, linewidth=1.6)
        interval.set_gid("interval")
        beyond = ((low, row.lower < low, "<"), (high, row.upper > high, ">"))
        for end, mark in ((end, mark) for end, there, mark in beyond if there):
            ax.plot(end, place, mark, color=colour, markersize=7, clip_on=False)
    if low <= row.estimate <= high:
        ax.scatter(row.estimate, place, s=area, color=colour, marker="s", zorder=3)


def _draw_diamond(ax: Axes, diamond: Any, place: int, low: float, high: float) -> None:
    """Draw the summary, with its prediction interval as a line through it."""
    ends = np.clip([diamond.prediction_lower, diamond.prediction_upper], low, high)
    if not np.isnan(ends).any():
        ax.plot(ends, [place, place], color=DIAMOND, linewidth=1)
    if np.isnan([diamond.lower, diamond.upper]).any():
        ax.scatter(diamond.estimate, place, s=60, marker="D", color=DIAMOND)
        return
    across = [diamond.lower, diamond.estimate, diamond.upper, diamond.estimate]
    ax.fill(across, [place, place - 0.25, place, place + 0.25], color=DIAMOND, zorder=3)


def _said(row: Any, digits: int) -> str:
    """Return an estimate with its intervals as text."""
    if np.isnan(row.estimate):
        return "no value"
    said = base.with_ends(row.estimate, (row.lower, row.upper), digits)
    if np.isnan([row.lower, row.upper]).any():
        said += ", no interval"
    if not np.isnan(row.prediction_lower):
        ends = (row.prediction_lower, row.prediction_upper)
        said += f"\nprediction {' to '.join(base.written(end, digits) for end in ends)}"
    return said


# ---- two forests: a metric in groups, and its differences ----


def plot_groups(
    *results: drawn.Drawn,
    metric: str | None = None,
    by: Any = None,
    reference: Any = None,
    level: float = 0.95,
) -> NDArray[Any]:
    r"""Draw a metric in groups of the records, and its differences from one of them.

    The upper plot shows the estimates of ``result.metrics(by=)``, the lower one the
    differences of ``result.compare_groups(by=)``, whose p-values it gives, adjusted by
    Holm's method if there are several.

    Parameters
    ----------
    *results : CVResult
        One result, whose records are grouped.
    metric : str, optional
        Name of the metric; the headline metric unless given.
    by : str or array-like
        Grouping of the records: a column of the data, or one value per row of it.
    reference : optional
        Group with which all others are compared; the first in sorted order by default.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes, shape (2,)
        The Axes of the estimates and of the differences.

    Raises
    ------
    ArgumentError
        If ``by`` is missing, there is a single group, or no group is called
        ``reference``.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> scv.plots.plot_groups(res, metric="brier", by="PSI").shape
    (2,)
    """
    check_types(plot_groups, locals())
    instead = "plot_forest(a, b) shows the estimates of several results"
    result = drawn.one_result(results, "plot_groups", instead)
    by = True if by is None else by
    import matplotlib.pyplot as plt

    source: Any = result
    chosen = metric_of(result, metric or result.chosen_metrics[0].name)
    table = source.metrics(level, by=by)
    table = table[table["metric"] == chosen.name].reset_index(drop=True)
    name = next(c for c in table.columns if c != "metric")
    if reference is None:
        reference = table[name].iloc[0]
    found = source.compare_groups(chosen, by=by, reference=reference, level=level)
    adjusted = "p (Holm)" if len(found) > 1 else "p"
    columns = ("second", "first", "p_holm")
    rows = [
        f"{second} minus {first}\n{adjusted} = {p_value(p)}".replace("= <", "< ")
        for second, first, p in zip(*(found[one] for one in columns), strict=True)
    ]
    shown = found.assign(row=rows)[["row", "difference", "lower", "upper"]]
    counts = [len(table), 1.6 * len(found)]
    size = (figure_width(6.4), 2.4 + 0.4 * sum(counts))
    heights, layout = [count + 0.6 for count in counts], "constrained"
    axes = plt.subplots(2, 1, figsize=size, height_ratios=heights, layout=layout)[1]
    plot_forest(table, ax=axes[0], names=name)
    plot_forest(shown, ax=axes[1], names="row")
    axes[0].set_title(f"{chosen.label} by {name}, {percent(level)} intervals")
    axes[1].set(title="", xlabel=f"difference in {chosen.label}")
    return np.asarray(axes)

"""Forest plots: intervals of results, data sets or groups, one below the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.arguments import check_types, described, is_list, is_number
from statcv.errors import ArgumentError
from statcv.inference.paired.records import is_result
from statcv.plots import base
from statcv.plots.fit import name_rows
from statcv.plots.forest_rows import Row, read_rows, summary_row
from statcv.plots.protocol import Combined, Drawn, named_results
from statcv.words import shared_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIAMOND = base.COLOURS[1]


def plot_forest(
    *estimates: Drawn | Mapping[str, Any] | pd.DataFrame | Combined,
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
    diamond = None if together is None else summary_row(together)
    line = found.no_effect if reference is None else float(reference)
    low, high = _limits(found.rows, diamond, line, xlim)
    names_of_rows = [row.name for row in found.rows]
    names_of_rows += [] if diamond is None else ["summary"]
    ax = base.axes_of_rows(ax, len(names_of_rows), 0.38, width=6.4)
    if np.isfinite(line):
        ax.axvline(line, color=base.GREY, linewidth=0.9, linestyle=":", zorder=0)
    for place, row in enumerate(found.rows):
        _draw_row(ax, row, place, low, high, _area(row, found.rows))
    last = len(names_of_rows) - 1
    if diamond is not None:
        ax.axhline(last - 0.5, color=base.GREY, linewidth=0.6)
        _draw_diamond(ax, diamond, last, low, high)
    ends = [[row.lower for row in found.rows], [row.upper for row in found.rows]]
    digits = shared_digits(*ends)
    every = [*found.rows, *([] if diamond is None else [diamond])]
    name_rows(ax, names_of_rows, [_said(row, digits) for row in every])
    ax.tick_params(axis="y", length=0, pad=8)
    ax.set(xlim=(low, high), ylim=(last + 0.6, -0.6), xlabel=found.label)
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    ax.set_title(found.title)
    return ax


def _given(estimates: tuple[Any, ...]) -> Any:
    """Return what is drawn: one argument, or the results among several by name."""
    if len(estimates) == 1 and not is_result(estimates[0]):
        return estimates[0]
    named = named_results(estimates, "plot_forest")
    return {name or base.short_scheme(one.plan): one for name, one in named.items()}


def _limits(
    rows: list[Row], diamond: Row | None, line: float, xlim: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the limits of the axis, which by default include all finite values."""
    if xlim is not None:
        two = is_list(xlim) and len(xlim) == 2 and all(map(is_number, xlim))
        if not (two and np.isfinite(xlim).all() and xlim[0] < xlim[1]):
            raise ArgumentError(
                f"xlim must be two numbers in increasing order, not {described(xlim)}."
            )
        return float(xlim[0]), float(xlim[1])
    ends = ("estimate", "lower", "upper", "prediction_lower", "prediction_upper")
    every = rows if diamond is None else [*rows, diamond]
    known = np.array([*(getattr(row, end) for row in every for end in ends), line])
    known = known[np.isfinite(known)]
    if not len(known):
        return 0.0, 1.0
    margin = 0.05 * float(np.ptp(known)) or 0.05 * max(abs(float(known[0])), 1.0)
    return float(known.min()) - margin, float(known.max()) + margin


def _draw_row(
    ax: Axes, row: Row, place: int, low: float, high: float, area: float
) -> None:
    """Draw a point and its interval, with arrows where it extends beyond the axis."""
    colour = base.COLOURS[0]
    if not np.isnan([row.lower, row.upper]).any():
        ends = np.clip([row.lower, row.upper], low, high)
        (interval,) = ax.plot(ends, [place, place], color=colour, linewidth=1.6)
        interval.set_gid("interval")
        beyond = ((low, row.lower < low, "<"), (high, row.upper > high, ">"))
        for end, mark in ((end, mark) for end, there, mark in beyond if there):
            ax.plot(end, place, mark, color=colour, markersize=7, clip_on=False)
    if low <= row.estimate <= high:
        ax.scatter(row.estimate, place, s=area, color=colour, marker="s", zorder=3)


def _draw_diamond(ax: Axes, diamond: Row, place: int, low: float, high: float) -> None:
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


def _said(row: Row, digits: int) -> str:
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

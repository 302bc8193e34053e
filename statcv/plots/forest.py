"""Intervals over results, data sets or groups, one below the other."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from statcv.errors import ArgumentError
from statcv.plots.base import COLOURS, GREY, TITLE, written
from statcv.plots.compared import Combined, Compared
from statcv.plots.forest_rows import Diamond, Row, read_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIAMOND = COLOURS[1]
NAME = 32  # letters of a line of a row's name


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

    An interval that leaves the axis ends in an arrow; a row without interval is a
    point, and says so.

    Parameters
    ----------
    estimates : mapping, pandas.DataFrame, Comparison or Combination
        Results or estimates by name; a table with columns ``estimate``, ``lower`` and
        ``upper`` (and ``n``, which is written beside the name, and ``weight``, to which
        the area of the mark is proportional), as ``result.metrics(by="site")`` returns;
        or a comparison, whose differences are drawn; or what :func:`statcv.combine`
        made of several, with the mean over data sets.
    ax : matplotlib.axes.Axes, optional
    metric, how : str, optional
        As ``result.estimate`` takes them, where results are given; ``metric`` chooses
        the rows of a table too, by default those of its first one.
    level : float, default 0.95
        Of the intervals, where results are given.
    names : str, optional
        The column of a table that names its rows. By default the index, or where that
        only counts the first column that is no number.
    summary : optional
        Drawn as a diamond below: ``(estimate, lower, upper)``, or five numbers with
        the prediction interval, which is a thin line; or an object that has these, as
        ``result.heterogeneity()`` returns.
    reference : float, optional
        Where a vertical line is; by default at 0.5 for auROC, at 0 for differences,
        and nowhere for others. NaN for none.
    xlim : tuple of float, optional
        Ends of the axis; by default all finite limits are on it.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If what is given is of several metrics, or nothing that has intervals.
    ColumnError
        If a table lacks a column.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> a = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> b = a.update(formula=". ~ . + PSI")
    >>> ax = scv.plot_forest({"GPA": a, "GPA and PSI": b})
    >>> ax.get_xlabel()
    'auROC (paired)'
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['GPA', 'GPA and PSI']
    """
    found = read_rows(estimates, metric, how, level, names)
    together = found.summary if summary is None else summary
    diamond = None if together is None else Diamond.of(together)
    line = found.no_effect if reference is None else float(reference)
    low, high = _limits(found.rows, diamond, line, xlim)
    labels = [fill(row.name, NAME) for row in found.rows]
    labels += [] if diamond is None else ["summary"]
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
    return ax


def _axes(ax: Axes | None, labels: list[str]) -> Axes:
    """Return ``ax``, or the Axes of a new figure as high as its rows need."""
    if ax is not None:
        return ax
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
    """Return the ends of the axis: those given, or such that all limits are on it."""
    if xlim is not None:
        low, high = map(float, xlim)
        if not (np.isfinite([low, high]).all() and low < high):
            raise ArgumentError(f"xlim must be two numbers that rise, not {xlim!r}.")
        return low, high
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
    """Draw a point and its interval, with arrows where it leaves the axis."""
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
    """Draw the summary, and the prediction interval as a line through it."""
    ends = np.clip([diamond.prediction_lower, diamond.prediction_upper], low, high)
    if not np.isnan(ends).any():
        ax.plot(ends, [place, place], color=DIAMOND, linewidth=1)
    if np.isnan([diamond.lower, diamond.upper]).any():
        ax.scatter(diamond.estimate, place, s=60, marker="D", color=DIAMOND)
        return
    across = [diamond.lower, diamond.estimate, diamond.upper, diamond.estimate]
    ax.fill(across, [place, place - 0.25, place, place + 0.25], color=DIAMOND, zorder=3)


def _area(row: Row, rows: list[Row]) -> float:
    """Return the area of a mark, in proportion to the weights where there are any."""
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
    """Return how many decimals the widths of the intervals warrant."""
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

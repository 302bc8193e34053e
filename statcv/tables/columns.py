"""The columns of a frame as text, and how they fit into the width of a page."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from statcv.tables.numbers import column, number
from statcv.tables.printed import WIDTH, wrapped
from statcv.words import p_value, percent, shared_digits, with_interval

NARROWEST_WORDS = 14  # characters to which a column of words may be narrowed
GAP = "  "  # between two columns


@dataclass(frozen=True)
class View:
    """What a table shows of a frame.

    Attributes
    ----------
    caption : str
        What was computed.
    columns : mapping of labels to str, or None
        The columns that are shown, with their headings; all if None.
    limits : mapping of str to (str, str)
        The columns that have an interval, with those of its bounds.
    alike : tuple of str
        Further columns with as many digits as those with an interval.
    level : float
        Confidence level of the intervals.
    se : str
        Column of standard errors, which determines the digits if there is no interval.
    digits : int, optional
        Number of decimals of these columns, whatever the standard errors.
    p : tuple of str
        The columns of p-values.
    decimals : mapping of str to int
        Columns of other numbers that have this number of decimals.
    exact : tuple of str
        The columns of numbers that were chosen, which are not rounded.
    words : mapping of str to str
        Words for values of cells, such as the labels of metrics.
    note : str
        A sentence below the table.
    indexed : bool
        Whether labels of rows are shown even if they only number the rows.
    """

    caption: str = ""
    columns: Mapping[Any, str] | None = None
    limits: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    alike: tuple[str, ...] = ()
    level: float = 0.95
    se: str = ""
    digits: int | None = None
    p: tuple[str, ...] = ()
    decimals: Mapping[str, int] = field(default_factory=dict)
    exact: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    indexed: bool = False


@dataclass
class Column:
    """A column as text; ``names`` are those of the frame from which it is made."""

    names: tuple[Any, ...]
    heading: str
    cells: list[str]
    words: bool
    width: int = 0

    def __post_init__(self) -> None:
        self.width = max(1, *map(len, [self.heading, *self.cells]))

    @property
    def least(self) -> int:
        """The width of the longest word of the heading, and of all cells."""
        return max(1, *map(len, [*self.heading.split(), *self.cells]))


def columns_of(frame: pd.DataFrame, view: View) -> list[Column]:
    """Return the columns of a view, those of the index first."""
    made = []
    if view.indexed or not frame.index.equals(pd.RangeIndex(len(frame))):
        for k, name in enumerate(frame.index.names):
            values = pd.Series(frame.index.get_level_values(k))
            made.append(_cells(values, (), str("" if name is None else name), view))
    ses, digits = _ses(frame, view), _digits(frame, view)
    chosen = frame.columns if view.columns is None else view.columns
    known = (one for one in chosen if one in frame and _has_values(frame[one]))
    for name in itertools.islice(known, WIDTH // 2):
        heading = str(name) if view.columns is None else view.columns[name]
        values = frame[name]
        limits = view.limits.get(name, ())
        if limits and _has_limits(frame, limits):
            parts = [
                column(frame[one].tolist(), ses, digits) for one in (name, *limits)
            ]
            cells = list(map(with_interval, *parts))
            heading = f"{heading} ({percent(view.level)} CI)"
            made.append(Column((name, *limits), heading, cells, False))
        elif limits or name in view.alike or name == view.se:
            cells = column(values.astype(float).tolist(), ses, digits)
            made.append(Column((name, *limits), heading, cells, False))
        elif name in view.decimals:
            cells = column(values.tolist(), [], view.decimals[name])
            made.append(Column((name,), heading, cells, False))
        elif name in view.exact:
            cells = [f"{v:.6g}" if isinstance(v, float) else str(v) for v in values]
            made.append(Column((name,), heading, cells, False))
        elif name in view.p:
            made.append(Column((name,), heading, list(map(p_value, values)), False))
        else:
            made.append(_cells(values, (name,), heading, view))
    return made


def _has_values(values: pd.Series[Any]) -> bool:
    """Return whether there is any value; a table without rows keeps its columns."""
    return len(values) == 0 or bool(values.notna().any())


def _has_limits(frame: pd.DataFrame, limits: Sequence[str]) -> bool:
    return all(one in frame and frame[one].notna().any() for one in limits)


def row_digits(table: pd.DataFrame, lower: str, upper: str) -> list[int]:
    """Return the decimals of each estimate: in all rows of a metric, the same."""
    rows = table.reset_index()
    metrics = rows["metric"] if "metric" in rows else np.zeros(len(rows))
    groups = rows.groupby(metrics, sort=False)[[lower, upper]]
    shared = {metric: shared_digits(own[lower], own[upper]) for metric, own in groups}
    return [shared[metric] for metric in metrics]


def _digits(frame: pd.DataFrame, view: View) -> int | list[int] | None:
    """Return the decimals that are given, or those that the intervals warrant."""
    for lower, upper in view.limits.values():
        if view.digits is None and _has_limits(frame, (lower, upper)):
            return row_digits(frame, lower, upper)
    return view.digits


def _ses(frame: pd.DataFrame, view: View) -> list[float]:
    """Return standard errors, from the intervals if there are any."""
    for lower, upper in view.limits.values():
        if _has_limits(frame, (lower, upper)):
            return ((frame[upper] - frame[lower]) / 4).tolist()
    return frame[view.se].tolist() if view.se in frame else []


def _cells(
    values: pd.Series[Any], names: tuple[Any, ...], heading: str, view: View
) -> Column:
    """Return a column of numbers, words or truth values as text."""
    if pd.api.types.is_float_dtype(values.dtype):
        numbers = values.astype(float).tolist()
        finite = [value for value in numbers if np.isfinite(value)]
        whole = finite and all(value == int(value) for value in finite)
        return Column(names, heading, column(numbers, [], 0 if whole else None), False)
    kind = pd.api.types
    words = kind.is_bool_dtype(values.dtype) or not kind.is_numeric_dtype(values.dtype)
    cells = [one_cell(value, view.words) for value in values]
    return Column(names, heading, cells, words)


def one_cell(value: Any, words: Mapping[str, str]) -> str:
    """Return a value of any type as the text of a cell."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str):
        return " ".join(words.get(value, value).split())
    if value is None or value is pd.NA or value is pd.NaT:
        return "–"
    return str(value)


def fitting(columns: list[Column]) -> list[Column]:
    """Narrow columns until they fit into the width, and drop the last that do not.

    Headings are wrapped first, the widest of them before others; then cells of words.
    """
    for one in sorted(columns, key=lambda c: c.least - c.width):
        if (excess := _total(columns) - WIDTH) > 0:
            one.width = max(one.least, one.width - excess)
    while (excess := _total(columns) - WIDTH) > 0:
        wide = [c for c in columns if c.words and c.width > NARROWEST_WORDS]
        if wide:
            widest = max(wide, key=lambda c: c.width)
            widest.width = max(NARROWEST_WORDS, widest.width - excess)
        elif len(columns) > 1:
            columns = columns[:-1]
        else:
            columns[0].width = WIDTH
    return columns


def _total(columns: Sequence[Column]) -> int:
    return sum(one.width for one in columns) + len(GAP) * (len(columns) - 1)


def lines_of(columns: Sequence[Column]) -> list[str]:
    """Return heading and rows, each of which has as many lines as its longest cell."""
    lines = []
    for row in zip(*([c.heading, *c.cells] for c in columns), strict=True):
        cells = [
            wrapped(cell, c.width) or [""] for cell, c in zip(row, columns, strict=True)
        ]
        for k in range(max(map(len, cells))):
            parts = [
                f"{cell[k] if k < len(cell) else '':{'<' if c.words else '>'}{c.width}}"
                for cell, c in zip(cells, columns, strict=True)
            ]
            lines.append(GAP.join(parts).rstrip())
    return lines

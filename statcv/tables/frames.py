"""Data frames that print as tables of a paper, within the width of a page."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from statcv.tables.numbers import column, number
from statcv.tables.printed import WIDTH, wrapped
from statcv.words import listed, p_value, percent, shared_digits, with_interval

if TYPE_CHECKING:
    _Series = pd.Series[Any]
else:
    _Series = pd.Series

LEFT = ' style="text-align: left"'
# If a table has more than MANY_ROWS rows, the FIRST_ROWS of them are shown.
MANY_ROWS, FIRST_ROWS = 40, 20
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
    units : bool
        Whether rows have units of their own, as coefficients have, so that the numbers
        of a row that would all be 0 have significant digits.
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
    units: bool = False


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
            heading = str("" if name is None else name)
            made.append(Column((), heading, *_cells(values, view)))
    ses = frame[view.se].tolist() if view.se in frame else []
    digits, sizes = _digits(frame, view), list[float]()
    if view.units and view.digits is None:
        own = [*itertools.chain(view.limits, *view.limits.values()), *view.alike]
        sizes = frame.filter(own).abs().max(axis=1).tolist()
    chosen = frame.columns if view.columns is None else view.columns
    # columns without any value are not shown, unless there are no others
    filled = frame.columns[frame.notna().any()]
    known = (one for one in chosen if one in (frame if filled.empty else filled))
    for name in itertools.islice(known, WIDTH // 2):
        heading = str(name) if view.columns is None else view.columns[name]
        names: tuple[Any, ...] = (name,)
        values, words = frame[name], False
        limits = view.limits.get(name, ())
        if limits and _has_limits(frame, limits):
            names = (name, *limits)
            parts = [column(frame[one].tolist(), [], digits, sizes) for one in names]
            cells = list(map(with_interval, *parts))
            heading = f"{heading} ({percent(view.level)} CI)"
        elif limits or name in view.alike or name == view.se:
            names = (name, *limits)
            cells = column(values.astype(float).tolist(), ses, digits, sizes)
        elif name in view.decimals:
            cells = column(values.tolist(), [], view.decimals[name])
        elif name in view.exact:
            cells = [f"{v:.6g}" if isinstance(v, float) else str(v) for v in values]
        elif name in view.p:
            cells = list(map(p_value, values))
        else:
            cells, words = _cells(values, view)
        made.append(Column(names, heading, cells, words))
    return made


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


def _cells(values: pd.Series[Any], view: View) -> tuple[list[str], bool]:
    """Return numbers, words or truth values as text, and whether they are words."""
    kind = pd.api.types
    if kind.is_float_dtype(values.dtype):
        numbers = values.astype(float).tolist()
        finite = [value for value in numbers if np.isfinite(value)]
        whole = finite and all(value == int(value) for value in finite)
        return column(numbers, [], 0 if whole else None), False
    words = kind.is_bool_dtype(values.dtype) or not kind.is_numeric_dtype(values.dtype)
    return [_cell(value, view.words) for value in values], words


def _cell(value: Any, words: Mapping[str, str]) -> str:
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
        pairs = zip(row, columns, strict=True)
        cells = (wrapped(cell, one.width) or [""] for cell, one in pairs)
        for parts in itertools.zip_longest(*cells, fillvalue=""):
            shown = [
                f"{part:{'<' if one.words else '>'}{one.width}}"
                for part, one in zip(parts, columns, strict=True)
            ]
            lines.append(GAP.join(shown).rstrip())
    return lines


# ---- frames ----


def labels_of(metrics: Iterable[Any]) -> dict[str, str]:
    """Return the labels of metrics by name, and ways of combining folds in words."""
    return {metric.name: metric.label for metric in metrics} | {"per_fold": "per fold"}


class Table(pd.DataFrame):
    """A data frame that prints as a table of a paper, with a caption.

    Printed, it is at most 79 characters wide, shows a choice of its columns, rounds
    numbers to what their standard errors warrant, and names the further columns below.
    In everything else it is the data frame: operations on it, as well as
    ``pandas.DataFrame(table)``, return plain frames.

    Parameters
    ----------
    data : pandas.DataFrame
    caption : str
        What was computed.
    columns : iterable of labels, or mapping of labels to str, optional
        The columns that are shown, or these with their headings; all unless given.
    **shown
        Further attributes of :class:`View`.

    Examples
    --------
    >>> import pandas as pd
    >>> found = {"estimate": 0.6789, "lower": 0.58123, "upper": 0.7712, "n": 90}
    >>> table = Table(
    ...     pd.DataFrame([found]), "Held-out auROC", ["estimate"],
    ...     limits={"estimate": ("lower", "upper")},
    ... )
    >>> print(table)
    Held-out auROC
    <BLANKLINE>
      estimate (95% CI)
    0.68 (0.58 to 0.77)
    <BLANKLINE>
    Further columns: n.
    >>> table["n"].tolist()
    [90]
    """

    _metadata: ClassVar[list[str]] = ["_view"]
    _view: View

    def __init__(
        self,
        data: pd.DataFrame,
        caption: str = "",
        columns: Iterable[Hashable] | Mapping[Any, str] | None = None,
        **shown: Any,
    ) -> None:
        super().__init__(data)  # type: ignore[call-arg]
        self.attrs = dict(data.attrs)
        if columns is not None and not isinstance(columns, Mapping):
            columns = {name: str(name).replace("_", " ") for name in columns}
        self._view = View(caption, columns, **shown)

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __repr__(self) -> str:
        columns, below = self._seen()
        parts = [
            "\n".join(wrapped(self._view.caption)),
            "\n".join(lines_of(columns)) if len(self) else "",
            "\n".join(wrapped(below)),
        ]
        return "\n\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        columns, below = self._seen()
        head = "".join(_html("th", one, one.heading) for one in columns)
        cells = [[_html("td", one, cell) for cell in one.cells] for one in columns]
        rows = ("".join(row) for row in zip(*cells, strict=True))
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return (
            '<div class="statcv"><table class="dataframe">'
            f"<caption{LEFT}>{escape(self._view.caption)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{f'<p>{escape(below)}</p>' if below else ''}</div>"
        )

    def _seen(self) -> tuple[list[Column], str]:
        """Return the columns that are shown, and what stands below them."""
        few = self.iloc[: FIRST_ROWS if len(self) > MANY_ROWS else len(self)]
        columns = fitting(columns_of(few, self._view))
        said = [] if len(self) else ["No rows."]
        if more := len(self) - len(few):
            said.append(f"{more:,} more row{'s' if more > 1 else ''}.")
        seen = {name for column in columns for name in column.names}
        if rest := [str(name) for name in self.columns if name not in seen]:
            said.append(f"Further columns: {listed(rest, most=16)}.")
        return columns, " ".join([*said, *filter(None, [self._view.note])])


def _html(tag: str, one: Column, text: str) -> str:
    return f"<{tag}{LEFT * one.words}>{escape(text)}</{tag}>"


class Values(_Series):
    """A series that prints as a table of one column, with a caption.

    Parameters
    ----------
    data : pandas.Series
    caption : str
        What was computed.
    **shown
        Further attributes of :class:`View`.

    Examples
    --------
    >>> import pandas as pd
    >>> Values(pd.Series({"GPA": 2.8261, "PSI": 2.378}, name="estimate"), "Fit")
    Fit
    <BLANKLINE>
         estimate
    GPA     2.826
    PSI     2.378
    """

    _metadata: ClassVar[list[str]] = ["_name", "_view"]
    _view: View

    def __init__(self, data: pd.Series[Any], caption: str = "", **shown: Any) -> None:
        super().__init__(data)  # type: ignore[call-arg]
        self._view = View(caption, indexed=True, **shown)

    @property
    def _constructor(self) -> type[pd.Series[Any]]:
        return pd.Series

    @property
    def _constructor_expanddim(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _table(self) -> Table:
        table = Table(self.to_frame())
        table._view = self._view
        return table

    def __repr__(self) -> str:
        return repr(self._table())

    def _repr_html_(self) -> str:
        return self._table()._repr_html_()


def shown_frame(table: Table, digits: int | None = None) -> pd.DataFrame:
    """Return what a table shows, all columns of its view, as a frame of text.

    Estimates have the digits that their intervals warrant unless they are given.
    """
    view = table._view if digits is None else replace(table._view, digits=digits)
    columns = columns_of(table, view)
    cells = {one.heading: one.cells for one in columns[1:]}
    return pd.DataFrame(cells, index=columns[0].cells)

"""Data frames that print as tables of a paper."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from statcv.tables.columns import Column, View, columns_of, fitting, lines_of
from statcv.tables.columns import row_digits as row_digits
from statcv.tables.printed import wrapped
from statcv.words import listed

if TYPE_CHECKING:
    _Series = pd.Series[Any]
else:
    _Series = pd.Series

LEFT = ' style="text-align: left"'
# If a table has more than MANY_ROWS rows, the FIRST_ROWS of them are shown.
MANY_ROWS, FIRST_ROWS = 40, 20


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
        rows = zip(
            *([(one, cell) for cell in one.cells] for one in columns), strict=True
        )
        body = "".join(
            f"<tr>{''.join(_html('td', *cell) for cell in row)}</tr>" for row in rows
        )
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


def shown_frame(table: Table) -> pd.DataFrame:
    """Return what a table shows, all columns of its view, as a frame of text."""
    columns = columns_of(table, table._view)
    return pd.DataFrame(
        {one.heading: one.cells for one in columns[1:]}, index=columns[0].cells
    )

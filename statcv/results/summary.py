"""Tables with a title and notes, as text, HTML, LaTeX or Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from statcv.arguments import check_types
from statcv.errors import ArgumentError
from statcv.results.writing.export import PaperTable, Written
from statcv.results.writing.writers import Document, written
from statcv.tables import WIDTH

MOST_CAPTION = 16  # characters of a caption that may head a column of shorter names
LEAST_NAME = 10  # width from which the names of rows are broken into lines
MANY = 60  # largest number of coefficients that a report lists
# if there are more than MOST coefficients, the FIRST of them are printed
MOST, FIRST = 12, 10


def first_of(table: Any) -> Any:
    """Return the first rows of a table of many coefficients, or all of a few."""
    return table.head(FIRST) if len(table) > MOST else table


@dataclass(frozen=True, eq=False)
class Summary(Written):
    """A summary of a result as text, tables and notes; it never prints by itself.

    Attributes
    ----------
    title, headline : str
        The title, and the main result in one line, or an empty string.
    facts : tuple of (str, str)
        The names and descriptions of model, data and scheme, one line each.
    methods : str
        The same as a short paragraph, printed in their place, or an empty string.
    tables, shown : dict of str to pandas.DataFrame
        The tables, unrounded, and as text.
    notes : tuple of str
        Assumptions, methods and caveats.
    more : str
        What there is beyond the text, and the call that shows it; or an empty string.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> ridge = res.update(model=scv.models.Logit(C=1.0))
    >>> print(ridge.summary().headline)
    auROC 0.85 (95% CI 0.64 to 0.97)
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    tables: Mapping[str, pd.DataFrame]
    shown: Mapping[str, pd.DataFrame]
    notes: tuple[str, ...] = ()
    headline: str = ""
    methods: str = ""
    more: str = ""

    def __str__(self) -> str:
        parts = [] if self.methods else [*_wrapped(self.title), ""]
        if self.headline:
            parts += [*_wrapped(self.headline), ""]
        parts += _wrapped(self.methods)
        wide = max((len(name) for name, _ in self.facts), default=0)
        for name, text in () if self.methods else self.facts:
            parts += _wrapped(f"  {name:<{wide}}  {text}", " " * (wide + 4))
        for caption, table in self.shown.items():
            parts += ["", *_lines(caption, table)]
        if self.notes:
            parts += ["", "Notes" if len(self.notes) > 1 else "Note"]
        for note in self.notes:
            parts += _wrapped(f"- {note}", "  ")
        parts += ["", *_wrapped(self.more)] * bool(self.more)
        return "\n".join(parts)

    __repr__ = __str__

    def to_latex(
        self,
        caption: str | None = None,
        *,
        label: str | None = None,
        table: str | None = None,
        notes: bool = False,
    ) -> str:
        r"""Return LaTeX, which needs ``booktabs``: all tables, or one with a caption.

        Parameters
        ----------
        caption : str, optional
            Caption of a single ``table`` environment, which has the first table.
            Unless given, everything is returned, with one ``tabular`` per table.
        label : str, optional
            Label of the ``table`` environment, for ``\ref``; needs ``caption``.
        table : str, optional
            Beginning of the name in ``tables`` of another table than the first; needs
            ``caption``.
        notes : bool, default False
            Whether the notes stand below the single table.

        Raises
        ------
        ArgumentError
            If no table or several have that name, or ``caption`` is missing.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> text = res.summary().to_latex("Metrics.", label="tab:cv")
        >>> print(*text.splitlines()[2:4], sep="\n")
        \caption{Metrics.}
        \label{tab:cv}
        """
        check_types(Summary.to_latex, locals())
        if caption is not None:
            wanted = next(iter(self.shown)) if table is None else table
            names = [name for name in self.shown if name.startswith(wanted)]
            if len(names) != 1:
                raise ArgumentError(
                    f"table={table!r} is the beginning of {len(names)} names; the "
                    f"tables are {', '.join(map(repr, self.shown))}."
                )
            below = self.notes if notes else ()
            return PaperTable(self.shown[names[0]], caption, label, below).to_latex()
        for name, given in (("label", label), ("table", table)):
            if given is not None:
                raise ArgumentError(
                    f"{name}={given!r} is for a single table; give its caption, too."
                )
        return written(self._document(), "latex")

    def _document(self) -> Document:
        tables = [PaperTable(table, caption) for caption, table in self.shown.items()]
        return Document(tables, self.notes, self.title, self.headline, self.facts)


class Summarised:
    """What has a summary, as which it prints and is shown in a notebook."""

    def summary(self) -> Summary:
        """Return the summary."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent)


def _lines(caption: str, table: pd.DataFrame) -> list[str]:
    """Return a table as lines, with a short caption as the heading of its rows.

    A column of estimates with intervals is aligned at the parentheses.
    """
    columns = []
    for heading, given in zip(table.columns, table.astype(str).T.values, strict=True):
        parts = [cell.partition(" (") for cell in given]
        left = max((len(value) for value, _, _ in parts), default=0)
        right = max((len(more + limits) for _, more, limits in parts), default=0)
        cells = [
            f"{value:>{left}}{more + limits:<{right}}" for value, more, limits in parts
        ]
        width = max(len(str(heading)), left + right)
        columns.append([f"{cell:>{width}}" for cell in (str(heading), *cells)])
    names = [str(name) for name in table.index]
    room = WIDTH - sum(2 + len(column[0]) for column in columns)
    fits = len(caption) <= min(max([MOST_CAPTION, *map(len, names)]), room)
    names = [caption if fits else str(table.index.name or ""), *names]
    lines = [] if fits else _wrapped(caption)
    width = min(max(map(len, names)), max(room, LEAST_NAME))
    for name, *row in zip(names, *columns, strict=True):
        *above, last = textwrap.wrap(name, max(width, 1)) or [""]
        lines += [*above, "  ".join([f"{last:<{width}}", *row]).rstrip()]
    return lines

"""The parts of a report, before they are written as HTML or Markdown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Said:
    """Text that comes from a result.

    Attributes
    ----------
    text : str
        The text as it is shown.
    api : str
        Expression of ``res`` that gives it, or the number of which it is a rounding;
        empty for text that no result determines.
    value : float or None
        The number before rounding, if the text is a number.
    """

    text: str
    api: str = ""
    value: float | None = None


Prose = tuple[str | Said, ...]


@dataclass(frozen=True)
class Table:
    """A table with a caption.

    Attributes
    ----------
    caption : str
        What the table shows.
    head : tuple of str
        Names of the columns.
    rows : tuple of tuple of Said
        The cells; the first of a row is its name.
    api : str
        Expression of ``res`` that gives the whole table, if there is one.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Said, ...], ...]
    api: str = ""


@dataclass(frozen=True, eq=False)
class Picture:
    """A plot, drawn on Axes that it is given.

    Attributes
    ----------
    name : str
        Short name in the names of files and elements.
    title, description : str
        Title, and description for those who cannot see it.
    draw : callable
        Function that draws it.
    """

    name: str
    title: str
    description: str
    draw: Callable[[Any], Any]


@dataclass(frozen=True)
class Section:
    """A section of a report: prose, then lists, tables, pictures and code."""

    title: str
    prose: tuple[Prose, ...] = ()
    items: tuple[Said, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    code: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """A report: title, headline and sections."""

    title: str
    headline: Said
    sections: tuple[Section, ...]


def frame_table(frame: pd.DataFrame, caption: str, api: str) -> Table:
    """Return a data frame of text as a table."""
    head = (str(frame.index.name or ""), *map(str, frame.columns))
    rows = tuple(
        (Said(str(label)), *(Said(str(cell)) for cell in row))
        for label, row in zip(frame.index, frame.to_numpy(), strict=True)
    )
    return Table(caption, head, rows, api)


def named_values(caption: str, *rows: tuple[str, Said]) -> Table:
    """Return a table of names and values."""
    cells = tuple((Said(name), value) for name, value in rows)
    return Table(caption, ("", "value"), cells)


def count(value: int, api: str) -> Said:
    """Return an integer."""
    return Said(str(value), api, float(value))

"""The parts of a report, before they are written as HTML or Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from string import Formatter
from typing import Any

import numpy as np
import pandas as pd

from statcv.tables import column, number
from statcv.words import limits_digits, percent


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
Words = str | Said | Prose


@dataclass(frozen=True, eq=False)
class Cited:
    """A thing that a report cites, and the expression that gives it to a reader.

    Attributes
    ----------
    thing : object
    api : str
        Expression of ``res``, the result of the report.

    Examples
    --------
    >>> Cited(3 + 4j, "res.z").said("imag", ".1f")
    Said(text='4.0', api='res.z.imag', value=4.0)
    """

    thing: Any
    api: str = "res"

    def said(self, path: str, form: str = "") -> Said:
        """Return an attribute as text, or as a number if it has a format."""
        value, api = attrgetter(path)(self.thing), f"{self.api}.{path}"
        if not form:
            return Said(str(value), api)
        return Said(format(value, form), api, float(value))

    def each(self, path: str, then: str = "") -> tuple[Said, ...]:
        """Return each element of an attribute, or an attribute of each element."""
        found = enumerate(attrgetter(path)(self.thing))
        api = f"{self.api}.{path}"
        if not then:
            return tuple(Said(str(one), f"{api}[{place}]") for place, one in found)
        return tuple(Cited(one, f"{api}[{place}]").said(then) for place, one in found)


def prose(template: str, **known: Cited | Words) -> Prose:
    """Return a text in which fields in braces stand for what a report cites.

    A field is the name of words, or that of a source with an attribute of it and a
    format if it is a number.

    >>> prose("z is {z.imag:.0f} {unit}", z=Cited(2j, "res.z"), unit="m")
    ('z is ', Said(text='2', api='res.z.imag', value=2.0), ' ', 'm')
    """
    found: list[str | Said] = []
    for text, field, form, _ in Formatter().parse(template):
        found += [text] if text else []
        if field is None:
            continue
        name, _, path = field.partition(".")
        one = known[name]
        found += as_prose(one.said(path, form or "") if isinstance(one, Cited) else one)
    return tuple(found)


def fields(template: str) -> set[str]:
    """Return the names of the words and sources that a template needs.

    >>> sorted(fields("{plan}; {res.learner.label}"))
    ['plan', 'res']
    """
    parsed = Formatter().parse(template)
    return {field.partition(".")[0] for _, field, _, _ in parsed if field}


def plain_text(words: Words) -> str:
    """Return words as text alone.

    >>> plain_text(("n = ", Said("31", "res.design.n", 31.0)))
    'n = 31'
    """
    return "".join(one if isinstance(one, str) else one.text for one in as_prose(words))


def as_prose(words: Words) -> Prose:
    """Return words as a sequence of texts."""
    return words if isinstance(words, tuple) else (words,)


@dataclass(frozen=True)
class ReportTable:
    """A table with a caption.

    Attributes
    ----------
    caption : str
        What the table shows.
    head : tuple of words
        Names of the columns.
    rows : tuple of tuple of words
        The cells; the first of a row is its name.
    api : str
        Expression of ``res`` that gives the whole table, if there is one.
    """

    caption: Words
    head: tuple[Words, ...]
    rows: tuple[tuple[Words, ...], ...]
    api: str = ""


@dataclass(frozen=True, eq=False)
class Picture:
    """A plot, drawn on Axes that it is given.

    Attributes
    ----------
    name : str
        Short name in the names of files and elements.
    title : words
        Title.
    description : str
        Description for those who cannot see it.
    draw : callable
        Function that draws it.
    """

    name: str
    title: Words
    description: str
    draw: Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Section:
    """A section of a report: prose, then lists, tables, pictures and code."""

    title: Words
    prose: tuple[Words, ...] = ()
    items: tuple[Words, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    pictures: tuple[Picture, ...] = ()
    code: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Report:
    """A report: title, headline and sections."""

    title: Words
    headline: Words
    sections: tuple[Section, ...]


# ---- tables ----


def text_table(frame: pd.DataFrame, caption: str, api: str) -> ReportTable:
    """Return a data frame of text, which an expression gives as a whole."""
    head = (str(frame.index.name or ""), *map(str, frame.columns))
    rows = tuple(
        (Said(str(label)), *(Said(str(cell)) for cell in row))
        for label, row in zip(frame.index, frame.to_numpy(), strict=True)
    )
    return ReportTable(caption, head, rows, api)


def value_table(frame: pd.DataFrame, caption: Words, api: str) -> ReportTable:
    """Return a data frame of numbers and texts, with the source of each cell.

    Parameters
    ----------
    frame : pandas.DataFrame
    caption : words
    api : str
        Expression that gives the frame.
    """
    head = [Said(str(name), f"{api}.columns[{k}]") for k, name in enumerate(frame)]
    rows = [
        (
            Said(str(label), f"{api}.index[{row}]"),
            *(
                one_value(frame.iat[row, k], f"{api}.iloc[{row}, {k}]")
                for k in range(frame.shape[1])
            ),
        )
        for row, label in enumerate(frame.index)
    ]
    return ReportTable(caption, (str(frame.index.name or ""), *head), tuple(rows))


def one_value(value: Any, api: str) -> Said:
    """Return a number, rounded if it is not an integer, or a text."""
    if isinstance(value, (float, np.floating)):
        return rounded(float(value), api)
    return Said(str(value), api)


def named_values(caption: Words, *rows: tuple[Words, Words]) -> ReportTable:
    """Return a table of names and values."""
    return ReportTable(caption, ("", "value"), rows)


# ---- numbers ----


def count(value: int, api: str) -> Said:
    """Return an integer."""
    return Said(str(value), api, float(value))


def shown(value: float, api: str, digits: int) -> Said:
    """Return a number with a given number of decimals."""
    (text,) = column([value], [], digits)
    return Said(text.replace("-", "−"), api, value)


def estimate_head(level: float) -> Said:
    """Return the head of a column of estimates with their intervals.

    >>> estimate_head(0.9).text
    'estimate (90% CI)'
    """
    text = f"estimate ({percent(level)} CI)"
    return Said(text, f"'estimate ({{:g}}% CI)'.format(100 * {level!r})")


def limits_cell(
    row: Mapping[Any, Any], at: str, digits: int | None = None, value: str = "estimate"
) -> Prose:
    """Return an estimate and its interval as one cell, such as 0.68 (0.58 to 0.77).

    Parameters
    ----------
    row : mapping
        The estimate, ``lower`` and ``upper``.
    at : str
        Beginning of the expression that gives them, such as ``"table.loc[0, "``.
    digits : int, optional
        Number of decimals.
    value : str
        Name of the estimate.
    """
    lower, upper = float(row["lower"]), float(row["upper"])
    places = limits_digits(lower, upper) if digits is None else digits

    def said(name: str) -> Said:
        return shown(float(row[name]), f"{at}{name!r}]", places)

    if math.isnan(lower):
        return (said(value),)
    return (said(value), " (", said("lower"), " to ", said("upper"), ")")


def rounded(value: float, api: str) -> Said:
    """Return a number with as many digits as the tables give it."""
    return Said(number(value).replace("-", "−"), api, float(value))

"""The parts of a report, before they are written as HTML or Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from statcv.metrics import Metric, is_listed
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


class Cited:
    """A thing that a report cites, and the expression that gives it to a reader.

    Whatever is read of it is cited in turn: an attribute, an item, each of its
    elements, what a call of it returns, and what an expression makes of it. So a number
    and its source are written once.

    Parameters
    ----------
    thing : object
    api : str
        Expression of ``res``, the result of the report.

    Examples
    --------
    >>> z = Cited({"a": 3 + 4j}, "res.z")["a"]
    >>> number_of(z.imag), said(z.conjugate().imag, ".1f").text
    (Said(text='4.000', api="res.z['a'].imag", value=4.0), '-4.0')
    >>> z.computed("abs(res)").api
    "abs(res.z['a'])"
    """

    def __init__(self, thing: Any, api: str = "res") -> None:
        self.thing, self.api = thing, api

    def __getattr__(self, name: str) -> Cited:
        return Cited(getattr(self.thing, name), f"{self.api}.{name}")

    def __getitem__(self, key: Any) -> Cited:
        places = key if isinstance(key, tuple) else (key,)
        return Cited(self.thing[key], f"{self.api}[{', '.join(map(repr, places))}]")

    def __iter__(self) -> Iterator[Cited]:
        return (self[place] for place in range(len(self.thing)))

    def __call__(self, *given: Any, **named: Any) -> Cited:
        """Call it, and cite what it returns."""
        words = [str(literal(one)) for one in given]
        words += [f"{name}={literal(one) or name}" for name, one in named.items()]
        call = f"{self.api}({', '.join(words)})"
        return Cited(self.thing(*given, **named), call)

    def computed(self, expression: str) -> Cited:
        """Return the value of an expression, in which ``res`` stands for the thing."""
        value = eval(expression, {"res": self.thing})
        return Cited(value, re.sub(r"\bres\b", lambda _: self.api, expression))


def literal(value: Any) -> str | None:
    """Return a value as code, or None if it is an object of the caller's script."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        value = value.item()
    if isinstance(value, (str, int, float, bool, type(None))):
        return repr(value)
    if isinstance(value, Metric) and is_listed(value):
        return repr(value.name)
    if isinstance(value, (list, tuple)):
        parts = [literal(one) for one in value]
        if None in parts or len(parts) > 50:
            return None
        return f"[{', '.join(map(str, parts))}]"
    if isinstance(value, dict):
        pairs = [(literal(k), literal(v)) for k, v in value.items()]
        if any(None in pair for pair in pairs):
            return None
        return f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
    if isinstance(value, (np.ndarray, pd.Series, pd.DataFrame)) or callable(value):
        return None
    text = repr(value)
    hidden = re.search(r"\b0x[0-9a-fA-F]+|<|[/\\]", text) or len(text) > 300
    return None if hidden else " ".join(text.split())


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
    draw: Callable[..., Any]


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


def value_table(frame: Cited, caption: Words) -> ReportTable:
    """Return a data frame of numbers and texts, with the source of each cell."""
    columns = frame.thing.shape[1]
    cells = [
        (said(label), *(number_of(frame.iloc[row, k]) for k in range(columns)))
        for row, label in enumerate(frame.index)
    ]
    head: list[Words] = [str(frame.thing.index.name or "")]
    head += map(said, frame.columns)
    return ReportTable(caption, tuple(head), tuple(cells))


def named_values(caption: Words, *rows: tuple[Words, Words]) -> ReportTable:
    """Return a table of names and values."""
    return ReportTable(caption, ("", "value"), rows)


# ---- numbers ----


def said(one: Cited, form: str = "") -> Said:
    """Return a thing as text, or as a number if it has a format."""
    if not form:
        return Said(str(one.thing), one.api)
    return Said(format(one.thing, form), one.api, float(one.thing))


def count(one: Cited) -> Said:
    """Return an integer."""
    return Said(str(one.thing), one.api, float(one.thing))


def shown(one: Cited, digits: int, size: float = np.inf) -> Said:
    """Return a number with a given number of decimals, or those of its row's size."""
    (text,) = column([one.thing], [], digits, [size])
    return Said(text.replace("-", "−"), one.api, float(one.thing))


def number_of(one: Cited) -> Said:
    """Return a number, with as many digits as tables give it, or a text."""
    if isinstance(one.thing, (float, np.floating)):
        text = number(one.thing).replace("-", "−")
        return Said(text, one.api, float(one.thing))
    return said(one)


def count_or_number(one: Cited) -> Said:
    """Return an integer, or another number as :func:`number_of` does."""
    return number_of(one) if isinstance(one.thing, float) else count(one)


def estimate_head(level: float) -> Said:
    """Return the head of a column of estimates with their intervals.

    >>> estimate_head(0.9).text
    'estimate (90% CI)'
    """
    text = f"estimate ({percent(level)} CI)"
    return Said(text, f"'estimate ({{:g}}% CI)'.format(100 * {level!r})")


def limits_cell(
    row: Callable[[str], Cited], digits: int | None = None, value: str = "estimate"
) -> Prose:
    """Return an estimate and its interval as one cell, such as 0.68 (0.58 to 0.77).

    Parameters
    ----------
    row : callable
        Function that returns the estimate, ``lower`` and ``upper`` by their names.
    digits : int, optional
        Number of decimals.
    value : str
        Name of the estimate.
    """
    ends = [row("lower"), row("upper")]
    places = digits
    if places is None:
        places = limits_digits(*(float(end.thing) for end in ends))
    if math.isnan(ends[0].thing):
        return (shown(row(value), places),)
    lower, upper = (shown(end, places) for end in ends)
    return (shown(row(value), places), " (", lower, " to ", upper, ")")

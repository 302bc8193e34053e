"""Objects that print as a heading and what they hold, by its name."""

from __future__ import annotations

import dataclasses
import re
import textwrap
from collections.abc import Mapping, Sequence, Sized
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from statcv.tables.numbers import column, number
from statcv.words import listed, p_value, percent, plural, sentence

if TYPE_CHECKING:
    from statcv.tables.frames import Table

WIDTH = 79
MOST_NUMBERS = 8  # numbers of an array that are shown one by one
HOWS = {"per_fold": "per fold"}


def wrapped(
    text: str, width: int = WIDTH, first: str = "", rest: str = ""
) -> list[str]:
    """Return the lines of a text, with an indent of the first and of the others."""
    indents: dict[str, Any] = {"initial_indent": first, "subsequent_indent": rest}
    return textwrap.wrap(text, width, **indents, break_on_hyphens=False)


Said = tuple[str, Mapping[str, object]]


class Printed:
    """A dataclass that prints as its heading and its fields, within 79 characters.

    The heading is the first sentence of the docstring. A class that has more to say
    returns both from ``_said``; the points of a curve are printed as a table. The class
    is declared with ``repr=False``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, repr=False)
    ... class Agreement(Printed):
    ...     "The agreement of two raters."
    ...     kappa: float
    ...     lower: float
    ...     upper: float
    ...     level: float
    ...     n_records: int
    >>> Agreement(0.71, 0.65, 0.77, 0.95, 120)
    The agreement of two raters
      kappa         0.710
      95% interval  0.650 to 0.770
      n records     120
    """

    __slots__ = ()
    _points: ClassVar[tuple[str, ...]] = ()  # arrays with one number per point
    _with_band: ClassVar[str] = ""  # the one among them that has limits

    def _said(self) -> Said:
        """Return the heading, and what stands below it by its name."""
        return heading_of(type(self)), fields_of(self)

    def _curve(self) -> Table:
        """Return the points of a curve as a table, with other fields in the note."""
        import pandas as pd

        from statcv.tables.frames import Table

        heading, below = self._said()
        limits = {self._with_band: ("lower", "upper")} if self._with_band else {}
        names = (*self._points, *limits.get(self._with_band, ()))
        each = {name: getattr(self, name) for name in names}
        others = {
            name: one
            for name, one in below.items()
            if getattr(one, "shape", None) != each[names[0]].shape
        }
        said = ", ".join(f"{_spaced(k)} {in_words(v)}" for k, v in others.items())
        return Table(
            pd.DataFrame(each),
            heading,
            self._points,
            limits=limits,
            level=getattr(self, "level", 0.95),
            note=sentence(said) if said else "",
        )

    def __repr__(self) -> str:
        if self._points:
            return repr(self._curve())
        heading, below = self._said()
        wide = max(map(len, below), default=0)
        lines = wrapped(heading)
        for name, value in below.items():
            first = f"  {_spaced(name):<{wide}}  "
            lines += wrapped(in_words(value), first=first, rest=" " * len(first))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if self._points:
            return self._curve()._repr_html_()
        heading, below = self._said()
        rows = "".join(
            f'<tr><th scope="row">{escape(_spaced(name))}</th>'
            f"<td>{escape(in_words(value))}</td></tr>"
            for name, value in below.items()
        )
        table = f"<table>{rows}</table>" if rows else ""
        return f'<div class="statcv"><p>{escape(heading)}</p>{table}</div>'


class Constructed:
    """A dataclass that prints as the call that makes it, without its defaults.

    Examples
    --------
    >>> from statcv.models import Logit
    >>> Logit(), Logit(C=0.5)
    (Logit(), Logit(C=0.5))
    """

    __slots__ = ()

    def __repr__(self) -> str:
        given = [
            f"{one.name}={getattr(self, one.name)!r}"
            for one in dataclasses.fields(self)  # type: ignore[arg-type]
            if one.init and one.repr and getattr(self, one.name) != one.default
        ]
        return f"{type(self).__name__}({', '.join(given)})"


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def heading_of(kind: type) -> str:
    """Return the first clause of the docstring of a class.

    >>> heading_of(Printed)
    'A dataclass that prints as its heading and its fields, within 79 characters'
    """
    text = " ".join((kind.__doc__ or kind.__name__).partition("\n\n")[0].split())
    text = re.sub(r":\w+:`[~.]*([^`]*)`", r"\1", text).replace("``", "")
    return re.split(r"[;.](?: |$)", text)[0]


def fields_of(thing: Any) -> dict[str, object]:
    """Return what is printed of a dataclass: its fields but for empty ones.

    The limits of an interval are put together, and p-values are written as such.
    """
    every = {
        one.name: getattr(thing, one.name)
        for one in dataclasses.fields(thing)
        if one.repr and not one.name.startswith("_")
    }
    level = every.get("level")
    said = f"{percent(level)} " if isinstance(level, float) else ""
    between = f"{said}interval"
    shown: dict[str, object] = {}
    for name, value in every.items():
        other = every.get(f"{name[:-5]}upper") if name.endswith("lower") else None
        if isinstance(other, float) and isinstance(value, float):
            limits = " to ".join(column([value, other]))
            shown[f"{name[:-5]}{between}"] = "–" if value != value else limits
        elif name.endswith("upper") and f"{name[:-5]}{between}" in shown:
            continue
        elif isinstance(value, float) and re.match(r"p(_|$)", name):
            shown[name] = p_value(value)
        elif name != "level" and not (_is_empty(value) or callable(value)):
            shown[name] = value
    if said and not any(name.endswith(between) for name in shown):
        shown["level"] = said.strip()
    return shown


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, Sized) and len(value) == 0)


def in_words(value: object) -> str:
    """Return any value in words that fit into a line or two.

    >>> in_words(0.12345), in_words(True), in_words(None), in_words([1.5, 2.25])
    ('0.123', 'yes', '–', '1.500, 2.250')
    >>> in_words(np.linspace(0, 1, 50)), in_words({"a": 1, "b": 2})
    ('50 numbers from 0.000 to 1.000', 'a: 1, b: 2')
    >>> in_words({"numbers", "classes"})  # a set has no order of its own
    'classes, numbers'
    """
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        one = float(value)
        return f"{one:.0f}" if one.is_integer() and one else number(one)
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if isinstance(value, (list, tuple)) and value and _floats(value):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        return _array(value)
    if hasattr(value, "to_numpy") and isinstance(value, Sized):  # a frame or series
        return plural(len(value), "row")
    if isinstance(value, Mapping):
        return listed([f"{key}: {in_words(one)}" for key, one in value.items()]) or "–"
    if isinstance(value, (list, tuple, set, frozenset)):
        words = [in_words(one) for one in value]
        return listed(words if isinstance(value, Sequence) else sorted(words)) or "none"
    if isinstance(value, Printed) and type(value).__repr__ is Printed.__repr__:
        return value._said()[0]
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    if hasattr(value, "label"):
        return str(value.label)
    made = hasattr(type(value).__repr__, "__wrapped__")  # by dataclass
    if type(value).__str__ is object.__str__ and (
        made or type(value).__repr__ is object.__repr__
    ):
        return heading_of(type(value))
    text = str(value).partition("\n")[0]
    return "–" if value is None else HOWS.get(text, " ".join(text.split()))


def _floats(values: Any) -> bool:
    return all(isinstance(one, (float, np.floating)) for one in values)


def _array(values: np.ndarray[Any, Any]) -> str:
    """Return the numbers of a short array, and the count and range of a long one."""
    if values.dtype.kind == "b":
        return f"{int(values.sum()):,} of {values.size:,}"
    if values.dtype.kind not in "iuf" or not values.size:
        return listed([in_words(one) for one in values.tolist()]) or "none"
    if values.ndim == 1 and values.size <= MOST_NUMBERS:
        whole = values.dtype.kind != "f"
        return ", ".join(map(str, values) if whole else column(values.tolist()))
    size = " × ".join(f"{length:,}" for length in values.shape)
    finite = values[np.isfinite(values)]
    if finite.size and finite.min() == finite.max():
        return f"{size} numbers, all {in_words(finite.flat[0].item())}"
    if not finite.size:
        return f"{size} numbers, none of them finite"
    least, most = column([float(finite.min()), float(finite.max())])
    if values.dtype.kind in "iu":
        least, most = f"{finite.min()}", f"{finite.max()}"
    return f"{size} numbers from {least} to {most}"

"""What a column of a design matrix is computed from, as a tree of plain operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ColumnError, suggestion

Floats = NDArray[np.float64]
Level = str | float

# conditions are numbers, 1 for true and 0 for false, and NaN where a value is missing
OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "**": np.power,
    "negative": np.negative,
    "<": lambda a, b: _condition(a < b, a, b),
    "<=": lambda a, b: _condition(a <= b, a, b),
    ">": lambda a, b: _condition(a > b, a, b),
    ">=": lambda a, b: _condition(a >= b, a, b),
    "==": lambda a, b: _condition(a == b, a, b),
    "and": np.minimum,
    "or": np.maximum,
    "not": lambda a: 1 - a,
    "if": lambda a, b, c: np.where(np.isnan(a), np.nan, np.where(a != 0, b, c)),
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "minimum": np.minimum,
    "maximum": np.maximum,
}

TRUTHS = ("<", "<=", ">", ">=", "==", "and", "or", "not")


@dataclass(frozen=True)
class Number:
    """A number."""

    value: float


@dataclass(frozen=True)
class Column:
    """A column of the data.

    Attributes
    ----------
    name : str
    kind : {"number", "text", "truth"}
    """

    name: str
    kind: str = "number"


@dataclass(frozen=True)
class Call:
    """An operation on expressions, one of :data:`OPERATIONS`."""

    operation: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Levels:
    """A number for each level of a factor.

    Attributes
    ----------
    of : Expression
        Column of text, or an expression of numbers.
    values : tuple of (str or float, float)
        The levels, and their numbers.
    otherwise : float, optional
        The number of any other level; there is none unless given.
    """

    of: Expression
    values: tuple[tuple[Level, float], ...]
    otherwise: float | None = None


@dataclass(frozen=True)
class Spline:
    """A polynomial, and what changes from each knot on.

    It is Σ cₖ (x - origin)ᵏ, plus Σ d (x - knot)ᵏ where x is at least the knot. The
    first and the last polynomial have no end.

    Attributes
    ----------
    of : Expression
        The argument x.
    origin : float
    coefficients : tuple of float
        From the constant to the highest power.
    jumps : tuple of (float, int, float)
        Knot, power k and coefficient d of each change; knots rise.
    """

    of: Expression
    origin: float
    coefficients: tuple[float, ...]
    jumps: tuple[tuple[float, int, float], ...] = ()

    @property
    def knots(self) -> tuple[float, ...]:
        """The knots, in rising order."""
        return tuple(dict.fromkeys(knot for knot, _, _ in self.jumps))


Expression = Number | Column | Call | Levels | Spline


def evaluate(expression: Expression, frame: pd.DataFrame) -> Any:
    """Return the value for each row of a frame; text for a column of text.

    Raises
    ------
    ColumnError
        If the frame lacks a column.
    """
    match expression:
        case Number(value):
            return np.full(len(frame), value)
        case Column(name, kind):
            return _column(frame, name, kind)
        case Call(operation, arguments):
            given = [evaluate(one, frame) for one in arguments]
            with np.errstate(all="ignore"):
                return np.asarray(OPERATIONS[operation](*given), dtype=float)
        case Levels(of, values, otherwise):
            given, made = evaluate(of, frame), np.full(len(frame), np.nan)
            if otherwise is not None:
                made[~pd.isna(given)] = otherwise
            for level, number in values:
                made[given == level] = number
            return made
        case Spline(of, origin, coefficients, jumps):
            x = evaluate(of, frame)
            made = np.polynomial.polynomial.polyval(x - origin, coefficients)
            for knot, power, coefficient in jumps:
                made = made + coefficient * np.where(x < knot, 0.0, (x - knot) ** power)
            return made


def columns_in(expression: Expression) -> Iterator[Column]:
    """Yield the columns of an expression, each as often as it occurs."""
    if isinstance(expression, Column):
        yield expression
    for one in _parts(expression):
        yield from columns_in(one)


def _parts(expression: Expression) -> tuple[Expression, ...]:
    if isinstance(expression, Call):
        return expression.arguments
    return (expression.of,) if isinstance(expression, (Levels, Spline)) else ()


def _column(frame: pd.DataFrame, name: str, kind: str) -> Any:
    if name not in frame.columns:
        raise ColumnError(
            f"the data lack the column {name!r}." + suggestion(name, frame.columns)
        )
    if kind == "text":
        return frame[name].astype(object).to_numpy()
    return frame[name].to_numpy(dtype=float, na_value=np.nan)


def _condition(true: Any, *given: Any) -> Floats:
    missing = np.any([np.isnan(one) for one in given], axis=0)
    return np.where(missing, np.nan, true.astype(float))


# ---- as plain data, for a file ----

KINDS: Mapping[str, type] = {
    kind.__name__.lower(): kind for kind in (Number, Column, Call, Levels, Spline)
}


def as_plain(expression: Expression) -> dict[str, Any]:
    """Return an expression as dictionaries, lists, numbers and text.

    >>> as_plain(Call("log", (Column("age"),)))["operation"]
    'log'
    """
    made: dict[str, Any] = {"is": type(expression).__name__.lower()}
    for field in fields(expression):
        value = getattr(expression, field.name)
        if field.name == "arguments":
            value = [as_plain(one) for one in value]
        elif field.name == "of":
            value = as_plain(value)
        made[field.name] = value
    return made


def from_plain(given: Mapping[str, Any]) -> Expression:
    """Return the expression of which :func:`as_plain` made dictionaries.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it made nothing like them.
    """
    parts = {name: value for name, value in given.items() if name != "is"}
    if "arguments" in parts:
        parts["arguments"] = tuple(map(from_plain, parts["arguments"]))
        if parts["operation"] not in OPERATIONS:
            raise ValueError(f"there is no operation {parts['operation']!r}")
    if "of" in parts:
        parts["of"] = from_plain(parts["of"])
    for name in ("values", "coefficients", "jumps"):
        if name in parts:
            parts[name] = _tuples(parts[name])
    made: Expression = KINDS[given["is"]](**parts)
    return made


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, (list, tuple)) else value

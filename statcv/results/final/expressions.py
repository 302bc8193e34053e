"""What a column of a design matrix is computed from, as a tree of plain operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ColumnError, suggestion

Level = str | float

COMPARED = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
# operations, which are functions of NumPy; conditions are 1 for true and 0 for false
OPERATIONS = (
    *("add", "subtract", "multiply", "divide", "power", "negative", "where", *COMPARED),
    *("logical_and", "logical_or", "logical_not", "minimum", "maximum", "absolute"),
    *("log", "exp", "sqrt", "sin", "cos", "tan", "floor", "ceil"),
)

LARGEST = 700.0  # the largest number whose exponential all databases compute


@dataclass(frozen=True)
class Number:
    """A number; NaN is a missing value."""

    value: float


@dataclass(frozen=True)
class Text:
    """A level that is text."""

    value: str


@dataclass(frozen=True)
class Column:
    """A column of the data.

    Attributes
    ----------
    name : str
    kind : {"number", "text", "truth", "linear"}
        What it holds; ``linear`` is a linear predictor, which is not in the data.
    """

    name: str
    kind: str = "number"


@dataclass(frozen=True)
class Call:
    """An operation on expressions, one of :data:`OPERATIONS`."""

    operation: str
    arguments: tuple[Expression, ...]

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise ValueError(f"there is no operation {self.operation!r}")


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

    def in_steps(self) -> Expression:
        """Return it as operations: Horner's rule, and a choice at each knot."""
        made = _polynomial(self.of, self.origin, self.coefficients)
        for knot in dict.fromkeys(knot for knot, _, _ in self.jumps):
            own = {power: d for at, power, d in self.jumps if at == knot}
            change = [own.get(power, 0.0) for power in range(max(own) + 1)]
            beyond = _polynomial(self.of, knot, change)
            below = Call("less", (self.of, Number(knot)))
            made = Call("add", (made, Call("where", (below, Number(0.0), beyond))))
        return made


Expression = Number | Text | Column | Call | Levels | Spline


def distance(of: Expression, origin: float) -> Expression:
    """Return the distance of an expression from a number."""
    if not origin:
        return of
    return Call("subtract" if origin > 0 else "add", (of, Number(abs(origin))))


def _polynomial(of: Expression, origin: float, given: Sequence[float]) -> Expression:
    made: Expression = Number(given[-1])
    for coefficient in given[-2::-1]:
        made = Call("multiply", (made, distance(of, origin)))
        if coefficient:
            made = Call("add", (Number(coefficient), made))
    return made


def limited(one: Expression, most: float = LARGEST) -> Expression:
    """Return an expression within limits between which its exponential is computed."""
    made = one
    for sign, limit in (("greater", most), ("less", -LARGEST)):
        beyond = Call(sign, (one, Number(limit)))
        made = Call("where", (beyond, Number(limit), made))
    return made


def risk_of(linear: Expression, start: float) -> Expression:
    """Return the risk by a horizon, given the probability of no event at 0."""
    hazard = -math.log(max(start, math.exp(-LARGEST)))
    # beyond this the probability of no event is next to 0, and databases refuse it
    most = math.log(LARGEST / hazard) if hazard else LARGEST
    ratio = Call("exp", (limited(linear, most),))
    return Call("subtract", (Number(1.0), Call("power", (Number(start), ratio))))


def rounded(one: Expression, few: Callable[[float], float]) -> Expression:
    """Round the splines of an expression."""
    match one:
        case Call():
            return replace(one, arguments=tuple(rounded(a, few) for a in one.arguments))
        case Levels():
            return replace(one, of=rounded(one.of, few))
        case Spline(of, origin, coefficients, jumps):
            changes = tuple((few(knot), k, few(d)) for knot, k, d in jumps)
            each = tuple(map(few, coefficients))
            return Spline(rounded(of, few), few(origin), each, changes)
    return one


def is_level(of: Expression, level: Level) -> Call:
    """Return the condition that an expression has a level."""
    level_of = Text(level) if isinstance(level, str) else Number(level)
    return Call("equal", (of, level_of))


def evaluate(
    expression: Expression, frame: pd.DataFrame, known: dict[Column, Any] | None = None
) -> Any:
    """Return the value for each row of a frame without missing values.

    Parameters
    ----------
    expression : Expression
    frame : data frame
    known : dict, optional
        Values of columns, kept here from one expression to the next.

    Raises
    ------
    ColumnError
        If the frame lacks a column.
    """
    known = {} if known is None else known
    match expression:
        case Number(value):
            return np.full(len(frame), value)
        case Text(value):
            return value
        case Column(name, kind):
            if expression not in known:
                known[expression] = _column(frame, name, kind)
            return known[expression]
        case Call(operation, arguments):
            given = [evaluate(one, frame, known) for one in arguments]
            with np.errstate(all="ignore"):
                return np.asarray(getattr(np, operation)(*given), dtype=float)
        case Levels(of, values, otherwise):
            given = evaluate(of, frame, known)
            made = np.full(len(frame), math.nan if otherwise is None else otherwise)
            for level, number in values:
                made[given == level] = number
            return made
        case Spline():
            return evaluate(expression.in_steps(), frame, known)


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield an expression, and all expressions in it."""
    yield expression
    match expression:
        case Call(_, arguments):
            for one in arguments:
                yield from parts_of(one)
        case Levels() | Spline():
            yield from parts_of(expression.of)


def _column(frame: pd.DataFrame, name: str, kind: str) -> Any:
    if name not in frame.columns:
        raise ColumnError(
            f"the data lack the column {name!r}." + suggestion(name, frame.columns)
        )
    if kind == "text":
        return frame[name].astype(object).to_numpy()
    return frame[name].to_numpy(dtype=float, na_value=np.nan)

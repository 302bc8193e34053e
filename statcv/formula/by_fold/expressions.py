"""Expressions of a formula, with what they learn learnt in many training sets at once.

The values of an expression are polynomials in the columns of each source: numbers
that are the same in all training sets, or in all that share a state, such as the knots
of a spline. The coefficients of the polynomials differ between training sets, such as
the mean and the standard deviation of ``scale``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import StatcvError
from statcv.formula.by_fold.training_sets import TrainingSets
from statcv.numeric.arrays import Array, Floats, Ints

# ---- columns of numbers, and columns as sums of products of these ----


@dataclass(frozen=True, eq=False)
class ColumnSource:
    """Columns of numbers of all records.

    Attributes
    ----------
    state : numpy.ndarray of int, shape (fits,), or None
        The state that each training set has; None if all have the same.
    evaluate : callable
        Function of the numbers of m states that returns an array, shape (m, n, k).
    """

    state: Ints | None
    evaluate: Callable[[Ints], Floats]

    @classmethod
    def of(cls, values: Floats) -> ColumnSource:
        """Return columns that are the same in all training sets, shape (n, k)."""
        return cls(None, lambda states: values[None])

    @property
    def values(self) -> Floats:
        """The columns, if all training sets have the same."""
        return np.asarray(self.evaluate(np.zeros(1, dtype=np.int64))[0])


def distinct_rows(rows: Array) -> tuple[Ints, Ints]:
    """Return where each distinct row is first, and which of these each row is."""
    _, first, code = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, code.reshape(-1)


def source_values(source: ColumnSource, fits: Ints) -> Floats:
    """Return the columns of a source in some training sets, (m, n, k) or (1, n, k)."""
    if source.state is None:
        return source.evaluate(np.zeros(1, dtype=np.int64))
    states, place = np.unique(source.state[fits], return_inverse=True)
    made = source.evaluate(states)
    return made if len(states) == 1 else made[place]


Monomial = tuple[tuple[int, int], ...]
Column = dict[Monomial, "Floats | float"]
Columns = list[Column]
ONE: Monomial = ()


class NotKnownError(Exception):
    """An expression that is learnt in one training set after the other."""


def plus(first: Column, second: Column) -> Column:
    """Return the sum of two columns."""
    made = dict(first)
    for monomial, part in second.items():
        made[monomial] = made[monomial] + part if monomial in made else part
    return made


def times(first: Column, second: Column) -> Column:
    """Return the product of two columns."""
    made: Column = {}
    for (one, part), (other, share) in product(first.items(), second.items()):
        monomial = tuple(sorted(one + other))
        joined = part * share
        made[monomial] = made[monomial] + joined if monomial in made else joined
    return made


def negative(columns: Columns) -> Columns:
    """Return minus each column."""
    return [times(one, {ONE: -1.0}) for one in columns]


def side_by_side(
    left: Columns | float, right: Columns | float
) -> list[tuple[Column, Column]]:
    """Return the pairs of columns that an operator joins, one repeated for many."""
    one: Columns = left if isinstance(left, list) else [{ONE: left}]
    other: Columns = right if isinstance(right, list) else [{ONE: right}]
    width = max(len(one), len(other))
    if {len(one), len(other)} - {1, width}:
        raise NotKnownError
    one, other = (part * width if len(part) == 1 else part for part in (one, other))
    return list(zip(one, other, strict=True))


@dataclass(frozen=True, eq=False)
class Line:
    """A column that is ``shift + slope * x``.

    Attributes
    ----------
    monomial : tuple
        The columns whose product is x, by ``ColumnSource`` and place in it.
    x : numpy.ndarray, shape (n,)
    slope, shift : float or numpy.ndarray, shape (fits,)
    """

    monomial: Monomial
    x: Floats
    slope: Floats | float
    shift: Floats | float

    def back(self, values: Any, fits: int) -> Floats:
        """Return the x of values of the column, shape (fits, k)."""
        given = np.atleast_1d(np.asarray(values, dtype=float))[None]
        if given.ndim > 2:
            raise NotKnownError
        shift, slope = (np.reshape(one, (-1, 1)) for one in (self.shift, self.slope))
        return np.broadcast_to((given - shift) / slope, (fits, given.shape[1]))


# ---- expressions ----


CELLS = 2**18  # numbers in an array of a block of training sets
SMALL = 1e-10  # relative size of what is lost to rounding
# least share of a sum of squares that orthogonal polynomials keep without losing digits
LOST = 1e-8


class Learner:
    """What expressions of columns learn in each of several training sets.

    Parameters
    ----------
    sets : TrainingSets
    columns : mapping of str to pandas.Series
        Columns of the data.
    functions : mapping
        What expressions may call.
    transforms : mapping
        For the class of a function that learns, a function of the learner and of the
        call's arguments, columns among them, that returns columns.
    """

    def __init__(
        self,
        sets: TrainingSets,
        columns: Mapping[str, pd.Series[Any]],
        functions: Mapping[str, Any],
        transforms: Mapping[Any, Callable[..., Columns]],
    ) -> None:
        self.sets, self.columns = sets, columns
        self.functions, self.transforms = functions, transforms
        self.sources: list[ColumnSource] = []
        self._known: dict[Any, int] = {}

    def again(self, sets: TrainingSets) -> Learner:
        """Return a learner for other training sets, with what all of them share."""
        made = Learner(sets, self.columns, self.functions, self.transforms)
        made.sources = list(self.sources)
        shared = [source.state is None for source in self.sources]
        made._known = {key: i for key, i in self._known.items() if shared[i]}
        return made

    # ---- from code to columns ----

    def learn(self, python: str) -> Columns:
        """Return the columns of an expression.

        Raises
        ------
        NotKnownError
            If some part of it is learnt in one training set after the other.
        """
        try:
            with np.errstate(all="ignore"):
                found = self._value(parsed(python))
        except (StatcvError, TypeError, ValueError, np.linalg.LinAlgError) as error:
            raise NotKnownError from error
        if not isinstance(found, list):
            raise NotKnownError
        for column in found:
            if not all(np.isfinite(part).all() for part in column.values()):
                raise NotKnownError
        return found

    def _value(self, node: ast.expr) -> Any:
        """Return a number, or columns; an expression that learns has columns."""
        if not learns(node, self.functions):
            return self._fixed(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return negative(self._value(node.operand))
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise NotKnownError

    def _operation(self, node: ast.BinOp) -> Columns:
        left, right, kind = self._value(node.left), self._value(node.right), node.op
        number = right if isinstance(right, float) else 0.0
        if isinstance(kind, ast.Pow) and number in (1.0, 2.0, 3.0):
            return [reduce(times, [one] * int(number)) for one in left]
        if isinstance(kind, ast.Div) and number:
            kind, right = ast.Mult(), 1 / number
        elif isinstance(kind, ast.Sub):
            right = -right if isinstance(right, float) else negative(right)
            kind = ast.Add()
        if not isinstance(kind, ast.Add | ast.Mult):
            raise NotKnownError
        combine = plus if isinstance(kind, ast.Add) else times
        return [combine(a, b) for a, b in side_by_side(left, right)]

    def _call(self, node: ast.Call) -> Columns:
        name = getattr(node.func, "id", None)
        if name == "I":
            return list(self._value(node.args[0]))
        found = (
            self.functions.get(name) if name else _evaluated(node.func, self.functions)
        )
        transform = getattr(found, "__patsy_stateful_transform__", None)
        given = [self._argument(one) for one in node.args]
        named = {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}
        if transform in self.transforms:
            return self.transforms[transform](self, *given, **named)
        if transform or not isinstance(found, np.ufunc) or named or found.nout != 1:
            raise NotKnownError
        return self._mapped(found, given)

    def _argument(self, node: ast.expr) -> Any:
        try:
            return ast.literal_eval(node)
        except ValueError:
            return self._value(node)

    def _fixed(self, node: ast.expr) -> Columns | float:
        """Return the columns of an expression that learns nothing."""
        name = node.id if isinstance(node, ast.Name) else None
        key = ast.unparse(node) if name is None else name
        if key not in self._known:
            found: Any = self.columns.get(key) if name is not None else None
            if found is None:
                found = _evaluated(node, {**self.functions, **self.columns})
            if isinstance(found, int | float) and not isinstance(found, bool):
                return float(found)
            values = np.asarray(found)
            self.add(values if values.ndim == 2 else values[:, None], key)
        number = self._known[key]
        width = self.sources[number].values.shape[1]
        return [{((number, j),): 1.0} for j in range(width)]

    # ---- columns that training sets share ----

    def add(self, values: Array, key: Any) -> int:
        """Return the number of a source that is the same in all training sets."""
        if key not in self._known:
            plain = values.dtype.kind in "iu" or values.dtype == np.float64
            if not plain or len(values) != self.sets.n:
                raise NotKnownError
            values = values.astype(np.float64, copy=False)
            if not np.isfinite(values).all():
                raise NotKnownError
            self._known[key] = self._append(ColumnSource.of(values))
        return self._known[key]

    def _append(self, source: ColumnSource) -> int:
        self.sources.append(source)
        return len(self.sources) - 1

    def by_state(
        self, states: Floats, evaluate: Callable[[Floats], Floats], key: Any
    ) -> int:
        """Return the number of a source whose values depend on a row of states.

        Parameters
        ----------
        states : numpy.ndarray, shape (fits, k)
            What each training set has learnt.
        evaluate : callable
            Function of a row that returns an array, shape (n, columns).
        key
            What the source depends on besides.
        """
        if key not in self._known:
            first, state = distinct_rows(states)
            each = ColumnSource(
                state, lambda some: np.stack([evaluate(states[i]) for i in first[some]])
            )
            self._known[key] = self._append(each)
        return self._known[key]

    def values(self, column: Column, fits: Ints) -> Floats:
        """Return the values of a column in some training sets, shape (m, n)."""
        made = np.zeros((len(fits), self.sets.n))
        for monomial, part in column.items():
            values = np.ones((1, self.sets.n))
            for number, j in monomial:
                values = values * source_values(self.sources[number], fits)[:, :, j]
            own = part[fits, None] if isinstance(part, np.ndarray) else part
            made += own * values
        return made

    def _mapped(self, function: np.ufunc, given: list[Any]) -> Columns:
        """Return the values of an elementwise function, new in each training set."""
        columns = [one if isinstance(one, list) else [{ONE: one}] for one in given]
        if any(len(one) > 1 for one in columns):
            raise NotKnownError
        every = np.arange(self.sets.fits)

        def evaluate(fits: Ints) -> Floats:
            parts = [self.values(one[0], fits) for one in columns]
            with np.errstate(all="ignore"):
                return np.asarray(function(*parts), dtype=float)[:, :, None]

        for fits in self.blocks():
            if not np.isfinite(evaluate(fits)).all():
                raise NotKnownError
        return [{((self._append(ColumnSource(every, evaluate)), 0),): 1.0}]

    # ---- what is learnt of a column ----

    def blocks(self) -> list[Ints]:
        """Return the numbers of the training sets in blocks of bounded memory."""
        step, every = max(1, CELLS // max(self.sets.n, 1)), np.arange(self.sets.fits)
        return [every[i : i + step] for i in range(0, len(every), step)]

    def line(self, column: Column) -> Line | None:
        """Return a column as a line in numbers that are the same in all, if it is."""
        (monomial, *others) = [one for one in column if one != ONE] or [ONE]
        known = all(self.sources[number].state is None for number, _ in monomial)
        if monomial == ONE or others or not known:
            return None
        x = np.ones(self.sets.n)
        for number, j in monomial:
            x = x * self.sources[number].values[:, j]
        return Line(monomial, x, column[monomial], column.get(ONE, 0.0))

    def orthogonal(self, line: Line, degree: int) -> list[Monomial]:
        """Return orthonormal polynomials of its numbers, of degree 1 and above.

        They are orthonormal on all records, with leading coefficients above 0.
        """
        keys = [("orthogonal", line.monomial, j) for j in range(1, degree + 1)]
        n, made = self.sets.n, list[Monomial]()
        apart = line.x - line.x.mean()
        size = float(np.sqrt(apart @ apart))
        if not size > SMALL * np.sqrt(n) * np.abs(line.x).max():
            raise NotKnownError
        z = apart / size * np.sqrt(n)
        before, now, left = np.zeros(n), np.full(n, 1 / np.sqrt(n)), 1.0
        for key in keys:
            after = z * now
            whole = after @ after
            for other in (now, before, now, before):
                after = after - (after @ other) * other
            left *= float(after @ after / whole)  # share of a sum of squares
            if not left > LOST:
                raise NotKnownError
            after = after / np.sqrt(after @ after)
            made.append(((self.add(after[:, None], key), 0),))
            before, now = now, after
        return made

    def moments(self, column: Column) -> tuple[Floats, Floats]:
        """Return the mean of a column in each training set, and its sum of squares.

        The squares are those of deviations from the mean; shapes (fits,).
        """
        mean, squares = np.empty(self.sets.fits), np.empty(self.sets.fits)
        for fits in self.blocks():
            values, counts = self.values(column, fits), self.sets.counts(fits)
            mean[fits] = (counts * values).sum(axis=1) / self.sets.sizes[fits]
            apart = values - mean[fits, None]
            squares[fits] = (counts * apart**2).sum(axis=1)
            least = SMALL * np.abs(values).max(axis=1, initial=0.0)
            if not (np.sqrt(squares[fits] / self.sets.sizes[fits]) > least).all():
                raise NotKnownError
        return mean, squares


@lru_cache(maxsize=256)
def parsed(python: str) -> ast.expr:
    """Return the tree of an expression, which nobody changes."""
    return ast.parse(python, mode="eval").body


def learns(node: ast.AST, functions: Mapping[str, Any]) -> bool:
    """Return whether an expression calls a function that learns."""
    if isinstance(node, ast.Name | ast.Constant):
        return False
    calls = (one.func for one in ast.walk(node) if isinstance(one, ast.Call))
    called = (functions.get(getattr(one, "id", "")) for one in calls)
    return any(hasattr(one, "__patsy_stateful_transform__") for one in called)


def _evaluated(node: ast.expr, names: Mapping[str, Any]) -> Any:
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "", "eval")
    return eval(code, {"__builtins__": {}}, dict(names))

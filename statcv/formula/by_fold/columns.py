"""Columns of numbers of all records, and columns as sums of products of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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

    state: Integers | None
    evaluate: Callable[[Integers], Floats]

    @classmethod
    def of(cls, values: Floats) -> ColumnSource:
        """Return columns that are the same in all training sets, shape (n, k)."""
        return cls(None, lambda states: values[None])

    @property
    def values(self) -> Floats:
        """The columns, if all training sets have the same."""
        return np.asarray(self.evaluate(np.zeros(1, dtype=np.int64))[0])


def remembered(
    evaluate: Callable[[Floats], Floats], states: Floats, all_at_once: bool
) -> Callable[[Integers], Floats]:
    """Return a function of the numbers of states, which may compute all only once."""
    known: list[Floats] = []

    def of_numbers(some: Integers) -> Floats:
        if not all_at_once:
            return np.stack([evaluate(state) for state in states[some]])
        if not known:
            known.append(np.stack([evaluate(state) for state in states]))
        return known[0][some]

    return of_numbers


def distinct_rows(rows: NDArray[Any]) -> tuple[Integers, Integers]:
    """Return where each distinct row is first, and which of these each row is."""
    _, first, code = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, code.reshape(-1)


def source_values(source: ColumnSource, fits: Integers) -> Floats:
    """Return the columns of a source in some training sets, (m, n, k) or (1, n, k)."""
    if source.state is None:
        return source.evaluate(np.zeros(1, dtype=np.int64))
    if len(fits) == 1:
        return source.evaluate(source.state[fits])
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

    def rising(self) -> Line:
        """Return the line, or raise NotKnownError if it falls in some training set."""
        if not np.all(np.asarray(self.slope) > 0):
            raise NotKnownError
        return self

    def back(self, values: Any, fits: int) -> Floats:
        """Return the x of values of the column, shape (fits, k)."""
        given = np.atleast_1d(np.asarray(values, dtype=float))[None]
        if given.ndim > 2:
            raise NotKnownError
        shift, slope = (np.reshape(one, (-1, 1)) for one in (self.shift, self.slope))
        return np.broadcast_to((given - shift) / slope, (fits, given.shape[1]))

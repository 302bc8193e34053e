"""Columns as sums of products of known columns, their sums, products and lines."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
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

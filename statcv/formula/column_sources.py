"""Columns of numbers that all training sets share, or those of the same state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
    code = np.zeros(len(rows), dtype=np.int64)
    first = np.zeros(1, dtype=np.int64)
    before = np.full(len(rows), np.nan)
    for column in rows.T:
        again = (column == before).all()  # as knots at the ends are
        before = column
        if not again and not (column == column[:1]).all():
            values, place = np.unique(column, return_inverse=True)
            joined = code * len(values) + place
            _, first, code = np.unique(joined, return_index=True, return_inverse=True)
    return first, code


def source_values(source: ColumnSource, fits: Integers) -> Floats:
    """Return the columns of a source in some training sets, (m, n, k) or (1, n, k)."""
    if source.state is None:
        return source.evaluate(np.zeros(1, dtype=np.int64))
    if len(fits) == 1:
        return source.evaluate(source.state[fits])
    states, place = np.unique(source.state[fits], return_inverse=True)
    made = source.evaluate(states)
    return made if len(states) == 1 else made[place]

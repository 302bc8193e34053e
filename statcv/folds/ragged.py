"""Rows that differ in number from split to split, in two flat arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.numeric.arrays import Array, Bools, Floats, Ints, Numbers
from statcv.tables import Printed


@dataclass(frozen=True, eq=False, repr=False)
class Ragged(Printed):
    """Lists of record numbers, one after the other.

    Attributes
    ----------
    values : numpy.ndarray of int32
        The lists, joined.
    starts : numpy.ndarray of int64, shape (lists + 1,)
        Index in ``values`` at which each list begins, and at which the last ends.

    Examples
    --------
    >>> lists = Ragged.of([[3, 4], [], [5]])
    >>> lists[0], lists.sizes, lists.owners
    (array([3, 4]), array([2, 0, 1]), array([0, 0, 2]))
    """

    values: NDArray[np.int32]
    starts: Ints

    @classmethod
    def of(cls, lists: Iterable[Sequence[int] | Array]) -> Ragged:
        """Join lists."""
        arrays = [np.asarray(one, dtype=np.int32) for one in lists]
        sizes = np.fromiter(map(len, arrays), np.int64, len(arrays))
        return cls.split(np.concatenate([np.empty(0, np.int32), *arrays]), sizes)

    @classmethod
    def split(cls, values: Array, sizes: Array) -> Ragged:
        """Cut joined values into lists of the given sizes."""
        starts = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        return cls(values.astype(np.int32, copy=False), starts)

    @classmethod
    def of_owners(cls, owners: Array, values: Array, lists: int) -> Ragged:
        """List the values of each owner, rising."""
        order = np.lexsort((values, owners))
        return cls.split(values[order], np.bincount(owners, minlength=lists))

    @classmethod
    def grouped(cls, group: Array, groups: int) -> Ragged:
        """List the positions of each group, rising; -1 belongs to none."""
        order = np.argsort(group, kind="stable")
        known = group[group >= 0]
        sizes = np.bincount(known, minlength=groups)
        return cls.split(order[len(group) - len(known) :], sizes)

    @classmethod
    def joined(cls, parts: Iterable[Ragged]) -> Ragged:
        """Concatenate the lists of several."""
        listed = list(parts)
        values = np.concatenate([part.values for part in listed])
        return cls.split(values, np.concatenate([part.sizes for part in listed]))

    @classmethod
    def alike(cls, values: Array, lists: int) -> Ragged:
        """Make that many lists of the same values."""
        return cls.split(np.tile(values, lists), np.full(lists, len(values)))

    @classmethod
    def empty(cls, lists: int) -> Ragged:
        """Make that many empty lists."""
        return cls(np.empty(0, np.int32), np.zeros(lists + 1, np.int64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> Numbers:
        start, stop = self.starts[number], self.starts[number + 1]
        return self.values[start:stop].astype(np.intp)

    def part(self, first: int, last: int) -> Ragged:
        """Return the lists from ``first`` up to ``last``."""
        starts = self.starts[first : last + 1]
        return Ragged(self.values[starts[0] : starts[-1]], starts - starts[0])

    def chosen(self, numbers: Array) -> Ragged:
        """Return the lists with those numbers, as often as each is given."""
        sizes = self.sizes[numbers]
        made = Ragged.split(np.empty(int(sizes.sum()), np.int32), sizes)
        place = np.arange(len(made.values)) - np.repeat(made.starts[:-1], sizes)
        made.values[:] = self.values[place + np.repeat(self.starts[numbers], sizes)]
        return made

    def beside(self, other: Ragged) -> Ragged:
        """Join each list with the other's of the same number, rising."""
        if not len(self.values) or not len(other.values):
            return self if len(self.values) else other
        owners = np.concatenate([self.owners, other.owners])
        values = np.concatenate([self.values, other.values])
        return Ragged.of_owners(owners, values, len(self))

    def where(self, stays: Bools) -> Ragged:
        """Return the lists with some of their values."""
        sizes = np.bincount(self.owners[stays], minlength=len(self))
        return Ragged.split(self.values[stays], sizes)

    @property
    def sizes(self) -> Ints:
        """The length of each list."""
        return self.starts[1:] - self.starts[:-1]

    @property
    def owners(self) -> Numbers:
        """The list to which each value belongs."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def rising(self) -> Ragged:
        """Sort each list."""
        return Ragged.of_owners(self.owners, self.values, len(self))

    def counts(self, codes: Array, classes: int) -> Ints:
        """Count the classes in each list: shape (lists, classes)."""
        cells = self.owners * classes + codes[self.values]
        table = np.bincount(cells, minlength=len(self) * classes)
        return table.reshape(len(self), classes)

    def sums(self, values: Array) -> Floats:
        """Sum the values over each list."""
        chosen = np.asarray(values[self.values], dtype=np.float64)
        return np.bincount(self.owners, chosen, len(self)).astype(np.float64)


def without_equal(codes: Array, asked: Ragged, absent: Ragged) -> Bools:
    """Return which records have no equal among those that their list trains on.

    Parameters
    ----------
    codes : numpy.ndarray of int, shape (n,)
        The group of equal records to which each record belongs, from 0.
    asked, absent : Ragged
        Lists of records that each fit does not train on: those that are looked at,
        and others.

    Returns
    -------
    numpy.ndarray of bool
        Aligned with ``asked.values``.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 1, 2])
    >>> without_equal(codes, Ragged.of([[0, 2], [4]]), Ragged.of([[3], []]))
    array([False,  True,  True])
    """
    sizes = np.bincount(codes)
    owners = np.concatenate([asked.owners, absent.owners])
    rows = np.concatenate([asked.values, absent.values])
    cells, place, out = np.unique(
        owners * len(sizes) + codes[rows], return_inverse=True, return_counts=True
    )
    whole = out == sizes[cells % len(sizes)]
    return np.asarray(whole[place[: len(asked.values)]])

"""Some fits at a time, with the records that they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from statcv.numeric.arrays import Array, Bools, Floats, Numbers

Penalties = Callable[[Numbers], Floats]  # from fits to matrices, (m, p, p)
CELLS = 2**18  # numbers in an array of a block of fits: 2 MB


@dataclass(frozen=True, eq=False)
class Block:
    """Some fits, with an array of the records that do not occur exactly once.

    Attributes
    ----------
    fits : numpy.ndarray of int, shape (m,)
    n : int
        The number of records.
    rows, times : numpy.ndarray, shape (m, width)
        The records and their counts; shorter lists are padded with their first record.
    less : numpy.ndarray, shape (m, width)
        1 minus ``times``, and 0 where a list was padded.
    counts : numpy.ndarray, shape (m, n), or None
        Weight of every record; None if few differ from 1.
    outcome : numpy.ndarray of int, shape (m,), or None
        Which row of the outcomes each fit has, where these are several.
    """

    fits: Numbers
    n: int
    rows: Numbers
    times: Floats
    less: Floats
    counts: Floats | None
    outcome: Numbers | None

    @classmethod
    def of_counts(cls, counts: Floats) -> Block:
        """Train each fit on records by their weights, shape (m, n)."""
        m, n = counts.shape
        none = np.zeros((m, 0))
        return cls(np.arange(m), n, none.astype(int), none, none, counts, None)

    def __len__(self) -> int:
        return len(self.fits)

    def part(self, chosen: Array) -> Block:
        """Return some of the fits."""
        each = "fits", "rows", "times", "less", "counts", "outcome"
        given = {name: getattr(self, name) for name in each}
        known = {name: one[chosen] for name, one in given.items() if one is not None}
        return replace(self, **known)

    def few(self, p: int) -> bool:
        """Return whether few records do not occur once, compared with p columns."""
        return few(self.rows.shape[1], p)

    def multiply(self, values: Floats) -> None:
        """Multiply values, shape (m, n), by the weight of each record."""
        if self.counts is not None:
            values *= self.counts
        else:
            values[np.arange(len(self))[:, None], self.rows] *= self.times

    def sums(self, values: Floats, Z: Floats) -> Floats:
        """Sum values times rows of Z over each training set, shape (m, p).

        ``values`` has shape (n,), or (m, n) if each fit has its own.
        """
        if self.counts is not None:
            return np.asarray((self.counts * values) @ Z)
        if values.ndim == 1:
            changed = values[self.rows]
        else:
            changed = np.take_along_axis(values, self.rows, axis=1)
        # the product over all records serves every fit; padding weighs 0
        lost = np.einsum("bm,bmp->bp", changed * self.less, Z[self.rows])
        return np.asarray(values @ Z - lost, dtype=float)

    def total(self, weights: Floats) -> Floats:
        """Sum weights of the records, shape (n,), over each training set."""
        if self.counts is not None:
            return np.asarray(self.counts @ weights)
        lost = (self.less * weights[self.rows]).sum(axis=1)
        return np.asarray(weights.sum() - lost)

    def has_classes(self, y: Array, weights: Floats, codes: Sequence[int]) -> Bools:
        """Return whether records of every class are in each training set, shape (m,).

        Parameters
        ----------
        y : numpy.ndarray, shape (n,), or (outcomes, ..., n)
            The classes.
        weights : numpy.ndarray, shape (n,)
            Weights of the records.
        codes : sequence of int
            The codes of the classes.
        """
        used = weights > 0
        if self.outcome is None:
            each = [self.total(used * (y == code)) for code in codes]
        else:
            often = np.tile(used.astype(float), (len(self), 1))
            self.multiply(often)
            own = y[self.outcome].reshape(len(self), -1)
            each = [(often * (own == code)).sum(axis=1) for code in codes]
        return np.asarray(np.all(np.array(each) > 0, axis=0))


def pieces(numbers: Array, size: int) -> Iterator[Array]:
    """Cut numbers into parts of a size, of which arrays take bounded memory.

    Examples
    --------
    >>> [part.tolist() for part in pieces(np.arange(5), 2)]
    [[0, 1], [2, 3], [4]]
    """
    return (numbers[k : k + size] for k in range(0, len(numbers), size))


def few(width: int, p: int) -> bool:
    """Return whether changed records are few, compared with p columns."""
    # Woodbury inverts a matrix of this width: beyond p / 2 that saves little
    return width <= max(p // 2, 4)

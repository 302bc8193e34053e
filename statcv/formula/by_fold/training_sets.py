"""Sums and order statistics of many training sets, from those of all records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from statcv.numeric.arrays import Floats
from statcv.numeric.inverses import factors

Integers = NDArray[np.int64]

LOST = 1e-4  # share of a sum of squares below which a difference loses digits


@dataclass(frozen=True, eq=False)
class TrainingSets:
    """The training sets of several fits, by the records in which they differ.

    Attributes
    ----------
    n : int
        The number of records.
    fits : int
        The number of training sets.
    owner, row, times : numpy.ndarray of int, shape (changes,)
        How often a training set has a record, for every record that it does not have
        exactly once; ``owner``, the number of the training set, does not fall.

    Examples
    --------
    >>> zero, one = np.array([0]), np.array([1])
    >>> sets = TrainingSets(3, 2, one, zero, zero)
    >>> sets.sizes, sets.rows(1)
    (array([3, 2]), array([1, 2]))
    """

    n: int
    fits: int
    owner: Integers
    row: Integers
    times: Integers

    @classmethod
    def whole(cls, n: int) -> TrainingSets:
        """Return one training set that has all records."""
        none = np.zeros(0, dtype=np.int64)
        return cls(n, 1, none, none, none)

    @cached_property
    def sizes(self) -> Integers:
        """The number of records of each, repeats included, shape (fits,)."""
        lost = np.bincount(self.owner, 1.0 - self.times, self.fits)
        return self.n - np.rint(lost).astype(np.int64)

    @cached_property
    def starts(self) -> Integers:
        """Where the changes of each begin, and where the last ones end."""
        counts = np.bincount(self.owner, minlength=self.fits)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def counts(self, fits: NDArray[np.integer]) -> Floats:
        """Return how often each record occurs in some of them, shape (m, n)."""
        made = np.ones((len(fits), self.n))
        for place, fit in enumerate(fits.tolist()):
            some = slice(self.starts[fit], self.starts[fit + 1])
            made[place, self.row[some]] = self.times[some]
        return made

    def rows(self, fit: int) -> Integers:
        """Return the records of a training set, repeated as often as they occur."""
        times = self.counts(np.array([fit]))[0].astype(np.int64)
        return np.repeat(np.arange(self.n), times)

    def lost(self, values: Floats) -> Floats:
        """Return what the sum of values over each lacks of that over all records.

        Parameters
        ----------
        values : numpy.ndarray, shape (changes, k)
            Values of the records that change.

        Returns
        -------
        numpy.ndarray, shape (fits, k)
        """
        away = (1.0 - self.times)[:, None] * values
        made = np.empty((self.fits, values.shape[1]))
        for j in range(values.shape[1]):
            made[:, j] = np.bincount(self.owner, away[:, j], self.fits)
        return made

    def roots(self, Q: Floats) -> Floats:
        """Return the Cholesky factor of the Gram matrix of each training set.

        Where a training set has little of the squares of all records, as without an
        outlier, its factor is computed from its own rows.

        Parameters
        ----------
        Q : numpy.ndarray, shape (n, r)
            Columns that are orthonormal on all records, but for rounding.

        Returns
        -------
        numpy.ndarray, shape (fits, r, r)
            Lower triangular factors; NaN without one.
        """
        r = Q.shape[1]
        first, second = np.tril_indices(r)
        changed = Q[self.row]
        lost = self.lost(changed[:, first] * changed[:, second])
        gram = np.zeros((self.fits, r, r))
        gram[:, first, second] = (Q.T @ Q)[first, second] - lost
        root = factors(gram)  # reads lower triangles only
        pivot = np.einsum("mii->mi", root)
        with np.errstate(invalid="ignore"):
            doubtful = ~(pivot**2 > LOST).all(axis=1)
        for fit in np.flatnonzero(doubtful).tolist():
            rows = Q[self.rows(fit)]
            root[fit] = np.nan
            if len(rows) >= r:
                R: Floats = np.asarray(np.linalg.qr(rows, mode="r"))
                root[fit] = (R * np.where(R.diagonal() < 0, -1.0, 1.0)[:, None]).T
        return root


# ---- order statistics ----


@dataclass(frozen=True, eq=False)
class Ordered:
    """Values in rising order, and how often each training set has them.

    Attributes
    ----------
    values : numpy.ndarray, shape (k,)
    sizes : numpy.ndarray of int, shape (fits,)
        The number of values of each training set.
    owner, place, times : numpy.ndarray of int, shape (changes,)
        How often a training set has a value, for every value that it does not have
        exactly once, in the order of training sets and values.
    """

    values: Floats
    sizes: Integers
    owner: Integers
    place: Integers
    times: Integers

    @classmethod
    def of(cls, x: Floats, sets: TrainingSets) -> Ordered:
        """Sort the values of all records."""
        order = np.argsort(x, kind="stable")
        place = np.empty(len(x), dtype=np.int64)
        place[order] = np.arange(len(x))
        place = place[sets.row]
        change = np.lexsort((place, sets.owner))
        changes = sets.owner[change], place[change], sets.times[change]
        return cls(x[order], sets.sizes, *changes)

    @classmethod
    def distinct(cls, x: Floats, sets: TrainingSets) -> Ordered:
        """Sort the distinct values of all records.

        A training set has a value once if it has any of its records.
        """
        values, place, counts = np.unique(x, return_inverse=True, return_counts=True)
        place = place.astype(np.int64)
        cell = sets.owner * len(values) + place[sets.row]
        cells, which = np.unique(cell, return_inverse=True)
        left = counts[cells % len(values)] - np.bincount(
            which, 1.0 - sets.times, len(cells)
        )
        gone = cells[left < 0.5]
        owner = gone // len(values)
        sizes = len(values) - np.bincount(owner, minlength=sets.fits)
        none = np.zeros(len(gone), dtype=np.int64)
        return cls(values, sizes, owner, gone % len(values), none)

    def at(self, number: Integers) -> Floats:
        """Return from each training set the value with a number from 0, (fits,)."""
        if not len(self.owner):
            return np.asarray(self.values[number])
        owner, place, times = self.owner, self.place, self.times
        away = np.cumsum(1 - times) - (1 - times)
        starts = np.searchsorted(owner, owner)
        before = place - (away - away[starts])  # values of the training set below
        step = max(int(self.sizes.max()), len(self.values)) + 2
        fits = np.arange(len(self.sizes))
        keys = owner * step + before
        last = np.searchsorted(keys, fits * step + number, side="right") - 1
        known = (last >= 0) & (owner[last] == fits)
        beyond = number - before[last] - times[last]
        found = np.where(beyond < 0, place[last], place[last] + 1 + beyond)
        return np.asarray(self.values[np.where(known, found, number)])

    @property
    def least(self) -> Floats:
        """The smallest value of each training set, shape (fits,)."""
        return self.at(np.zeros(len(self.sizes), dtype=np.int64))

    @property
    def greatest(self) -> Floats:
        """The largest value of each training set, shape (fits,)."""
        return self.at(self.sizes - 1)

    def quantile(self, share: float) -> Floats:
        """Return a quantile of each training set, as ``numpy.percentile`` does."""
        position = share * 100 / 100 * (self.sizes - 1)
        below = np.floor(position).astype(np.int64)
        low = self.at(below)
        high = self.at(np.minimum(below + 1, self.sizes - 1))
        part = position - below
        apart = high - low
        up = low + apart * part
        return np.asarray(np.where(part >= 0.5, high - apart * (1 - part), up))

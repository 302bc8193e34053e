"""Sums and order statistics of many training sets, from those of all records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from statcv.numeric.arrays import Codes, Floats, Ints
from statcv.numeric.inverses import factors

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
    owner: Ints
    row: Ints
    times: Ints

    @classmethod
    def whole(cls, n: int) -> TrainingSets:
        """Return one training set that has all records."""
        none = np.zeros(0, dtype=np.int64)
        return cls(n, 1, none, none, none)

    @cached_property
    def sizes(self) -> Ints:
        """The number of records of each, repeats included, shape (fits,)."""
        lost = np.bincount(self.owner, 1.0 - self.times, self.fits)
        return self.n - np.rint(lost).astype(np.int64)

    @cached_property
    def starts(self) -> Ints:
        """Where the changes of each begin, and where the last ones end."""
        counts = np.bincount(self.owner, minlength=self.fits)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def counts(self, fits: Codes) -> Floats:
        """Return how often each record occurs in some of them, shape (m, n)."""
        made = np.ones((len(fits), self.n))
        for place, fit in enumerate(fits.tolist()):
            some = slice(self.starts[fit], self.starts[fit + 1])
            made[place, self.row[some]] = self.times[some]
        return made

    def rows(self, fit: int) -> Ints:
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

    def quantiles(
        self, x: Floats, shares: Sequence[float], distinct: bool = False
    ) -> Floats:
        """Return quantiles in each training set, as ``numpy.percentile`` does.

        Parameters
        ----------
        x : numpy.ndarray, shape (n,)
            A number for each record.
        shares : sequence of float
            From 0, for the smallest number, to 1.
        distinct : bool, default False
            Whether equal numbers of a training set count once.

        Returns
        -------
        numpy.ndarray, shape (fits, shares)

        Examples
        --------
        >>> sets = TrainingSets(3, 2, np.array([1]), np.array([0]), np.array([0]))
        >>> sets.quantiles(np.array([5.0, 7.0, 8.0]), [0, 0.5])
        array([[5. , 7. ],
               [7. , 7.5]])
        """
        values, place, whole = np.unique(x, return_inverse=True, return_counts=True)
        low, high, part = np.empty((3, self.fits, len(shares)))
        share, place, more = np.asarray(shares), place[self.row], self.times - 1.0
        for fit, (start, stop) in enumerate(pairwise(self.starts.tolist())):
            some = slice(start, stop)
            times = whole + np.bincount(place[some], more[some], len(whole))
            ends = (times > 0.5 if distinct else times).cumsum()
            position = share * 100 / 100 * (ends[-1] - 1)
            below = np.floor(position)
            numbers = np.concatenate([below, np.minimum(below + 1, ends[-1] - 1)])
            found = values[ends.searchsorted(numbers, side="right")]
            low[fit], high[fit] = found.reshape(2, -1)
            part[fit] = position - below
        apart = high - low
        return np.where(part >= 0.5, high - apart * (1 - part), low + apart * part)

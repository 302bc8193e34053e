"""The record whose removal best restores the training mean of a continuous outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.errors import SchemeError
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.draw_evenly import contains, keys_of

Ints = NDArray[np.int64]


def nearest_mean(y: NDArray[np.floating], tests: Ragged, out: Ragged) -> Ragged:
    """Choose the record whose removal brings each training mean closest to the overall.

    Parameters
    ----------
    y : numpy.ndarray of float, shape (n,)
        A continuous outcome.
    tests, out : Ragged
        As in :func:`statcv.folds.rebalance.subsample.training_counts`.

    Returns
    -------
    Ragged
        One record per split, the first of equally good ones.

    Raises
    ------
    SchemeError
        If a training set has fewer than two records.

    Notes
    -----
    With deviations z from the mean of all n records, a training set without z_j has
    the mean (S - z_j) / (m - 1), where S sums its m deviations: the record to drop is
    the one whose deviation is nearest to S.

    Examples
    --------
    >>> import numpy as np
    >>> tests = Ragged.of([[0], [1], [2]])
    >>> nearest_mean(np.array([1.0, 3.0, 2.0]), tests, Ragged.empty(3)).values
    array([1, 0, 0], dtype=int32)
    """
    n, splits = len(y), len(tests)
    if (tests.sizes + out.sizes > n - 2).any():
        raise SchemeError(
            "a training set has fewer than two records, so that none can be dropped "
            "to restore the mean; hold out fewer at a time."
        )
    z = y - y.mean()
    z -= z.mean()
    target = -(tests.sums(z) + out.sums(z))
    order = np.argsort(z, kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    value = z[order]
    gaps = _Gaps.of(tests, out, rank)
    at = np.searchsorted(value, target)
    after = gaps.first_from(at)
    before = gaps.last_from(at - 1)
    # the smallest row is taken if several values below the target are equal
    run = np.searchsorted(value, value[np.maximum(before, 0)])
    before = np.where(before >= 0, gaps.first_from(run), before)
    far = np.inf
    below = np.where(before >= 0, target - value[np.maximum(before, 0)], far)
    above = np.where(after < n, value[np.minimum(after, n - 1)] - target, far)
    rows = order[np.stack([np.maximum(before, 0), np.minimum(after, n - 1)])]
    tie = np.isclose(below, above, rtol=0, atol=1e-12 * np.abs(z).max(initial=0))
    chosen = np.where(tie, rows.min(axis=0), np.where(below < above, *rows))
    return Ragged.split(chosen, np.ones(splits, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class _Gaps:
    """The ranks absent from each training set, in runs without a gap.

    ``keys`` are sorted numbers split * (n + 1) + rank; ``first`` and ``last`` are
    the ends of the run to which each belongs.
    """

    n: int
    keys: Ints
    first: Ints
    last: Ints

    @classmethod
    def of(cls, tests: Ragged, out: Ragged, rank: Ints) -> _Gaps:
        n = len(rank)
        keys = np.concatenate(
            [keys_of(part.owners, rank[part.values], n + 1) for part in (tests, out)]
        )
        keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=-2) > 1)
        sizes = np.diff(starts, append=len(keys))
        first = np.repeat(keys[starts], sizes)
        return cls(n, keys, first, np.repeat(keys[starts] + sizes - 1, sizes))

    def first_from(self, ranks: Ints) -> Ints:
        """Return for each split the first rank trained on, from a given one up."""
        return self._beyond(ranks, self.last, 1)

    def last_from(self, ranks: Ints) -> Ints:
        """Return for each split the last rank trained on, from a given one down."""
        return self._beyond(ranks, self.first, -1)

    def _beyond(self, ranks: Ints, ends: Ints, step: int) -> Ints:
        split = np.arange(len(ranks)) * (self.n + 1)
        wanted = split + ranks
        absent = contains(self.keys, wanted) & (ranks >= 0)
        at = np.searchsorted(self.keys, wanted[absent])
        found = ranks.copy()
        found[absent] = ends[at] + step - split[absent]
        return found

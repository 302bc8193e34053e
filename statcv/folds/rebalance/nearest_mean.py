"""The record whose removal best restores the training mean of a continuous outcome."""

from __future__ import annotations

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
        As in :func:`statcv.folds.rebalance.subsample.UnequalSets`.

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
    parts = (keys_of(one.owners, rank[one.values], n + 1) for one in (tests, out))
    absent = np.sort(np.concatenate(list(parts)))
    at = np.searchsorted(value, target)
    after = _first_trained(absent, n, at, 1)
    before = _first_trained(absent, n, at - 1, -1)
    # the smallest row is taken if several values below the target are equal
    run = np.searchsorted(value, value[np.maximum(before, 0)])
    before = np.where(before >= 0, _first_trained(absent, n, run, 1), before)
    far = np.inf
    below = np.where(before >= 0, target - value[np.maximum(before, 0)], far)
    above = np.where(after < n, value[np.minimum(after, n - 1)] - target, far)
    rows = order[np.stack([np.maximum(before, 0), np.minimum(after, n - 1)])]
    tie = np.isclose(below, above, rtol=0, atol=1e-12 * np.abs(z).max(initial=0))
    chosen = np.where(tie, rows.min(axis=0), np.where(below < above, *rows))
    return Ragged.split(chosen, np.ones(splits, dtype=np.int64))


def _first_trained(absent: Ints, n: int, ranks: Ints, step: int) -> Ints:
    """Return for each split the first rank trained on, from a given one up or down.

    The ranks that are absent from training are sorted numbers split * (n + 1) + rank.
    """
    found, split = ranks.copy(), np.arange(len(ranks)) * (n + 1)
    open_ = np.arange(len(ranks))
    while len(open_):
        inside = found[open_] >= 0
        open_ = open_[inside & contains(absent, (split + found)[open_])]
        found[open_] += step
    return found

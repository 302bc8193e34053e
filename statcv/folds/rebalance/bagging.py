"""Bags of equal class totals from each training set."""

from __future__ import annotations

import numpy as np

from statcv.errors import SchemeError
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.subsample import MOST, Table, TrainingSets
from statcv.words import plural


def bags(
    sets: TrainingSets,
    rng: np.random.Generator,
    n_bags: int = 10,
    totals: Table | None = None,
) -> tuple[Ragged, Ragged, Table]:
    """Draw bags of equal class totals from each training set (Breiman 1996).

    A bag draws from each class of the training set, with replacement, as many
    records as the smallest training set has of it.

    Parameters
    ----------
    sets, rng, totals
        As for :func:`statcv.folds.rebalance.subsample.subsample`.
    n_bags : int
        Number of bags of each split.

    Returns
    -------
    drops : Ragged
        The training records that each bag did not draw, rising.
    copies : Ragged
        The records that it drew again, rising, once for each further draw.
    fits : numpy.ndarray of int64, shape (splits,)
        ``n_bags`` for each split; its bags follow each other.

    Raises
    ------
    SchemeError
        If a training set lacks a class, or the bags would be too large to list.

    Examples
    --------
    >>> import numpy as np
    >>> codes, tests = np.array([0, 0, 1, 1]), Ragged.of([[0, 2], [1, 3]])
    >>> sets = TrainingSets(codes, 2, tests, Ragged.empty(2))
    >>> drops, copies, fits = bags(sets, np.random.default_rng(1), n_bags=3)
    >>> len(drops), len(copies), fits.tolist()
    (6, 6, [3, 3])
    """
    counts, splits, least = sets.counts, len(sets.tests), sets.least
    least = least if totals is None else totals
    missed = (counts * np.exp(-least / np.maximum(counts, 1))).sum()
    if 2 * n_bags * missed > MOST:
        raise SchemeError(
            f"{n_bags} bags of each of {plural(splits, 'split')} would list "
            f"{2 * n_bags * missed:.2g} records; use fewer folds or bags."
        )
    drops, copies = [], []
    for split in range(splits):
        rows = sets.rows(split)
        drawn = []
        for c in np.flatnonzero(least):
            pool = np.flatnonzero(sets.codes[rows] == c)
            drawn.append(pool[rng.integers(len(pool), size=(n_bags, least[c]))])
        cells = np.hstack(drawn) + np.arange(n_bags)[:, None] * len(rows)
        times = np.bincount(cells.ravel(), minlength=n_bags * len(rows))
        times = times.reshape(n_bags, len(rows))
        again, every = np.maximum(times - 1, 0), np.broadcast_to(rows, times.shape)
        drops.append(Ragged.split(every[times == 0], (times == 0).sum(axis=1)))
        twice = np.repeat(every.ravel(), again.ravel())
        copies.append(Ragged.split(twice, again.sum(axis=1)))
    fits = np.full(splits, n_bags, dtype=np.int64)
    return Ragged.joined(drops), Ragged.joined(copies), fits

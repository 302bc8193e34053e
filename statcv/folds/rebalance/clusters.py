"""Whole strata dropped from training sets, as far as the class totals allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.draw_evenly import draw_evenly
from statcv.folds.schemes.allocation import Kinds, kinds_of_rows

Codes = NDArray[np.integer]
Ints = NDArray[np.int64]
Rows = NDArray[np.intp]


def drop_whole_strata(
    need: Ints, codes: Codes, strata: Codes, absent: Ints, rng: np.random.Generator
) -> Ragged:
    """Choose strata to drop whole, in random order, as far as each still fits.

    Parameters
    ----------
    need : numpy.ndarray of int64, shape (splits, classes)
        How many records of each class each split has to drop.
    codes, strata : numpy.ndarray of int, shape (n,)
        The class and the stratum of each record, from 0.
    absent : numpy.ndarray of int64
        The pairs (split, record not in its training set) as sorted numbers
        split * n + record.
    rng : numpy.random.Generator

    Returns
    -------
    Ragged
        The records to drop: at most as many of each class as needed.

    Examples
    --------
    >>> import numpy as np
    >>> codes, strata = np.array([0, 1, 0, 1, 1]), np.array([0, 0, 1, 1, 2])
    >>> need, absent = np.array([[1, 1]]), np.array([0, 1])  # stratum 0 is held out
    >>> rng = np.random.default_rng(4)
    >>> drop_whole_strata(need, codes, strata, absent, rng)[0]
    array([2, 3])
    """
    n, classes = len(codes), need.shape[1]
    members = Ragged.grouped(strata, int(strata.max()) + 1)
    number = len(members)
    if members.sizes.max() <= 1:
        return Ragged.empty(len(need))
    table = members.counts(codes, classes)
    barred = np.unique(absent // n * number + strata[absent % n])
    few = np.count_nonzero(need.any(axis=1)) * number <= 4_000_000 + 20 * need.sum()
    split, chosen = (_one_by_one if few else _kind_by_kind)(need, table, barred, rng)
    order = np.argsort(split, kind="stable")
    split, chosen = split[order], chosen[order]
    sizes = members.sizes[chosen]
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = members.values[np.repeat(members.starts[chosen], sizes) + inside]
    return Ragged.split(rows, np.bincount(split, sizes, len(need)).astype(np.int64))


def _one_by_one(
    need: Ints, table: Ints, barred: Ints, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Choose strata for one split after the other, those dropped least so far first."""
    number = len(table)
    times = np.where(table.any(axis=1), 0.0, np.inf)
    splits, chosen = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    for split in rng.permutation(np.flatnonzero(need.any(axis=1))):
        first, last = np.searchsorted(barred, (split * number, (split + 1) * number))
        rank = times + rng.random(number)
        rank[barred[first:last] - split * number] = np.inf
        order = np.argsort(rank)[: np.count_nonzero(np.isfinite(rank))]
        left = need[split].copy()
        while len(order):
            order = order[(table[order] <= left).all(axis=1)]
            fits = (np.cumsum(table[order], axis=0) <= left).all(axis=1)
            taken = order[: np.count_nonzero(fits)]
            order = order[len(taken) :]
            left -= table[taken].sum(axis=0)
            times[taken] += 1
            chosen.append(taken)
            splits.append(np.full(len(taken), split))
    return np.concatenate(splits), np.concatenate(chosen)


def _kind_by_kind(
    need: Ints, table: Ints, barred: Ints, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Choose how many strata of each composition to drop, and then which."""
    number = len(table)
    kinds = kinds_of_rows(table)
    asking, asked = _ask_for_kinds(need, kinds, rng)
    splits, chosen = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    barred_kind = kinds.of[barred % number]
    for kind in np.unique(asked):
        wanted = np.bincount(asking[asked == kind], minlength=len(need))
        pool = np.flatnonzero(kinds.of == kind)
        drawn = draw_evenly(wanted, pool, barred[barred_kind == kind], number, rng)
        owner = np.repeat(np.arange(len(need)), wanted)
        chosen.append(drawn[drawn >= 0])
        splits.append(owner[drawn >= 0])
    return np.concatenate(splits), np.concatenate(chosen)


def _ask_for_kinds(
    need: Ints, kinds: Kinds, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Return pairs (split, kind): each split's strata one by one while one fits."""
    many = np.bincount(kinds.of, minlength=len(kinds.rows))
    many[~kinds.rows.any(axis=1)] = 0
    left = need.copy()
    asking, asked = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    active = np.flatnonzero(left.any(axis=1))
    while len(active):
        states = kinds_of_rows(left[active])
        going = []
        for state, at in zip(states.rows, _members(states), strict=True):
            fits = (kinds.rows <= state).all(axis=1)
            share = np.cumsum(many * fits)
            if share[-1]:
                splits = active[at]
                kind = np.searchsorted(
                    share, rng.integers(share[-1], size=len(splits)), side="right"
                )
                left[splits] -= kinds.rows[kind]
                asking.append(splits)
                asked.append(kind)
                going.append(splits)
        active = np.concatenate(going) if going else active[:0]
        active = active[left[active].any(axis=1)]
    return np.concatenate(asking), np.concatenate(asked)


def _members(kinds: Kinds) -> list[Rows]:
    groups = Ragged.grouped(kinds.of, len(kinds.rows))
    return [groups[kind] for kind in range(len(groups))]

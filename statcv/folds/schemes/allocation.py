"""Allocation of whole units to folds, as evenly as possible."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.random import Generator

from statcv.folds.ragged import Ragged
from statcv.numeric.arrays import Codes, Ints, Numbers

Cost = tuple[int, int]
Fold = tuple[int, Numbers]  # the number of a fold, and its units

CLASS_WEIGHT = 4  # weight of the spread of a class, relative to that of fold sizes
STARTS = 6  # orders in which units are placed, if there are few
FEW = 400  # units times folds up to which several orders are tried
PAIRS = 1500  # most pairs of folds that are tried for an exchange of units
ALL_PAIRS = 200  # largest number of pairs of folds that are all tried in turn
MANY_FOLDS = 500  # largest number of folds that exchange units
SOME_KINDS = 60  # most kinds of units that a fold offers in exchange


def kinds_of_rows(table: Codes) -> tuple[Ints, Numbers]:
    """Return the different rows of a table of counts, and which of them each row is.

    >>> import numpy as np
    >>> rows, kind = kinds_of_rows(np.array([[2, 0], [0, 1], [2, 0]]))
    >>> rows.tolist(), kind.tolist()
    ([[0, 1], [2, 0]], [1, 0, 1])
    """
    kind, first = np.zeros((2, len(table)), dtype=np.intp)
    for column in table.T:  # numbers are quicker to sort than rows
        key = kind * (int(column.max(initial=0)) + 1) + column
        _, first, kind = np.unique(key, return_index=True, return_inverse=True)
    return table[first].astype(np.int64), kind


def allocate(table: Codes, k: int, rng: Generator, *, by_class: bool) -> Numbers:
    """Allocate units at random to k folds, as evenly as whole units allow.

    A unit is one record, or a stratum that is never split. Units with the same counts
    are exchangeable: chance alone decides their folds.

    Parameters
    ----------
    table : numpy.ndarray of int, shape (units, classes)
        How many records of each class a unit holds.
    k : int
        Number of folds, at most the number of units.
    rng : numpy.random.Generator
    by_class : bool
        Whether to even out the counts of each class, and then the sizes of folds;
        otherwise the sizes alone.

    Returns
    -------
    numpy.ndarray of intp, shape (units,)
        The fold of each unit, from 0. No fold is empty.

    Notes
    -----
    Of single records, the counts of each class and the sizes of folds differ by at
    most one. Of larger units, the sum over classes of the largest count in a fold is
    made small first, since rebalancing loses that many records; then the spread.
    Like units are allocated together, from the largest down, each to the fold with the
    fewest of its classes; then folds exchange units while that improves the balance.

    Examples
    --------
    >>> import numpy as np
    >>> sizes = np.array([[3], [1], [1], [1], [2], [2], [2]])
    >>> fold = allocate(sizes, 3, np.random.default_rng(1), by_class=False)
    >>> np.bincount(fold, sizes[:, 0])
    array([4., 4., 4.])
    """
    if not by_class:
        table = table.sum(axis=1, keepdims=True)
    rows, kind = kinds_of_rows(table)
    placed = _place(rows, np.bincount(kind), k, rng)
    fold = np.empty(len(table), dtype=np.intp)
    shuffled = rng.permutation(len(table))
    fold[shuffled[np.argsort(kind[shuffled], kind="stable")]] = placed
    return rng.permutation(k)[fold]


def _place(rows: Ints, many: Numbers, k: int, rng: Generator) -> Numbers:
    """Return the fold of every unit, kind after kind."""
    units = int(many.sum())
    size = rows.sum(axis=1)
    order = np.lexsort(((rows**2).sum(axis=1), size))[::-1]
    placed = _place_in_order(rows, many, k, order, rng)
    if size.max(initial=0) <= 1 or k > MANY_FOLDS:
        return placed
    kind = np.repeat(np.arange(len(rows)), many)
    placed, cost = _exchange(rows, kind, placed, k, rng)
    for _ in range(STARTS - 1 if units * k <= FEW else 0):
        noise = rng.uniform(0.5, 1.5, len(rows)) * size
        other = _place_in_order(rows, many, k, np.argsort(-noise), rng)
        other, other_cost = _exchange(rows, kind, other, k, rng)
        if other_cost < cost:
            placed, cost = other, other_cost
    return placed


def _place_in_order(
    rows: Ints, many: Numbers, k: int, order: Numbers, rng: Generator
) -> Numbers:
    """Place kind by kind, each unit where it adds least to the sum of squares."""
    held = np.zeros((k, rows.shape[1]), dtype=np.int64)
    size = np.zeros(k, dtype=np.int64)
    placed = np.empty(int(many.sum()), dtype=np.intp)
    stops = np.cumsum(many)
    for kind in order:
        row, total = rows[kind], rows[kind].sum()
        load = held @ row * CLASS_WEIGHT + size * total
        step = int(row @ row * CLASS_WEIGHT + total**2)
        times = _fill(load, step, int(many[kind]), rng)
        held += times[:, None] * row
        size += times * total
        own = slice(stops[kind] - many[kind], stops[kind])
        placed[own] = np.repeat(np.arange(k), times)
    return placed


def _fill(load: Ints, step: int, many: int, rng: Generator) -> Ints:
    """Return how often each fold is chosen, always the smallest, ties at random.

    >>> import numpy as np
    >>> _fill(np.array([0, 5, 2]), 2, 4, np.random.default_rng(1))
    array([3, 0, 1])
    """
    times = np.zeros(len(load), dtype=np.int64)
    if step == 0:
        times[0] = many
        return times
    if many > len(load):  # all choices but the last few, from the common level
        rising = np.sort(load)
        room = step * (many - len(load))
        below = np.arange(1, len(load) + 1) * rising - np.cumsum(rising)
        last = int(np.searchsorted(below, room, side="right"))
        level = (room + int(rising[:last].sum())) // last
        times = np.maximum(0, (level - load) // step)
    while (left := many - int(times.sum())) > 0:
        now = load + times * step
        near = np.flatnonzero(now < now.min() + step)
        near = rng.permutation(near)
        times[near[np.argsort(now[near], kind="stable")][:left]] += 1
    return times


def _squares(held: Ints) -> Ints:
    return np.asarray(CLASS_WEIGHT * (held**2).sum(axis=-1) + held.sum(axis=-1) ** 2)


def _exchange(
    rows: Ints, kind: Numbers, placed: Numbers, k: int, rng: Generator
) -> tuple[Numbers, Cost]:
    """Move or swap units between two folds at a time while it lowers the cost."""
    held = np.zeros((k, rows.shape[1]), dtype=np.int64)
    np.add.at(held, placed, rows[kind])
    least = int(np.maximum(-(-held.sum(axis=0) // k), rows.max(axis=0)).sum())
    units = Ragged.grouped(placed, k)
    moved: dict[int, Numbers] = {}
    tried, better = 0, True
    while better and tried < PAIRS and not _is_even(held, least):
        better = False
        for one, other in _pairs(held, rng):
            tried += 1
            if tried > PAIRS or _is_even(held, least):
                break
            mine, yours = (moved.get(f, units[f]) for f in (one, other))
            new = _best_exchange(rows, kind, held, (one, mine), (other, yours), rng)
            if new is not None:
                better = True
                moved[one], moved[other] = new
                for fold in (one, other):
                    held[fold] = rows[kind[moved[fold]]].sum(axis=0)
    placed = placed.copy()
    for fold, chosen in moved.items():
        placed[chosen] = fold
    # what is to be small: the sum of the largest counts, then the squares
    return placed, (int(held.max(axis=0).sum()), int(_squares(held).sum()))


def _is_even(held: Ints, least: int) -> bool:
    size = held.sum(axis=1)
    return bool(held.max(axis=0).sum() <= least and np.ptp(size) <= 1)


def _pairs(held: Ints, rng: Generator) -> Ints:
    """List pairs of folds: all of few; of many, the extreme ones with some others."""
    k = len(held)
    if k * (k - 1) <= ALL_PAIRS * 2:
        return rng.permutation(np.array(list(combinations(range(k), 2))))
    size = held.sum(axis=1)
    extreme = np.unique([*held.argmax(axis=0), size.argmax(), size.argmin()])
    others = rng.integers(k, size=ALL_PAIRS // len(extreme))
    pairs = np.array([(e, o) for e in extreme for o in others if e != o])
    return rng.permutation(pairs)


def _best_exchange(
    rows: Ints, kind: Numbers, held: Ints, one: Fold, other: Fold, rng: Generator
) -> tuple[Numbers, Numbers] | None:
    """Return the units of two folds after the best move or swap, None if none helps."""
    (f, mine), (g, yours) = one, other
    rest = np.delete(held, (f, g), axis=0).max(axis=0, initial=0)
    give = [_one_of_each(kind, units, rng) for units in (mine, yours)]
    # the last row is not a unit: a move, which never helps with a fold's only unit
    gain = [np.vstack([rows[kind[units]], 0 * rows[:1]]) for units in give]
    change = gain[0][:, None] - gain[1][None]
    new_f, new_g = held[f] - change, held[g] + change
    peaks = np.maximum(np.maximum(new_f, new_g), rest).sum(axis=-1)
    squares = _squares(new_f) + _squares(new_g)
    least = int(peaks.min())
    a, b = np.unravel_index(
        np.where(peaks == least, squares, np.iinfo(np.int64).max).argmin(), peaks.shape
    )
    if (least, squares[a, b]) >= (peaks[-1, -1], squares[-1, -1]):
        return None
    leaving, coming = give[0][a : a + 1], give[1][b : b + 1]
    kept = mine[~np.isin(mine, leaving)], yours[~np.isin(yours, coming)]
    return np.append(kept[0], coming), np.append(kept[1], leaving)


def _one_of_each(kind: Numbers, units: Numbers, rng: Generator) -> Numbers:
    """Return a unit of each kind; of very many kinds, some."""
    units = rng.permutation(units)
    first = np.unique(kind[units], return_index=True)[1]
    many = len(first) > SOME_KINDS
    return units[rng.permutation(first)[:SOME_KINDS] if many else first]

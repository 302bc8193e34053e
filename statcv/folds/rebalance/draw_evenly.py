"""Members drawn for many lists, each member about equally often."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from statcv.numeric.arrays import Bools, Codes, Ints, Numbers

BLOCK = 100_000  # random numbers that are drawn at once
IDLE = 20  # rounds without an exchange, after which the rest is drawn again


def keys_of(lists: Codes, values: Codes, base: int) -> Ints:
    """Return one number for each pair (list, value), sorted."""
    keys = np.asarray(lists, dtype=np.int64) * base
    keys += values
    if (keys[1:] < keys[:-1]).any():
        keys.sort()
    return keys


def contains(keys: Ints, wanted: Ints) -> Bools:
    """Say which of the wanted numbers are among sorted keys."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=bool)
    at = np.searchsorted(keys, wanted)
    at[at == len(keys)] = 0
    return np.asarray(keys[at] == wanted)


def draw_evenly(
    need: Codes, pool: Codes, barred: Ints, base: int, rng: Generator
) -> Numbers:
    """Draw for each list different members of a pool, all about equally often.

    The pool is shuffled and allocated to the lists in turn, in random order; a list
    that gets a member twice, or one that is barred from it, exchanges it with another
    list.

    Parameters
    ----------
    need : numpy.ndarray of int, shape (lists,)
        How many members each list draws.
    pool : numpy.ndarray of int
        The members, below ``base``.
    barred : numpy.ndarray of int64
        The pairs that are not allowed, as sorted numbers list * base + member.
    base : int
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray of intp, shape (sum of need,)
        The draws of the first list, then of the second, and so on; -1 for draws that a
        list cannot get since too few members are open to it.

    Examples
    --------
    >>> import numpy as np
    >>> barred = np.array([0 * 10 + 7, 1 * 10 + 8])  # list 0 not 7, list 1 not 8
    >>> need, pool = np.array([1, 1]), np.array([7, 8])
    >>> draw_evenly(need, pool, barred, 10, np.random.default_rng(1))
    array([8, 7])
    """
    lists = np.flatnonzero(need)
    total = int(need.sum())
    if not total:
        return np.empty(0, dtype=np.intp)
    if not len(pool):
        return np.full(total, -1, dtype=np.intp)
    work = len(lists) * len(pool)
    wrong = total / len(lists) * (len(barred) + total) / work  # in a list, at most
    if 300 * len(lists) + work <= 20_000 + 4 * total * (1 + wrong) ** 2:
        return _draw_singly(need, pool, barred, base, rng)
    order = rng.permutation(lists)
    owner = np.repeat(order, need[order])
    decks = -(-total // len(pool))
    drawn = rng.permuted(np.tile(pool.astype(np.intp), (decks, 1)), axis=1)
    drawn = drawn.ravel()[:total]
    _settle(_Hands(owner, drawn, barred, base), pool, rng)
    return drawn[np.argsort(owner, kind="stable")]


def _draw_singly(
    need: Codes, pool: Codes, barred: Ints, base: int, rng: Generator
) -> Numbers:
    """Draw for one list at a time the members drawn least so far."""
    times = np.zeros(len(pool))
    stops = np.cumsum(need)
    drawn = np.full(int(stops[-1]), -1, dtype=np.intp)
    order = rng.permutation(np.flatnonzero(need))
    block = max(BLOCK // len(pool), 1)
    for first in range(0, len(order), block):
        some = order[first : first + block]
        ranks = rng.random((len(some), len(pool)))
        keys = (some.astype(np.int64) * base)[:, np.newaxis] + pool
        ranks[contains(barred, keys.ravel()).reshape(keys.shape)] = np.inf
        open_ = len(pool) - np.isinf(ranks).sum(axis=1)
        wanted = np.minimum(need[some], open_)
        starts = stops[some] - need[some]
        for number, start, rank in zip(wanted, starts, ranks, strict=True):
            rank += times
            if number == 1:
                one = rank.argmin()
                times[one] += 1
                drawn[start] = pool[one]
            elif number:
                chosen = np.argpartition(rank, number - 1)[:number]
                times[chosen] += 1
                drawn[start : start + number] = pool[chosen]
    return drawn


class _Hands:
    """What each list has drawn, list after list, and which draws are wrong."""

    def __init__(self, owner: Numbers, drawn: Numbers, barred: Ints, base: int) -> None:
        self.owner, self.drawn, self.barred, self.base = owner, drawn, barred, base
        self.starts = np.flatnonzero(np.diff(owner, prepend=-1))
        self.sizes = np.diff(self.starts, append=len(owner))
        self.several = bool((self.sizes > 1).any())
        self.hand = np.repeat(np.arange(len(self.starts)), self.sizes)

    def wrong(self) -> Numbers:
        """Return the places whose draw is barred or duplicated."""
        keys = self.owner * self.base
        keys += self.drawn
        wrong = contains(self.barred, keys)
        if self.several:
            order = np.argsort(keys, kind="stable")
            wrong[order[1:][keys[order[1:]] == keys[order[:-1]]]] = True
        return np.flatnonzero(wrong)

    def others(self, places: Numbers) -> tuple[Numbers, Numbers]:
        """Return the places in the same lists, and for which each is listed."""
        sizes = self.sizes[self.hand[places]]
        asked = np.repeat(np.arange(len(places)), sizes)
        first = self.starts[self.hand[places]] - (np.cumsum(sizes) - sizes)
        there = np.arange(len(asked)) + first[asked]
        apart = there != places[asked]
        return there[apart], asked[apart]

    def are_wrong(self, places: Numbers) -> Bools:
        """Return which of some places hold a draw that is barred or duplicated."""
        keys = self.owner[places] * self.base + self.drawn[places]
        wrong = contains(self.barred, keys)
        if self.several:
            there, asked = self.others(places)
            wrong[asked[self.drawn[there] == self.drawn[places[asked]]]] = True
        return wrong

    def swap(self, some: Numbers, others: Numbers) -> None:
        self.drawn[some], self.drawn[others] = self.drawn[others], self.drawn[some]


def _settle(hands: _Hands, pool: Codes, rng: Generator) -> None:
    """Exchange draws between lists until all are valid; draw the rest again."""
    wrong, idle = hands.wrong(), 0
    while len(wrong) and idle < IDLE:
        partner = rng.integers(len(hands.drawn), size=len(wrong))
        both = np.concatenate([hands.hand[wrong], hands.hand[partner]])
        alone = np.zeros(len(both), dtype=bool)  # each list is in one exchange only
        alone[np.unique(both, return_index=True)[1]] = True
        pairs = alone[: len(wrong)] & alone[len(wrong) :]
        some, others = wrong[pairs], partner[pairs]
        hands.swap(some, others)
        worse = hands.are_wrong(some) | hands.are_wrong(others)
        hands.swap(some[worse], others[worse])
        idle = idle + 1 if worse.all() else 0
        wrong = wrong[hands.are_wrong(wrong)]
    for place in wrong:
        _draw_again(hands, int(place), pool, rng)


def _draw_again(hands: _Hands, place: int, pool: Codes, rng: Generator) -> None:
    """Replace a draw by the open member that has been drawn least, if there is one."""
    if not hands.are_wrong(np.array([place]))[0]:
        return
    used = hands.drawn[hands.others(np.array([place]))[0]]
    keys = hands.owner[place] * hands.base + pool.astype(np.int64)
    open_ = pool[~contains(hands.barred, keys) & ~np.isin(pool, used)]
    times = np.bincount(hands.drawn[hands.drawn >= 0], minlength=hands.base)[open_]
    rank = times + rng.random(len(open_))
    hands.drawn[place] = open_[rank.argmin()] if len(open_) else -1

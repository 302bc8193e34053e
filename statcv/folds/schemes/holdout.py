"""How records are held out: folds, groups, shares, bootstrap samples and pairs.

In a sample of pairs the numbers of pairs of two records of a class differ by at most
one; so no record weighs more than another by chance in a mean over pairs. All else is
random: the pairs are allocated first, and then change partners many times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from statcv.errors import ArgumentError, SchemeError
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.draw_evenly import contains
from statcv.folds.response import Response
from statcv.folds.schemes.allocation import allocate
from statcv.numeric.arrays import Codes, Ints, Numbers
from statcv.tables import Printed

MOST_DRAWS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Records(Printed):
    """What a scheme may use of the records.

    Attributes
    ----------
    codes : numpy.ndarray of int, shape (n,)
        Class codes; zeros for a continuous outcome.
    classes : int
    unit : numpy.ndarray of int, shape (n,), or None
        Units, whose records are held out together. None: each record is a unit.
    allocation : numpy.ndarray of int, shape (units,), or None
        The fold of each unit, if it does not depend on the records.
    numbers : bool
        Whether codes are those of distinct numbers, where pairs of them are held out.
    """

    codes: Numbers
    classes: int
    unit: Numbers | None = None
    allocation: Numbers | None = None
    numbers: bool = False

    @property
    def n(self) -> int:
        """The number of records."""
        return len(self.codes)

    @property
    def units(self) -> int:
        """The number of units."""
        return self.n if self.unit is None else int(self.unit.max()) + 1

    @property
    def by_unit(self) -> Ragged:
        """The records of each unit."""
        if self.unit is None:
            return Ragged.split(np.arange(self.n), np.ones(self.n, dtype=np.int64))
        return Ragged.grouped(self.unit, self.units)

    def table(self) -> Ints:
        """Count the classes in each unit: shape (units, classes)."""
        return self.by_unit.counts(self.codes, self.classes)


@dataclass(frozen=True, eq=False)
class Holding:
    """One repeat: the records held out in each split, and others not trained on.

    ``unit_fold`` is the fold of each unit if splits are folds, and ``redrawn`` how many
    samples could not be used.
    """

    tests: Ragged
    kept_out: Ragged
    copied: Ragged
    unit_fold: Numbers | None = None
    redrawn: int = 0

    @classmethod
    def of(cls, tests: Ragged, unit_fold: Numbers | None = None) -> Holding:
        """Hold out, and drop and repeat nothing."""
        return cls(tests, Ragged.empty(len(tests)), Ragged.empty(len(tests)), unit_fold)


Hold = Callable[[Records, Any, Generator], Holding]


def k_folds(
    records: Records, k: int, rng: Generator, by_class: bool = False
) -> Holding:
    """Allocate whole units to k random folds of even size."""
    if records.unit is None:
        order = rng.permutation(records.n)
        if by_class:
            order = order[np.argsort(records.codes[order], kind="stable")]
        fold = np.empty(records.n, dtype=np.intp)
        fold[order] = np.arange(records.n) % k
        return Holding.of(Ragged.grouped(rng.permutation(k)[fold], k))
    if records.allocation is not None:
        fold = records.allocation
    else:
        fold = allocate(records.table(), k, rng, by_class=by_class)
    return Holding.of(Ragged.grouped(fold[records.unit], k), fold)


def k_folds_by_class(records: Records, k: int, rng: Generator) -> Holding:
    """Allocate whole units to k folds, each class in turn and spread evenly.

    The remainder of a class is allocated from where that of the last class ended.
    """
    return k_folds(records, k, rng, by_class=True)


def each_unit(records: Records, k: Any, rng: Generator) -> Holding:
    """Hold out every unit by itself."""
    return Holding.of(records.by_unit)


def random_share(records: Records, share: float, rng: Generator) -> Holding:
    """Hold out a random share of the records, in whole units."""
    members, order = records.by_unit, rng.permutation(records.units)
    held = np.cumsum(members.sizes[order])
    nearest = int(np.abs(held - share * records.n).argmin()) + 1
    count = min(nearest, records.units - 1)
    if count == 0:
        raise SchemeError(
            "all records are equal in the stratifier: none can be held out alone."
        )
    return Holding.of(Ragged.of([np.sort(members.chosen(order[:count]).values)]))


def bootstrap_sample(records: Records, k: Any, rng: Generator) -> Holding:
    """Draw a bootstrap sample of the units, and hold out those not drawn.

    A sample that lacks a class, or leaves nothing out, is drawn again.
    """
    table, again = records.table(), 0
    while again < MOST_DRAWS:
        times = np.bincount(
            rng.integers(records.units, size=records.units), minlength=records.units
        )
        if (times == 0).any() and (times @ table > 0).all():
            break
        again += 1
    else:
        raise SchemeError(
            f"each of {MOST_DRAWS} bootstrap samples lacked a class or left no record "
            "out; there are too few records."
        )
    of_record = times if records.unit is None else times[records.unit]
    tests = Ragged.of([np.flatnonzero(of_record == 0)])
    copies = np.repeat(np.arange(records.n), np.maximum(of_record - 1, 0))
    return Holding(tests, Ragged.empty(1), Ragged.of([copies]), redrawn=again)


# ---- pairs of records, every one or a balanced sample ----

MOST_ROUNDS = 5000  # most rounds of exchanges after one allocation of pairs
MOST_DEALS = 10  # most allocations of pairs before an error is raised


def sample_of_classes(members: list[Numbers], budget: int, rng: Generator) -> Numbers:
    """Draw pairs of records of different classes, as many of every two classes.

    Within two classes, and over all pairs of a class, counts of a record's pairs
    differ by at most one.

    Parameters
    ----------
    members : list of numpy.ndarray of int
        The records of each class.
    budget : int
        Number of pairs, at most as many as there are.
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray of int, shape (budget, 2)
    """
    shuffled = [rng.permutation(rows) for rows in members]
    sizes = np.array([len(rows) for rows in members])
    begin = np.zeros(len(members), dtype=np.int64)  # whose turn it is to have one more
    one, two = np.triu_indices(len(members), 1)
    parts = []
    shares = even_shares(sizes[one] * sizes[two], budget)
    for a, b, share in zip(one.tolist(), two.tolist(), shares.tolist(), strict=True):
        times = []
        for c in (a, b):
            each, more = divmod(share, int(sizes[c]))
            times.append(np.full(sizes[c], each))
            times[-1][(begin[c] + np.arange(more)) % sizes[c]] += 1
            begin[c] = (begin[c] + more) % sizes[c]
        rows = np.concatenate([shuffled[a], shuffled[b]])
        sort = np.repeat([0, 1], [sizes[a], sizes[b]])
        parts.append(rows[_drawn(sort, np.concatenate(times), rng)])
    return np.concatenate(parts)


def sample_of_numbers(sort: Numbers, budget: int, rng: Generator) -> Numbers:
    """Draw pairs of records of different sorts, evenly over the records.

    If all sorts are different, the numbers of pairs of two records differ by at most
    one; if some are equal, each record is in its share of pairs, rounded.

    Parameters
    ----------
    sort : numpy.ndarray of int, shape (n,)
        Sort of each record; records of equal sort do not form a pair.
    budget : int
        Number of pairs, at most as many as there are.
    rng : numpy.random.Generator
    """
    own = len(sort) - np.bincount(sort)[sort].astype(np.int64)
    total = int(own.sum()) // 2
    order = np.lexsort((rng.random(len(sort)), rng.permutation(sort.max() + 1)[sort]))
    reached = np.cumsum(own[order])
    if 2 * budget * total >= 2**62:
        reached = reached.astype(object)  # Python integers do not overflow
    reached = (reached * budget + int(rng.integers(total))) // total
    times = np.empty(len(sort), dtype=np.int64)
    times[order] = np.diff(reached.astype(np.int64), prepend=0)
    return _drawn(sort, times, rng)


def even_shares(sizes: Codes, budget: int) -> Ints:
    """Share a budget as evenly as sizes allow, none above its own.

    Examples
    --------
    >>> even_shares(np.array([100, 3, 50]), 60)
    array([29,  3, 28])
    """
    shares = np.zeros(len(sizes), dtype=np.int64)
    for done, place in enumerate(np.argsort(sizes, kind="stable").tolist()):
        shares[place] = min(int(sizes[place]), budget // (len(sizes) - done))
        budget -= int(shares[place])
    return shares


def least_budget(sizes: Codes) -> int:
    """Return the smallest sample of pairs that holds every record out.

    It has a pair of every two classes.

    Examples
    --------
    >>> least_budget(np.array([30, 70])), least_budget(np.array([10, 10, 10]))
    (70, 15)
    """
    one, two = np.triu_indices(len(sizes), 1)
    pairs = sizes[one] * sizes[two]

    def suffices(budget: int) -> bool:
        shares = even_shares(pairs, budget)
        held = np.bincount(one, shares, len(sizes))
        held += np.bincount(two, shares, len(sizes))
        return bool((shares > 0).all() and (held >= sizes).all())

    low, high = 0, int(pairs.sum())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


# ---- pairs in which each record comes a given number of times ----


def _drawn(sort: Numbers, times: Ints, rng: Generator) -> Numbers:
    """Draw pairs of different sorts with given numbers of pairs per record.

    For more than half of all pairs, those omitted are drawn instead.
    """
    own = len(sort) - np.bincount(sort)[sort]
    if 2 * times.sum() <= own.sum():
        return _joined(sort, times, rng)
    first, second = all_pairs(sort).T
    keys = _keys(first, second, len(sort))
    out = _joined(sort, own - times, rng)
    left = ~np.isin(keys, _keys(out[:, 0], out[:, 1], len(sort)))
    return np.column_stack([first[left], second[left]])


def all_pairs(sort: Numbers) -> Numbers:
    """Return every pair of records of different sorts, shape (pairs, 2)."""
    order = np.argsort(sort, kind="stable")
    end = np.cumsum(np.bincount(sort))[sort[order]]  # beyond those of its sort
    later = len(sort) - end
    first = np.repeat(np.arange(len(sort)), later)
    within = np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    return np.column_stack([order[first], order[within + np.repeat(end, later)]])


def _joined(sort: Numbers, times: Ints, rng: Generator) -> Numbers:
    if not times.any():
        return np.empty((0, 2), dtype=np.intp)
    for _ in range(MOST_DEALS):
        first, second = _dealt(sort, times, rng)
        if _exchange(first, second, sort, rng):
            return np.column_stack([first, second])
    raise SchemeError(
        f"no balanced sample of {len(first):,} pairs was found; use another pairs=, or "
        "another seed."
    )


def _dealt(sort: Numbers, times: Ints, rng: Generator) -> tuple[Numbers, Numbers]:
    """Allocate the places of records to pairs, none of them of equal sorts.

    Places are in the order of sorts, and are paired with those half of all places
    further on. Those of a record stand together in the first half, and are allocated in
    turn in the second; so no pair of two sorts occurs twice.
    """
    order = np.lexsort((rng.random(len(sort)), -times, sort))
    places = np.repeat(np.arange(len(sort)), times[order])
    half = len(places) // 2
    turn = np.arange(len(places)) - np.searchsorted(places, places)
    second, turn = places[half:], turn[half:]
    second = second[np.lexsort((second, turn, sort[order][second]))]
    return order[places[:half]], order[second]


def _exchange(first: Numbers, second: Numbers, sort: Numbers, rng: Generator) -> bool:
    """Let pairs change partners, in place, until they are random.

    Return whether no pair occurs twice in the end.
    """
    count, n = len(first), len(sort)
    least = 10 + 2 * count.bit_length()
    for done in range(MOST_ROUNDS):
        keys = np.sort(_keys(first, second, n))
        if done >= least and (keys[1:] > keys[:-1]).all():
            return True
        turned = rng.random(count) < 0.5
        first[turned], second[turned] = second[turned], first[turned]
        one, two = rng.permutation(count)[: count // 2 * 2].reshape(2, -1)
        new = _keys(first[[one, two]], second[[two, one]], n)
        _, place, often = np.unique(new, return_inverse=True, return_counts=True)
        free = (often[place.reshape(new.shape)] == 1) & ~contains(keys, new)
        free &= sort[first[[one, two]]] != sort[second[[two, one]]]
        one, two = one[free.all(axis=0)], two[free.all(axis=0)]
        second[one], second[two] = second[two], second[one]
    return False


def _keys(first: Numbers, second: Numbers, n: int) -> Ints:
    """Return a number for each pair, whichever record is named first."""
    low = np.minimum(first, second).astype(np.int64)
    return low * n + np.maximum(first, second)


# ---- pairs held out together ----

MOST_PAIRS = 50_000_000


def unlike_pairs(records: Records, budget: int | None, rng: Generator) -> Holding:
    """Hold out every pair of records of different classes (Airola et al. 2011).

    If there are more than ``budget``, hold out a balanced sample of them. For a
    continuous outcome, the pairs are those of records with different outcomes.
    """
    possible = count_unlike(records.codes)
    if budget is None or budget >= possible:
        _check_pairs(possible, "pairs= takes a balanced sample of them")
        return _pairs(all_pairs(records.codes), records)
    _check_pairs(budget, "use fewer")
    if records.numbers:
        return _pairs(sample_of_numbers(records.codes, budget, rng), records)
    members = [np.flatnonzero(records.codes == c) for c in range(records.classes)]
    members = [rows for rows in members if len(rows)]
    return _pairs(sample_of_classes(members, budget, rng), records)


def pairs_of_records(records: Records, k: Any, rng: Generator) -> Holding:
    """Hold out every pair of records: a tournament (Montoya Perez et al. 2019)."""
    use = "scheme='leave_pair_out' with pairs= takes a balanced sample"
    _check_pairs(records.n * (records.n - 1) // 2, use)
    return _pairs(np.column_stack(np.triu_indices(records.n, 1)), records)


def count_unlike(codes: Codes) -> int:
    """Return how many pairs of records differ.

    Examples
    --------
    >>> count_unlike(np.array([0, 0, 1, 1, 1]))
    6
    """
    sizes = np.unique(codes, return_counts=True)[1].astype(np.int64)
    return int(sizes.sum() ** 2 - (sizes**2).sum()) // 2


def check_sample(pairs: int | None, response: Response) -> int:
    """Return how many pairs there are; refuse zero or too few of them.

    Raises
    ------
    SchemeError
        If all outcomes are equal.
    ArgumentError
        If so few pairs leave some record without a prediction.
    """
    sizes = np.unique(response.values, return_counts=True)[1].astype(np.int64)
    n, possible = int(sizes.sum()), count_unlike(response.values)
    if not possible:
        same = f"all {n} records have the same outcome"
        raise SchemeError(f"{same}: there are no pairs to compare.")
    if n < 3:
        raise SchemeError("2 records make one pair, which leaves none to train on.")
    if pairs is None or pairs >= possible:
        return possible
    least = -(-possible // int(n - sizes.max()))
    least = least_budget(sizes) if response.by_class else least
    if pairs < least:
        raise ArgumentError(
            f"pairs={pairs} leaves records without a prediction, since not every one "
            f"is held out; it takes {least:,} pairs or more of {possible:,}."
        )
    return possible


def _check_pairs(count: int, use: str) -> None:
    if count > MOST_PAIRS:
        raise SchemeError(
            f"{count:,} pairs were to be held out, and every one would be a fit, more "
            f"than {MOST_PAIRS:,}; {use}."
        )


def _pairs(pairs: Numbers, records: Records) -> Holding:
    pairs.sort(axis=1)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    tests = Ragged.split(pairs.ravel(), np.full(len(pairs), 2))
    if records.unit is None:
        return Holding.of(tests)
    members = records.by_unit
    drops = []
    for first, second in pairs:
        equal = members.chosen(np.unique(records.unit[[first, second]])).values
        drops.append(np.setdiff1d(equal, (first, second)))
        if len(drops[-1]) == records.n - 2:
            raise SchemeError(
                "all other records are equals of two held-out ones in the stratifier, "
                "which leaves none to train on; scheme='loocv' holds out one stratum "
                "at a time."
            )
    return Holding(tests, Ragged.of(drops), Ragged.empty(len(tests)))

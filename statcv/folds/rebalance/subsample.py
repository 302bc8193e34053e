"""Training sets made alike in class totals, or in the mean of the outcome.

A plan has splits. Each holds records out (``tests``) and may keep others from training
already (``out``); it trains on the rest. The functions below choose which of the rest
to drop, or to repeat, so that the training sets of all splits are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import comb, prod

import numpy as np
from numpy.random import Generator

from statcv.errors import SchemeError
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.draw_evenly import draw_evenly, keys_of
from statcv.folds.schemes.allocation import kinds_of_rows
from statcv.numeric.arrays import Codes, Ints, Numbers
from statcv.words import plural

Pairs = tuple[Numbers, Numbers]  # splits, and what each of them drops

MOST = 1_000_000_000  # record numbers that lists may hold in all


@dataclass(frozen=True, eq=False)
class UnequalSets:
    """The training sets of all splits, which are to be made alike.

    Attributes
    ----------
    codes : numpy.ndarray of int, shape (n,)
        The class of each record, from 0.
    classes : int
    tests, out : Ragged
        The records that each split holds out, and the others that it does not
        train on.
    levels : sequence
        Names of the classes, for messages.
    totals : numpy.ndarray of int, shape (classes,), optional
        Class totals to reach, if they also depend on other splits.

    Examples
    --------
    >>> import numpy as np
    >>> codes, tests = np.array([0, 0, 1, 1, 1]), Ragged.of([[0, 2], [1, 3, 4]])
    >>> UnequalSets(codes, 2, tests, Ragged.empty(2)).counts.tolist()
    [[1, 2], [1, 1]]
    """

    codes: Codes
    classes: int
    tests: Ragged
    out: Ragged
    levels: Sequence[object] = ()
    totals: Ints | None = None

    @cached_property
    def counts(self) -> Ints:
        """The records of each class in every training set, shape (splits, classes)."""
        absent = self.tests.counts(self.codes, self.classes)
        absent += self.out.counts(self.codes, self.classes)
        return np.asarray(np.bincount(self.codes, minlength=self.classes) - absent)

    @property
    def least(self) -> Ints:
        """The totals to which counts can be reduced; no training count may be 0."""
        least = least_counts(self.counts, self.codes, self.levels)
        return least if self.totals is None else self.totals

    @property
    def absent(self) -> Ints:
        """The pairs (split, record not in its training set), as sorted numbers."""
        n = len(self.codes)
        parts = [keys_of(p.owners, p.values, n) for p in (self.tests, self.out)]
        return np.sort(np.concatenate(parts))

    def rows(self, split: int, c: int | None = None) -> Numbers:
        """Return the records on which a split trains, all or those of one class."""
        stays = np.ones(len(self.codes), dtype=bool) if c is None else self.codes == c
        stays[np.append(self.tests[split], self.out[split])] = False
        return np.flatnonzero(stays)


def subsample(sets: UnequalSets, rng: Generator, strata: Codes | None = None) -> Ragged:
    """Choose the fewest records to drop so that all training sets have equal totals.

    Every training set is reduced to the smallest count of each class in any of them;
    fewer drops do not suffice. For leave-one-out that is one record of each other class
    (Austin, Pe'er & Korem 2024, Fig. 3a and Supplementary Note 1).

    Parameters
    ----------
    sets : UnequalSets
    rng : numpy.random.Generator
    strata : numpy.ndarray of int, shape (n,), optional
        The stratum of each record, from 0. Whole strata are dropped while they fit,
        so that a dropped record leaves no duplicate in the training set.

    Returns
    -------
    Ragged
        The records that each split drops, rising. The members of a class are dropped
        about equally often.

    Raises
    ------
    SchemeError
        If a training set would be left without a class.

    Examples
    --------
    >>> import numpy as np
    >>> codes, tests = np.array([0, 0, 1, 1]), Ragged.of([[0], [1], [2], [3]])
    >>> sets = UnequalSets(codes, 2, tests, Ragged.empty(4))
    >>> drops = subsample(sets, np.random.default_rng(1))
    >>> sorted(drops.values.tolist()), codes[drops.values].tolist()
    ([0, 1, 2, 3], [1, 1, 0, 0])
    """
    codes, n, absent = sets.codes, len(sets.codes), sets.absent
    need = sets.counts - sets.least
    _check_size(int(need.sum()), "drop")
    sizes, dropped = need.sum(axis=1), [np.empty(0, dtype=np.int64)]
    if strata is not None:
        whole = drop_whole_strata(need, codes, strata, absent, rng)
        need -= whole.counts(codes, sets.classes)
        dropped = [keys_of(whole.owners, whole.values, n)]
        absent = np.sort(np.concatenate([absent, *dropped]))
    dropped.extend(_draw_classes(need, codes, absent, rng))
    return _lists(np.concatenate(dropped), sizes, n)


def upsample(sets: UnequalSets, rng: Generator) -> Ragged:
    """Choose training records to use again so that all training sets have equal totals.

    Each class is raised to its largest count in any training set, by repeating its own
    training records: each once more before any is repeated twice.

    Parameters
    ----------
    sets, rng
        As for :func:`subsample`.

    Returns
    -------
    Ragged
        The records that each split repeats, rising, once for each repetition. The
        members of a class are repeated about equally often.

    Raises
    ------
    SchemeError
        If a training set has no record of a class.

    Examples
    --------
    >>> import numpy as np
    >>> codes, tests = np.array([0, 0, 1, 1]), Ragged.of([[0], [1], [2], [3]])
    >>> sets = UnequalSets(codes, 2, tests, Ragged.empty(4))
    >>> upsample(sets, np.random.default_rng(1)).values
    array([1, 0, 3, 2], dtype=int32)
    """
    n, counts = len(sets.codes), sets.counts
    least_counts(counts, sets.codes, sets.levels)
    need = (counts.max(axis=0) if sets.totals is None else sets.totals) - counts
    _check_size(int(need.sum()), "copy")
    sizes = need.sum(axis=1)
    copied = [np.empty(0, dtype=np.int64)]
    for split, c in np.argwhere(need >= np.maximum(counts, 1)):
        rows = sets.rows(split, c)
        rounds, need[split, c] = divmod(need[split, c], len(rows))
        copied.append(split * n + np.repeat(rows, rounds))
    copied.extend(_draw_classes(need, sets.codes, sets.absent, rng))
    return _lists(np.concatenate(copied), sizes, n)


def all_subsamples(sets: UnequalSets, limit: int = 1_000_000) -> tuple[Ragged, Ints]:
    """List every choice of records that :func:`subsample` may drop.

    Parameters
    ----------
    sets : UnequalSets
    limit : int
        Largest number of fits that is allowed.

    Returns
    -------
    drops : Ragged
        The records dropped in each fit, rising; the fits of a split follow each
        other, in lexicographic order class after class.
    fits : numpy.ndarray of int64, shape (splits,)
        The number of fits of each split.

    Raises
    ------
    SchemeError
        If there are more than ``limit``, or a training set would lack a class.

    Examples
    --------
    >>> import numpy as np
    >>> codes, tests = np.array([0, 0, 1, 1]), Ragged.of([[0], [1], [2], [3]])
    >>> sets = UnequalSets(codes, 2, tests, Ragged.empty(4))
    >>> drops, fits = all_subsamples(sets)
    >>> fits, drops.values
    (array([2, 2, 2, 2]), array([2, 3, 2, 3, 0, 1, 0, 1], dtype=int32))
    """
    counts, need = sets.counts, sets.counts - sets.least
    fits = [
        prod(map(comb, present, wanted))
        for present, wanted in zip(counts.tolist(), need.tolist(), strict=True)
    ]
    many = str(sum(fits))
    if len(many) > 9:
        many = f"about 10^{len(many) - 1}"
    if sum(fits) > limit:
        raise SchemeError(
            f"rebalance='all': every possible subsample makes {many} "
            f"fits, and the limit is {limit}; draw some of them with "
            "rebalance='subsample' and repeats=."
        )
    lists: list[Codes] = []
    for split, wanted in enumerate(need):
        choices = [
            combinations(sets.rows(split, c).tolist(), wanted[c])
            for c in np.flatnonzero(wanted).tolist()
        ]
        flat = [row for fit in product(*choices) for part in fit for row in part]
        table = np.array(flat, dtype=np.int32).reshape(fits[split], -1)
        lists.append(np.sort(table, axis=1).ravel())
    sizes = np.repeat(need.sum(axis=1), fits)
    return Ragged.split(np.concatenate(lists), sizes), np.array(fits, dtype=np.int64)


def least_counts(counts: Ints, codes: Codes, levels: Sequence[object]) -> Ints:
    """Return the smallest training count of each class; none may be 0."""
    least: Ints = counts.min(axis=0)
    total = np.bincount(codes, minlength=len(least))
    for c in np.flatnonzero((least == 0) & (total > 0)).tolist():
        name = repr(str(levels[c])) if len(levels) else c
        raise SchemeError(
            f"class {name} has {plural(int(total[c]), 'record')}, and a split trains "
            "without any, so that training sets cannot be made alike; hold out fewer "
            "records together, or leave that class out of the data."
        )
    return least


def _check_size(number: int, verb: str) -> None:
    if number > MOST:
        raise SchemeError(
            f"to balance these training sets one would {verb} {number:.2g} records in "
            "all, since splits hold out very different numbers; use "
            "rebalance='weight', or folds of more equal size."
        )


def _draw_classes(
    need: Ints, codes: Codes, absent: Ints, rng: Generator
) -> Iterator[Ints]:
    """Draw training records of each class: pairs (split, record) as numbers."""
    n = len(codes)
    of = codes[absent % n]
    for c in np.flatnonzero(need.any(axis=0)):
        pool = np.flatnonzero(codes == c)
        drawn = draw_evenly(need[:, c], pool, absent[of == c], n, rng)
        drawn += np.repeat(np.arange(len(need)), need[:, c]) * n
        yield drawn


def _lists(pairs: Ints, sizes: Ints, n: int) -> Ragged:
    """Make lists of pairs (split, record), rising."""
    pairs.sort()
    pairs %= n
    return Ragged.split(pairs, sizes)


def bags(sets: UnequalSets, rng: Generator, n_bags: int = 10) -> tuple[Ragged, Ragged]:
    """Draw bags of equal class totals from each training set (Breiman 1996).

    A bag draws from each class of the training set, with replacement, as many
    records as the smallest training set has of it.

    Parameters
    ----------
    sets, rng
        As for :func:`subsample`.
    n_bags : int
        Number of bags of each split.

    Returns
    -------
    drops : Ragged
        The training records that each bag did not draw, rising.
    copies : Ragged
        The records that it drew again, rising, once for each further draw.
        The bags of each split follow each other in both.

    Raises
    ------
    SchemeError
        If a training set lacks a class, or the bags would be too large to list.

    Examples
    --------
    >>> import numpy as np
    >>> codes, tests = np.array([0, 0, 1, 1]), Ragged.of([[0, 2], [1, 3]])
    >>> sets = UnequalSets(codes, 2, tests, Ragged.empty(2))
    >>> drops, copies = bags(sets, np.random.default_rng(1), n_bags=3)
    >>> len(drops), len(copies)
    (6, 6)
    """
    counts, splits, least = sets.counts, len(sets.tests), sets.least
    missed = (counts * np.exp(-least / np.maximum(counts, 1))).sum()
    if 2 * n_bags * missed > MOST:
        raise SchemeError(
            f"{n_bags} bags of each of {plural(splits, 'split')} would list "
            f"{2 * n_bags * missed:.2g} records; use fewer folds or bags."
        )
    drops, copies = [], []
    for split in range(splits):
        rows = sets.rows(split)
        times = np.zeros((n_bags, len(rows)), dtype=np.intp)
        for c in np.flatnonzero(least):
            pool = np.flatnonzero(sets.codes[rows] == c)
            drawn = pool[rng.integers(len(pool), size=(n_bags, least[c]))]
            np.add.at(times, (np.arange(n_bags)[:, None], drawn), 1)
        again, every = np.maximum(times - 1, 0), np.broadcast_to(rows, times.shape)
        drops.append(Ragged.split(every[times == 0], (times == 0).sum(axis=1)))
        twice = np.repeat(every.ravel(), again.ravel())
        copies.append(Ragged.split(twice, again.sum(axis=1)))
    return Ragged.joined(drops), Ragged.joined(copies)


# ---- whole strata dropped, as far as the class totals allow ----


def drop_whole_strata(
    need: Ints, codes: Codes, strata: Codes, absent: Ints, rng: Generator
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
    whole = members.chosen(chosen)
    sizes = np.bincount(split, whole.sizes, len(need)).astype(np.int64)
    return Ragged.split(whole.values, sizes)


def _one_by_one(need: Ints, table: Ints, barred: Ints, rng: Generator) -> Pairs:
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


def _kind_by_kind(need: Ints, table: Ints, barred: Ints, rng: Generator) -> Pairs:
    """Choose how many strata of each composition to drop, and then which."""
    number = len(table)
    rows, kind_of = kinds_of_rows(table)
    many = np.where(rows.any(axis=1), np.bincount(kind_of), 0)
    asking, asked = _ask_for_kinds(need, rows, many, rng)
    pairs = [np.empty((2, 0), np.intp)]
    barred_kind = kind_of[barred % number]
    for kind in np.unique(asked):
        wanted = np.bincount(asking[asked == kind], minlength=len(need))
        pool = np.flatnonzero(kind_of == kind)
        drawn = draw_evenly(wanted, pool, barred[barred_kind == kind], number, rng)
        both = np.stack([np.repeat(np.arange(len(need)), wanted), drawn])
        pairs.append(both[:, drawn >= 0])
    splits, chosen = np.hstack(pairs)
    return splits, chosen


def _ask_for_kinds(need: Ints, rows: Ints, many: Ints, rng: Generator) -> Pairs:
    """Return pairs (split, kind): each split's strata one by one while one fits."""
    left = need.copy()
    asking, asked = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    active = np.flatnonzero(left.any(axis=1))
    while len(active):
        states, state_of = kinds_of_rows(left[active])
        before = len(asking)
        for number, state in enumerate(states):
            share = np.cumsum(many * (rows <= state).all(axis=1))
            if share[-1]:
                splits = active[state_of == number]
                drawn = rng.integers(share[-1], size=len(splits))
                kind = np.searchsorted(share, drawn, side="right")
                left[splits] -= rows[kind]
                asking.append(splits)
                asked.append(kind)
        active = np.concatenate([active[:0], *asking[before:]])
        active = active[left[active].any(axis=1)]
    return np.concatenate(asking), np.concatenate(asked)

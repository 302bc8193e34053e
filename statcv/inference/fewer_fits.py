"""Part of a plan, where all of it would take too many fits to be made again."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from statcv.errors import SchemeError
from statcv.folds import FoldPlan
from statcv.folds.deleting import choose_splits, count_fits
from statcv.seeds import PAIR_SAMPLE

Numbers = NDArray[np.intp]


def without_equals(plan: FoldPlan, how: str, y: NDArray[np.generic]) -> FoldPlan:
    """Leave out pairs of equal classes where only the others are compared.

    Parameters
    ----------
    plan : FoldPlan
    how : {"pooled", "per_fold", "paired"}
    y : numpy.ndarray, shape (n,)
    """
    if not plan.holds_out_pairs or how != "paired":
        return plan
    first, second = plan.tests.values.reshape(-1, 2).T
    differ = y[first] != y[second]
    return plan if differ.all() else choose_splits(plan, np.flatnonzero(differ))


def affordable(
    plan: FoldPlan,
    sets: list[Numbers],
    how: str,
    y: NDArray[np.generic],
    seed: int,
    most: int,
) -> tuple[FoldPlan, str]:
    """Return a plan that needs no more fits, and what was left out of it.

    Parameters
    ----------
    plan : FoldPlan
    sets : list of numpy.ndarray of int
        The records that are deleted together.
    how : {"pooled", "per_fold", "paired"}
    y : numpy.ndarray, shape (n,)
    seed : int
        Of the pairs that are taken.
    most : int
        Fits.

    Raises
    ------
    SchemeError
        If no part of the plan is small enough.
    """
    plan = without_equals(plan, how, y)
    fits = count_fits(plan, sets)
    if fits <= most:
        return plan, ""
    share = most / fits
    if plan.holds_out_pairs and how == "paired":
        wanted = int(share * plan.n_splits)
        if wanted >= plan.n:
            chosen = choose_splits(plan, _some_pairs(plan, y, wanted, seed))
            return chosen, f"{wanted:,} of {plan.n_splits:,} pairs are fitted again"
    elif int(share * plan.repeats) >= 1:
        repeats = int(share * plan.repeats)
        chosen = choose_splits(plan, np.arange(plan.first_split[repeats]))
        return chosen, f"{repeats} of {plan.repeats} repeats are fitted again"
    raise SchemeError(
        f"{fits:,} fits would have to be made again, more than most_fits={most:,}."
    )


def _some_pairs(
    plan: FoldPlan, y: NDArray[np.generic], wanted: int, seed: int
) -> Numbers:
    """Choose pairs: evenly from all of two classes, at random from other pairs."""
    sizes = np.unique(y, return_counts=True)[1]
    if len(sizes) == 2 and plan.n_splits == sizes.prod():
        return balanced_pairs(plan, y, wanted, seed)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PAIR_SAMPLE,)))
    return np.sort(rng.choice(plan.n_splits, wanted, replace=False))


def balanced_pairs(
    plan: FoldPlan, y: NDArray[np.generic], wanted: int, seed: int
) -> Numbers:
    """Choose pairs of different classes, every record in about as many as its like.

    Both classes are dealt round in random order; each time the two rounds begin
    together again, one is shifted by a record.

    Parameters
    ----------
    plan : FoldPlan
        Of pairs of different classes.
    y : numpy.ndarray, shape (n,)
    wanted : int
        Pairs.
    seed : int

    Returns
    -------
    numpy.ndarray of int
        Splits, rising.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PAIR_SAMPLE,)))
    pairs = plan.tests.values.reshape(-1, 2).astype(np.int64)
    pairs = np.where((y[pairs[:, :1]] == 1), pairs, pairs[:, ::-1])
    cells = pairs[:, 0] * plan.n + pairs[:, 1]
    order = np.argsort(cells)
    ones, zeros = (rng.permutation(np.unique(members)) for members in pairs.T)
    turn = np.arange(len(ones) * len(zeros))
    shift = turn // math.lcm(len(ones), len(zeros))
    dealt = ones[turn % len(ones)] * plan.n + zeros[(turn + shift) % len(zeros)]
    place = np.searchsorted(cells[order], dealt)
    place[place == len(cells)] = 0
    there = cells[order][place] == dealt  # equals are no pair
    return np.sort(order[place[there][:wanted]])

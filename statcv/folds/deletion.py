"""A plan without some of its records, as if they had never been in the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from statcv.arguments import RESERVE
from statcv.errors import SchemeError
from statcv.folds.plan import LISTS, FoldPlan
from statcv.folds.ragged import Ragged
from statcv.folds.rebalance.weighting import ClassWeights
from statcv.numeric.arrays import Bools, Numbers
from statcv.tables import Printed

DROPS = ("subsample", "all")  # rebalancing by dropping records


@dataclass(frozen=True, eq=False, repr=False)
class Deletions(Printed):
    """The plans that are left when sets of records are deleted, side by side.

    Attributes
    ----------
    plan : FoldPlan
        Plan for the same records, in which each fit neither trains on one of the sets
        nor predicts it. Each deletion from a repeat makes one repeat.
    of_repeat : numpy.ndarray of int, shape (repeats,)
        Number of the set that was deleted in each repeat.
    fits : numpy.ndarray of int, shape (n_fits,)
        The fit of the whole plan from which each fit derives.
    """

    plan: FoldPlan
    of_repeat: Numbers
    fits: Numbers


def delete_records(plan: FoldPlan, sets: Sequence[Numbers], seed: int) -> Deletions:
    """Return what is left of a plan when each set of records is deleted in turn.

    Which records are held out together, and which are dropped, does not change; a fold
    that held out only deleted records is removed, and so is each pair of a
    leave-pair-out scheme with a deleted record. Where classes are balanced by dropping
    records, a training set without the deleted records loses others of their classes
    instead, so that all training sets stay alike.

    Parameters
    ----------
    plan : FoldPlan
    sets : sequence of numpy.ndarray of int
        The records deleted together.
    seed : int
        Seed for the choice of the records lost instead.

    Raises
    ------
    SchemeError
        If the plan weights records by a continuous outcome, or no fold is left.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> plan = make_plan("loocv", np.array([0, 1, 0, 1]), "binary")
    >>> left = delete_records(plan, [np.array([0]), np.array([3])], seed=1).plan
    >>> left.train(0), left.test(0), left.n_fits
    (array([2, 3]), array([1]), 6)
    """
    weighting = plan.weighting
    if weighting is not None and not isinstance(weighting, ClassWeights):
        raise SchemeError(
            "weights that restore the mean of the outcome are not recomputed for fewer "
            "records; use rebalance=None."
        )
    parts = [_left(plan, np.asarray(rows), seed) for rows in sets]
    splits_left, fits_left, lists = zip(*parts, strict=True) if parts else ((), (), ())
    splits, fits = Ragged.of(splits_left), Ragged.of(fits_left)
    if not len(splits.values):
        raise SchemeError("no fold is left when records are deleted.")
    repeat = splits.owners * plan.repeats + plan.fits.repeat_of[splits.values]
    first = np.flatnonzero(np.diff(repeat, prepend=-1))
    sizes = np.diff(np.append(first, len(repeat)))
    owner = fits.owners * plan.n_splits + plan.fits.split_of[fits.values]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    joined: dict[str, Any] = {
        name: Ragged.joined(own[name] for own in lists) for name in LISTS
    }
    made = replace(
        plan,
        **joined,
        labels=tuple(range(1, size + 1) for size in sizes.tolist()),
        first_fit=np.append(starts, len(owner)),
        weighting=None,
        seed=None,
    )
    if weighting is not None:  # each class up to its largest count, set by set
        counts, _ = made.counts(weighting.codes, weighting.table.shape[1])
        most = np.zeros((len(parts), counts.shape[1]))
        np.maximum.at(most, fits.owners, counts)
        table = most[fits.owners] / np.maximum(counts, 1)
        made = replace(made, weighting=replace(weighting, table=table))
    return Deletions(made, splits.owners[first], fits.values.astype(np.intp))


def count_fits(plan: FoldPlan, sets: Sequence[Numbers]) -> int:
    """Return how many fits :func:`delete_records` leaves, without making them.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> plan = make_plan("loocv", np.array([0, 1, 0, 1]), "binary")
    >>> count_fits(plan, [np.array([0]), np.array([3])])
    6
    """
    gone = (np.bincount(rows, minlength=plan.n) > 0 for rows in sets)
    return sum(int(_stays(plan, marked)[1].sum()) for marked in gone)


def choose_splits(plan: FoldPlan, splits: Numbers) -> FoldPlan:
    """Return the plan of some of the splits, given in rising order.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> plan = make_plan("loocv", np.array([0, 1, 0, 1]), "binary")
    >>> choose_splits(plan, np.array([1, 3])).tests.values
    array([1, 3], dtype=int32)
    """
    fits = np.flatnonzero(np.isin(plan.fits.split_of, splits))
    sizes = np.bincount(plan.fits.repeat_of[splits], minlength=plan.repeats)
    return replace(
        plan,
        **_chosen(plan, splits, fits),
        labels=tuple(range(1, size + 1) for size in sizes[sizes > 0].tolist()),
        first_fit=np.append(0, np.cumsum(np.diff(plan.first_fit)[splits])),
        weighting=None if plan.weighting is None else plan.weighting.chosen(fits),
    )


def omit_held_out(plan: FoldPlan, fits: Numbers, rows: Numbers) -> FoldPlan:
    """Return the plan in which some records are predicted by none of some fits.

    The training sets stay as they are. A record that a split holds out is omitted from
    the split if one of the split's fits is named, a pair of a leave-pair-out scheme is
    omitted whole, and a record of a tournament with all of its pairs. A fold that held
    out only such records is removed.

    Parameters
    ----------
    plan : FoldPlan
    fits, rows : numpy.ndarray of int, shape (m,)
        The fits, and the record that each is not to predict.

    Raises
    ------
    SchemeError
        If no held-out record is left.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> plan = make_plan("loocv", np.array([0, 1, 0, 1]), "binary")
    >>> omit_held_out(plan, np.array([2]), np.array([2])).tests.values
    array([0, 1, 3], dtype=int32)
    """
    tests, dropped = plan.tests, plan.dropped
    cells = plan.fits.split_of[fits] * plan.n + rows
    gone = np.isin(tests.owners * plan.n + tests.values, cells)
    if plan.fits.tournament:
        gone = np.isin(tests.values, tests.values[gone])
    if plan.fits.holds_out_pairs:
        gone = np.isin(tests.owners, tests.owners[gone])
    alone = np.isin(dropped.owners * plan.n + dropped.values, fits * plan.n + rows)
    omitted = tests.where(gone).chosen(plan.fits.split_of)
    made = replace(
        plan,
        tests=tests.where(~gone),
        dropped=dropped.where(~alone),
        kept_out=plan.kept_out.beside(omitted).beside(dropped.where(alone)),
    )
    left = np.flatnonzero(made.tests.sizes)
    if not len(left):
        raise SchemeError(
            "no held-out record is left: the training sets lack a level of each of "
            "them; use other folds, or new_levels='mean'."
        )
    names = [made.name(split) for split in left.tolist()]
    by_repeat = groupby(names, key=itemgetter(0))
    labels = tuple(tuple(name for _, name in own) for _, own in by_repeat)
    return replace(choose_splits(made, left), labels=labels)


def _stays(plan: FoldPlan, gone: Bools) -> tuple[Bools, Bools]:
    """Return which splits and fits remain without the marked records."""
    lost = plan.tests.sums(gone)
    splits = lost == 0 if plan.fits.holds_out_pairs else lost < plan.tests.sizes
    fits = splits[plan.fits.split_of]
    if plan.n_fits > plan.n_splits:
        others = fits & (plan.dropped.sums(gone) == 0)  # fits dropping no marked record
        some = np.bincount(plan.fits.split_of, others, plan.n_splits) > 0
        fits = np.where(some[plan.fits.split_of], others, fits)
    return splits, fits


def _chosen(plan: FoldPlan, splits: Numbers, fits: Numbers) -> dict[str, Any]:
    """Return the lists of some splits and fits."""
    of = {name: splits if name == "tests" else fits for name in LISTS}
    return {name: getattr(plan, name).chosen(own) for name, own in of.items()}


def _left(
    plan: FoldPlan, rows: Numbers, seed: int
) -> tuple[Numbers, Numbers, dict[str, Any]]:
    """Return the splits, the fits and the lists that are left without some records."""
    gone = np.bincount(rows, minlength=plan.n) > 0
    splits, fits = (np.flatnonzero(flags) for flags in _stays(plan, gone))
    lists = _chosen(plan, splits, fits)
    lists = {name: own.where(~gone[own.values]) for name, own in lists.items()}
    deleted = Ragged.alike(np.sort(rows), len(fits))
    lists["kept_out"] = lists["kept_out"].beside(deleted)
    if plan.rebalance in DROPS and plan.response is not None:
        instead = _lost_instead(plan, fits, gone, seed)
        lists["kept_out"] = lists["kept_out"].beside(instead)
    return splits, fits, lists


def _lost_instead(plan: FoldPlan, fits: Numbers, gone: Bools, seed: int) -> Ragged:
    """Draw for each fit other records of the classes that it had not trained on.

    The records that a fit would lose first do not depend on those deleted.
    """
    assert plan.response is not None
    codes, classes = plan.response.codes, plan.response.classes
    absent = plan.fits.tests_by_fit.sums(gone) + plan.dropped.sums(gone)
    absent += plan.kept_out.sums(gone)
    lists: dict[int, Numbers] = {}
    for place in np.flatnonzero(absent[fits] > 0).tolist():
        fit = int(fits[place])
        trained = plan.train(fit)
        need = np.bincount(codes[gone], minlength=classes)
        need -= np.bincount(codes[trained[gone[trained]]], minlength=classes)
        stream = np.random.SeedSequence(seed, spawn_key=(RESERVE, fit))
        order = np.random.default_rng(stream).permutation(trained)
        order = order[~gone[order]]
        lists[place] = np.concatenate(
            [order[codes[order] == code][: need[code]] for code in range(classes)]
        )
    return Ragged.of(lists.get(place, []) for place in range(len(fits))).rising()

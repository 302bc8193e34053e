"""A metric with some records deleted and everything fitted again without them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import PAIR_SAMPLE
from statcv.engine import OF_THE_FITS, Held, Setup, progress_bar, run
from statcv.errors import ConvergenceWarning, SchemeError, warn
from statcv.folds import FoldPlan, choose_splits, count_fits, delete_records
from statcv.inference.estimates.values import values_by_repeat, values_by_split
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.models.thresholds import NAME

Numbers = NDArray[np.intp]


def without_equals(plan: FoldPlan, how: str, y: NDArray[np.generic]) -> FoldPlan:
    """Leave out pairs of equal classes where only the others are compared.

    Parameters
    ----------
    plan : FoldPlan
    how : {"pooled", "per_fold", "paired"}
    y : numpy.ndarray, shape (n,)
    """
    if not plan.fits.holds_out_pairs or how != "paired":
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
    if plan.fits.holds_out_pairs and how == "paired":
        wanted = int(share * plan.n_splits)
        if wanted >= plan.n:
            chosen = choose_splits(plan, _some_pairs(plan, y, wanted, seed))
            return chosen, f"{wanted:,} of {plan.n_splits:,} pairs are fitted again"
    elif int(share * plan.repeats) >= 1:
        repeats = int(share * plan.repeats)
        chosen = choose_splits(plan, np.arange(plan.fits.first_split[repeats]))
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


# ---- a metric with records deleted and everything fitted again ----

Floats = NDArray[np.float64]

PREDICTIONS = 2**20  # of a batch


def values_without(
    setup: Setup,
    sets: Sequence[Numbers],
    metric: Metric,
    how: str,
    *,
    threshold: float | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> tuple[Floats, int]:
    """Return a metric with each set of records deleted, and all fits made again.

    Parameters
    ----------
    setup : Setup
    sets : sequence of numpy.ndarray of int
        The records that are deleted together.
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    threshold : float, optional
        As :func:`scores_of` takes it.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Returns
    -------
    values : numpy.ndarray, shape (sets,)
        NaN where the metric has no value.
    failed : int
        Fits that did not converge, or whose classes were separated.

    Raises
    ------
    OutcomeError
        If a training set then lacks a class.
    FitError
        If the model fails.
    """
    values, failed = np.full(len(sets), np.nan), 0
    total = count_fits(setup.plan, sets)
    with progress_bar(total, progress, "fit") as bar:
        for batch in _batches(setup.plan, sets):
            left = delete_records(setup.plan, [sets[s] for s in batch], setup.seed)
            held = run_quietly(setup, left.plan, n_jobs, numbers=left.fits)
            failed += int((~held.converged | held.separated).sum())
            scores = scores_of(left.plan, held, setup.design.y, threshold)
            values[batch] = mean_values(scores, metric, how, left.of_repeat, len(batch))
            bar.update(left.plan.n_fits)
    return values, failed


def mean_values(
    scores: Scores, metric: Metric, how: str, of_repeat: Numbers, groups: int
) -> Floats:
    """Return the mean over the repeats (or folds) of each group that have a value.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    of_repeat : numpy.ndarray of int, shape (repeats,)
        The group of each repeat.
    groups : int
    """
    group = of_repeat
    if how == "per_fold":
        values, group = values_by_split(scores, metric), of_repeat[scores.repeat]
    else:
        values = values_by_repeat(scores, metric, how)
    known = ~np.isnan(values)
    total = np.bincount(group[known], values[known], groups)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.bincount(group[known], None, groups))


def run_quietly(
    setup: Setup, plan: FoldPlan, n_jobs: int | None, numbers: Numbers | None = None
) -> Held:
    """Fit another plan of the same records; what goes wrong is for the caller to tell.

    ``numbers`` are those by which the fits get their seeds.
    """
    with warnings.catch_warnings():
        for category in OF_THE_FITS:
            warnings.simplefilter("ignore", category)
        return run(
            setup.design,
            plan,
            setup.model,
            seed=setup.seed,
            weights=setup.weights,
            n_jobs=n_jobs,
            progress=False,
            numbers=numbers,
        )


def scores_of(
    plan: FoldPlan, held: Held, y: NDArray[Any], threshold: float | None = None
) -> Scores:
    """Read what the fits of a plan predicted, with their thresholds.

    Parameters
    ----------
    plan : FoldPlan
    held : Held
    y : numpy.ndarray, shape (n,)
    threshold : float, optional
        Above what class 1 is predicted, where the model does not choose it.
    """
    scores = Scores.of(plan, held, y)
    if held.chosen is not None and NAME in held.chosen:
        chosen = held.chosen[NAME].to_numpy(dtype=float)
        return replace(scores, threshold=plan.fits.mean_by_split(chosen)[scores.split])
    if threshold is None:
        return scores
    return replace(scores, threshold=np.full(len(scores.row), threshold))


def fixed_threshold(scores: Scores) -> float | None:
    """Return the threshold of all predictions; what models choose is no matter."""
    cuts = scores.threshold
    return None if cuts is None or not len(cuts) else float(cuts[0])


def warn_of_refits(failed: int, fits: int) -> None:
    """Warn of fits, of those made again, that had no optimum."""
    if failed:
        warn(
            f"{failed} of {fits} fits made again did not converge, or their classes "
            "were separated.",
            ConvergenceWarning,
        )


def _batches(plan: FoldPlan, sets: Sequence[Any]) -> Iterator[Numbers]:
    """Yield numbers of sets whose fits together predict no more than memory holds."""
    predicted = len(plan.fits.tests_by_fit.values) + len(plan.dropped.values)
    size = max(1, PREDICTIONS // max(predicted, 1))
    for start in range(0, len(sets), size):
        yield np.arange(start, min(start + size, len(sets)))

"""A metric with some records deleted and everything refitted without them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from statcv.arguments import PAIR_SAMPLE
from statcv.engine import Held, Setup, cut, progress_bar, run_quietly
from statcv.errors import ConvergenceWarning, SchemeError, warn
from statcv.folds import FoldPlan, choose_splits, count_fits, delete_records
from statcv.formula import Outcome
from statcv.inference.estimates.values import means_of_known, values_by
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.models import theta_of
from statcv.models.batched import Folds
from statcv.models.thresholds import NAME, deciding
from statcv.numeric.arrays import Floats, Numbers, Outcomes
from statcv.numeric.survival import RiskSets
from statcv.sensitivity import Sensitivity


def without_equals(plan: FoldPlan, how: str, y: Outcomes) -> FoldPlan:
    """Omit pairs of equal classes if only pairs of different classes are compared.

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
    plan: FoldPlan, sets: list[Numbers], how: str, y: Outcomes, seed: int, most: int
) -> tuple[FoldPlan, str]:
    """Return a plan that needs at most ``most`` fits, and what was omitted from it.

    Parameters
    ----------
    plan : FoldPlan
    sets : list of numpy.ndarray of int
        The records that are deleted together.
    how : {"pooled", "per_fold", "paired"}
    y : numpy.ndarray, shape (n,)
    seed : int
        Seed for the choice of pairs.
    most : int
        Largest number of fits.

    Raises
    ------
    SchemeError
        If no part of the plan is small enough.
    """
    plan = without_equals(plan, how, y)
    fits = count_fits(plan, sets)
    if fits <= most:
        return plan, ""
    # fewer pairs or whole repeats, so that every record keeps its weight
    share = most / fits
    if plan.fits.holds_out_pairs and how == "paired":
        wanted = int(share * plan.n_splits)
        if wanted >= plan.n:
            chosen = choose_splits(plan, _some_pairs(plan, y, wanted, seed))
            return chosen, f"{wanted:,} of {plan.n_splits:,} pairs are refitted"
    elif int(share * plan.repeats) >= 1:
        repeats = int(share * plan.repeats)
        chosen = choose_splits(plan, np.arange(plan.fits.first_split[repeats]))
        return chosen, f"{repeats} of {plan.repeats} repeats are refitted"
    raise SchemeError(f"{fits:,} refits would be needed, more than most_fits={most:,}.")


def _some_pairs(plan: FoldPlan, y: Outcomes, wanted: int, seed: int) -> Numbers:
    """Choose pairs: evenly if they are all pairs of two classes, else at random."""
    sizes = np.unique(y, return_counts=True)[1]
    if len(sizes) == 2 and plan.n_splits == sizes.prod():
        return balanced_pairs(plan, y, wanted, seed)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PAIR_SAMPLE,)))
    return np.sort(rng.choice(plan.n_splits, wanted, replace=False))


def balanced_pairs(plan: FoldPlan, y: Outcomes, wanted: int, seed: int) -> Numbers:
    """Choose pairs of different classes in which records occur about equally often.

    The records of each class are used in turn, in random order. Each time that both
    orders start from the beginning together, one is shifted by a record.

    Parameters
    ----------
    plan : FoldPlan
        Plan of pairs of different classes.
    y : numpy.ndarray, shape (n,)
    wanted : int
        Number of pairs.
    seed : int
        Seed for the order of the records.

    Returns
    -------
    numpy.ndarray of int
        Numbers of the chosen splits, in increasing order.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(PAIR_SAMPLE,)))
    pairs = plan.tests.values.reshape(-1, 2).astype(np.int64)
    pairs = np.where((y[pairs[:, :1]] == 1), pairs, pairs[:, ::-1])
    cells = pairs[:, 0] * plan.n + pairs[:, 1]
    order = np.argsort(cells)
    ones, zeros = (rng.permutation(np.unique(members)) for members in pairs.T)
    # both classes take turns, shifted whenever the turns would repeat
    turn = np.arange(len(ones) * len(zeros))
    shift = turn // math.lcm(len(ones), len(zeros))
    chosen = ones[turn % len(ones)] * plan.n + zeros[(turn + shift) % len(zeros)]
    place = np.searchsorted(cells[order], chosen)
    place[place == len(cells)] = 0
    there = cells[order][place] == chosen  # equals are not a pair
    return np.sort(order[place[there][:wanted]])


# ---- a metric with records deleted and everything refitted ----


PREDICTIONS = 2**20  # predictions in a batch of fits


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
    """Return a metric with each set of records deleted and everything refitted.

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
        Metric after each deletion; NaN where it has no value.
    failed : int
        Number of fits that did not converge or whose classes were separated.

    Raises
    ------
    OutcomeError
        If a training set lacks a class after a deletion.
    FitError
        If the model fails.
    """
    values, failed = np.full(len(sets), np.nan), 0
    total, plan = count_fits(setup.plan, sets), setup.plan
    # as many deletions at a time as their predictions fit in memory
    predicted = len(plan.fits.tests_by_fit.values) + len(plan.dropped.values)
    with progress_bar(total, progress, "fit") as bar:
        for batch in cut(len(sets), max(1, PREDICTIONS // max(predicted, 1))):
            some = slice(batch.start, batch.stop)
            left = delete_records(setup.plan, sets[some], setup.seed)
            held = run_quietly(setup, left.plan, n_jobs, numbers=left.fits)
            failed += held.failed
            scores = scores_of(left.plan, held, setup.design.outcome, threshold)
            values[some] = mean_values(scores, metric, how, left.of_repeat)
            bar.update(left.plan.n_fits)
    return values, failed


def mean_values(scores: Scores, metric: Metric, how: str, of_repeat: Numbers) -> Floats:
    """Return the mean of a metric over the repeats, or folds, of each group.

    Repeats, or folds, in which the metric has no value are ignored.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    of_repeat : numpy.ndarray of int, shape (repeats,)
        The group of each repeat.
    """
    group = of_repeat[scores.repeat] if how == "per_fold" else of_repeat
    return means_of_known(values_by(scores, metric, how), group)


def scores_of(
    plan: FoldPlan,
    held: Held,
    outcome: Outcome,
    threshold: float | None = None,
    sensitivity: Sensitivity | None = None,
) -> Scores:
    """Return the predictions of the fits of a plan, with their thresholds.

    Parameters
    ----------
    plan : FoldPlan
    held : Held
    outcome : Outcome
    threshold : float, optional
        Smallest probability of a predicted class 1 if the model does not choose it.
    sensitivity : Sensitivity, optional
        How the predictions change with the training records, if that is known.
    """
    scores = Scores.of(plan, held, outcome.y, sensitivity)
    if outcome.censoring == "training":
        known = uncensored_in_training(plan, outcome.y, outcome.horizons)[0]
        scores = replace(scores, of_training=known)
    if outcome.estimates_dispersion:
        known = dispersion_in_training(plan, held)
        scores = replace(scores, of_training=known)
    if held.chosen is not None and NAME in held.chosen:
        chosen = held.chosen[NAME].to_numpy(dtype=float)
        return replace(scores, threshold=plan.fits.mean_by_split(chosen)[scores.split])
    if threshold is not None:
        return replace(scores, threshold=np.full(len(scores.row), threshold))
    if held.decided is None:
        return scores
    # decisions of several fits are averaged, and cut where the majority is
    shares = replace(held, predicted=held.decided).averaged(plan)
    return replace(scores, threshold=deciding(shares), decided=True)


def dispersion_in_training(plan: FoldPlan, held: Held) -> Floats:
    """Return the dispersion of counts by the fits that predict each held-out record.

    It is NaN if these do not say, for imputed covariates whose columns differ.
    """
    if held.learnt is None:
        return np.full(len(plan.tests.owners), np.nan)
    spread = 1 / np.asarray(held.learnt)[:, held.names.index(theta_of(held.names))]
    return np.asarray(plan.fits.mean_by_split(spread)[plan.tests.owners])


def uncensored_in_training(
    plan: FoldPlan, y: Floats, horizons: Sequence[float]
) -> tuple[Floats, int]:
    """Return the probability of not being censored, as in each training set.

    It is the Kaplan-Meier estimate from the distinct training records of a split, and
    keeps its last value beyond the longest of their times.

    Returns
    -------
    numpy.ndarray, shape (m, 1 + horizons)
        For each held-out record the probability just before its time; and at each
        horizon, or just before its time if that is earlier.
    int
        The number of held-out records with an event after all training times, or at
        risk by a horizon after these.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> y = np.array([1.0, -2, 3, -4, 2.5, 5])
    >>> plan = make_plan("loocv", y, "continuous")
    >>> found, longer = uncensored_in_training(plan, y, [2.0])
    >>> found[2:4].round(3), longer
    (array([[0.75, 0.75],
           [0.75, 0.75]]), 1)
    """
    folds, sets, first = Folds.of(plan), RiskSets.of(y), plan.first_fit
    ends, time = np.array([np.inf, *horizons]), np.abs(y)
    needed = np.where(y > 0, time, np.minimum(time, max(horizons, default=0.0)))
    made, longer = [np.empty((0, len(ends)))], 0
    for split in range(plan.n_splits):
        used = folds.counts_in(plan.n, np.arange(first[split], first[split + 1])) > 0
        curve, row = sets.curves(used.mean(axis=0)[None], True), plan.tests[split]
        before = time[row][:, None] <= ends
        made.append(np.where(before, curve.before(time[row]).T, curve.at(ends)))
        longer += int((needed[row] > time[used.any(axis=0)].max()).sum())
    return np.concatenate(made), longer


def fixed_threshold(scores: Scores) -> float | None:
    """Return the first prediction's threshold, which all share unless models choose."""
    cuts = scores.given_threshold
    return None if cuts is None or not len(cuts) else float(cuts[0])


def warn_of_refits(failed: int, fits: int) -> None:
    """Warn of refits that did not converge or whose classes were separated."""
    if failed:
        warn(
            f"{failed} of {fits} refits did not converge or had separated classes.",
            ConvergenceWarning,
        )

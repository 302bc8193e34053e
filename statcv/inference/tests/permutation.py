"""A metric under permuted outcomes, with refits.

Outcomes are dealt anew to the records and the whole cross-validation is done again,
with refits. Folds that were made for the outcome go with it: what was held out and
dropped then is random among records of the same outcome, as if drawn anew. Others
stay with the records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import PERMUTATION
from statcv.engine import (
    Held,
    Permutations,
    PermutedFits,
    Setup,
    check_training_sets,
    progress_bar,
    run_permuted,
)
from statcv.errors import (
    ConvergenceWarning,
    OutcomeError,
    SchemeError,
    UndefinedMetricWarning,
    plural,
    warn,
)
from statcv.folds import SCHEMES, FoldPlan
from statcv.folds.audit import training_means
from statcv.inference.estimates.values import values_by_repeat
from statcv.inference.refits.refitting import scores_of
from statcv.inference.scores import LeftOut, Scores
from statcv.metrics import Metric

Numbers = NDArray[np.intp]
FEW = 100  # ways to deal outcomes, below which p is coarse


def exchanged_sources(plan: FoldPlan, y: NDArray[np.generic]) -> Numbers | None:
    """Return the source of each record, where sources change places as a whole.

    None where every record is exchanged by itself.

    Raises
    ------
    SchemeError
        If no two sources have as many records, or those that have also have the same
        outcomes: every permutation then leaves all as it is.
    """
    strata = plan.strata
    if strata is None or not strata.identifies:
        return None
    sizes = np.bincount(strata.codes)
    if len(np.unique(sizes)) == len(sizes):
        raise SchemeError(
            f"no two of the {plural(len(sizes), 'source')} that {strata.label} tells "
            "have as many records, so that none can change places."
        )
    if ways_to_deal(strata.codes, y) == 1:
        raise SchemeError(
            f"of the {plural(len(sizes), 'source')} that {strata.label} tells, those "
            "with as many records have the same outcomes, so that nothing changes "
            "where they change places."
        )
    return strata.codes


def ways_to_deal(clusters: Numbers, y: NDArray[np.generic]) -> float:
    """Count the distinct outcomes that arise where clusters of a size change places.

    Examples
    --------
    >>> ways_to_deal(np.array([0, 1, 1, 2, 2]), np.array([1, 0, 1, 1, 1]))
    2.0
    """
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    starts = np.cumsum(sizes) - sizes
    logarithm = 0.0
    for size in np.unique(sizes[sizes > 0]):
        alike = starts[sizes == size]
        dealt = y[order][alike[:, None] + np.arange(size)]
        counts = np.unique(dealt, axis=0, return_counts=True)[1]
        logarithm += math.lgamma(len(alike) + 1)
        logarithm -= sum(math.lgamma(count + 1) for count in counts.tolist())
    return float(round(math.exp(logarithm))) if logarithm < math.log(1e9) else math.inf


def few_ways(plan: FoldPlan, y: NDArray[np.generic]) -> float:
    """Count the ways to deal outcomes to sources; infinite where they are not few."""
    clusters = exchanged_sources(plan, y)
    ways = math.inf if clusters is None else ways_to_deal(clusters, y)
    return ways if ways < FEW else math.inf


def said_of_few_ways(plan: FoldPlan, y: NDArray[np.generic]) -> str:
    """Say that p is coarse, where sources are too few for more; else nothing."""
    ways = few_ways(plan, y)
    if math.isinf(ways):
        return ""
    return (
        f"outcomes can be dealt to the sources in {plural(int(ways), 'way')} only, so "
        f"that p cannot be expected far below {1 / ways:.2g}"
    )


# ---- a metric where the outcome has nothing to do with the predictors ----

Floats = NDArray[np.float64]

PREDICTIONS = 2**20  # of a batch
WORK = 2**30  # multiplications of an iteration of a batch


@dataclass(frozen=True, eq=False)
class Permuted:
    """Metrics under outcomes that were dealt anew to the records.

    Attributes
    ----------
    values : numpy.ndarray, shape (metrics, times)
        Means over repeats; NaN where the model could not be fitted, as in a training
        set that lacks a class, or the metric had no value.
    why : str
        What kept the model from being fitted, the first time; empty where nothing did.
    """

    values: Floats
    why: str


def permuted_values(
    setup: Setup,
    held: Held,
    wanted: Sequence[tuple[Metric, str]],
    times: int,
    *,
    seed: int,
    first: int = 0,
    threshold: float | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Permuted:
    """Return metrics under outcomes that are dealt anew to the records.

    Parameters
    ----------
    setup : Setup
        What was fitted.
    held : Held
        What it gave.
    wanted : sequence of (Metric, str)
        Metrics, and how each is had: "pooled", "per_fold" or "paired". All are read
        from the same fits.
    times : int
        Permutations, numbered from 0.
    seed : int
        Of the permutations.
    first : int
        The first of them that is made.
    threshold : float, optional
        Above what class 1 is predicted, where the model does not choose it.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Returns
    -------
    Permuted
        Of ``times - first`` permutations.

    Raises
    ------
    SchemeError
        If folds were made both for the outcome and by bins of a predictor, or no
        two clusters have as many records, or only such as have the same outcomes.
    """
    plan, design = setup.plan, setup.design
    with_plan = made_for_outcome(plan)
    if not is_permutable(plan):
        assert plan.strata is not None
        raise SchemeError(
            f"folds that are bins of {plan.strata.label} and were made for the outcome "
            "as well say neither how they would go with another outcome nor without; "
            "use scheme='kfold', or a stratifier by value or by hash."
        )
    clusters = exchanged_sources(plan, design.y)
    scores = scores_of(plan, held, design.y, threshold)
    cost = plan.n_fits * plan.n * design.matrix.shape[1]
    size = max(1, min(WORK // cost, PREDICTIONS // max(len(held.row), 1)))
    values, failed, why = np.full((len(wanted), times), np.nan), 0, ""
    with progress_bar(times - first, progress, "permutation") as bar:
        for start in range(first, times, size):
            batch = np.arange(start, min(start + size, times))
            places = np.stack(
                [permuted_places(plan.n, clusters, seed, b) for b in batch]
            )
            permutations = Permutations(places, with_plan)
            outcomes = permutations.outcomes(design.y)
            if with_plan:
                outcomes = np.tile(design.y, (len(batch), 1))
            else:
                whole = np.array([_trains_all(plan, y, setup) for y in outcomes])
                batch, outcomes = batch[whole], outcomes[whole]
                permutations = replace(permutations, places=places[whole])
            if len(batch):
                made = run_permuted(setup, permutations, n_jobs)
                batch, outcomes = batch[made.fitted], outcomes[made.fitted]
                failed += made.failed
                why = why or made.why
            if len(batch):
                each = [
                    replace(held, predicted=own, partner_predicted=partners)
                    for own, partners in zip(
                        made.predicted, made.partner_predicted, strict=True
                    )
                ]
                cuts = _thresholds(scores, plan, made)
                for place, (metric, how) in enumerate(wanted):
                    many = _side_by_side(scores, plan, each, outcomes, metric, how)
                    many = replace(many, threshold=cuts)
                    found = values_by_repeat(many, metric, how)
                    values[place, batch] = _mean_over_repeats(found, len(batch))
            bar.update(len(places))
    _warn_of_fits(failed, (times - first) * plan.n_fits)
    return Permuted(values[:, first:], why)


def warn_of_unknown(values: Floats, metric: Metric, how: str, why: str) -> None:
    """Warn where permutations gave no value, with their count."""
    unknown = int(np.isnan(values).sum())
    if unknown:
        warn(
            f"{metric.label} ({how.replace('_', ' ')}) has no value in {unknown} of "
            f"{len(values)} permutations{f': {why}' if why else '.'}",
            UndefinedMetricWarning,
        )


def _warn_of_fits(failed: int, fits: int) -> None:
    if failed:
        warn(
            f"{failed} of {fits} fits under permuted outcomes did not converge, or "
            "their classes were separated.",
            ConvergenceWarning,
        )


def made_for_outcome(plan: FoldPlan) -> bool:
    """Tell whether who is held out, or dropped, was chosen by the outcome."""
    scheme = SCHEMES.get(plan.scheme)
    spreads = "stratified" in plan.scheme.lower() if scheme is None else scheme.spreads
    return spreads or plan.rebalanced or plan.fits.holds_out_pairs


def is_permutable(plan: FoldPlan) -> bool:
    """Tell whether outcomes can be dealt anew to the records of a plan.

    They cannot where folds are bins of a number and were made for the outcome as well.
    """
    strata = plan.strata
    return strata is None or strata.identifies or not made_for_outcome(plan)


def permuted_places(
    n: int, clusters: Numbers | None, seed: int, number: int
) -> Numbers:
    """Return the record that takes the place of each of n records.

    Parameters
    ----------
    n : int
    clusters : numpy.ndarray of int, shape (n,), optional
        Clusters change places as a whole, each with one of its size.
    seed, number : int
        Of all permutations, and of this one.

    Examples
    --------
    >>> clusters = np.array([0, 1, 1, 2, 2])
    >>> places = permuted_places(5, clusters, seed=1, number=0)
    >>> int(places[0]), sorted(clusters[places[[1, 2]]].tolist()) in ([1, 1], [2, 2])
    (0, True)
    """
    stream = np.random.SeedSequence(seed, spawn_key=(PERMUTATION, int(number)))
    rng = np.random.default_rng(stream)
    if clusters is None:
        return rng.permutation(n)
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    starts = np.cumsum(sizes) - sizes
    taken = np.arange(len(sizes))
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        taken[alike] = rng.permutation(alike)
    within = np.arange(n) - np.repeat(starts, sizes)
    places = np.empty(n, dtype=np.intp)
    places[order] = order[np.repeat(starts[taken], sizes) + within]
    return places


def _trains_all(plan: FoldPlan, y: NDArray[np.generic], setup: Setup) -> bool:
    """Tell whether each training set has every class, or numbers that differ."""
    design = setup.design
    most_out = int((plan.n - plan.n_train + plan.copied.sizes).max())
    if design.outcome.levels and np.unique(y, return_counts=True)[1].min() > most_out:
        return True
    try:
        check_training_sets(replace(design, outcome=replace(design.outcome, y=y)), plan)
    except OutcomeError:
        return False
    return True


def _side_by_side(
    scores: Scores,
    plan: FoldPlan,
    each: list[Held],
    outcomes: NDArray[np.generic],
    metric: Metric,
    how: str,
) -> Scores:
    """Take the cross-validation of each outcome for more repeats of one.

    Records are numbered anew for each outcome.
    """
    times, n = outcomes.shape
    splits, repeats = scores.n_splits, plan.repeats

    def offset(numbers: Numbers, by: int) -> Numbers:
        return (numbers + by * np.arange(times)[:, None]).ravel()

    baseline = np.tile(scores.baseline, times)
    if metric.uses_baseline:
        baseline = np.concatenate(
            [training_means(plan, y.astype(float)) for y in outcomes]
        )
    left = scores.left
    if how == "paired" and scores.pairwise:
        left = LeftOut.joined(
            (
                offset(each[0].fit, plan.n_fits),
                offset(each[0].row, n),
                np.concatenate([held.predicted for held in each]),
            ),
            (
                offset(each[0].partner_fit, plan.n_fits),
                offset(each[0].partner_row, n),
                np.concatenate([held.partner_predicted for held in each]),
            ),
            offset(left.repeat, repeats),
        )
    return replace(
        scores,
        y=outcomes.ravel(),
        split=offset(scores.split, splits),
        row=offset(scores.row, n),
        predicted=np.concatenate([held.averaged(plan) for held in each]),
        repeat=offset(scores.repeat, repeats),
        n_train=np.tile(scores.n_train, times),
        baseline=baseline,
        left=left,
    )


def _thresholds(scores: Scores, plan: FoldPlan, made: PermutedFits) -> Floats | None:
    """Return the threshold of each prediction, chosen anew or fixed."""
    if made.thresholds is not None:
        cuts = [plan.fits.mean_by_split(one)[scores.split] for one in made.thresholds]
        return np.concatenate(cuts)
    if scores.threshold is None:
        return None
    return np.tile(scores.threshold, len(made.predicted))


def _mean_over_repeats(values: Floats, times: int) -> Floats:
    table = values.reshape(times, -1)
    known = ~np.isnan(table)
    total = np.where(known, table, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / known.sum(axis=1))

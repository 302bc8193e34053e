"""A metric under permuted outcomes, with refits.

The outcomes are permuted among the records and the whole cross-validation is repeated,
with refits. Folds that were made for the outcome move with it: which records are held
out and dropped is then random among records with the same outcome, as if drawn again.
Other folds stay with the records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv import engine, errors
from statcv.arguments import PERMUTATION
from statcv.engine import Setup, run_permuted
from statcv.folds import SCHEMES, FoldPlan, Ragged
from statcv.formula import Design
from statcv.inference.estimates import values as estimated
from statcv.inference.refits.refitting import scores_of
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.models.batched import strata_shares
from statcv.numeric.arrays import Array, Floats, Numbers, Outcomes
from statcv.tables import Printed
from statcv.words import plural, stated

Clusters = Numbers | None  # the cluster of each record, if clusters are permuted
FEW = 100  # number of distinct permutations below which p is coarse
AMONG_ALL = "Outcomes are exchanged among all clusters."
AMONG_EQUAL = "Outcomes are permuted among clusters with the same number of records."


def exchanged_clusters(plan: FoldPlan, y: Outcomes) -> Clusters:
    """Return the cluster of each record if outcomes are exchanged among all clusters.

    They are if clusters differ in size, the outcome is constant within each of them,
    and the folds are a plain partition, which can go with the outcome of a cluster.
    """
    strata = plan.strata
    if strata is None or not strata.identifies:
        return None
    sizes, codes = np.bincount(strata.codes), strata.codes
    lists = plan.dropped, plan.kept_out, plan.copied
    plain = plan.partition and plan.weighting is None
    plain = plain and not any(len(one.values) for one in lists)
    # a cluster's outcome can move to one of another size only in a plain partition
    if not plain or np.ptp(sizes) == 0:
        return None
    return codes if (_by_cluster(codes, y)[codes] == y).all() else None


def _by_cluster(clusters: Numbers, y: Outcomes) -> Outcomes:
    """Return the outcome of the first record of each cluster."""
    return y[np.unique(clusters, return_index=True)[1]]


def exchange(plan: FoldPlan, design: Design) -> str:
    """Return among which records or clusters outcomes are permuted, if not all."""
    if design.strata:
        return f"Outcomes are permuted within {design.strata}."
    strata = plan.strata
    if strata is None or not strata.identifies:
        return ""
    if exchanged_clusters(plan, design.y) is not None:
        return AMONG_ALL
    return "" if np.ptp(np.bincount(strata.codes)) == 0 else AMONG_EQUAL


def permuted_clusters(plan: FoldPlan, y: Outcomes) -> Clusters:
    """Return the cluster of each record if clusters are permuted as a whole.

    Return None if records are permuted one by one.

    Raises
    ------
    SchemeError
        If no two clusters have the same number of records, or those that do also have
        the same outcomes, so that no permutation changes the outcomes.
    """
    strata = plan.strata
    if strata is None or not strata.identifies:
        return None
    sizes = np.bincount(strata.codes)
    if len(np.unique(sizes)) == len(sizes):
        raise errors.SchemeError(
            f"no two of the {plural(len(sizes), 'cluster')} of {strata.label} have "
            "the same number of records, so that their outcomes cannot be permuted."
        )
    if distinct_permutations(strata.codes, y) == 1:
        raise errors.SchemeError(
            f"among the {plural(len(sizes), 'cluster')} of {strata.label}, those with "
            "the same number of records have the same outcomes, so that permuting "
            "them changes nothing."
        )
    return strata.codes


def distinct_permutations(clusters: Numbers, y: Outcomes) -> float:
    """Count the distinct outcomes if clusters of equal size are permuted.

    Examples
    --------
    >>> distinct_permutations(np.array([0, 1, 1, 2, 2]), np.array([1, 0, 1, 1, 1]))
    2.0
    """
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    starts = np.cumsum(sizes) - sizes
    logarithm = 0.0
    for size in np.unique(sizes[sizes > 0]):
        alike = starts[sizes == size]
        outcomes = y[order][alike[:, None] + np.arange(size)]
        # the multinomial number of ways to arrange outcomes that repeat
        counts = np.unique(outcomes, axis=0, return_counts=True)[1]
        logarithm += math.lgamma(len(alike) + 1)
        logarithm -= sum(math.lgamma(count + 1) for count in counts.tolist())
    return float(round(math.exp(logarithm))) if logarithm < math.log(1e9) else math.inf


def few_permutations(plan: FoldPlan, y: Outcomes) -> float:
    """Count the distinct permutations among clusters; infinite unless they are few."""
    clusters = exchanged_clusters(plan, y)
    if clusters is not None:
        y = _by_cluster(clusters, y)
        clusters = np.arange(len(y))
    else:
        clusters = permuted_clusters(plan, y)
    count = math.inf if clusters is None else distinct_permutations(clusters, y)
    return count if count < FEW else math.inf


def few_permutations_caveat(plan: FoldPlan, y: Outcomes) -> str:
    """Return the caveat that p is coarse if clusters are few; otherwise nothing."""
    count = few_permutations(plan, y)
    if math.isinf(count):
        return ""
    return (
        "outcomes can be permuted among the clusters in only "
        f"{plural(int(count), 'distinct way')}, so that p cannot be expected far below "
        f"{1 / count:.2g}"
    )


# ---- a metric when the outcome is unrelated to the predictors ----


PREDICTIONS = 2**20  # predictions in a batch of permutations
WORK = 2**30  # multiplications in an iteration of a batch of permutations


@dataclass(frozen=True, eq=False, repr=False)
class Permuted(Printed):
    """Metrics under permuted outcomes.

    Attributes
    ----------
    values : numpy.ndarray, shape (metrics, times)
        Means over repeats; NaN if the model could not be fitted, for example because a
        training set lacks a class, or if the metric had no value.
    why : str
        Reason of the first failure to fit the model; empty if all succeeded.
    """

    values: Floats
    why: str


def permuted_values(
    setup: Setup,
    wanted: Sequence[tuple[Metric, str]],
    times: int,
    *,
    seed: int,
    first: int = 0,
    threshold: float | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Permuted:
    """Return metrics under outcomes that are permuted among the records.

    Parameters
    ----------
    setup : Setup
        Data, model and plan of the cross-validation.
    wanted : sequence of (Metric, str)
        Metrics, each with how it is estimated: "pooled", "per_fold" or "paired". All
        are computed from the same fits.
    times : int
        Number of permutations, which are numbered from 0.
    seed : int
        Seed for the permutations.
    first : int
        Number of the first permutation to compute.
    threshold : float, optional
        Smallest probability of a predicted class 1 if the model does not choose it.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Returns
    -------
    Permuted
        Values under ``times - first`` permutations.

    Raises
    ------
    SchemeError
        If folds were made both for the outcome and from bins of a predictor, or if no
        two clusters of the same number of records have different outcomes.
    """
    plan = setup.plan
    if not is_permutable(plan):
        assert plan.strata is not None
        raise errors.SchemeError(
            "outcomes cannot be permuted, since the folds depend on the outcome and on "
            f"bins of {plan.strata.label} as well; use scheme='kfold', or a stratifier "
            "by value or by hash."
        )
    numbers, clusters = range(first, times), exchanged_clusters(plan, setup.design.y)
    if clusters is not None:
        draws = _exchanged(setup, clusters, numbers, seed, n_jobs)
    else:
        clusters = permuted_clusters(plan, setup.design.y)
        draws = _permuted(setup, clusters, numbers, seed, n_jobs)
    values, failed, why = np.full((len(wanted), len(numbers)), np.nan), 0, ""
    number = 0
    with engine.progress_bar(len(numbers), progress, "permutation") as bar:
        for moved, outcomes, made in draws:
            able = list[tuple[int, Scores]]()
            for place, (y, held) in enumerate(zip(outcomes, made, strict=True), number):
                if isinstance(held, str):
                    why = why or held
                else:
                    failed += held.failed
                    outcome = replace(setup.design.outcome, y=y)
                    able.append((place, scores_of(moved, held, outcome, threshold)))
            if able:
                places, scores = zip(*able, strict=True)
                values[:, places] = _values(scores, wanted)
            bar.update(len(made))
            number += len(made)
    if failed:
        errors.warn(
            f"{failed} of {len(numbers) * plan.n_fits} fits under permuted outcomes "
            "did not converge or had separated classes.",
            errors.ConvergenceWarning,
        )
    return Permuted(values, why)


def _values(parts: Sequence[Scores], wanted: Sequence[tuple[Metric, str]]) -> Floats:
    """Return metrics of several cross-validations with one plan, (metrics, parts)."""
    first, values = parts[0], np.empty((len(wanted), len(parts)))
    alike = len({part.threshold is None for part in parts}) == 1
    # splits that overlap are pooled by record, and those of one repeat by all repeats
    if alike and not (first.overlapping or first.by_split or first.pairwise):
        differing = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("y", "predicted", "baseline", "threshold")
            if getattr(first, name) is not None
        }
        parts = [estimated.beside_itself(first, len(parts), **differing)]
    for place, (metric, how) in enumerate(wanted):
        found = np.concatenate(
            [estimated.values_by_repeat(one, metric, how) for one in parts]
        )
        times = values.shape[1]
        number = np.repeat(np.arange(times), len(found) // times)
        values[place] = estimated.means_of_known(found, number)
    return values


# the plan and some outcomes, each with what the fits predicted or why there are none
Draw = tuple[FoldPlan, Array, list[engine.Held | str]]


def _permuted(
    setup: Setup, clusters: Clusters, numbers: range, seed: int, n_jobs: int | None
) -> Iterator[Draw]:
    """Yield cross-validations with outcomes permuted among records or equal clusters.

    The folds are those as observed: they stay with the outcome if they were made for
    it, and otherwise with the records.
    """
    plan, design, y = setup.plan, setup.design, setup.design.y
    strata = strata_shares(design.matrix, design.names).argmax(axis=1)
    # if more records have a class than a training set leaves out, it cannot lack it
    left_out = (plan.n - plan.n_train + plan.copied.sizes).max()
    counts = np.unique(y, return_counts=True)[1]
    fewest = counts.min() if setup.design.outcome.levels else plan.n - counts.max()
    # as many outcomes are fitted together as memory and time allow
    cost = plan.n_fits * plan.n * setup.design.matrix.shape[1]
    predictions = len(plan.fits.tests_by_fit.values)
    size = max(1, min(WORK // cost, PREDICTIONS // max(predictions, 1)))
    for some in engine.cut(len(numbers), size):
        given = plan.n, clusters, seed
        places = np.stack([permuted_places(*given, numbers[b], strata) for b in some])
        permutations = engine.OutcomePermutations(places, made_for_outcome(plan))
        outcomes, trains = np.tile(y, (len(some), 1)), np.ones(len(some), dtype=bool)
        if not permutations.with_plan:
            outcomes = permutations.outcomes(y)
            if fewest <= left_out:
                trains = np.array([_trains_all(setup, one) for one in outcomes])
        made: Iterator[engine.Held | str] = iter(())
        if trains.any():
            able = replace(permutations, places=places[trains])
            made = iter(run_permuted(setup, able, n_jobs))
        yield plan, outcomes, [next(made) if one else "" for one in trains]


def _exchanged(
    setup: Setup, clusters: Numbers, numbers: range, seed: int, n_jobs: int | None
) -> Iterator[Draw]:
    """Yield cross-validations with outcomes exchanged among all clusters.

    Every fit predicts as with the records as given. Folds that were made for the
    outcome follow the outcomes of the clusters.
    """
    plan, design = setup.plan, setup.design
    if design.offsets or design.strata:
        raise errors.SchemeError(
            "outcomes cannot be permuted among clusters of unequal sizes, since each "
            f"belongs to its {design.strata or 'exposure or other offset'}."
        )
    y, fold = _by_cluster(clusters, design.y), plan.held_out
    own_fold = fold[:, np.unique(clusters, return_index=True)[1]]
    for number in numbers:
        stream = np.random.SeedSequence(seed, spawn_key=(PERMUTATION, number))
        taken = np.random.default_rng(stream).permutation(len(y))
        outcome = replace(design.outcome, y=y[taken][clusters])
        moved = plan
        if made_for_outcome(plan):
            moved = _with_folds(plan, own_fold[:, taken][:, clusters])
        other = replace(setup, design=replace(design, outcome=outcome), plan=moved)
        yield moved, outcome.y[None], [engine.run_if_able(other, n_jobs)]


def _with_folds(plan: FoldPlan, fold: NDArray[np.int32]) -> FoldPlan:
    """Return a plain partition with other folds, shape (repeats, n)."""
    first = plan.fits.first_split
    each = zip(fold.astype(np.intp), np.diff(first).tolist(), strict=True)
    parts = [Ragged.grouped(own, folds) for own, folds in each]
    return replace(plan, tests=Ragged.joined(parts))


def warn_of_undefined(values: Floats, metric: Metric, how: str, why: str) -> None:
    """Warn of permutations that gave no value, with their number."""
    unknown = int(np.isnan(values).sum())
    if unknown:
        errors.warn(
            f"{stated(metric.label, how)} has no value in {unknown} of "
            f"{len(values)} permutations{f': {why}' if why else '.'}",
            errors.UndefinedMetricWarning,
        )


def made_for_outcome(plan: FoldPlan) -> bool:
    """Return whether the outcome determined which records are held out or dropped."""
    scheme = SCHEMES.get(plan.scheme)
    spreads = "stratified" in plan.scheme.lower() if scheme is None else scheme.spreads
    return spreads or plan.rebalanced or plan.fits.holds_out_pairs


def is_permutable(plan: FoldPlan) -> bool:
    """Return whether outcomes can be permuted among the records of a plan.

    They cannot if the folds are bins of a covariate and were also made for the outcome.
    """
    strata = plan.strata
    return strata is None or strata.identifies or not made_for_outcome(plan)


def permuted_places(
    n: int, clusters: Clusters, seed: int, number: int, strata: Numbers | None = None
) -> Numbers:
    """Return a permutation of n records: the record that takes the place of each.

    Parameters
    ----------
    n : int
    clusters : numpy.ndarray of int, shape (n,), optional
        Cluster of each record. Clusters are permuted as a whole, among those of the
        same size.
    seed, number : int
        Seed for all permutations, and the number of this one.
    strata : numpy.ndarray of int, shape (n,), optional
        The stratum of each record; records change places within strata.

    Examples
    --------
    >>> clusters = np.array([0, 1, 1, 2, 2])
    >>> places = permuted_places(5, clusters, seed=1, number=0)
    >>> int(places[0]), sorted(clusters[places[[1, 2]]].tolist()) in ([1, 1], [2, 2])
    (0, True)
    """
    stream = np.random.SeedSequence(seed, spawn_key=(PERMUTATION, int(number)))
    rng = np.random.default_rng(stream)
    if strata is not None and not strata.any():
        strata = None
    if clusters is None and strata is None:
        return rng.permutation(n)
    clusters = np.arange(n) if clusters is None else clusters
    # a permutation of clusters, among those of the same size and strata
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    starts = np.cumsum(sizes) - sizes
    taken, kind = np.arange(len(sizes)), sizes
    if strata is not None:
        own = np.split(strata[order], starts[1:])
        known = {each.tobytes(): place for place, each in enumerate(own)}
        kind = np.array([known[each.tobytes()] for each in own])
    for one in np.unique(kind):
        alike = np.flatnonzero(kind == one)
        taken[alike] = rng.permutation(alike)
    # records keep their order within the cluster that is moved as a whole
    within = np.arange(n) - np.repeat(starts, sizes)
    places = np.empty(n, dtype=np.intp)
    places[order] = order[np.repeat(starts[taken], sizes) + within]
    return places


def _trains_all(setup: Setup, y: Outcomes) -> bool:
    """Return whether every training set has all classes, or an outcome that varies."""
    design = setup.design
    other = replace(design, outcome=replace(design.outcome, y=y))
    try:
        engine.check_training_sets(other, setup.plan)
    except errors.OutcomeError:
        return False
    return True

"""A metric under permuted outcomes, with refits.

The outcomes are permuted among the records and the whole cross-validation is repeated,
with refits. Folds that were made for the outcome move with it: which records are held
out and dropped is then random among records with the same outcome, as if drawn again.
Other folds stay with the records.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import PERMUTATION
from statcv.engine import (
    OF_THE_FITS,
    OF_THE_OUTCOME,
    Held,
    Permutations,
    PermutedFits,
    Setup,
    check_training_sets,
    cut,
    progress_bar,
    run,
    run_permuted,
)
from statcv.errors import (
    ConvergenceWarning,
    OutcomeError,
    SchemeError,
    UndefinedMetricWarning,
    warn,
)
from statcv.folds import SCHEMES, FoldPlan, Ragged
from statcv.folds.audit import training_means
from statcv.inference.estimates.values import values_by_repeat
from statcv.inference.refits.refitting import scores_of
from statcv.inference.scores import LeftOut, Scores
from statcv.metrics import Metric
from statcv.models.thresholds import deciding
from statcv.words import plural, stated

Numbers = NDArray[np.intp]
FEW = 100  # number of distinct permutations below which p is coarse
AMONG_ALL = "Outcomes are exchanged among all clusters."
AMONG_EQUAL = "Outcomes are permuted among clusters with the same number of records."


def exchanged_clusters(plan: FoldPlan, y: NDArray[np.generic]) -> Numbers | None:
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
    if not plain or np.ptp(sizes) == 0:
        return None
    return codes if (_by_cluster(codes, y)[codes] == y).all() else None


def _by_cluster(clusters: Numbers, y: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the outcome of the first record of each cluster."""
    return y[np.unique(clusters, return_index=True)[1]]


def exchange(plan: FoldPlan, y: NDArray[np.generic]) -> str:
    """Return among which clusters outcomes are permuted; empty without clusters."""
    strata = plan.strata
    if strata is None or not strata.identifies:
        return ""
    if exchanged_clusters(plan, y) is not None:
        return AMONG_ALL
    return "" if np.ptp(np.bincount(strata.codes)) == 0 else AMONG_EQUAL


def permuted_clusters(plan: FoldPlan, y: NDArray[np.generic]) -> Numbers | None:
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
        raise SchemeError(
            f"no two of the {plural(len(sizes), 'cluster')} of {strata.label} have "
            "the same number of records, so that their outcomes cannot be permuted."
        )
    if distinct_permutations(strata.codes, y) == 1:
        raise SchemeError(
            f"among the {plural(len(sizes), 'cluster')} of {strata.label}, those with "
            "the same number of records have the same outcomes, so that permuting "
            "them changes nothing."
        )
    return strata.codes


def distinct_permutations(clusters: Numbers, y: NDArray[np.generic]) -> float:
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
        counts = np.unique(outcomes, axis=0, return_counts=True)[1]
        logarithm += math.lgamma(len(alike) + 1)
        logarithm -= sum(math.lgamma(count + 1) for count in counts.tolist())
    return float(round(math.exp(logarithm))) if logarithm < math.log(1e9) else math.inf


def few_permutations(plan: FoldPlan, y: NDArray[np.generic]) -> float:
    """Count the distinct permutations among clusters; infinite unless they are few."""
    exchanged = exchanged_clusters(plan, y)
    if exchanged is not None:
        own = _by_cluster(exchanged, y)
        count = distinct_permutations(np.arange(len(own)), own)
        return count if count < FEW else math.inf
    clusters = permuted_clusters(plan, y)
    count = math.inf if clusters is None else distinct_permutations(clusters, y)
    return count if count < FEW else math.inf


def few_permutations_caveat(plan: FoldPlan, y: NDArray[np.generic]) -> str:
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

Floats = NDArray[np.float64]

PREDICTIONS = 2**20  # predictions in a batch of permutations
WORK = 2**30  # multiplications in an iteration of a batch of permutations


@dataclass(frozen=True, eq=False)
class Permuted:
    """Metrics under permuted outcomes.

    Attributes
    ----------
    values : numpy.ndarray, shape (metrics, times)
        Means over repeats; NaN if the model could not be fitted, for example because a
        training set lacks a class, or if the metric had no value.
    why : str
        Reason of the first failure to fit the model; empty if there was none.
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
    """Return metrics under outcomes that are permuted among the records.

    Parameters
    ----------
    setup : Setup
        Data, model and plan of the cross-validation.
    held : Held
        Predictions of the cross-validation.
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
    plan, design = setup.plan, setup.design
    with_plan = made_for_outcome(plan)
    if not is_permutable(plan):
        assert plan.strata is not None
        raise SchemeError(
            "outcomes cannot be permuted, since the folds depend on the outcome and on "
            f"bins of {plan.strata.label} as well; use scheme='kfold', or a stratifier "
            "by value or by hash."
        )
    exchanged = exchanged_clusters(plan, design.y)
    if exchanged is not None:
        numbers = range(first, times)
        draws = _exchanged(setup, exchanged, numbers, seed, n_jobs, progress)
        return _values_of(draws, wanted, threshold, len(numbers))
    clusters = permuted_clusters(plan, design.y)
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
                cuts = _thresholds(scores, plan, made, held)
                own = made.thresholds is None and scores.given_threshold is None
                read = replace(scores, threshold=cuts, decided=own)
                for place, (metric, how) in enumerate(wanted):
                    values[place, batch] = _by_outcome(
                        read, plan, each, outcomes, metric, how
                    )
            bar.update(len(places))
    _warn_of_fits(failed, (times - first) * plan.n_fits)
    return Permuted(values[:, first:], why)


Exchanged = tuple[Setup, Held | None, str]


def _exchanged(
    setup: Setup,
    clusters: Numbers,
    numbers: range,
    seed: int,
    n_jobs: int | None,
    progress: bool | None,
) -> Iterator[Exchanged]:
    """Yield cross-validations with outcomes exchanged among all clusters, one by one.

    Folds that were made for the outcome go with it, cluster by cluster.
    """
    plan, design = setup.plan, setup.design
    y, fold = _by_cluster(clusters, design.y), plan.held_out
    own_fold = fold[:, np.unique(clusters, return_index=True)[1]]
    with progress_bar(len(numbers), progress, "permutation") as bar:
        for number in numbers:
            stream = np.random.SeedSequence(seed, spawn_key=(PERMUTATION, number))
            taken = np.random.default_rng(stream).permutation(len(y))
            outcome = replace(design.outcome, y=y[taken][clusters])
            moved = plan
            if made_for_outcome(plan):
                moved = _with_folds(plan, own_fold[:, taken][:, clusters])
            other = replace(setup, design=replace(design, outcome=outcome), plan=moved)
            yield other, *_run(other, n_jobs)
            bar.update(1)


def _with_folds(plan: FoldPlan, fold: NDArray[np.int32]) -> FoldPlan:
    """Return a plain partition with other folds, shape (repeats, n)."""
    first = plan.fits.first_split
    parts = [
        Ragged.grouped(own.astype(np.intp), int(stop - start))
        for own, start, stop in zip(fold, first[:-1], first[1:], strict=True)
    ]
    return replace(plan, tests=Ragged.joined(parts))


def _run(setup: Setup, n_jobs: int | None) -> tuple[Held | None, str]:
    """Return what the fits predict, or why they cannot be made."""
    try:
        check_training_sets(setup.design, setup.plan)
        with warnings.catch_warnings():
            for category in OF_THE_FITS:  # counted by the caller
                warnings.simplefilter("ignore", category)
            held = run(
                setup.design,
                setup.plan,
                setup.model,
                seed=setup.seed,
                weights=setup.weights,
                n_jobs=n_jobs,
                progress=False,
            )
    except OF_THE_OUTCOME as error:
        return None, str(error)
    return held, ""


def _values_of(
    draws: Iterator[Exchanged],
    wanted: Sequence[tuple[Metric, str]],
    threshold: float | None,
    times: int,
) -> Permuted:
    values, failed, fits, first = np.full((len(wanted), times), np.nan), 0, 0, ""
    for number, (setup, held, why) in enumerate(draws):
        first, fits = first or why, fits + setup.plan.n_fits
        if held is None:
            continue
        failed += int((~held.converged | held.separated).sum())
        scores = scores_of(setup.plan, held, setup.design.y, threshold)
        for place, (metric, how) in enumerate(wanted):
            found = values_by_repeat(scores, metric, how)
            values[place, number] = _mean_over_repeats(found, 1)[0]
    _warn_of_fits(failed, fits)
    return Permuted(values, first)


def warn_of_undefined(values: Floats, metric: Metric, how: str, why: str) -> None:
    """Warn of permutations that gave no value, with their number."""
    unknown = int(np.isnan(values).sum())
    if unknown:
        warn(
            f"{stated(metric.label, how)} has no value in {unknown} of "
            f"{len(values)} permutations{f': {why}' if why else '.'}",
            UndefinedMetricWarning,
        )


def _warn_of_fits(failed: int, fits: int) -> None:
    if failed:
        warn(
            f"{failed} of {fits} fits under permuted outcomes did not converge or had "
            "separated classes.",
            ConvergenceWarning,
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
    n: int, clusters: Numbers | None, seed: int, number: int
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
    """Return whether every training set has all classes, or an outcome that varies."""
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
    """Combine the cross-validations of all outcomes as if they were repeats of one.

    Each outcome has record numbers of its own.
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


def _by_outcome(
    scores: Scores,
    plan: FoldPlan,
    each: list[Held],
    outcomes: NDArray[np.generic],
    metric: Metric,
    how: str,
) -> Floats:
    """Return a metric for each outcome: of splits that are pooled, one by one.

    The threshold of ``scores`` has the predictions of all outcomes.
    """
    step = 1 if scores.apart and how == "pooled" else len(each)
    cuts, found = scores.threshold, []
    for some in cut(len(each), step):
        part, k = slice(some.start, some.stop), len(scores.row)
        own = None if cuts is None else cuts[k * some.start : k * some.stop]
        many = _side_by_side(scores, plan, each[part], outcomes[part], metric, how)
        values = values_by_repeat(replace(many, threshold=own), metric, how)
        found.append(_mean_over_repeats(values, len(some)))
    return np.concatenate(found)


def _thresholds(
    scores: Scores, plan: FoldPlan, made: PermutedFits, held: Held
) -> Floats | None:
    """Return the threshold of each prediction, whether chosen again or fixed."""
    if made.thresholds is not None:
        cuts = [plan.fits.mean_by_split(one)[scores.split] for one in made.thresholds]
        return np.concatenate(cuts)
    if scores.given_threshold is not None:
        return np.tile(scores.given_threshold, len(made.predicted))
    if made.decided is None:
        return None
    shares = [replace(held, predicted=one).averaged(plan) for one in made.decided]
    return np.concatenate([deciding(one) for one in shares])


def _mean_over_repeats(values: Floats, times: int) -> Floats:
    table = values.reshape(times, -1)
    known = ~np.isnan(table)
    total = np.where(known, table, 0.0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / known.sum(axis=1))

"""The nested cross-validation interval of a mean loss (Bates, Hastie & Tibshirani).

The losses of a cross-validation are dependent, since each record helps to train the
fits that predict the others. The distance of a cross-validated estimate from the error
that it estimates is measured in each fold: the other folds are cross-validated by
themselves, and that estimate is compared with the loss in the fold, which it has not
used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from statcv.arguments import MAX_REPEATS, check_whole
from statcv.engine import Setup, cut, progress_bar, refuse_new_levels, run_quietly
from statcv.errors import DataError, FitError, MetricError, OutcomeError, SchemeError
from statcv.folds import FoldPlan, Ragged, make_plan
from statcv.inference.assumptions import ASSUMED
from statcv.inference.estimates.values import casewise
from statcv.inference.intervals.interval import Interval
from statcv.inference.refits.refitting import scores_of, warn_of_refits
from statcv.metrics import Metric
from statcv.metrics.areas.placements import normal_quantile
from statcv.numeric.arrays import Bools, Floats

# ---- the interval of a mean loss (Bates, Hastie & Tibshirani) ----


REPEATS = 200  # default number of repeats if the folds are fitted together
FEW_REPEATS = 50  # default number of repeats if every fold is fitted by itself
PREDICTIONS = 2**20  # predictions in a batch of fits
FOLDED = ("kfold", "stratified_kfold")
ASSUMES = ASSUMED["nested_cv"]


@dataclass(frozen=True)
class NestedCV:
    """A mean loss with its interval by nested cross-validation.

    Attributes
    ----------
    value : float
        Estimate, corrected for the smaller training sets.
    lower, upper : float
        Bounds of the interval.
    level : float
        Confidence level of the interval.
    se : float
        Half of the interval's width divided by the normal quantile.
    nested : float
        Uncorrected estimate by cross-validation of all folds but one.
    cv : float
        Usual estimate, averaged over the same divisions.
    mse : float
        Estimated mean squared error of a cross-validation; it may be negative.
    naive_se : float
        Standard error if the losses were independent.
    k, repeats : int
        Number of folds and of divisions.

    Notes
    -----
    ``se`` is kept between ``naive_se`` and √k times ``naive_se``; these are right for
    independent folds and for identical folds respectively.
    """

    value: float
    lower: float
    upper: float
    level: float
    se: float
    nested: float
    cv: float
    mse: float
    naive_se: float
    k: int
    repeats: int


def nested_cv(
    setup: Setup,
    metric: Metric,
    *,
    level: float = 0.95,
    repeats: int | None = None,
    seed: int | None = None,
    threshold: float | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> NestedCV:
    """Estimate a mean loss by nested cross-validation.

    Parameters
    ----------
    setup : Setup
        Setup with a plan of k random folds, from which k and the class stratification
        are taken; the folds themselves are drawn again.
    metric : Metric
        Mean over records, such as accuracy, the Brier score, log-loss or squared error.
    level : float, default 0.95
        Confidence level of the interval.
    repeats : int, optional
        Number of divisions into folds, with k(k + 1)/2 fits each; 200 by default if
        the model fits folds together, otherwise 50.
    seed : int, optional
        Seed for the divisions; the seed of the setup unless given.
    threshold : float, optional
        Smallest probability of a predicted class 1 if the model does not choose it;
        0.5 unless given.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Raises
    ------
    MetricError
        If the metric is not a mean over records.
    SchemeError
        If the plan does not have at least 3 random folds of single records.
    OutcomeError
        If a training set lacks a class.
    DataError
        If a training set lacks a level, and the call refuses that.

    References
    ----------
    Bates, Hastie & Tibshirani (2024), JASA 119:1434, Algorithm 1 and section 4.3.
    """
    check_nested(setup.plan, metric)
    plan = setup.plan
    if repeats is None:
        repeats = REPEATS if setup.fits_together else FEW_REPEATS
    check_whole(repeats, "repeats", least=1, most=MAX_REPEATS)
    divided = new_divisions(setup, int(repeats), setup.seed if seed is None else seed)
    k, each = len(divided.labels[0]), fits_each(len(divided.labels[0]))
    size, found, failed = max(1, PREDICTIONS // (plan.n * k)), [], 0
    with progress_bar(int(repeats) * each, progress, "fit") as bar:
        for batch in cut(int(repeats), size):
            parts = [nested_tests(folds_of(divided, r)) for r in batch]
            whole = nested_plan(plan, parts)
            numbers = np.arange(batch.start * each, batch.stop * each)
            counted = counted_records(replace(setup, plan=whole))
            held = run_quietly(setup, whole, n_jobs, numbers=numbers)
            failed += held.failed
            scores = scores_of(whole, held, setup.design.outcome, threshold)
            losses = casewise(scores, metric)
            cuts = np.cumsum([len(part.values) for part in parts])[:-1]
            split = (np.split(one, cuts) for one in (losses, counted))
            for part, own, used in zip(parts, *split, strict=True):
                found.append(nested_losses(part, own, k, used))
            bar.update(whole.n_fits)
    warn_of_refits(failed, int(repeats) * each)
    return _joined(found, k, level)


def nested_cv_interval(
    setup: Setup, metric: Metric, level: float, **given: Any
) -> Interval:
    """Return the interval of :func:`nested_cv`, or why it cannot be computed.

    It is centred at the estimate corrected for smaller training sets, not at the usual
    one. The bounds for the root mean squared error are the roots of those for the mean
    squared error.

    Parameters
    ----------
    setup : Setup
    metric : Metric
    level : float
    **given
        Other arguments of :func:`nested_cv`.
    """
    try:
        found = nested_cv(setup, metric.root_of or metric, level=level, **given)
    except (DataError, MetricError, SchemeError, OutcomeError, FitError) as error:
        return Interval.none(str(error))
    if not math.isfinite(found.se):
        return Interval.none("a loss is infinite, or has no value")
    if found.se <= 1e-12 * abs(found.value):
        return Interval.none("all records have the same loss")
    root = metric.root_of is not None
    value = math.sqrt(max(found.value, 0.0)) if root else found.value
    assumes = ASSUMES.format(value=value, repeats=found.repeats, k=found.k)
    method = "nested cross-validation"
    made = Interval(found.lower, found.upper, found.se, method, assumes)
    return made.of_root(method) if root else made


def nested_fits(k: int, repeats: int) -> int:
    """Return the number of fits that :func:`nested_cv` makes.

    Examples
    --------
    >>> nested_fits(k=10, repeats=200)
    11000
    """
    return repeats * fits_each(k)


def check_nested(plan: FoldPlan, metric: Metric) -> None:
    """Check that nested cross-validation is possible for a plan and a metric."""
    if metric.casewise is None:
        raise MetricError(
            f"{metric.label} is not a mean over records, as nested cross-validation "
            "requires."
        )
    if plan.scheme not in FOLDED or plan.rebalanced or plan.weighting is not None:
        raise SchemeError(
            f"nested cross-validation is for {' and '.join(FOLDED)}, not for "
            f"{plan.scheme}{' with balanced training sets' * plan.rebalanced}."
        )
    if plan.strata is not None:
        raise SchemeError(
            "nested cross-validation is for independent records, but this plan keeps "
            f"records with equal values of {plan.strata.label} together."
        )
    if len(plan.labels[0]) < 3:
        raise SchemeError("nested cross-validation needs three folds or more.")
    if plan.n < 2 * len(plan.labels[0]):
        raise SchemeError("nested cross-validation needs two records or more per fold.")


def _joined(found: list[NestedLosses], k: int, level: float) -> NestedCV:
    # the pooled sd of all inner losses
    count = sum(one.count for one in found)
    nested = sum(one.mean * one.count for one in found) / count
    cv = float(np.mean([one.cv for one in found]))
    squares = sum(one.squares + one.count * (one.mean - nested) ** 2 for one in found)
    sd = math.sqrt(squares / (count - 1))
    # squared distance of inner and outer error, minus the noise of the outer
    ahead = np.array([(one.within - one.outside) ** 2 - one.spread for one in found])
    mse = float(ahead.mean())
    # the standard error if losses were independent
    naive = sd / math.sqrt(np.mean([one.n for one in found]))
    found_se = math.sqrt(max(mse, 0.0) * (k - 1) / k)
    # between independent folds and identical folds
    se = max(naive, min(found_se, math.sqrt(k) * naive))
    if math.isnan(mse):  # a fold has fewer than two records that count
        se = math.nan
    # extrapolates from training sets of k - 2 and k - 1 folds to all records
    value = nested - (1 + (k - 2) / k) * (nested - cv)
    half = normal_quantile(level) * se
    limits, parts = (value - half, value + half), (se, nested, cv, mse, naive)
    return NestedCV(value, *limits, level, *parts, k, len(found))


# ---- fits that leave out one fold or two ----


@dataclass(frozen=True, eq=False)
class NestedLosses:
    """The mean losses of one division into folds.

    Attributes
    ----------
    within : numpy.ndarray, shape (k,)
        Mean loss by cross-validation of all folds but one.
    outside : numpy.ndarray, shape (k,)
        Mean loss in that fold, by the fit on all the others.
    spread : numpy.ndarray, shape (k,)
        Variance of the mean in ``outside``.
    mean, squares, count : float
        Mean, sum of squares about the mean, and number of the losses within.
    cv : float
        Mean loss by the usual cross-validation.
    n : int
        Number of the losses of the usual cross-validation.
    """

    within: Floats
    outside: Floats
    spread: Floats
    mean: float
    squares: float
    count: float
    cv: float
    n: int


def fits_each(k: int) -> int:
    """Return the number of fits of one division: one per fold and pair of folds."""
    return k * (k + 1) // 2


def new_divisions(setup: Setup, repeats: int, seed: int) -> FoldPlan:
    """Divide the records into folds at random, as the scheme does."""
    plan, outcome = setup.plan, setup.design.outcome
    given, k = (plan.scheme, setup.design.y, outcome.kind), len(plan.labels[0])
    return make_plan(*given, k=k, repeats=repeats, seed=seed)


def folds_of(divided: FoldPlan, repeat: int) -> Ragged:
    """Return the folds of one division."""
    first, last = divided.fits.first_split[repeat : repeat + 2]
    return divided.tests.part(int(first), int(last))


def nested_tests(folds: Ragged) -> Ragged:
    """List each fold, and then the two folds of each pair, one after the other."""
    # each fit of a pair leaves out two folds
    first, second = np.triu_indices(len(folds), 1)
    both = folds.chosen(np.column_stack([first, second]).ravel())
    sizes = folds.sizes[first] + folds.sizes[second]
    values = np.concatenate([folds.values, both.values])
    return Ragged.split(values, np.concatenate([folds.sizes, sizes]))


def nested_plan(plan: FoldPlan, parts: list[Ragged]) -> FoldPlan:
    """Hold out the lists of :func:`nested_tests`, with one repeat per division."""
    tests = Ragged.joined(parts)
    labels = tuple(range(1, len(part) + 1) for part in parts)
    lists: dict[str, Any] = {"tests": tests, "first_fit": np.arange(len(tests) + 1)}
    lists |= dict.fromkeys(("dropped", "kept_out", "copied"), Ragged.empty(len(tests)))
    return replace(plan, labels=labels, **lists)


def counted_records(setup: Setup) -> Bools:
    """Return which of the held-out records count.

    Those whose level a training set lacks are treated as in the folds of the result:
    predicted at the mean of the levels seen, omitted, or refused.
    """
    tests, n = setup.plan.tests, setup.plan.n
    counted = np.ones(len(tests.values), dtype=bool)
    if setup.new_levels == "error":
        refuse_new_levels(setup)
    elif setup.new_levels == "omit" and (new := setup.folds.new_levels(setup.records)):
        rows, fits = new.pairs()
        counted = ~np.isin(tests.owners * n + tests.values, fits * n + rows)
    return counted


def nested_losses(
    tests: Ragged, losses: Floats, k: int, counted: Bools
) -> NestedLosses:
    """Summarise the losses of the records of :func:`nested_tests` that count."""
    first, second = np.triu_indices(k, 1)
    sizes, start = tests.sizes[:k], tests.starts[k]
    fold, own = tests.owners[:start][counted[:start]], losses[:start][counted[:start]]
    count = np.bincount(fold, minlength=k)
    half = np.repeat(  # the fold of a pair to which a record belongs
        np.column_stack([first, second]).ravel(),
        np.column_stack([sizes[first], sizes[second]]).ravel(),
    )
    other = np.repeat(first + second, (sizes[first] + sizes[second])) - half
    inner, other = losses[start:][counted[start:]], other[counted[start:]]
    with np.errstate(invalid="ignore", divide="ignore"):
        # the mean loss of each fold, by the fit that left out this fold alone
        outside = np.bincount(fold, own, k) / count
        spread = np.bincount(fold, (own - outside[fold]) ** 2, k)
        return NestedLosses(
            # the loss without a fold, by fits that never met its records
            within=np.bincount(other, inner, k) / np.bincount(other, minlength=k),
            outside=outside,
            spread=spread / (count - 1) / count,
            mean=float(inner.mean()),
            squares=float(((inner - inner.mean()) ** 2).sum()),
            count=float(len(inner)),
            cv=float(own.mean()),
            n=len(own),
        )

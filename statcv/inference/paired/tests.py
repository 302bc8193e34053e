"""Tests of two models' predictions for the same records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.inference.clusters import se_of_mean
from statcv.inference.estimates.influences import Influences
from statcv.inference.intervals.interval import corrected_t_interval
from statcv.inference.paired.paired_test import PairedTest
from statcv.inference.refits.corrected_jackknife import corrected_se
from statcv.inference.refits.jackknife import Jackknife
from statcv.inference.tests.sign_flips import Swaps, auroc_terms, flip_signs, swap
from statcv.metrics import Metric, midrank, round_significant
from statcv.metrics.areas.placements import ratio

Floats = NDArray[np.float64]
Clusters = NDArray[np.intp] | None

ALIKE = 1e-12  # relative to the largest: differences closer than this are equal


def paired_t(change: Floats, clusters: Clusters, level: float) -> PairedTest:
    """Test the mean of casewise differences by a t test, over cluster totals if any.

    The variance of the mean is G/(G − 1) Σ (Σ (d − d̄))² / n², where the inner sum is
    over the records of each of G clusters; without clusters this is the usual s²/n.

    Parameters
    ----------
    change : numpy.ndarray, shape (n,)
        The value of the second model for each record minus that of the first.
    clusters : numpy.ndarray of int, shape (n,), or None
        Cluster of each record.
    level : float
        Confidence level of the interval.

    Examples
    --------
    >>> import numpy as np
    >>> test = paired_t(np.array([0.1, 0.3, 0.2, 0.4]), None, 0.95)
    >>> round(test.statistic, 3), round(test.p_value, 4)
    (3.873, 0.0305)
    """
    mean = float(change.mean())
    odd = int((~np.isfinite(change)).sum())
    if odd:
        return PairedTest.unavailable(
            np.nan, f"{odd} of {len(change)} records have an infinite or missing loss"
        )
    se, g = se_of_mean(change, clusters)
    unit = "cluster" if g < len(change) else "record"
    if g < 2:
        return PairedTest.unavailable(mean, f"there is only one {unit}")
    # a spread within rounding error counts as 0
    if se <= ALIKE * float(np.abs(change).max()):
        return _without_variation(change, unit)
    return PairedTest.of(mean, se, level, g - 1)


def _without_variation(change: Floats, unit: str) -> PairedTest:
    """Return the test of equal differences: whether they are 0, without an interval.

    A mean that is negligible relative to the single differences is 0 up to rounding.
    """
    mean = float(change.mean())
    if abs(mean) <= ALIKE * float(np.abs(change).max()):
        mean = 0.0
    return PairedTest(
        mean,
        0.0,
        np.nan,
        np.nan,
        statistic=ratio(mean, 0.0),
        p_value=float(mean == 0),
        reason=f"every {unit} has the same difference, so that there is no variation",
    )


def paired_corrected_t(
    change: Floats, n_train: Floats, n_test: Floats, level: float
) -> PairedTest:
    """Test the mean difference over the same folds by the corrected t test.

    Parameters
    ----------
    change : numpy.ndarray, shape (folds,)
        The value of the second model in each fold minus that of the first, over all
        repeats.
    n_train, n_test : numpy.ndarray, shape (folds,)
        Number of training records and of held-out records of each fold.
    level : float
        Confidence level of the interval.

    References
    ----------
    Nadeau & Bengio (2003), Machine Learning 52:239; Bouckaert & Frank (2004), PAKDD
    (with repeats).
    """
    odd = int((~np.isfinite(change)).sum())
    if odd:
        return PairedTest.unavailable(
            np.nan, f"the metric has no value in {odd} of {len(change)} folds"
        )
    mean = float(change.mean())
    if len(change) > 1 and np.ptp(change) <= ALIKE * np.abs(change).max():
        return _without_variation(change, "fold")
    found = corrected_t_interval(change, n_train, n_test, level)
    if np.isnan(found.se):
        return PairedTest.unavailable(mean, found.assumes)
    return PairedTest.of(mean, found.se, level, len(change) - 1)


def paired_permutation(
    metric: Metric,
    value: Callable[[Floats], float],
    y: NDArray[Any],
    a: Floats,
    b: Floats,
    clusters: Clusters,
    times: int,
    rng: np.random.Generator,
) -> PairedTest:
    """Compare two models by swapping their predictions, cluster by cluster if any.

    For a rank metric, scores are first replaced by their mid-ranks within each model.

    Parameters
    ----------
    metric : Metric
    value : callable
        Function from the predictions of all records to the metric.
    y : numpy.ndarray, shape (n,)
        Outcome of each record.
    a, b : numpy.ndarray, shape (n,) or (n, classes)
        Predictions of the first and of the second model.
    clusters : numpy.ndarray of int, shape (n,), or None
        Cluster of each record.
    times : int
        Number of random swaps if there are too many to enumerate.
    rng : numpy.random.Generator

    Returns
    -------
    PairedTest
        A test without an interval; its standard error is the standard deviation of the
        difference under swaps.
    """
    difference = value(b) - value(a)
    if not np.isfinite(difference):
        return PairedTest.unavailable(difference, f"{metric.label} has no value")
    if metric.is_auroc:
        # swapping a record's predictions changes the sign of its term
        found = flip_signs(auroc_terms(y, a, b), clusters, times, rng)
    elif metric.casewise is not None:
        # a mean of losses changes by the sum of the records' differences
        change = metric.casewise(y, b) - metric.casewise(y, a)
        found = flip_signs(change / len(change), clusters, times, rng)
    else:
        if metric.rank:
            a, b = _ranks(a), _ranks(b)
        found = swap(value, a, b, clusters, times, rng)
    return PairedTest(
        difference=difference,
        se=found.sd,
        lower=np.nan,
        upper=np.nan,
        statistic=ratio(difference, found.sd),
        p_value=found.p_value,
        reason=_about(found),
    )


def _ranks(scores: Floats) -> Floats:
    """Return the mid-ranks of scores, separately for each class."""
    if scores.ndim == 1:
        return midrank(round_significant(scores))
    return np.column_stack([_ranks(column) for column in scores.T])


def _about(found: Swaps) -> str:
    if found.undefined:
        return (
            f"{found.undefined} of {found.times} swaps have no value and count as "
            "extreme"
        )
    if found.exact and found.times < 2**5:
        return f"there are only {found.times} distinct swaps"
    return ""


# ---- the influence of each record on the difference ----


def paired_influence(
    both: Sequence[Influences],
    difference: float,
    level: float,
    limits: tuple[float, float],
    *,
    of_pairs: float = 0.0,
    inflated: float = 1.0,
) -> PairedTest:
    """Compare two estimates by the influence of each record on their difference.

    Parameters
    ----------
    both : sequence of Influences
        The influences on the two estimates, with one numbering of the records.
    difference : float
        The second estimate minus the first.
    level : float
        Confidence level of the interval.
    limits : tuple of float
        The least and the largest possible value of the metric.
    of_pairs : float
        The variance of the interaction of pairs.
    inflated : float
        By how much the variance is larger, if folds are correlated.
    """
    # the influence on a difference is the difference of the influences
    found = both[1].minus(both[0])
    draws, df = found.draws, found.units.df
    excess = 0.0 if draws is None else draws.excess
    se = math.sqrt((found.given_fits + of_pairs + excess) * inflated)
    size = max(float(np.abs(one.held).max()) for one in both)
    reason = ""
    if se <= ALIKE * max(size, ALIKE):
        se, reason = 0.0, f"no {found.units.kind} influences the difference"
        difference = 0.0 if abs(difference) <= ROUNDING else difference
    most = limits[1] - limits[0]
    return PairedTest.of(difference, se, level, df, most=most, reason=reason)


# ---- the auROCs of two models, compared by a jackknife that refits both ----

ROUNDING = 1e-12  # smallest difference of areas that is not a rounding error


def paired_jackknife(
    first: Jackknife,
    second: Jackknife,
    difference: float,
    given: PairedTest,
    level: float,
) -> PairedTest:
    """Compare two estimates of auROC by the influence of each record, with refits.

    The variance of the difference is the mean of the jackknife variance, which tends to
    be too large, and the variance that takes the fits as given, and is never below the
    latter; t has the degrees of freedom of the jackknife.

    Parameters
    ----------
    first, second : Jackknife
        Both estimates with each record, or cluster, deleted.
    difference : float
        The second estimate minus the first.
    given : PairedTest
        DeLong's test of the pooled estimates, which takes the fits as given.
    level : float
        Confidence level of the interval.
    """
    alike = np.array_equal(first.group, second.group) and first.unit == second.unit
    if not alike:
        return PairedTest.unavailable(
            difference, "the clusters differ between the results"
        )
    if math.isnan(given.se):
        return PairedTest.unavailable(difference, given.reason)
    # the jackknife of the difference deletes the same record from both
    moved = Jackknife(
        second.values - first.values, first.group, first.unit, first.n_fits
    )
    # half of what the jackknife exceeds DeLong's variance by
    se, df = corrected_se(moved, given.se), moved.df if not moved.unmoved else math.nan
    if se <= ROUNDING:
        se, difference = 0.0, 0.0 if abs(difference) <= ROUNDING else difference
    reasons = dict.fromkeys(j.caveats.removeprefix("; ") for j in (first, second))
    if se == 0:
        reasons = {"no record influences the difference": None}
    reason = "; ".join(filter(None, reasons))
    return PairedTest.of(difference, se, level, df, most=1.0, reason=reason)

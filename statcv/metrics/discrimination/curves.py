"""ROC and precision-recall curves, their bands, and the area under a part of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import MAX_RESAMPLES, check_level, check_whole, resolve_seed
from statcv.errors import MetricError
from statcv.metrics.areas.placements import shortage
from statcv.metrics.discrimination.by_value import RankedRecords, precision_on_the_way
from statcv.metrics.discrimination.rounding import round_significant
from statcv.metrics.inputs import (
    Bools,
    Floats,
    Ints,
    binary_scores,
    cluster_codes,
    clusters_of,
    one_of,
    vector,
)
from statcv.tables import Printed


@dataclass(frozen=True, eq=False, repr=False)
class RocCurve(Printed):
    """Receiver operating characteristic curve, with a point for every distinct score.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (points,)
        False and true positive rates, from (0, 0) to (1, 1). A rate is NaN if its class
        has no records.
    thresholds : ndarray of shape (points,)
        Thresholds; a record is predicted positive if its (rounded) score is at least
        the threshold. The first is infinite.

    Examples
    --------
    >>> curve = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    >>> curve.fpr.tolist(), curve.tpr.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """

    _points = ("thresholds", "fpr", "tpr")

    fpr: Floats
    tpr: Floats
    thresholds: Floats


@dataclass(frozen=True, eq=False, repr=False)
class PrCurve(Printed):
    """Precision-recall curve, with a point for every distinct score.

    Attributes
    ----------
    recall, precision : ndarray of shape (points,)
        Recall and precision, from recall 0 and precision 1 (by convention) to recall 1.
        Recall is NaN if there are no positive records.
    thresholds : ndarray of shape (points,)
        Thresholds; a record is predicted positive if its (rounded) score is at least
        the threshold. The first is infinite.

    Examples
    --------
    >>> curve = pr_curve([0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8])
    >>> curve.recall.tolist(), curve.precision.round(2).tolist()
    ([0.0, 0.5, 0.5, 1.0, 1.0], [1.0, 1.0, 0.5, 0.67, 0.5])
    """

    _points = ("thresholds", "recall", "precision")

    recall: Floats
    precision: Floats
    thresholds: Floats

    @property
    def steps(self) -> tuple[Floats, Floats]:
        """Recall and precision of the step function whose area is average precision.

        Each precision extends back to the previous recall. Points of recall 0 (the
        conventional one of precision 1, and those before the first true positive) are
        not part of a step. Without positive records there are no steps.

        Examples
        --------
        >>> recall, precision = pr_curve([1, 0], [0.4, 0.6]).steps
        >>> recall.tolist(), precision.tolist()
        ([0.0, 1.0], [0.5, 0.5])
        """
        found = self.recall > 0
        recall, precision = self.recall[found], self.precision[found]
        return np.append(0.0 * recall[:1], recall), np.append(precision[:1], precision)


def sensitivity_at(true: Floats, false: Floats, at: Floats) -> Floats:
    """Sensitivity at false positive rates, from cumulative counts by falling threshold.

    Where the curve jumps, this is the upper end of the jump; between points it lies on
    the straight lines of the curve.
    """
    if not (true[-1] and false[-1]):
        return np.full(at.size, np.nan)
    count = np.round(at * false[-1], 9)  # 0.1 × 30 is 3
    last = np.searchsorted(false, count, side="right") - 1
    after = np.minimum(last + 1, false.size - 1)
    step = np.maximum(false[after] - false[last], 1)
    share = (count - false[last]) / step
    return np.asarray((true[last] + share * (true[after] - true[last])) / true[-1])


def roc_curve(y: ArrayLike, score: ArrayLike, *, tie_tol: float = 1e-12) -> RocCurve:
    """ROC curve, with a point for every distinct score.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1; infinite values are allowed.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    RocCurve
        The points of the curve, whose trapezoidal area is `auroc`.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or a score is NaN.

    Examples
    --------
    >>> curve = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    >>> curve.fpr.tolist(), curve.tpr.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    thresholds, true, false = sweep(*binary_scores(y, score), tie_tol)
    return RocCurve(_share(false, false[-1]), _share(true, true[-1]), thresholds)


def pr_curve(y: ArrayLike, score: ArrayLike, *, tie_tol: float = 1e-12) -> PrCurve:
    """Precision-recall curve, with a point for every distinct score.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1; infinite values are allowed.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    PrCurve
        The points of the curve in order of increasing recall.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or a score is NaN.

    Examples
    --------
    >>> curve = pr_curve([0, 1, 1], [0.4, 0.4, 0.8])
    >>> curve.recall.tolist(), curve.precision.round(3).tolist()
    ([0.0, 0.5, 1.0], [1.0, 1.0, 0.667])
    """
    thresholds, true, false = sweep(*binary_scores(y, score), tie_tol)
    precision = np.ones(thresholds.size)
    precision[1:] = true[1:] / (true + false)[1:]
    return PrCurve(_share(true, true[-1]), precision, thresholds)


def sweep(
    positive: Bools, score: Floats, tie_tol: float
) -> tuple[Floats, Floats, Floats]:
    """Return thresholds in descending order, with true and false positives at each."""
    missing = int(np.isnan(score).sum())
    if missing:
        raise MetricError(
            f"{missing} of {score.size} scores are NaN; a curve needs all scores."
        )
    ranked = RankedRecords.of(score, tie_tol=tie_tol)
    distinct = round_significant(score[ranked.order][ranked.begins], tie_tol)
    thresholds = np.append(np.inf, distinct[::-1])
    return thresholds, *ranked.falling(positive, ~positive)


def _share(count: Floats, total: float) -> Floats:
    return count / total if total else np.full(count.size, np.nan)


# ---- area under a part of the ROC curve ----


def partial_auroc(
    y: ArrayLike,
    score: ArrayLike,
    *,
    range: tuple[float, float],
    focus: Literal["specificity", "sensitivity"] = "specificity",
    corrected: bool = False,
    tie_tol: float = 1e-12,
) -> float:
    """Area under the ROC curve between two specificities or two sensitivities.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1.
    range : tuple of two float
        Limits of the range, between 0 and 1. With the default focus, (0.9, 1) is the
        part of the curve with at most 10 % false positives.
    focus : {"specificity", "sensitivity"}
        The rate to which `range` refers.
    corrected : bool, default False
        Whether to rescale the area so that 0.5 is chance and 1 is the maximum (McClish
        1989). Otherwise the area is at most the width of the range.
    tie_tol : float, default 1e-12
        Relative difference below which two scores tie.

    Returns
    -------
    float
        The area; NaN if a class has no records or a score is NaN, and if a corrected
        area is below that of chance.

    Raises
    ------
    MetricError
        If an argument is not valid.

    References
    ----------
    McClish (1989), Medical Decision Making 9:190; as ``auc(partial.auc = )`` of R's
    pROC.

    Examples
    --------
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 6, 4, 5, 7, 8]
    >>> partial_auroc(y, score, range=(0.5, 1))
    0.375
    """
    one_of(corrected, (True, False), "corrected")
    one_of(focus, ("specificity", "sensitivity"), "focus")
    low, high = _ends(range)
    positive, values = binary_scores(y, score)
    if positive.all() or not positive.any() or np.isnan(values).any():
        return float("nan")
    curve = roc_curve(positive, values, tie_tol=tie_tol)
    specificity = 1 - curve.fpr
    if focus == "specificity":
        area = _area_between(specificity[::-1], curve.tpr[::-1], low, high)
    else:
        area = _area_between(curve.tpr, specificity, low, high)
    if not corrected:
        return area
    width = high - low
    chance = width * (1 - (low + high) / 2)
    above = (area - chance) / (width - chance)
    return float("nan") if above < -1e-12 else (1 + max(above, 0.0)) / 2


def _area_between(x: Floats, height: Floats, low: float, high: float) -> float:
    """Area under the line through points in order of x, between two values of x."""
    begin, end = (np.clip(side, low, high) for side in (x[:-1], x[1:]))
    width = x[1:] - x[:-1]
    wide = width > 0
    slope = np.diff(height)[wide] / width[wide]
    middle = (begin + end)[wide] / 2
    mean = height[:-1][wide] + slope * (middle - x[:-1][wide])
    return float(((end - begin)[wide] * mean).sum())


def _ends(ends: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = sorted(float(end) for end in ends)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if not 0 <= low < high <= 1:
        raise MetricError(
            f"range must be two different numbers from 0 to 1, such as (0.9, 1), not "
            f"{ends!r}."
        )
    return low, high


# ---- bands ----


UNMOVED = (
    "the curve is the same in all bootstrap samples: the band has no width and does "
    "not measure uncertainty"
)


@dataclass(frozen=True, eq=False, repr=False)
class CurveBand(Printed):
    """A confidence band of a curve.

    Attributes
    ----------
    at : ndarray of shape (points,)
        Horizontal positions: false positive rates, or recalls.
    lower, estimate, upper : ndarray of shape (points,)
        Sensitivity or precision with its limits.
    level : float
        Confidence level at each point, or of the whole band if it is simultaneous.
    method : str
        "pointwise" or "simultaneous".
    reason : str
        Why there is no band, or why it is not informative; otherwise empty.

    Examples
    --------
    >>> y, score = [0, 1] * 20, [k * 7 % 40 + 9 * (k % 2) for k in range(40)]
    >>> band = roc_band(y, score, at=[0.1, 0.5], seed=1)
    >>> band.method, band.level, band.estimate.tolist()
    ('pointwise', 0.95, [0.35, 0.75])
    """

    _points, _with_band = ("at", "estimate"), "estimate"

    at: Floats
    lower: Floats
    estimate: Floats
    upper: Floats
    level: float
    method: str
    reason: str = ""


def roc_band(
    y: ArrayLike,
    score: ArrayLike,
    *,
    level: float = 0.95,
    method: Literal["pointwise", "simultaneous"] = "pointwise",
    at: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_boot: int | None = None,
    seed: int | np.random.Generator | None = None,
    tie_tol: float = 1e-12,
) -> CurveBand:
    """Confidence band of the ROC curve: sensitivity at given false positive rates.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1.
    level : float, default 0.95
        Confidence level of the band.
    method : {"pointwise", "simultaneous"}
        Pointwise bands are percentiles over bootstrap samples of each class, whose
        level holds at each point separately (as in ``ci.se`` of R's pROC). The
        simultaneous band contains the whole curve with at least this level under any
        distribution, and is wide (Campbell 1994); it needs independent records.
    at : array_like of shape (points,), optional
        False positive rates (1 - specificity); by default 0, 0.01, …, 1.
    clusters : array_like of shape (n,), optional
        Cluster labels, equal for records that belong together.
    n_boot : int, optional
        Number of bootstrap samples; 2000 by default.
    seed : int, Generator or None
        Seed for the bootstrap.
    tie_tol : float, default 1e-12
        Relative difference below which two scores tie.

    Returns
    -------
    CurveBand
        ``at``, ``lower``, ``estimate`` and ``upper``; NaN, with the ``reason``, if a
        class has fewer than two records (or clusters).

    Raises
    ------
    MetricError
        If an argument is not valid.

    References
    ----------
    Campbell (1994), Statistics in Medicine 13:499; Robin et al. (2011), BMC
    Bioinformatics 12:77.

    Examples
    --------
    >>> y, score = [0, 1] * 20, [k * 7 % 40 + 9 * (k % 2) for k in range(40)]
    >>> band = roc_band(y, score, at=[0.1, 0.5], seed=1)
    >>> band.estimate.tolist(), band.lower.tolist()
    ([0.35, 0.75], [0.15, 0.45])
    """
    check_level(level, MetricError)
    one_of(method, ("pointwise", "simultaneous"), "method")
    positive, values = binary_scores(y, score)
    where = np.linspace(0, 1, 101) if at is None else shares_at(at)
    if method == "simultaneous":
        if clusters is not None or n_boot is not None:
            raise MetricError(
                "clusters and n_boot mean nothing for the simultaneous band, which "
                "takes records as independent and needs no bootstrap; use "
                "method='pointwise'."
            )
        return _kolmogorov(positive, values, level, where, tie_tol)
    return _bootstrap(
        positive, values, level, where, clusters, n_boot, seed, tie_tol, sensitivity_at
    )


def pr_band(
    y: ArrayLike,
    score: ArrayLike,
    *,
    level: float = 0.95,
    at: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_boot: int | None = None,
    seed: int | np.random.Generator | None = None,
    tie_tol: float = 1e-12,
) -> CurveBand:
    """Pointwise confidence band of the precision-recall curve.

    The scores are taken as given; for cross-validated scores the band does not include
    the variability of the fits. The share of positive records is taken as fixed.

    Parameters
    ----------
    y, score, level
        As in `roc_band`.
    at : array_like of shape (points,), optional
        Recalls; by default 0.01, 0.02, …, 1. At recall 0 the precision is its limit.
    clusters, n_boot, seed, tie_tol
        As in `roc_band`.

    Returns
    -------
    CurveBand
        Percentiles over bootstrap samples. The precision at a recall is that of the
        highest threshold that attains the recall; between two points the number of
        false positives is interpolated linearly (Davis & Goadrich 2006). The band is
        NaN, with the reason, if a class has fewer than two records (or clusters).

    Raises
    ------
    MetricError
        As in `roc_band`.

    References
    ----------
    Davis & Goadrich (2006), ICML; Boyd, Eng & Page (2013), ECML PKDD, for
    intervals for the area under the curve.

    Examples
    --------
    >>> y, score = [0, 1] * 20, [k * 7 % 40 + 9 * (k % 2) for k in range(40)]
    >>> band = pr_band(y, score, at=[0.5, 1], seed=1)
    >>> band.estimate.round(3).tolist(), band.lower.round(3).tolist()
    ([0.667, 0.571], [0.476, 0.526])
    """
    check_level(level, MetricError)
    positive, values = binary_scores(y, score)
    where = np.linspace(0, 1, 101)[1:] if at is None else shares_at(at)
    return _bootstrap(
        positive, values, level, where, clusters, n_boot, seed, tie_tol, _precision
    )


def _precision(true: Floats, false: Floats, at: Floats) -> Floats:
    """Precision at given recalls, from cumulative counts by falling threshold."""
    if not true[-1]:
        return np.full(at.size, np.nan)
    count = np.round(at * true[-1], 9)
    into = np.searchsorted(true, count, side="left")
    into = np.maximum(into, np.searchsorted(true, 0, side="right"))
    return precision_on_the_way(true, false, into, count)


def _bootstrap(
    positive: Bools,
    score: Floats,
    level: float,
    at: Floats,
    clusters: ArrayLike | None,
    n_boot: int | None,
    seed: int | np.random.Generator | None,
    tie_tol: float,
    height: Callable[[Floats, Floats, Floats], Floats],
) -> CurveBand:
    """Percentiles of a curve's height over samples of records or of clusters."""
    draws = number_of_draws(n_boot)
    unit = clusters_of(clusters, positive.size)
    _, true, false = sweep(positive, score, tie_tol)
    estimate = height(true, false, at)
    ranked = RankedRecords.of(score, tie_tol=tie_tol)
    order = np.argsort(-round_significant(score, tie_tol), kind="stable")
    samples = drawn_times(positive, order, unit, draws, resolve_seed(seed))

    def of_sample(times: Floats) -> Floats:
        return height(*ranked.falling(times * positive, times * ~positive), at)

    reason = shortage(positive, score[None, :], unit)
    return band_of_samples(at, estimate, level, samples, of_sample, reason)


def band_of_samples(
    at: Floats,
    estimate: Floats,
    level: float,
    samples: Iterable[Floats],
    height: Callable[[Floats], Floats],
    reason: str,
    unmoved: str = UNMOVED,
) -> CurveBand:
    """Return percentiles of a curve over bootstrap samples, unless there is a reason.

    Parameters
    ----------
    at, estimate : numpy.ndarray, shape (points,)
        Where the curve is evaluated, and its height there.
    level : float
        Confidence level.
    samples : iterable of numpy.ndarray, shape (n,)
        How often each record is drawn in each sample.
    height : callable
        The height of the curve of a sample.
    reason : str
        Why there is no band; empty if there is one.
    unmoved : str
        What is said if the curve is the same in all samples.
    """
    if reason:
        lower = upper = np.full(at.size, np.nan)
    else:
        heights = np.stack([height(times) for times in samples])
        ends = [(1 - level) / 2, (1 + level) / 2]
        lower, upper = np.quantile(heights, ends, axis=0)
        reason = unmoved if (lower == upper).all() else ""
    return CurveBand(at, lower, estimate, upper, level, "pointwise", reason)


def _kolmogorov(
    positive: Bools, score: Floats, level: float, at: Floats, tie_tol: float
) -> CurveBand:
    """Simultaneous band from the Kolmogorov-Smirnov distances of both rates.

    Each of the two bands has the square root of the level, so that both hold together
    at the level. Every point of the true curve belongs to a threshold, at which the
    rates of the sample are at most these distances away.
    """
    _, true, false = sweep(positive, score, tie_tol)
    estimate = sensitivity_at(true, false, at)
    if not (true[-1] and false[-1]):
        missing = np.full(at.size, np.nan)
        reason = f"no {'negative' if true[-1] else 'positive'} record"
        return CurveBand(at, missing, estimate, missing, level, "simultaneous", reason)
    up, aside = (_distance(level**0.5, int(count[-1])) for count in (true, false))
    tpr, fpr = true / true[-1], false / false[-1]
    last = np.searchsorted(fpr, at + aside, side="right") - 1
    first = np.searchsorted(fpr, at - aside, side="left")
    lower, upper = np.maximum(0, tpr[first] - up), np.minimum(1, tpr[last] + up)
    return CurveBand(at, lower, estimate, upper, level, "simultaneous")


@lru_cache(maxsize=256)  # slower than all other steps of a band
def _distance(level: float, n: int) -> float:
    """Quantile of the two-sided Kolmogorov-Smirnov distance for n records."""
    from scipy.stats import kstwo

    return float(kstwo.ppf(level, n))


# ---- the difference of two curves ----


_SAME = "the difference is the same in all bootstrap samples: the band has no width"


_MOST_STEPS = 200  # with at most this many negative records, every step is shown


def roc_difference(
    y: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    at: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_boot: int | None = None,
    seed: int | np.random.Generator | None = None,
    tie_tol: float = 1e-12,
) -> CurveBand:
    """Difference in sensitivity of two scores at equal false positive rates.

    The scores are taken as given and belong to the same records; each bootstrap sample
    draws the same records for both.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    a, b : array_like of shape (n,)
        Two scores.
    level : float, default 0.95
        Confidence level of the band at each point.
    at : array_like of shape (points,), optional
        False positive rates. By default, the rates at which either curve bends or
        jumps, and a point just before each of them, so that the area under the line is
        the difference of the two areas. With more than 200 negative records, the
        default is 0, 0.005, …, 1.
    clusters : array_like of shape (n,), optional
        Cluster labels, equal for records that belong together. The bootstrap then
        draws whole clusters.
    n_boot : int, optional
        Number of bootstrap samples; 2000 by default.
    seed : int, Generator or None
        Seed for the bootstrap.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    CurveBand
        Sensitivity of `a` minus that of `b`. At a false positive rate where a curve
        jumps, the upper end of the jump is used. The band is NaN, with the reason, if a
        class has fewer than two records (or clusters).

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, a score is NaN, the lengths differ, or an
        argument is out of range.

    References
    ----------
    Robin et al. (2011), BMC Bioinformatics 12:77, for the stratified bootstrap.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> a, b = [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7]
    >>> roc_difference(y, a, b, at=[0, 0.25, 0.5], seed=1).estimate.tolist()
    [0.25, 0.0, 0.0]
    """
    check_level(level, MetricError)
    draws = number_of_draws(n_boot)
    positive, first = binary_scores(y, a)
    _, second = binary_scores(y, b)
    curves = [sweep(positive, score, tie_tol)[1:] for score in (first, second)]
    where = _grid(at, *[false for _, false in curves])
    if not (positive.any() and not positive.all()):
        missing = np.full(where.size, np.nan)
        reason = f"no {'negative' if positive.any() else 'positive'} record"
        return CurveBand(where, missing, missing, missing, level, "pointwise", reason)
    estimate = _difference(curves[0], curves[1], where)
    own = clusters_of(clusters, positive.size)
    reason = shortage(positive, np.stack([first, second]), own)
    order = np.lexsort((positive, second, first))
    ranked = [RankedRecords.of(x, tie_tol=tie_tol) for x in (first, second)]
    samples = drawn_times(positive, order, own, draws, resolve_seed(seed))

    def of_sample(times: Floats) -> Floats:
        sides = times * positive, times * ~positive
        one, other = (by_score.falling(*sides) for by_score in ranked)
        return _difference(one, other, where)

    return band_of_samples(where, estimate, level, samples, of_sample, reason, _SAME)


def _grid(at: ArrayLike | None, *false: Floats) -> Floats:
    if at is not None:
        return shares_at(at)
    most = false[0][-1]
    if not 0 < most <= _MOST_STEPS:
        return np.linspace(0, 1, _MOST_STEPS + 1)
    steps = np.unique(np.concatenate(false)) / most
    return np.sort(np.concatenate([steps, steps[1:] - 1e-4 / most]))


def _difference(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], at: Floats
) -> Floats:
    return sensitivity_at(*first, at) - sensitivity_at(*second, at)


# ---- bootstrap samples of scored records, as counts for curves ----

_N_BOOT = 2000


def number_of_draws(n_boot: int | None) -> int:
    """Return the number of bootstrap samples, 2000 by default."""
    draws = _N_BOOT if n_boot is None else n_boot
    check_whole(draws, "n_boot", least=1, most=MAX_RESAMPLES, error=MetricError)
    return draws


def shares_at(at: ArrayLike) -> Floats:
    """Check the rates at which a band is wanted, and return them."""
    where = vector(at, "at")
    if not ((where >= 0) & (where <= 1)).all():
        raise MetricError("at must hold numbers from 0 to 1.")
    return where


def drawn_times(
    positive: Bools, order: Ints, unit: Ints, draws: int, seed: int
) -> Iterator[Floats]:
    """Yield the number of times that each record is drawn, for each bootstrap sample.

    The sampling units are the records, or the clusters in `unit`. The bootstrap is
    stratified by the classes that a unit contains. Units are numbered along `order`,
    so that the draws do not depend on the order of the records.
    """
    own = np.empty(order.size, dtype=np.intp)
    own[order] = cluster_codes(unit[order], order.size)
    holds = np.bincount(own, positive) > 0, np.bincount(own, ~positive) > 0
    kinds = (holds[0] & ~holds[1], ~holds[0] & holds[1], holds[0] & holds[1])
    strata = [np.flatnonzero(kind) for kind in kinds]
    generator = np.random.default_rng(seed)
    times = np.zeros(holds[0].size)
    for _ in range(draws):
        for members in strata:
            size = len(members)
            drawn = generator.integers(size, size=size) if size else members
            times[members] = np.bincount(drawn, minlength=size)
        yield times[own]

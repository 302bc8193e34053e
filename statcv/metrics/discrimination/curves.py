"""ROC and precision-recall curves, and areas under them.

The area under a whole ROC curve is a measure of ranks, and with these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from statcv.errors import MetricError
from statcv.metrics.discrimination import by_value, rounding
from statcv.metrics.discrimination.by_value import RankedRecords
from statcv.metrics.inputs import binary_scores, one_of
from statcv.numeric.arrays import ArrayLike, Bools, Floats
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
    check_complete(score)
    ranked = RankedRecords.of(score, tie_tol=tie_tol)
    distinct = rounding.round_significant(score[ranked.order][ranked.begins], tie_tol)
    thresholds = np.append(np.inf, distinct[::-1])
    return thresholds, *ranked.falling(positive, ~positive)


def check_complete(score: Floats) -> None:
    """Check that no score is missing, as a curve needs all of them."""
    missing = int(np.isnan(score).sum())
    if missing:
        raise MetricError(
            f"{missing} of {score.size} scores are NaN; a curve needs all scores."
        )


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


# ---- areas under precision-recall curves, and their means over random orders ----

PrMethod = Literal["average_precision", "trapezoid", "interpolated"]
PR_METHODS = get_args(PrMethod)


def auprc(
    y: ArrayLike,
    score: ArrayLike,
    *,
    method: PrMethod = "average_precision",
    tie_tol: float = 1e-12,
) -> Any:
    """Area under the precision-recall curve.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,) or (m, n)
        Any increasing function of the probability of 1; an array of shape (m, n) has
        one row for each of m scores of the same records.
    method : {"average_precision", "trapezoid", "interpolated"}
        Average precision weights each precision by the step in recall that leads to it.
        The trapezoidal rule joins the points by straight lines, beginning at recall 0
        and precision 1, as in Austin et al. (2024). Interpolation lets false positives
        increase linearly between two points (Davis & Goadrich 2006; R's PRROC).
    tie_tol : float, default 1e-12
        Relative difference below which two scores tie.

    Returns
    -------
    float, or ndarray of shape (m,)
        The area, or the area of each row; NaN if there are no positive records or a
        score is NaN.

    Raises
    ------
    MetricError
        If an argument is not valid.

    References
    ----------
    Davis & Goadrich (2006), ICML; Austin, Pe'er & Korem (2024).

    Examples
    --------
    >>> round(auprc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    >>> auprc([0, 1], [[0.4, 0.6], [0.6, 0.4]], method="trapezoid").tolist()
    [1.0, 0.25]
    """
    one_of(method, PR_METHODS, "method")

    def area(counts: by_value.CountsByValue) -> Floats:
        return counts.pr_areas(method)

    return by_value.areas_of_scores(y, score, tie_tol, area)


def auprc_by_group(
    y: ArrayLike, score: ArrayLike, group: ArrayLike, groups: int
) -> Floats:
    """Average precision in each of many groups of records, in one computation.

    Parameters
    ----------
    y, score : array_like of shape (n,)
        As in `auprc`.
    group : array_like of int, shape (n,)
        Group of each record, from 0.
    groups : int
        Number of groups.

    Returns
    -------
    ndarray of shape (groups,)
        The area in each group; NaN if a class has no records in it or a score is NaN.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    Examples
    --------
    >>> y, score = [0, 1, 0, 1], [0.6, 0.3, 0.2, 0.6]
    >>> auprc_by_group(y, score, [0, 0, 1, 1], 2)
    array([0.5, 1. ])
    """
    positive, values = binary_scores(y, score)
    own = np.asarray(group)

    def area(counts: by_value.CountsByValue) -> Floats:
        areas = counts.pr_areas("average_precision")
        areas[counts.totals[1] == 0] = np.nan
        return areas

    return by_value.areas_of_groups(
        positive, values, own, groups, rounding.TIE_TOL, area
    )


def auprc_of_counts(
    score: Floats, positive: Floats, negative: Floats, method: PrMethod
) -> float:
    """Area under the precision-recall curve, of records counted by their score.

    Parameters
    ----------
    score : numpy.ndarray of shape (m,)
    positive, negative : numpy.ndarray of shape (m,)
        Number of positive and of negative records with each score.
    method : {"average_precision", "trapezoid", "interpolated"}
        As in `auprc`.

    Returns
    -------
    float
        The area; NaN if there are no positive records.

    Examples
    --------
    >>> score, counts = np.array([0.1, 0.4]), np.array([1.0, 1.0])
    >>> auprc_of_counts(score, counts, counts, "average_precision")
    0.5
    """
    some = positive + negative > 0
    ranked = RankedRecords.of(score[some])
    true, false = (ranked.sums(counts[some]) for counts in (positive, negative))
    counts = by_value.CountsByValue(true, false, ranked.bounds)
    return float(counts.pr_areas(method)[0])


def auprc_in_random_order(
    y: ArrayLike,
    score: ArrayLike,
    *,
    method: PrMethod = "average_precision",
    tie_tol: float = 1e-12,
    of_ties: bool = False,
) -> float:
    """Area under the precision-recall curve that is expected when scores are permuted.

    If all scores tie, average precision is the share of positives. Without ties its
    expectation exceeds that share by about (1 - share) log(n) / n.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Scores, of which only the ties matter.
    method : {"average_precision", "trapezoid", "interpolated"}
        As in `auprc`. For interpolation the expectation is exact if no scores tie or
        all do, and otherwise accurate to first order.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.
    of_ties : bool, default False
        Whether only records with tied scores are put in random order, instead of all.

    Returns
    -------
    float
        The mean over all orders; NaN if there are no positive records or a score is
        NaN.

    References
    ----------
    Bestgen (2015), Prague Bull. Math. Linguist. 103:131.

    Examples
    --------
    >>> auprc_in_random_order([0, 1], [0.2, 0.8])  # the mean of 1 and a half
    0.75
    >>> auprc_in_random_order([0, 1], [0.5, 0.5])
    0.5
    >>> auprc_in_random_order([0, 1], [0.2, 0.8], method="trapezoid")
    0.625
    >>> auprc_in_random_order([0, 1, 1], [0.2, 0.2, 0.8], of_ties=True)
    0.9166666666666666
    """
    one_of(method, PR_METHODS, "method")
    positive, values = binary_scores(y, score)
    n, ones = len(positive), int(positive.sum())
    if ones == 0 or np.isnan(values).any():
        return float("nan")
    rising = np.argsort(values)
    starts = np.flatnonzero(rounding.begins_value(values[rising], tie_tol))
    tied = np.diff(starts, append=n)[::-1]  # records with each score, highest first
    above = np.cumsum(tied)  # including the tie itself
    share: Floats = tied / n
    beside: Any = (ones - 1) / max(n - 1, 1)  # share of positives among the others
    true = (above - 1) * beside  # other positives above, given a positive record
    before = np.full(len(tied), beside)  # precision at the point before
    if of_ties:
        own = np.add.reduceat(positive[rising], starts, dtype=np.intp)[::-1]
        first, past = np.repeat([above - tied, np.cumsum(own) - own], tied, axis=1)
        share = np.repeat(own / (tied * ones), tied)
        beside = np.repeat((own - 1) / np.maximum(tied - 1, 1), tied)
        above, tied = np.arange(1, n + 1), np.ones(n)
        true = past + (above - 1 - first) * beside
        before = true / np.maximum(above - 1, 1)
    height = (1 + true) / above
    if method != "average_precision":
        start = height if method == "interpolated" else 1.0
        height = (height + np.where(above > tied, before, start)) / 2
    return float(np.sum(share * height))


# ---- areas by one method each, as metrics are called ----


def auprc_trapezoid(y: ArrayLike, score: ArrayLike) -> Any:
    """Area by trapezoids, see `auprc`."""
    return auprc(y, score, method="trapezoid")


def auprc_interpolated(y: ArrayLike, score: ArrayLike) -> Any:
    """Area by interpolated counts, see `auprc`."""
    return auprc(y, score, method="interpolated")


def auprc_trapezoid_in_random_order(
    y: ArrayLike, score: ArrayLike, **how: Any
) -> float:
    """Mean of `auprc_trapezoid` over random orders."""
    return auprc_in_random_order(y, score, method="trapezoid", **how)


def auprc_interpolated_in_random_order(
    y: ArrayLike, score: ArrayLike, **how: Any
) -> float:
    """Mean of `auprc_interpolated` over random orders."""
    return auprc_in_random_order(y, score, method="interpolated", **how)

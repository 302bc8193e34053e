"""ROC and precision-recall curves, and the areas under them or under a part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import MetricError
from statcv.metrics.discrimination.order import (
    ByValue,
    class_keys,
    distinct_values,
)
from statcv.metrics.discrimination.ranking import (
    begins_value,
    ends_of_ties,
    round_significant,
)
from statcv.metrics.groups import of_each_group
from statcv.metrics.inputs import (
    Bools,
    Floats,
    Ints,
    binary_outcome,
    binary_scores,
    one_of,
    real_array,
    real_number,
    same_length,
)

PrMethod = Literal["average_precision", "trapezoid", "interpolated"]
PR_METHODS = get_args(PrMethod)
_MANY = 64  # records of a group, on average, that is computed by itself


@dataclass(frozen=True, eq=False)
class RocCurve:
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

    fpr: Floats
    tpr: Floats
    thresholds: Floats


@dataclass(frozen=True, eq=False)
class PrCurve:
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
        Any increasing function of the probability of 1; infinite values are allowed.
        An array of shape (m, n) has one row for each of m scores of the same records.
    method : {"average_precision", "trapezoid", "interpolated"}
        Average precision, the default, weights each precision by the step in recall
        that leads to it. The trapezoidal rule joins the points by straight lines,
        beginning at recall 0 and precision 1, as in Austin et al. (2024). Interpolation
        assumes that false positives increase linearly between two points, computes the
        precision at every integer number of true positives, and joins these values by
        straight lines; below one true positive the precision is constant (Davis &
        Goadrich 2006; ``auc.davis.goadrich`` of R's PRROC). Without tied scores it
        equals the trapezoidal rule.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    float, or ndarray of shape (m,)
        The area, or the area of each row; NaN if there are no positive records or a
        score is NaN.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or `method` is
        unknown.

    References
    ----------
    Davis & Goadrich (2006), ICML; Austin, Pe'er & Korem (2024).

    Examples
    --------
    >>> round(auprc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    >>> auprc([0, 1], [0.6, 0.4]), auprc([0, 1], [0.6, 0.4], method="trapezoid")
    (0.5, 0.25)
    >>> round(auprc([0, 1] * 500, [0.6, 0.4] * 500, method="interpolated"), 3)
    0.307
    >>> auprc([0, 1], [[0.4, 0.6], [0.6, 0.4]]).tolist()
    [1.0, 0.5]
    """
    one_of(method, PR_METHODS, "method")
    real_number(tie_tol, "tie_tol")
    positive, values = binary_outcome(y), real_array(score, "score")
    n = positive.size
    if values.ndim == 2 and values.shape[1] == n:
        return _areas_of_rows(positive, values, method, tie_tol)
    if values.ndim != 1:
        raise MetricError(
            f"score has shape {values.shape}; it must be ({n},), or (m, {n}) for m "
            "scores of the same records."
        )
    same_length(n, values.size, "score")
    if not positive.any() or np.isnan(values).any():
        return float("nan")
    if method == "average_precision" and tie_tol == 1e-12:
        keys = class_keys(positive, values)
        if keys is not None:
            keys.sort()
            return ByValue.of(keys).average_precision
    return _area(*sweep(positive, values, tie_tol)[1:], method)


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
    if len(own) > _MANY * groups:

        def area(number: int, some: Ints | slice) -> float:
            alone = positive[some].all()
            return math.nan if alone else float(auprc(positive[some], values[some]))

        return of_each_group(area, own, groups)
    size, ones = np.bincount(own, None, groups), np.bincount(own, positive, groups)
    defined = (ones > 0) & (ones < size)
    values = round_significant(values)
    order = np.lexsort((-values, own))
    positive, values, own = positive[order], values[order], own[order]
    ends = np.append((own[1:] != own[:-1]) | (values[1:] != values[:-1]), True)
    ends = ends[: len(own)]
    last, of = np.flatnonzero(ends), own[ends]
    begins = np.cumsum(size) - size
    true = np.cumsum(positive)[last] - (np.cumsum(ones) - ones)[of]
    gained = np.diff(true, prepend=0.0)
    first = np.diff(of, prepend=-1) != 0
    gained[first] = true[first]
    terms = gained * true / (last - begins[of] + 1)
    total = np.bincount(of, terms, groups)
    missing = np.bincount(own, np.isnan(values), groups) > 0
    return np.where(defined & ~missing, total / np.maximum(ones, 1), np.nan)


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
    if not positive.any():
        return float("nan")
    some = positive + negative > 0
    values, place = distinct_values(round_significant(score[some]))
    true, false = (
        np.append(0.0, np.cumsum(np.bincount(place, counts[some], len(values))[::-1]))
        for counts in (positive, negative)
    )
    return _area(true, false, method)


def _area(true: Floats, false: Floats, method: PrMethod) -> float:
    """Area under the curve, from cumulative counts by falling threshold, from 0."""
    if method == "interpolated":
        return _interpolated_area(true, false)
    precision = np.ones(true.size)
    precision[1:] = true[1:] / (true + false)[1:]
    height = precision[1:]
    if method == "trapezoid":
        height = (precision[1:] + precision[:-1]) / 2
    return float(np.sum(np.diff(true / true[-1]) * height))


def _areas_of_rows(
    positive: Bools, rows: NDArray[Any], method: PrMethod, tie_tol: float
) -> Floats:
    """Return the area of each row, from the precision at the end of each record's tie.

    Every true positive leads to a step of the same width in recall.
    """
    if method == "interpolated":
        areas = [auprc(positive, row, method=method, tie_tol=tie_tol) for row in rows]
        return np.array(areas)
    fallen = -round_significant(rows, tie_tol)
    order = np.argsort(fallen, axis=1)
    ordered, found = np.take_along_axis(fallen, order, axis=1), positive[order]
    height = np.cumsum(found, axis=1) / np.arange(1, positive.size + 1)
    before = np.ones_like(height)
    before[:, 1:] = height[:, :-1]
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        first, last = ends_of_ties(ordered)
        height = np.take_along_axis(height, last, axis=1)
        before = np.take_along_axis(before, first, axis=1)
    if method == "trapezoid":
        height = (height + before) / 2
    with np.errstate(invalid="ignore"):
        areas = (height * found).sum(axis=1) / positive.sum()
    areas[np.isnan(rows).any(axis=1)] = np.nan
    return np.asarray(areas)


def _interpolated_area(true: Floats, false: Floats) -> float:
    """Area under the lines that join the precisions at 0, 1, 2, … true positives."""
    count = np.arange(true[-1])
    into = np.searchsorted(true, count, side="right")
    left = precision_on_the_way(true, false, into, count)
    right = precision_on_the_way(true, false, into, count + 1)
    return float((left + right).sum() / 2 / true[-1])


def precision_on_the_way(
    true: Floats, false: Floats, into: Ints, count: Floats
) -> Floats:
    """Precision at counts of true positives between points of the curve.

    False positives are interpolated linearly (Davis & Goadrich 2006). `into` holds the
    position of the point that follows each count, which must have more true positives
    than the point before it.
    """
    before = into - 1
    pace = (false[into] - false[before]) / (true[into] - true[before])
    beside = false[before] + (count - true[before]) * pace
    start = count + beside == 0  # the limit at 0: the precision is constant
    precision: Floats = (count + start) / (count + beside + start * (1 + pace))
    return precision


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
    values, group = distinct_values(round_significant(score, tie_tol))

    def counted(members: Bools) -> Floats:
        new = np.bincount(group[members], minlength=values.size)[::-1]
        return np.concatenate([[0.0], np.cumsum(new)])

    thresholds = np.concatenate([[np.inf], values[::-1]])
    return thresholds, counted(positive), counted(~positive)


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
        Any increasing function of the probability of 1; infinite values are allowed.
    range : tuple of two float
        Limits of the range: two different numbers between 0 and 1, in either order.
        With the default focus, (0.9, 1) is the part of the curve with at most 10 %
        false positives.
    focus : {"specificity", "sensitivity"}
        The rate to which `range` refers. The area is that under the other rate as a
        function of this one.
    corrected : bool, default False
        Whether to rescale the area so that 0.5 is chance and 1 is the maximum (McClish
        1989). Otherwise the area is at most the width of the range.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    float
        The area; NaN if a class has no records or a score is NaN. The corrected area is
        also NaN if the area is below that of chance, where the correction is not
        meaningful.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or an argument is
        out of range.

    References
    ----------
    McClish (1989), Medical Decision Making 9:190. The values equal those of
    ``auc(partial.auc = )`` in R's pROC (Robin et al. 2011, BMC Bioinformatics 12:77).

    Examples
    --------
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 6, 4, 5, 7, 8]
    >>> partial_auroc(y, score, range=(0.5, 1))
    0.375
    >>> round(partial_auroc(y, score, range=(0.5, 1), corrected=True), 4)
    0.8333
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


# ---- the expected area under the precision-recall curve for permuted scores ----


def auprc_in_random_order(
    y: ArrayLike,
    score: ArrayLike,
    *,
    method: PrMethod = "average_precision",
    tie_tol: float = 1e-12,
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
    """
    one_of(method, PR_METHODS, "method")
    positive, values = binary_scores(y, score)
    n, ones = len(positive), int(positive.sum())
    if ones == 0 or np.isnan(values).any():
        return float("nan")
    new = begins_value(np.sort(values), tie_tol)
    tied: Any = 1
    above = np.arange(1, n + 1)  # including the tie itself
    if not new.all():
        tied = np.diff(np.flatnonzero(new), append=n)[::-1]
        above = np.cumsum(tied)
    beside = (ones - 1) / max(n - 1, 1)  # share of positives among the others
    height = (1 + (above - 1) * beside) / above
    if method != "average_precision":
        start = height if method == "interpolated" else 1.0
        before = np.where(above > tied, beside, start)  # precision at the point before
        height = (height + before) / 2
    return float(np.sum(tied * height) / n)

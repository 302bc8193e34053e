"""ROC and precision-recall curves, and areas under them or under a part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics.discrimination.ranking import round_significant
from statcv.metrics.inputs import Bools, Floats, Ints, binary_scores, one_of

PrMethod = Literal["average_precision", "trapezoid", "interpolated"]
PR_METHODS = get_args(PrMethod)


@dataclass(frozen=True, eq=False)
class RocCurve:
    """Receiver operating characteristic: a point for every distinct score.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (points,)
        False and true positive rates, from (0, 0) to (1, 1).
        NaN where the class that a rate is a share of has no record.
    thresholds : ndarray of shape (points,)
        A record counts as positive where its (rounded) score is at least this;
        the first is infinite.
    """

    fpr: Floats
    tpr: Floats
    thresholds: Floats


@dataclass(frozen=True, eq=False)
class PrCurve:
    """Precision against recall: a point for every distinct score.

    Attributes
    ----------
    recall, precision : ndarray of shape (points,)
        From recall 0 and precision 1 (by convention) to recall 1.
        Recall is NaN where there is no positive record.
    thresholds : ndarray of shape (points,)
        A record counts as positive where its (rounded) score is at least this;
        the first is infinite.
    """

    recall: Floats
    precision: Floats
    thresholds: Floats

    @property
    def steps(self) -> tuple[Floats, Floats]:
        """Recall and precision of the steps whose area is average precision.

        Each precision holds back to the recall before it. Points of recall 0 (that of
        precision 1, by convention, and those before the first true positive) are no
        part of a step.

        Examples
        --------
        >>> recall, precision = pr_curve([1, 0], [0.4, 0.6]).steps
        >>> recall.tolist(), precision.tolist()
        ([0.0, 1.0], [0.5, 0.5])
        """
        found = self.recall > 0
        recall, precision = self.recall[found], self.precision[found]
        return np.append(0.0, recall), np.append(precision[:1], precision)


def auprc(
    y: ArrayLike,
    score: ArrayLike,
    *,
    method: PrMethod = "average_precision",
    tie_tol: float = 1e-12,
) -> float:
    """Area under the precision-recall curve.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1; infinite is allowed.
    method : {"average_precision", "trapezoid", "interpolated"}
        The default weights each precision by the step in recall that leads to it.
        The trapezoid joins the points by straight lines, from recall 0 and
        precision 1 on; it is what Austin et al. (2024) use. The interpolation lets
        false positives grow in proportion between two points, takes the precision
        at every whole number of true positives, and joins those; below the first
        of them precision stays (Davis & Goadrich 2006; ``auc.davis.goadrich`` of
        R's PRROC). Where no scores tie it is the trapezoid.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    float
        The area; NaN when there is no positive record or a score is NaN.

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
    """
    one_of(method, PR_METHODS, "method")
    positive, values = binary_scores(y, score)
    if not positive.any() or np.isnan(values).any():
        return float("nan")
    if method == "interpolated":
        return _interpolated_area(*sweep(positive, values, tie_tol)[1:])
    curve = pr_curve(positive, values, tie_tol=tie_tol)
    height = curve.precision[1:]
    if method == "trapezoid":
        height = (curve.precision[1:] + curve.precision[:-1]) / 2
    return float(np.sum(np.diff(curve.recall) * height))


def _interpolated_area(true: Floats, false: Floats) -> float:
    """Area under the precisions at 0, 1, 2, … true positives, joined by lines."""
    count = np.arange(true[-1])
    into = np.searchsorted(true, count, side="right")
    left = precision_on_the_way(true, false, into, count)
    right = precision_on_the_way(true, false, into, count + 1)
    return float((left + right).sum() / 2 / true[-1])


def precision_on_the_way(
    true: Floats, false: Floats, into: Ints, count: Floats
) -> Floats:
    """Precision at counts of true positives between points and those before them.

    False positives grow in proportion (Davis & Goadrich 2006); `into` tells the
    points, each of which has more true positives than the one before it.
    """
    before = into - 1
    pace = (false[into] - false[before]) / (true[into] - true[before])
    beside = false[before] + (count - true[before]) * pace
    start = count + beside == 0  # the limit: precision is the same all along
    precision: Floats = (count + start) / (count + beside + start * (1 + pace))
    return precision


def sensitivity_at(true: Floats, false: Floats, at: Floats) -> Floats:
    """Sensitivity at false positive rates, from counts by falling threshold.

    The upper end where the curve rises; on its straight lines between points.
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
        Any increasing function of the probability of 1; infinite is allowed.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    RocCurve
        The points; its trapezoidal area is `auroc`.

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
        Any increasing function of the probability of 1; infinite is allowed.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    PrCurve
        The points in order of increasing recall.

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
    """Lower the threshold score by score; count true and false positives."""
    missing = int(np.isnan(score).sum())
    if missing:
        raise MetricError(
            f"{missing} of {score.size} scores are NaN; a curve needs every score."
        )
    values, group = np.unique(round_significant(score, tie_tol), return_inverse=True)

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
        Any increasing function of the probability of 1; infinite is allowed.
    range : tuple of two float
        Different numbers between 0 and 1, in either order: (0.9, 1) with the
        default focus is the part of the curve with at most 10 % false positives.
    focus : {"specificity", "sensitivity"}
        Of what `range` is one. The area is that of the other over this one.
    corrected : bool, default False
        Rescale the area so that 0.5 is chance and 1 the most that is possible
        (McClish 1989). Otherwise it is at most the width of the range.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    float
        The area; NaN when a class has no record or a score is NaN, and, corrected,
        when the area is below that of chance, where the correction has no meaning.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or an argument is
        out of range.

    References
    ----------
    McClish (1989), Medical Decision Making 9:190. The numbers are those of
    ``auc(partial.auc = )`` of R's pROC (Robin et al. 2011, BMC Bioinformatics
    12:77).

    Examples
    --------
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 6, 4, 5, 7, 8]
    >>> partial_auroc(y, score, range=(0.5, 1))
    0.375
    >>> round(partial_auroc(y, score, range=(0.5, 1), corrected=True), 4)
    0.8333
    """
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
    """Area under a line through points of increasing x, between two values of x."""
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
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0 <= low < high <= 1:
        raise MetricError(
            f"range must be two different numbers from 0 to 1, such as (0.9, 1), not "
            f"{ends!r}."
        )
    return low, high


# ---- the area under the precision-recall curve where the order is left to chance ----


def auprc_in_random_order(
    y: ArrayLike,
    score: ArrayLike,
    *,
    method: PrMethod = "average_precision",
    tie_tol: float = 1e-12,
) -> float:
    """Area under the precision-recall curve that is expected of permuted scores.

    Average precision is the share of positives where all scores tie, and where none do
    it is above that, by about (1 - share) log(n) / n.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Only which of them are equal matters.
    method : {"average_precision", "trapezoid", "interpolated"}
        As in `auprc`. Interpolation is exact where no scores tie or all do, and to
        first order otherwise.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    float
        The mean over all orders; NaN when there is no positive record or a score is
        NaN.

    References
    ----------
    Bestgen (2015), Prague Bull. Math. Linguist. 103:131.

    Examples
    --------
    >>> auprc_in_random_order([0, 1], [0.2, 0.8])  # 1 or a half
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
    rounded = round_significant(values, tie_tol)
    tied = np.unique(-rounded, return_counts=True)[1]
    above = np.cumsum(tied)  # those included
    beside = (ones - 1) / max(n - 1, 1)  # share of positives beside one of them
    height = (1 + (above - 1) * beside) / above
    if method != "average_precision":
        start = height if method == "interpolated" else 1.0
        before = np.where(above > tied, beside, start)  # precision of the point before
        height = (height + before) / 2
    return float(np.sum(tied * height) / n)

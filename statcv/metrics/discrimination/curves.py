"""ROC and precision-recall curves, and the area under a part of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics.discrimination.by_value import RankedRecords
from statcv.metrics.discrimination.rounding import round_significant
from statcv.metrics.inputs import Bools, Floats, binary_scores, one_of
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

"""Rank metrics: how well scores order positive records above negative ones.

They look at the order of the scores only. Scores that are equal in exact
arithmetic can differ in the sixteenth digit, and a rank would take that noise for
signal, so scores are rounded to 12 significant digits before they are ranked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import MetricError
from statcv.metrics._inputs import (
    Bools,
    Floats,
    binary_scores,
    one_of,
    real_array,
    vector,
)

_DOUBLE_DIGITS = 16  # a double holds no more significant digits than these
_POWERS = np.array([float(f"1e{k}") for k in range(301)])  # each correctly rounded


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


def round_significant(score: ArrayLike, tie_tol: float = 1e-12) -> Floats:
    """Round to significant digits, so that equal scores tie.

    Parameters
    ----------
    score : array_like
        Numbers of any shape.
    tie_tol : float, default 1e-12
        Relative tolerance, at least 0 and below 1: ``round(-log10(tie_tol))``
        digits are kept. 0 (and anything finer than a double) rounds nothing.

    Returns
    -------
    ndarray of float
        The rounded numbers; 0, infinities and NaN stay what they are.

    Raises
    ------
    MetricError
        If `tie_tol` is negative, NaN, or 1 and above, or these are no numbers.

    Notes
    -----
    An intercept-only model whose training sets have equal class totals predicts
    numbers that differ by 5e-17 only; unrounded, their auROC is not 0.5. Two
    numbers on either side of a rounding boundary still part: no grid avoids that.

    Examples
    --------
    >>> round_significant([0.1 + 0.2, 0.3]).tolist()
    [0.3, 0.3]
    >>> round_significant([123456.0, 0.00123456], tie_tol=1e-3).tolist()
    [123000.0, 0.00123]
    """
    values = real_array(score, "score").astype(np.float64)
    if not 0 <= tie_tol < 1:
        raise MetricError(f"tie_tol must be at least 0 and below 1, not {tie_tol!r}.")
    digits = _DOUBLE_DIGITS if tie_tol == 0 else max(1, round(-np.log10(tie_tol)))
    if digits >= _DOUBLE_DIGITS:
        return values
    ordinary = np.isfinite(values) & (values != 0)
    exponent = np.floor(np.log10(np.abs(values[ordinary]))).astype(np.intp)
    mantissa = np.rint(_shifted(values[ordinary], digits - 1 - exponent))
    carried = np.abs(mantissa) >= _POWERS[digits]  # 9.99… became 10: one digit more
    mantissa[carried] /= 10
    exponent[carried] += 1
    values[ordinary] = _shifted(mantissa, exponent - digits + 1)
    return values


def _shifted(values: Floats, places: NDArray[np.intp]) -> Floats:
    """Return values × 10^places, rounded once where 10^places is a double."""
    near = np.clip(places, -300, 300)
    far = places - near
    up, down = _POWERS[np.maximum(near, 0)], _POWERS[np.maximum(-near, 0)]
    beyond_up, beyond_down = _POWERS[np.maximum(far, 0)], _POWERS[np.maximum(-far, 0)]
    with np.errstate(over="ignore", under="ignore"):
        result: Floats = values * up / down * beyond_up / beyond_down
    return result


def midrank(values: ArrayLike) -> Floats:
    """Rank numbers from 1 to n, equal ones sharing the mean of their ranks.

    Parameters
    ----------
    values : array_like of shape (n,)
        Numbers; infinite ones rank first and last.

    Returns
    -------
    ndarray of shape (n,)
        The ranks, all NaN if any value is NaN.

    Raises
    ------
    MetricError
        If `values` are not numbers in one dimension.

    Examples
    --------
    >>> midrank([30, 10, 20, 10]).tolist()
    [4.0, 1.5, 3.0, 1.5]
    """
    numbers = vector(values, "values")
    if np.isnan(numbers).any():
        return np.full(numbers.size, np.nan)
    _, group, size = np.unique(numbers, return_inverse=True, return_counts=True)
    mean_rank: Floats = np.cumsum(size) - (size - 1) / 2
    return mean_rank[group]


def auroc(y: ArrayLike, score: ArrayLike, *, tie_tol: float = 1e-12) -> float:
    """Area under the ROC curve: the share of pairs that are ranked right.

    Of all pairs of a positive and a negative record, the share in which the
    positive one has the higher score; a tie counts half. Higher scores mean
    positive, always: nothing is reversed.

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
    float
        The area; NaN when a class has no record or a score is NaN.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    References
    ----------
    Hanley & McNeil (1982), Radiology 143:29; Mann & Whitney (1947).

    Examples
    --------
    >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    0.875
    """
    values = vector(score, "score")
    one = np.zeros(values.size, dtype=np.intp)
    return float(auroc_by_group(y, values, one, 1, tie_tol=tie_tol)[0])


def auroc_by_group(
    y: ArrayLike,
    score: ArrayLike,
    group: NDArray[np.intp],
    groups: int,
    *,
    tie_tol: float = 1e-12,
) -> Floats:
    """Area under the ROC curve in each of many groups of records, all at once.

    Parameters
    ----------
    y, score : array_like of shape (n,)
        As `auroc` takes them.
    group : ndarray of int, shape (n,)
        The group of each record, from 0.
    groups : int
        How many groups there are.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    ndarray of shape (groups,)
        NaN for a group in which a class has no record or a score is NaN.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    Examples
    --------
    >>> y, score = [0, 1, 0, 1], [0.2, 0.3, 0.6, 0.6]
    >>> auroc_by_group(y, score, np.array([0, 0, 1, 1]), 2).tolist()
    [1.0, 0.5]
    """
    positive, values = binary_scores(y, score)
    values = round_significant(values, tie_tol)
    order = np.lexsort((values, group))
    own, sorted_values = group[order], values[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (own[1:] != own[:-1]) | (sorted_values[1:] != sorted_values[:-1])
    begin = np.flatnonzero(new)
    size = np.diff(np.append(begin, len(order)))
    rank = np.repeat(begin + (size + 1) / 2, size)  # counted through all groups
    ones, n = np.bincount(group, positive, groups), np.bincount(group, None, groups)
    rank -= (np.cumsum(n) - n)[own]
    won = np.bincount(own, rank * positive[order], groups) - ones * (ones + 1) / 2
    with np.errstate(invalid="ignore"):
        area = won / (ones * (n - ones))
    area[np.bincount(group, np.isnan(values), groups) > 0] = np.nan
    return np.asarray(area)


def ranked_higher(score: ArrayLike, rival: ArrayLike) -> Floats:
    """Tell of pairs of scores whether the first is the higher one.

    Parameters
    ----------
    score, rival : array_like of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        1, or 0, or 0.5 where they tie to 12 significant digits; NaN where one is.

    Examples
    --------
    >>> ranked_higher([0.8, 0.1 + 0.2, 0.1], [0.3, 0.3, np.nan]).tolist()
    [1.0, 0.5, nan]
    """
    one, other = round_significant(score), round_significant(rival)
    higher = (one > other) + 0.5 * (one == other)
    return np.where(np.isnan(one) | np.isnan(other), np.nan, higher)


def auprc(
    y: ArrayLike,
    score: ArrayLike,
    *,
    method: Literal["average_precision", "trapezoid"] = "average_precision",
    tie_tol: float = 1e-12,
) -> float:
    """Area under the precision-recall curve.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1; infinite is allowed.
    method : {"average_precision", "trapezoid"}
        The default weights each precision by the step in recall that leads to it.
        The trapezoid joins the points by straight lines, from recall 0 and
        precision 1 on; it is what Austin et al. (2024) use.
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
    """
    one_of(method, ("average_precision", "trapezoid"), "method")
    positive, values = binary_scores(y, score)
    if not positive.any() or np.isnan(values).any():
        return float("nan")
    curve = pr_curve(positive, values, tie_tol=tie_tol)
    height = curve.precision[1:]
    if method == "trapezoid":
        height = (curve.precision[1:] + curve.precision[:-1]) / 2
    return float(np.sum(np.diff(curve.recall) * height))


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
    thresholds, true, false = _sweep(*binary_scores(y, score), tie_tol)
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
    thresholds, true, false = _sweep(*binary_scores(y, score), tie_tol)
    precision = np.ones(thresholds.size)
    precision[1:] = true[1:] / (true + false)[1:]
    return PrCurve(_share(true, true[-1]), precision, thresholds)


def _sweep(
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

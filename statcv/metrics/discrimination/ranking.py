"""Rank metrics: how well scores order positive records above negative ones.

They look at the order of the scores only. Scores that are equal in exact
arithmetic can differ in the sixteenth digit, and a rank would take that noise for
signal, so scores are rounded to 12 significant digits before they are ranked.
Predicted probabilities of two classes are rounded to 12 decimals before that, so
that they tie near 0 as they do near 1, and the classes can change places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.errors import MetricError
from statcv.metrics.inputs import (
    Bools,
    Floats,
    Ints,
    binary_outcome,
    binary_scores,
    real_array,
    real_number,
    same_length,
    vector,
)

_DECIMALS = 12
_DOUBLE_DIGITS = 16  # a double holds no more significant digits than these
_AT_ONCE = 2**20  # scores ranked together: enough to be fast, few enough to fit
_POWERS = np.array([float(f"1e{k}") for k in range(301)])  # each correctly rounded


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
    if not 0 <= real_number(tie_tol, "tie_tol") < 1:
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


def round_probabilities(p: ArrayLike) -> Floats:
    """Round probabilities of one of two classes so that either class can be positive.

    A double next to 1 stands for every probability within 1e-16 of it, while next to
    0 there are doubles down to 1e-308: two confident predictions would tie for one
    class and be ranked for the other. Rounded to 12 decimals, p ties exactly where
    1 - p does.

    Parameters
    ----------
    p : array_like
        Probabilities of any shape, or other numbers whose absolute error matters.

    Returns
    -------
    ndarray of float

    Examples
    --------
    >>> p = np.array([1e-20, 1e-18, 0.3, 1 - 1e-14])
    >>> round_probabilities(p).tolist()
    [0.0, 0.0, 0.3, 1.0]
    """
    return np.asarray(np.round(real_array(p, "p"), _DECIMALS), dtype=np.float64)


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


def auroc(y: ArrayLike, score: ArrayLike, *, tie_tol: float = 1e-12) -> Any:
    """Area under the ROC curve: the share of pairs that are ranked right.

    Of all pairs of a positive and a negative record, the share in which the
    positive one has the higher score; a tie counts half. Higher scores mean
    positive, always: nothing is reversed. (:func:`statcv.cv` rounds probabilities by
    `round_probabilities` first.)

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,) or (m, n)
        Any increasing function of the probability of 1; infinite is allowed.
        A row for each of m scores of the same records.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    float, or ndarray of shape (m,)
        The area, or that of each row; NaN when a class has no record or a score
        is NaN.

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
    >>> auroc([0, 0, 1, 1], [[1, 2, 3, 4], [4, 3, 2, 1]]).tolist()
    [1.0, 0.0]
    """
    positive = binary_outcome(y)
    rows = real_array(score, "score")
    one, n = rows.ndim == 1, positive.size
    if one:
        same_length(n, rows.size, "score")
    elif rows.ndim != 2 or rows.shape[1] != n:
        raise MetricError(
            f"score has shape {rows.shape}; it must be ({n},), or (m, {n}) for m "
            "scores of the same records."
        )
    rows = np.atleast_2d(rows)
    m = len(rows)
    step = max(1, _AT_ONCE // max(1, n))
    areas = np.empty(m)
    for begin in range(0, m, step):
        part = slice(begin, begin + step)
        areas[part] = _areas_of_rows(positive, rows[part], tie_tol)
    return float(areas[0]) if one else areas


def _areas_of_rows(positive: Bools, rows: NDArray[Any], tie_tol: float) -> Floats:
    values = round_significant(rows, tie_tol)
    order = np.argsort(values, axis=1)
    own = np.repeat(np.arange(len(rows)), positive.size)
    ordered = np.take_along_axis(values, order, axis=1).ravel()
    return _areas(own, ordered, positive[order].ravel(), len(rows))


def auroc_by_group(
    y: ArrayLike,
    score: ArrayLike,
    group: ArrayLike,
    groups: int,
    *,
    tie_tol: float = 1e-12,
) -> Floats:
    """Area under the ROC curve in each of many groups of records, all at once.

    Parameters
    ----------
    y, score : array_like of shape (n,)
        As `auroc` takes them.
    group : array_like of int, shape (n,)
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
        If `y` holds anything but 0 and 1, the lengths differ, or a group is out of
        range.

    Examples
    --------
    >>> y, score = [0, 1, 0, 1], [0.2, 0.3, 0.6, 0.6]
    >>> auroc_by_group(y, score, np.array([0, 0, 1, 1]), 2).tolist()
    [1.0, 0.5]
    """
    positive, values = binary_scores(y, score)
    own = np.asarray(group)
    same_length(positive.size, own.size, "group")
    whole = own.ndim == 1 and (own.dtype.kind in "iu" or not own.size)
    if not whole or (own.size and not 0 <= own.min() <= own.max() < groups):
        raise MetricError(
            f"group must be (n,), of whole numbers from 0 to {groups - 1}."
        )
    own, values = own.astype(np.intp), round_significant(values, tie_tol)
    order = np.lexsort((values, own))
    return _areas(own[order], values[order], positive[order], groups)


def _areas(own: Ints, values: Floats, positive: Bools, groups: int) -> Floats:
    """Areas of groups of records that are sorted by group, then by value."""
    new = np.ones(len(own), dtype=bool)
    new[1:] = (own[1:] != own[:-1]) | (values[1:] != values[:-1])
    begin = np.flatnonzero(new)
    size = np.diff(np.append(begin, len(own)))
    rank = np.repeat(begin + (size + 1) / 2, size)  # counted through all groups
    ones, n = np.bincount(own, positive, groups), np.bincount(own, None, groups)
    rank -= (np.cumsum(n) - n)[own]
    won = np.bincount(own, rank * positive, groups) - ones * (ones + 1) / 2
    with np.errstate(invalid="ignore"):
        area = won / (ones * (n - ones))
    area[np.bincount(own, np.isnan(values), groups) > 0] = np.nan
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

    Raises
    ------
    MetricError
        If these are no numbers, or not as many of either.

    Examples
    --------
    >>> ranked_higher([0.8, 0.1 + 0.2, 0.1], [0.3, 0.3, np.nan]).tolist()
    [1.0, 0.5, nan]
    """
    one, other = round_significant(score), round_significant(rival)
    if one.shape != other.shape:
        raise MetricError(
            f"score has shape {one.shape} and rival {other.shape}; they go in pairs."
        )
    higher = (one > other) + 0.5 * (one == other)
    return np.where(np.isnan(one) | np.isnan(other), np.nan, higher)

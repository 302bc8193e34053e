"""Rank metrics: how well scores rank positive records above negative ones.

Rank metrics depend only on the order of the scores, which are rounded first, so that
scores that differ by rounding error tie (see ``rounding.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics.discrimination.by_value import (
    CountsByValue,
    RankedRecords,
    areas_of_groups,
    areas_of_scores,
)
from statcv.metrics.discrimination.rounding import round_significant
from statcv.metrics.inputs import (
    Floats,
    binary_outcome,
    binary_scores,
    group_numbers,
    real_array,
    real_number,
    vector,
)

_WEIGHED = 2**16  # scores ranked together with several arrays of weights


def midrank(values: ArrayLike) -> Floats:
    """Rank numbers from 1 to n, where equal numbers share the mean of their ranks.

    Parameters
    ----------
    values : array_like of shape (n,)
        Numbers; infinite values rank first and last.

    Returns
    -------
    ndarray of shape (n,)
        The ranks, all NaN if any value is NaN.

    Raises
    ------
    MetricError
        If `values` is not numeric and one-dimensional.

    Examples
    --------
    >>> midrank([30, 10, 20, 10]).tolist()
    [4.0, 1.5, 3.0, 1.5]
    """
    numbers = vector(values, "values")
    if np.isnan(numbers).any():
        return np.full(numbers.size, np.nan)
    ranked = RankedRecords.of(numbers, tie_tol=0.0)
    return ranked.of_records(np.cumsum(ranked.sizes) - (ranked.sizes - 1) / 2)


def auroc(y: ArrayLike, score: ArrayLike, *, tie_tol: float = 1e-12) -> Any:
    """Area under the ROC curve: the share of pairs that are ranked correctly.

    This is the share of all pairs of a positive and a negative record in which the
    positive record has the higher score; a tie counts one half. Higher scores always
    point to the positive class: no score is reversed. (:func:`statcv.cv` first rounds
    probabilities by `round_probabilities`.)

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,) or (m, n)
        Any increasing function of the probability of 1; infinite values are allowed.
        An array of shape (m, n) has one row for each of m scores of the same records.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    float, or ndarray of shape (m,)
        The area, or the area of each row; NaN if a class has no records or a score is
        NaN.

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
    return areas_of_scores(y, score, tie_tol, CountsByValue.roc_areas)


def auroc_by_group(
    y: ArrayLike,
    score: ArrayLike,
    group: ArrayLike,
    groups: int,
    *,
    tie_tol: float = 1e-12,
) -> Floats:
    """Area under the ROC curve in each of many groups of records, in one computation.

    Parameters
    ----------
    y, score : array_like of shape (n,)
        As in `auroc`.
    group : array_like of int, shape (n,)
        Group of each record, from 0.
    groups : int
        Number of groups.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    ndarray of shape (groups,)
        The area in each group; NaN if a class has no records in it or a score is NaN.

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
    real_number(tie_tol, "tie_tol")
    positive, values = binary_scores(y, score)
    own = group_numbers(group, positive.size, groups)
    roc_areas = CountsByValue.roc_areas
    return areas_of_groups(positive, values, own, groups, tie_tol, roc_areas)


def auroc_by_weight(
    y: ArrayLike, score: ArrayLike, weights: ArrayLike, *, tie_tol: float = 1e-12
) -> Floats:
    """Area under the ROC curve of several scores of the same records, with weights.

    Parameters
    ----------
    y : array_like of shape (n,)
        As in `auroc`.
    score : array_like of shape (m, n)
        One row for each of m scores.
    weights : array_like of shape (m, n) or (k, m, n)
        Weight of each record, such as how often it was drawn into a sample, for each
        score; k tables of them share the ranking.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    ndarray of shape (m,) or (k, m)
        The areas; NaN if a class has no weight, or the score of a record that has a
        weight is NaN.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the shapes differ.

    Examples
    --------
    >>> y, score = [0, 1, 0, 1], [[0.2, 0.3, 0.6, 0.6]]
    >>> auroc_by_weight(y, score, [[1, 1, 0, 0]]).tolist()
    [1.0]
    >>> auroc_by_weight(y, score, [[[0, 0, 1, 1]], [[1, 0, 2, 1]]]).tolist()
    [[0.5], [0.6666666666666666]]
    """
    positive, rows = binary_outcome(y), real_array(score, "score")
    tables = real_array(weights, "weights")
    if rows.ndim != 2 or rows.shape[1] != positive.size:
        raise MetricError(
            f"score has shape {rows.shape}; it must be (m, {positive.size})."
        )
    if tables.ndim not in (2, 3) or tables.shape[-2:] != rows.shape:
        raise MetricError(
            f"weights have shape {tables.shape}; it must be that of score, "
            f"{rows.shape}, or have one axis more."
        )
    every = tables if tables.ndim == 3 else tables[None]
    m, n = rows.shape
    areas = np.empty((len(every), m))
    step = max(1, _WEIGHED // max(1, n))
    for begin in range(0, m, step):
        some = rows[begin : begin + step].astype(np.float64, copy=False)
        group = np.repeat(np.arange(len(some)), n)
        ranked = RankedRecords.of(some.ravel(), group, len(some), tie_tol)
        unknown = np.isnan(some)
        for area, table in zip(areas[:, begin : begin + step], every, strict=True):
            weight = table[begin : begin + step]
            ones = np.where(positive, weight, 0.0)
            above, below = (ranked.sums(one.ravel()) for one in (ones, weight - ones))
            area[:] = CountsByValue(above, below, ranked.bounds).roc_areas()
            area[(unknown & (weight > 0)).any(axis=1)] = np.nan
    return areas if tables.ndim == 3 else areas[0]


def ranked_higher(score: ArrayLike, rival: ArrayLike) -> Floats:
    """Return whether the first score of each pair is the higher one.

    Parameters
    ----------
    score, rival : array_like of shape (n,)
        First and second score of each pair.

    Returns
    -------
    ndarray of shape (n,)
        1 if the first score is higher, 0 if the second is, and 0.5 if they tie to 12
        significant digits; NaN if either score is NaN.

    Raises
    ------
    MetricError
        If the scores are not numeric, or the two arrays differ in shape.

    Examples
    --------
    >>> ranked_higher([0.8, 0.1 + 0.2, 0.1], [0.3, 0.3, np.nan]).tolist()
    [1.0, 0.5, nan]
    """
    one, other = round_significant(score), round_significant(rival)
    if one.shape != other.shape:
        raise MetricError(
            f"score has shape {one.shape} and rival {other.shape}; they must have the "
            "same shape."
        )
    higher = (one > other) + 0.5 * (one == other)
    return np.where(np.isnan(one) | np.isnan(other), np.nan, higher)

"""Rank metrics: how well scores rank positive records above negative ones.

Rank metrics depend only on the order of the scores. Scores that are equal in exact
arithmetic can differ in the sixteenth digit, and a ranking would take that noise for
signal, so scores are rounded to 12 significant digits before they are ranked.
Predicted probabilities of two classes are first rounded to 12 decimals, so that they
tie near 0 as they do near 1, and the result does not depend on which class is positive.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.arguments import MAX_GROUPS, check_whole
from statcv.errors import MetricError
from statcv.metrics.discrimination.order import (
    ByValue,
    class_keys,
    distinct_values,
    in_rising_order,
    is_rising,
)
from statcv.metrics.groups import of_each_group
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

_MOST_DECIMALS = 15  # of probabilities near 0 that those near 1 have too
_DECIMALS = 12
_EXTREME = 1e-9  # distance from 0 and 1 at which 12 decimals lose digits
_LEAST = 2.0**-53  # distance of a double from 1
_TIE_TOL = 1e-12  # to which probabilities of 12 decimals are rounded already
_DOUBLE_DIGITS = 16  # a double holds no more significant digits than these
_IN_CACHE = 2**14  # numbers that are rounded while they stay in the cache
_BESIDE = 2**15  # numbers that are compared at once, each with the next
_AT_ONCE = 2**20  # scores ranked together: enough to be fast, few enough to fit
_FEW = 64  # records of a group that is sorted together with others
_WEIGHED = 2**16  # scores ranked together with several arrays of weights
_POWERS = np.array([float(f"1e{k}") for k in range(301)])  # each correctly rounded


def round_significant(score: ArrayLike, tie_tol: float = 1e-12) -> Floats:
    """Round to significant digits, so that equal scores tie.

    Parameters
    ----------
    score : array_like
        Numbers in an array of any shape.
    tie_tol : float, default 1e-12
        Relative tolerance, at least 0 and below 1: ``round(-log10(tie_tol))``
        digits are kept. With 0, or less than double precision, nothing is rounded.

    Returns
    -------
    ndarray of float
        The rounded numbers; 0, infinities and NaN are unchanged.

    Raises
    ------
    MetricError
        If `tie_tol` is negative, NaN, or at least 1, or `score` is not numeric.

    Notes
    -----
    The predictions of an intercept-only model whose training sets have equal class
    totals differ by only 5e-17; without rounding, their auROC is not 0.5. Two numbers
    on either side of a rounding boundary remain different, which no grid can avoid.

    Examples
    --------
    >>> round_significant([0.1 + 0.2, 0.3]).tolist()
    [0.3, 0.3]
    >>> round_significant([123456.0, 0.00123456], tie_tol=1e-3).tolist()
    [123000.0, 0.00123]
    """
    values = real_array(score, "score").astype(np.float64, order="C")
    if not 0 <= real_number(tie_tol, "tie_tol") < 1:
        raise MetricError(f"tie_tol must be at least 0 and below 1, not {tie_tol!r}.")
    digits = _DOUBLE_DIGITS if tie_tol == 0 else max(1, round(-np.log10(tie_tol)))
    if digits >= _DOUBLE_DIGITS:
        return values
    flat = values.reshape(-1)  # a view: astype made the copy
    for begin in range(0, flat.size, _IN_CACHE):
        _round_in_place(flat[begin : begin + _IN_CACHE], digits)
    return values


def _round_in_place(values: Floats, digits: int) -> None:
    """Round an array to significant digits; 0, infinities and NaN stay."""
    size = np.abs(values)
    ordinary = (size > 0) & (size < np.inf)
    every = ordinary.all()
    given = values if every else values[ordinary]
    exponent = np.floor(np.log10(size if every else size[ordinary])).astype(np.intp)
    mantissa = np.rint(_shifted(given, digits - 1 - exponent))
    carried = np.abs(mantissa) >= _POWERS[digits]  # 9.99… became 10: another digit
    if carried.any():
        mantissa[carried] /= 10
        exponent[carried] += 1
    values[... if every else ordinary] = _shifted(mantissa, exponent - digits + 1)


def begins_value(rising: Floats, tie_tol: float = 1e-12) -> Bools:
    """Return whether each of some rising numbers differs from the one before it.

    Numbers are equal if they are after `round_significant`; only numbers that are near
    each other have to be rounded.

    Parameters
    ----------
    rising : numpy.ndarray, shape (n,)
        Numbers in rising order; NaN, which comes last, differs from all.
    tie_tol : float, default 1e-12
        As in `round_significant`.

    Examples
    --------
    >>> begins_value(np.array([0.1, 0.3, 0.1 + 0.2, 0.4])).tolist()
    [True, True, False, True]
    """
    new = np.ones(len(rising), dtype=bool)
    with np.errstate(invalid="ignore", over="ignore"):  # infinite numbers
        for start in range(0, len(rising) - 1, _BESIDE):
            other = rising[start + 1 : start + 1 + _BESIDE]
            one = rising[start : start + len(other)]
            size = np.maximum(-one, other)  # size of the larger one, as they rise
            size *= 40 * tie_tol  # more than a unit of the last digit that is kept
            np.greater(other - one, size, out=new[start + 1 : start + 1 + len(other)])
    near = np.flatnonzero(~new)
    if len(near):
        one, other = rising[near - 1], rising[near]
        new[near] = round_significant(one, tie_tol) != round_significant(other, tie_tol)
    return new


def round_probabilities(p: ArrayLike) -> Floats:
    """Round probabilities of one of two classes so that either class can be positive.

    A double next to 1 stands for every probability within 1e-16 of it, while next to
    0 there are doubles down to 1e-308: two confident predictions would tie for one
    class and be ranked for the other. Rounded to 12 decimals, p ties exactly where
    1 - p does. Where some are nearer to 0 or 1 than a thousand such steps, all are
    replaced by log-odds of 12 decimals, among which those beyond double precision tie.

    Parameters
    ----------
    p : array_like
        Probabilities in an array of any shape, or other numbers whose absolute error
        matters.

    Returns
    -------
    ndarray of float
        The rounded probabilities, or their log-odds.

    Examples
    --------
    >>> round_probabilities([0.1 + 0.2, 1.0]).tolist()
    [0.3, 1.0]
    >>> round_probabilities([1e-20, 1e-18, 1e-13, 1 - 1e-14]).round(2).tolist()
    [-36.74, -36.74, -29.93, 32.24]
    """
    values = real_array(p, "p").astype(np.float64, copy=False)
    side = np.minimum(values, 1 - values)
    if ((side > 0) & (side < _EXTREME)).any() and not (side < 0).any():
        from scipy.special import logit

        inside = np.clip(np.round(values, _MOST_DECIMALS), _LEAST, 1 - _LEAST)
        return np.asarray(np.round(logit(inside), _DECIMALS))
    return np.asarray(np.round(values, _DECIMALS))


def _shifted(values: Floats, places: NDArray[np.intp]) -> Floats:
    """Return values × 10^places, rounded only once if 10^places is a double."""
    least, most = int(places.min(initial=0)), int(places.max(initial=0))
    with np.errstate(over="ignore", under="ignore"):
        if least >= -300 and most <= 0:
            return np.asarray(values / _POWERS[-places])
        if least >= 0 and most <= 300:
            return np.asarray(values * _POWERS[places])
        near = np.minimum(np.maximum(places, -300), 300)
        far = places - near
        up, down = _POWERS[np.maximum(near, 0)], _POWERS[np.maximum(-near, 0)]
        beyond_up, beyond_down = (
            _POWERS[np.maximum(far, 0)],
            _POWERS[np.maximum(-far, 0)],
        )
        return np.asarray(values * up / down * beyond_up / beyond_down)


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
    group = distinct_values(numbers)[1]
    size = np.bincount(group)
    mean_rank: Floats = np.cumsum(size) - (size - 1) / 2
    return mean_rank[group]


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
    real_number(tie_tol, "tie_tol")
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
    if len(rows) == 1 and tie_tol == _TIE_TOL:
        keys = class_keys(positive, rows[0])
        if keys is not None:
            return np.array([_area_of(keys)])
    values = round_significant(rows, tie_tol)
    if len(values) == 1:
        order, ordered = in_rising_order(values[0])
    else:
        order = np.argsort(values, axis=1)
        ordered = np.take_along_axis(values, order, axis=1).ravel()
    own = np.repeat(np.arange(len(rows)), positive.size)
    return _areas(own, ordered, positive[order].ravel(), len(rows))


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
    check_whole(groups, "groups", 0, MAX_GROUPS, MetricError)
    positive, values = binary_scores(y, score)
    own = np.asarray(group)
    same_length(positive.size, own.size, "group")
    whole = own.ndim == 1 and (own.dtype.kind in "iu" or not own.size)
    if not whole or (own.size and not 0 <= own.min() <= own.max() < groups):
        raise MetricError(
            f"group must be of shape (n,) and hold integers from 0 to {groups - 1}."
        )
    keys = class_keys(positive, values) if tie_tol == _TIE_TOL else None
    if keys is not None and is_rising(own) and groups * _FEW < len(own):
        return of_each_group(lambda _, some: _area_of(keys[some]), own, groups)
    own, values = own.astype(np.intp), round_significant(values, tie_tol)
    order = _order_in_groups(own, values)
    return _areas(own[order], values[order], positive[order], groups)


def _area_of(keys: Ints) -> float:
    """Return the area of records with some keys, which are sorted in place."""
    keys.sort()
    return ByValue.of(keys).area


def _order_in_groups(own: Ints, values: Floats) -> Ints:
    """Return the order by group, and by value within a group."""
    if (own[1:] < own[:-1]).any():
        return np.lexsort((values, own))
    ends = np.flatnonzero(own[1:] > own[:-1]) + 1
    if len(ends) > len(own) // _FEW:
        return np.lexsort((values, own))
    bounds = pairwise([0, *ends.tolist(), len(own)])
    return np.concatenate([a + in_rising_order(values[a:b])[0] for a, b in bounds])


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
    areas = np.empty((len(every), len(rows)))
    step = max(1, _WEIGHED // max(1, positive.size))
    for begin in range(0, len(rows), step):
        part = slice(begin, begin + step)
        values = round_significant(rows[part], tie_tol)
        areas[:, part] = _weighted_areas(positive, values, every[:, part])
    return areas if tables.ndim == 3 else areas[0]


def _weighted_areas(positive: Bools, values: Floats, tables: NDArray[Any]) -> Floats:
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    above, unknown = positive[order], np.isnan(values)
    with_ties = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    first, last = ends_of_ties(ordered[with_ties])
    areas = np.empty(tables.shape[:2])
    for area, table in zip(areas, tables, strict=True):
        weight = np.take_along_axis(table, order, axis=1).astype(np.float64, copy=False)
        ones = np.where(above, weight, 0.0)
        zeros = weight - ones
        below = np.cumsum(zeros, axis=1)
        tied, own = below[with_ties], zeros[with_ties]
        through = np.take_along_axis(tied, last, axis=1)
        before = np.take_along_axis(tied - own, first, axis=1)
        below[with_ties] = (through + before) / 2
        won = np.einsum("mn,mn->m", ones, below)
        with np.errstate(invalid="ignore", divide="ignore"):
            area[:] = won / (ones.sum(axis=1) * zeros.sum(axis=1))
        if unknown.any():
            area[(unknown & (table > 0)).any(axis=1)] = np.nan
    return areas


def ends_of_ties(ordered: Floats) -> tuple[Ints, Ints]:
    """Return the places of the first and the last of the values equal to each."""
    m, n = ordered.shape
    new = np.ones((m, n + 1), dtype=bool)
    new[:, 1:-1] = ordered[:, 1:] != ordered[:, :-1]
    place = np.arange(n)
    first = np.maximum.accumulate(np.where(new[:, :-1], place, 0), axis=1)
    ends = np.where(new[:, 1:], place, n)[:, ::-1]
    return first, np.minimum.accumulate(ends, axis=1)[:, ::-1]


def _areas(own: Ints, values: Floats, positive: Bools, groups: int) -> Floats:
    """Return the areas of groups of records, which are sorted by group and value."""
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

"""Rank metrics: how well scores rank positive records above negative ones.

Rank metrics depend only on the order of the scores, which are rounded first, so that
scores that differ by rounding error tie (see ``rounding.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np

from statcv.errors import MetricError
from statcv.metrics import inputs
from statcv.metrics.discrimination import by_value
from statcv.metrics.discrimination.rounding import round_significant
from statcv.numeric.arrays import Array, ArrayLike, Floats, Numbers

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
    numbers = inputs.vector(values, "values")
    if np.isnan(numbers).any():
        return np.full(numbers.size, np.nan)
    ranked = by_value.RankedRecords.of(numbers, tie_tol=0.0)
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
    return by_value.areas_of_scores(y, score, tie_tol, by_value.CountsByValue.roc_areas)


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
    inputs.real_number(tie_tol, "tie_tol")
    positive, values = inputs.binary_scores(y, score)
    own = inputs.group_numbers(group, positive.size, groups)
    roc_areas = by_value.CountsByValue.roc_areas
    return by_value.areas_of_groups(positive, values, own, groups, tie_tol, roc_areas)


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
    positive, rows = inputs.binary_outcome(y), inputs.real_array(score, "score")
    tables = inputs.real_array(weights, "weights")
    if rows.ndim != 2 or rows.shape[1] != positive.size:
        raise inputs.wrong_shape("score", rows, f"(m, {positive.size})")
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
        ranked = by_value.RankedRecords.of(some.ravel(), group, len(some), tie_tol)
        unknown = np.isnan(some)
        for area, table in zip(areas[:, begin : begin + step], every, strict=True):
            weight = table[begin : begin + step]
            ones = np.where(positive, weight, 0.0)
            above, below = (ranked.sums(one.ravel()) for one in (ones, weight - ones))
            area[:] = by_value.CountsByValue(above, below, ranked.bounds).roc_areas()
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


# ---- several classes ----


def auroc_ovr(
    y: ArrayLike,
    p: ArrayLike,
    *,
    average: Literal["macro", "weighted"] | None = "macro",
    tie_tol: float = 1e-12,
) -> Any:
    """Area under the ROC curve of each class against the rest.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, the codes 0 … K-1.
    p : array_like of shape (n, K)
        Probability or score of each class, one column per class.
    average : {"macro", "weighted"} or None
        The mean of the areas; their mean weighted by the number of records of each
        class; or one area per class.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    float or ndarray of shape (K,)
        The mean area, or the areas. The area is NaN for a class that has no records or
        all of them, and for a column that contains NaN; so is the mean.

    Raises
    ------
    MetricError
        If the shapes or codes are not valid, or `average` is unknown.

    Notes
    -----
    The areas depend on the number of records in each of the other classes;
    `auroc_hand_till` does not.

    References
    ----------
    Provost & Domingos (2003), Machine Learning 52:199 (weighted).

    Examples
    --------
    >>> y = [0, 1, 2, 2]
    >>> p = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.1, 0.2, 0.7]]
    >>> auroc_ovr(y, p, average=None).round(3).tolist()
    [1.0, 0.667, 0.875]
    >>> round(auroc_ovr(y, p), 4), round(auroc_ovr(y, p, average="weighted"), 4)
    (0.8472, 0.8542)
    """
    if average is not None:
        inputs.one_of(average, ("macro", "weighted"), "average")
    codes, scores = _codes_and_scores(y, p)
    classes = range(scores.shape[1])
    size = np.bincount(codes, minlength=len(classes))
    each = [auroc(codes == k, scores[:, k], tie_tol=tie_tol) for k in classes]
    areas: Floats = np.array(each)
    if average is None:
        return areas
    if average == "macro" or not size.any():
        return float(areas.mean())
    return float(size @ areas / size.sum())


def auroc_hand_till(y: ArrayLike, p: ArrayLike, *, tie_tol: float = 1e-12) -> float:
    """Hand and Till's M: the mean area under the ROC curve over all pairs of classes.

    For classes i and j only their own records are used: the probability that a record
    of class i has a higher score for i than a record of class j, averaged with the same
    probability for j. M is the mean over the pairs of classes, and does not depend on
    class frequencies. For two classes with complementary scores it equals `auroc`.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, the codes 0 … K-1.
    p : array_like of shape (n, K)
        Probability or score of each class, one column per class.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    float
        The mean; NaN if a class has no records or a score is NaN.

    Raises
    ------
    MetricError
        If the shapes or codes are not valid.

    References
    ----------
    Hand & Till (2001), Machine Learning 45:171, eq. 7.

    Examples
    --------
    >>> y = [0, 1, 2, 2]
    >>> p = [[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.6, 0.3], [0.1, 0.2, 0.7]]
    >>> auroc_hand_till(y, p)
    0.875
    """
    codes, scores = _codes_and_scores(y, p)
    if np.isnan(scores).any():
        return float("nan")
    areas = []
    for k, j in permutations(range(scores.shape[1]), 2):
        own = (codes == k) | (codes == j)
        areas.append(auroc(codes[own] == k, scores[own, k], tie_tol=tie_tol))
    return float(np.mean(areas))


def _codes_and_scores(y: ArrayLike, p: ArrayLike) -> tuple[Numbers, Floats]:
    scores = inputs.real_array(p, "p").astype(np.float64, copy=False)
    if scores.ndim != 2 or scores.shape[1] < 2:
        right = "(n, K), with one column for each of 2 or more classes"
        raise inputs.wrong_shape("p", scores, right)
    codes = inputs.class_codes(y, scores.shape[1])
    inputs.same_length(codes.size, len(scores), "p")
    return codes, scores


# ---- a continuous outcome ----


def concordance(y: ArrayLike, yhat: ArrayLike, *, tie_tol: float = 1e-12) -> float:
    """Share of the pairs of records that are predicted in the order of their outcomes.

    Only pairs with different outcomes count, and tied predictions count one half. This
    is Harrell's C index without censoring, and (1 + d)/2 for Somers' d. For an outcome
    of 0 and 1 it equals `auroc`.

    Parameters
    ----------
    y, yhat : array_like of shape (n,)
        Observed and predicted values, of which only the order matters.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`; predictions are rounded, outcomes
        are not.

    Returns
    -------
    float
        The share; NaN if no two outcomes differ or a value is NaN.

    Raises
    ------
    MetricError
        If the arrays are not numeric and one-dimensional, or differ in length.

    References
    ----------
    Harrell, Lee & Mark (1996), Statistics in Medicine 15:361; Somers (1962), American
    Sociological Review 27:799.

    Examples
    --------
    >>> concordance([1, 2, 3], [10, 30, 20])
    0.6666666666666666
    >>> concordance([1, 2, 2], [10, 10, 20])  # one pair does not count, one is a tie
    0.75
    """
    observed = inputs.vector(y, "y")
    one = np.zeros(observed.size, dtype=np.intp)
    return float(concordance_by_group(observed, yhat, one, 1, tie_tol=tie_tol)[0][0])


def concordance_by_group(
    y: ArrayLike,
    yhat: ArrayLike,
    group: ArrayLike,
    groups: int,
    *,
    tie_tol: float = 1e-12,
) -> tuple[Floats, Floats]:
    """Concordance in each of many groups of records, in one computation.

    Parameters
    ----------
    y, yhat : array_like of shape (n,)
        As in `concordance`.
    group : array_like of int, shape (n,)
        Group of each record, from 0.
    groups : int
        Number of groups.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    shares, pairs : ndarray of shape (groups,)
        The share in each group, NaN for a group without pairs or with a NaN; and the
        number of pairs with different outcomes.

    Raises
    ------
    MetricError
        As in `concordance`, or if a group is out of range.

    Examples
    --------
    >>> y, yhat = [1, 2, 1, 2], [1, 3, 5, 5]
    >>> shares, pairs = concordance_by_group(y, yhat, [0, 0, 1, 1], 2)
    >>> shares.tolist(), pairs.tolist()
    ([1.0, 0.5], [1.0, 1.0])
    """
    observed, predicted = inputs.vector(y, "y"), inputs.vector(yhat, "yhat")
    inputs.same_length(observed.size, predicted.size, "yhat")
    own = inputs.group_numbers(group, observed.size, groups)
    missing = np.bincount(own, np.isnan(observed) | np.isnan(predicted), groups) > 0
    counts = concordance_counts(observed, predicted, own, tie_tol=tie_tol)
    pairs = np.bincount(own, counts.rivals, groups) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.bincount(own, counts.won, groups) / 2 / pairs
    shares[missing] = np.nan
    return shares, pairs


@dataclass(frozen=True, eq=False)
class ConcordanceCounts:
    """The comparisons of each record with all records of another outcome.

    Attributes
    ----------
    won : numpy.ndarray, shape (n,)
        The number of concordant pairs; one half for tied predictions.
    rivals, tied : numpy.ndarray, shape (n,)
        The number of pairs, and of those whose predictions tie.
    """

    won: Floats
    rivals: Floats
    tied: Floats


def concordance_counts(
    y: Array, x: Floats, group: Numbers | None = None, *, tie_tol: float = 1e-12
) -> ConcordanceCounts:
    """Count the concordant pairs of each record, in a time of order n log n.

    Parameters
    ----------
    y, x : numpy.ndarray, shape (n,)
        Outcomes and predictions.
    group : numpy.ndarray of int, shape (n,), optional
        Groups, within which records are compared; one group by default.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Examples
    --------
    >>> counts = concordance_counts(np.array([1, 2, 2]), np.array([0.5, 0.5, 0.1]))
    >>> counts.won, counts.rivals, counts.tied
    (array([0.5, 0.5, 0. ]), array([2., 1., 1.]), array([1., 1., 0.]))
    """
    own = np.zeros(len(x), dtype=np.intp) if group is None else group
    outcome, score = _ranks(y), _ranks(round_significant(x, tie_tol))
    rivals = _alike(own) - _alike(own, outcome)
    tied = _alike(own, score) - _alike(own, outcome, score)
    # where outcomes are equal, the higher predictions come first: none is below another
    order, n, won = np.lexsort((-score, outcome, own)), len(x), np.empty(len(x))
    block, rank, one = own[order], score[order], np.ones((1, len(x)))
    begin, end = (np.searchsorted(block, block, side) for side in ("left", "right"))
    below = lower_sums(rank, begin, end, one)[0]
    turned = (rank.max(initial=0) - rank)[::-1], n - end[::-1], n - begin[::-1]
    won[order] = below + lower_sums(*turned, one)[0, ::-1]
    return ConcordanceCounts(won + tied / 2, rivals, tied)


def _ranks(values: Array) -> Numbers:
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def _alike(*keys: Numbers) -> Floats:
    """Count the records that have all keys of a record, itself among them."""
    order = np.lexsort(keys)
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    size = np.diff(np.append(np.flatnonzero(new), len(order)))
    counts = np.empty(len(order))
    counts[order] = np.repeat(size, size)
    return counts


def lower_sums(rank: Numbers, begin: Numbers, end: Numbers, values: Floats) -> Floats:
    """Sum values over the records before each in its block that have a lower rank.

    Ranks are compared bit by bit from the highest bit: among ranks that agree so far,
    one that has the bit is above earlier ones that lack it.

    Parameters
    ----------
    rank : numpy.ndarray of int, shape (n,)
        Ranks from 0.
    begin, end : numpy.ndarray of int, shape (n,)
        Where the block of each record begins and ends.
    values : numpy.ndarray, shape (m, n)
        One or several values of each record.
    """
    place, record = np.arange(len(rank)), np.arange(len(rank))
    sums = np.zeros_like(values)
    for bit in reversed(range(int(rank.max(initial=0)).bit_length())):
        has = (rank >> bit) & 1 == 1
        lacking = np.append(0, np.cumsum(~has))
        total = np.zeros((len(values), len(rank) + 1))
        np.cumsum(values * ~has, axis=1, out=total[:, 1:])
        upper = np.flatnonzero(has)
        sums[:, upper] += total[:, upper] - total[:, begin[upper]]
        # those that lack the bit come first in each block, in the same order
        middle = begin + lacking[end] - lacking[begin]
        before = lacking[:-1] - lacking[begin]
        moved = np.where(has, middle + place - begin - before, begin + before)
        begin, end = np.where(has, middle, begin), np.where(has, end, middle)
        again = np.empty_like(moved)
        again[moved] = place
        rank, record, begin, end = (one[again] for one in (rank, record, begin, end))
        values, sums = values[:, again], sums[:, again]
    found = np.empty_like(sums)
    found[:, record] = sums
    return found

"""Areas under precision-recall curves, and their means over random orders."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.discrimination import by_value
from statcv.metrics.discrimination.rounding import TIE_TOL, begins_value
from statcv.metrics.inputs import Floats, binary_scores, one_of

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

    return by_value.areas_of_groups(positive, values, own, groups, TIE_TOL, area)


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
    ranked = by_value.RankedRecords.of(score[some])
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
    starts = np.flatnonzero(begins_value(values[rising], tie_tol))
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

"""Concordance: how well predictions of a continuous outcome rank the records.

Concordance extends the auROC to continuous outcomes: it is the share of the pairs of
records with different outcomes whose predictions are in the same order, where a tie
counts one half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import MAX_GROUPS, check_whole
from statcv.errors import MetricError
from statcv.metrics.discrimination.rounding import round_significant
from statcv.metrics.inputs import Floats, Ints, same_length, vector


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
    observed = vector(y, "y")
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
    check_whole(groups, "groups", 0, MAX_GROUPS, MetricError)
    observed, predicted = vector(y, "y"), vector(yhat, "yhat")
    same_length(observed.size, predicted.size, "yhat")
    own = np.asarray(group)
    same_length(observed.size, own.size, "group")
    whole = own.ndim == 1 and (own.dtype.kind in "iu" or not own.size)
    if not whole or (own.size and not 0 <= own.min() <= own.max() < groups):
        raise MetricError(
            f"group must be of shape (n,) and hold integers from 0 to {groups - 1}."
        )
    own, predicted = own.astype(np.intp), round_significant(predicted, tie_tol)
    missing = np.bincount(own, np.isnan(observed) | np.isnan(predicted), groups) > 0
    outcome, score = _ranks(observed), _ranks(predicted)
    all_, alike = _pairs(own, groups), _ties(own, outcome, groups)
    pairs = all_ - alike
    tied = _ties(own, score, groups) - _ties(own, outcome, groups, score)
    order = np.lexsort((score, outcome, own))
    wrong = _inversions(own[order], score[order], groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = (pairs - wrong - tied / 2) / pairs
    shares[missing] = np.nan
    return shares, pairs


def _ranks(values: Floats) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def _pairs(group: Ints, groups: int) -> Floats:
    sizes = np.bincount(group, minlength=groups).astype(np.float64)
    return np.asarray(sizes * (sizes - 1) / 2)


def _ties(group: Ints, rank: Ints, groups: int, other: Ints | None = None) -> Floats:
    """Count the pairs of each group that tie in one ranking, or in both of two."""
    ranks = (rank,) if other is None else (rank, other)
    order = np.lexsort((*ranks, group))
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.diff(group[order]) != 0
    for one in ranks:
        new[1:] |= np.diff(one[order]) != 0
    first = np.flatnonzero(new)
    size = np.diff(np.append(first, len(order))).astype(np.float64)
    return np.asarray(
        np.bincount(group[order][first], size * (size - 1) / 2, groups), float
    )


def _inversions(group: Ints, rank: Ints, groups: int) -> Floats:
    """Count the pairs of each group in which the earlier record has the higher rank.

    Ranks are compared bit by bit from the highest bit: among ranks that agree so far,
    an earlier rank that has the bit and a later one that lacks it form such a pair.

    Parameters
    ----------
    group : numpy.ndarray of int, shape (n,)
        Groups in increasing order.
    rank : numpy.ndarray of int, shape (n,)
        Ranks from 0.
    groups : int
        Number of groups.
    """
    found = np.zeros(groups)
    block = group.copy()
    for bit in reversed(range(int(rank.max(initial=0)).bit_length())):
        has = (rank >> bit) & 1
        before = np.cumsum(has) - has
        first = np.flatnonzero(np.diff(block, prepend=-1))
        size = np.diff(np.append(first, len(block)))
        before -= np.repeat(before[first], size)
        lacks = has == 0
        found += np.bincount(group[lacks], before[lacks], groups)
        order = np.lexsort((has, block))  # keeps the order where both are equal
        group, rank, block, has = group[order], rank[order], block[order], has[order]
        block = np.cumsum(
            (np.diff(block, prepend=-1) != 0) | (np.diff(has, prepend=0) != 0)
        )
    return found

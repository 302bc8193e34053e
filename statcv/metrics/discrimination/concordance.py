"""Concordance: how well predictions of a continuous outcome rank the records.

Concordance extends the auROC to continuous outcomes: it is the share of the pairs of
records with different outcomes whose predictions are in the same order, where a tie
counts one half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from statcv.metrics.discrimination.rounding import round_significant
from statcv.metrics.inputs import Floats, Ints, group_numbers, same_length, vector


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
    observed, predicted = vector(y, "y"), vector(yhat, "yhat")
    same_length(observed.size, predicted.size, "yhat")
    own = group_numbers(group, observed.size, groups)
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
    y: NDArray[Any], x: Floats, group: Ints | None = None, *, tie_tol: float = 1e-12
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
    order, wrong = np.lexsort((score, outcome, own)), np.empty(len(x))
    wrong[order] = _inversions(own[order], score[order])
    return ConcordanceCounts(rivals - wrong - tied / 2, rivals, tied)


def _ranks(values: NDArray[Any]) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.intp)


def _alike(*keys: Ints) -> Floats:
    """Count the records that have all keys of a record, itself among them."""
    order = np.lexsort(keys)
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    size = np.diff(np.append(np.flatnonzero(new), len(order)))
    counts = np.empty(len(order))
    counts[order] = np.repeat(size, size)
    return counts


def _inversions(block: Ints, rank: Ints) -> Floats:
    """Count the records with which each is in the wrong order, within its block.

    Ranks are compared bit by bit from the highest bit: among ranks that agree so far,
    an earlier rank that has the bit and a later one that lacks it form such a pair.

    Parameters
    ----------
    block : numpy.ndarray of int, shape (n,)
        Blocks in increasing order.
    rank : numpy.ndarray of int, shape (n,)
        Ranks from 0.
    """
    found, place = np.zeros(len(rank)), np.arange(len(rank))
    for bit in reversed(range(int(rank.max(initial=0)).bit_length())):
        has = (rank >> bit) & 1
        first = np.flatnonzero(np.diff(block, prepend=-1))
        size = np.diff(np.append(first, len(block)))
        start = np.repeat(first, size)
        with_bit = np.cumsum(has) - has
        with_bit -= with_bit[start]  # earlier ones of the block
        lacking = np.arange(len(rank)) - start - with_bit
        all_lacking = np.repeat(size - np.add.reduceat(has, first), size)
        found[place] += np.where(has == 1, all_lacking - lacking, with_bit)
        # values that lack the bit come first in each block, in the same order
        to = start + np.where(has == 1, all_lacking + with_bit, lacking)
        order = np.empty_like(to)
        order[to] = np.arange(len(to))
        rank, place, has, block = rank[order], place[order], has[order], block[order]
        block = np.cumsum(
            (np.diff(block, prepend=-1) != 0) | (np.diff(has, prepend=0) != 0)
        )
    return found

"""Exact limits and p-values for an estimated area of 0 or 1.

For such an area DeLong's standard error is 0, and the logit is infinite. An exact
bound is still available: records are independent, and so are pairs of a positive and a
negative record that have no record in common. The probability that m such pairs are all
ranked correctly is area**m. If they all are, an area with area**m < α/2 is rejected at
that level (Clopper & Pearson 1934).
"""

from __future__ import annotations

import math

import numpy as np

from statcv.metrics.inputs import Bools, Ints

FEWEST = 2  # fewest pairs for limits; chance ranks a single one correctly in half


def disjoint_pairs(positive: Bools, clusters: Ints | None = None) -> int:
    """Return the largest number of pairs of the two classes that share no record.

    Parameters
    ----------
    positive : numpy.ndarray of bool, shape (n,)
        Outcome, True for positive records.
    clusters : numpy.ndarray of int, shape (n,), optional
        Cluster codes. Pairs then share no cluster, and the two records of a pair belong
        to different clusters.

    Examples
    --------
    >>> positive = np.array([True, True, False, False, False])
    >>> disjoint_pairs(positive)
    2
    >>> disjoint_pairs(positive, np.array([0, 1, 0, 1, 2]))
    1
    """
    if clusters is None:
        return int(min(positive.sum(), (~positive).sum()))
    ones, zeros = np.unique(clusters[positive]), np.unique(clusters[~positive])
    return min(len(ones), len(zeros), len(np.union1d(ones, zeros)) // 2)


def pick_disjoint(first: Ints, second: Ints) -> int:
    """Return the number of the given pairs that a greedy search finds to be disjoint.

    Pairs whose records occur in few pairs are taken first. The largest possible number
    may be greater, so that an interval based on this one is conservative.

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        The two records, or clusters, of each pair.

    Examples
    --------
    >>> pick_disjoint(np.array([0, 1, 1]), np.array([2, 2, 3]))
    2
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    pairs = np.unique(np.stack([low, high], axis=1)[low < high], axis=0)
    if not len(pairs):
        return 0
    times = np.bincount(pairs.ravel())[pairs]
    order = np.lexsort((times.max(axis=1), times.min(axis=1)))
    taken: set[int] = set()
    for one, other in pairs[order].tolist():
        if one not in taken and other not in taken:
            taken |= {one, other}
    return len(taken) // 2


def limits_at_end(area: float, pairs: int, level: float) -> tuple[float, float]:
    """Return the exact confidence limits for an estimated area of 1 or 0.

    Parameters
    ----------
    area : {0.0, 1.0}
        The estimate.
    pairs : int
        Number of pairs that share no record, all of them ranked correctly, or all of
        them wrongly. Since a tie counts one half in the area, ties make the limits
        conservative.
    level : float
        Confidence level.

    Returns
    -------
    lower, upper : float
        The limits; NaN if there are fewer than two pairs.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26:404; Obuchowski & Lieber (2002), Academic
    Radiology 9:526, on intervals for an estimated area of 1.

    Examples
    --------
    >>> lower, upper = limits_at_end(1.0, 10, 0.95)
    >>> round(lower, 4), upper
    (0.6915, 1.0)
    """
    if pairs < FEWEST:
        return float("nan"), float("nan")
    rate = math.log((1 - level) / 2) / pairs
    return (math.exp(rate), 1.0) if area == 1 else (0.0, -math.expm1(rate))


def p_at_end(area: float, pairs: int, null: float, alternative: str) -> float:
    """Return the exact p-value for an estimated area of 1 or 0.

    Parameters
    ----------
    area, pairs
        As in :func:`limits_at_end`.
    null : float
        Area under the null hypothesis.
    alternative : {"two-sided", "greater", "less"}
        Alternative hypothesis.

    Examples
    --------
    >>> p_at_end(1.0, 4, 0.5, "greater"), p_at_end(1.0, 4, 0.5, "two-sided")
    (0.0625, 0.125)
    """
    alike = float((null if area == 1 else 1 - null) ** pairs)
    if alternative == "two-sided":
        return min(1.0, 2 * alike)
    return alike if (alternative == "greater") == (area == 1) else 1.0

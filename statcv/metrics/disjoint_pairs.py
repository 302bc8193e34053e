"""An area of exactly 1 or 0: the exact bound on pairs that share no record.

DeLong's standard error is then 0, and the logit infinite. But records are
independent, and so are pairs of a positive and a negative record that have none in
common: m of them are all ranked right with probability area**m. Where they were, an
area with area**m < α/2 is rejected at that level (Clopper & Pearson 1934).
"""

from __future__ import annotations

import math

import numpy as np

from statcv.metrics._inputs import Bools, Ints

FEWEST = 2  # pairs; one alone would be ranked right by chance every second time


def disjoint_pairs(positive: Bools, clusters: Ints | None = None) -> int:
    """Return how many pairs of the two classes share no record.

    Parameters
    ----------
    positive : numpy.ndarray of bool, shape (n,)
    clusters : numpy.ndarray of int, shape (n,), optional
        Codes of records that belong together: pairs then share no cluster, and the
        records of a pair are of two.

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
    """Return how many of the given pairs are found to share no record.

    Those whose records are in few pairs are taken first. There may be more, which
    only widens an interval by them.

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        Both records, or clusters, of each pair.

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
    """Return the exact limits of an area of which 1 or 0 was found.

    Parameters
    ----------
    area : {0.0, 1.0}
    pairs : int
        Pairs that share no record, all of them ranked right, or all wrong. A tie
        counts half in the area, and makes the limits wide rather than narrow.
    level : float

    Returns
    -------
    lower, upper : float
        NaN where there are fewer than two pairs.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26:404; Obuchowski & Lieber (2002), Academic
    Radiology 9:526, on intervals where the area is 1.

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
    """Return the exact p-value where an area of 1 or 0 was found.

    Parameters
    ----------
    area, pairs
        As :func:`limits_at_end` takes them.
    null : float
        The area under the null hypothesis.
    alternative : {"two-sided", "greater", "less"}

    Examples
    --------
    >>> p_at_end(1.0, 4, 0.5, "greater"), p_at_end(1.0, 4, 0.5, "two-sided")
    (0.0625, 0.125)
    """
    alike = float((null if area == 1 else 1 - null) ** pairs)
    if alternative == "two-sided":
        return min(1.0, 2 * alike)
    return alike if (alternative == "greater") == (area == 1) else 1.0

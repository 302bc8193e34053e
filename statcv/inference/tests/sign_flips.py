"""Tests that swap the predictions of two models at random.

Under the null hypothesis the two predictions of a record, or of a whole cluster of
records, are exchangeable. For a mean of casewise differences, and for the difference
of two auROCs of ranks, a swap changes the sign of one term of a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.metrics import midrank, round_significant

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

EXACT_UNITS = 16  # with at most this many units, all patterns of signs are enumerated
CELLS = 2**21  # random signs held in memory at a time
SLACK = 1e-12  # sums that differ by less, relative to their terms, are equal


@dataclass(frozen=True)
class Swaps:
    """The result of a test by swapping.

    Attributes
    ----------
    p_value : float
        Two-sided p-value.
    sd : float
        Standard deviation of the difference under swaps.
    times : int
        Number of patterns evaluated.
    exact : bool
        Whether these are all possible patterns.
    undefined : int
        Number of patterns without a value, which count as extreme.
    """

    p_value: float
    sd: float
    times: int
    exact: bool
    undefined: int = 0


def flip_signs(
    terms: Floats,
    clusters: Numbers | None,
    times: int,
    rng: np.random.Generator,
) -> Swaps:
    """Test a sum by changing the signs of its terms, jointly within a cluster.

    With at most 16 nonzero terms all patterns of signs are used. Otherwise they are
    random, and the observed pattern counts as one of them: if b of B sums are at least
    as extreme, then p = (1 + b) / (1 + B), which is never zero (Phipson & Smyth 2010).

    Parameters
    ----------
    terms : numpy.ndarray, shape (n,)
    clusters : numpy.ndarray of int, shape (n,), optional
    times : int
        Number of random patterns.
    rng : numpy.random.Generator

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> flip_signs(np.array([0.4, 0.1, 0.3]), None, 999, rng).p_value
    0.25
    """
    if clusters is not None:
        place = np.unique(clusters, return_inverse=True)[1]
        terms = np.asarray(np.bincount(place, terms), dtype=float)
    # the sd of a sum of independent random signs
    sd = float(np.sqrt((terms**2).sum()))
    moving = terms[terms != 0]
    # under the null hypothesis each sign is equally likely
    reached = abs(float(moving.sum())) - SLACK * float(np.abs(moving).sum())
    if len(moving) <= EXACT_UNITS:
        every = _all_sums(moving)
        share = float(np.mean(np.abs(every) >= reached))
        return Swaps(share, sd, len(every), exact=True)
    sums = _random_sums(moving, times, rng)
    as_extreme = int((np.abs(sums) >= reached).sum())
    return Swaps((1 + as_extreme) / (1 + times), sd, times, exact=False)


def _all_sums(terms: Floats) -> Floats:
    """Return the sum under every pattern of signs."""
    sums = np.zeros(1)
    for term in terms:
        sums = np.concatenate([sums + term, sums - term])
    return sums


def _random_sums(terms: Floats, times: int, rng: np.random.Generator) -> Floats:
    sums, at_a_time = np.empty(times), max(1, CELLS // len(terms))
    for start in range(0, times, at_a_time):
        stop = min(start + at_a_time, times)
        # a sum with random signs is twice the terms kept minus all terms
        kept = rng.integers(0, 2, (stop - start, len(terms)), dtype=np.int8)
        sums[start:stop] = 2 * (kept @ terms) - terms.sum()
    return sums


def auroc_terms(y: NDArray[np.generic], a: Floats, b: Floats) -> Floats:
    """Return one term per record; their sum is the auROC of b minus that of a.

    The scores of each model are replaced by mid-ranks among all records, which puts
    both models on one scale. Swapping the two ranks of a record then changes the sign
    of its term, since in a pair of records either the comparisons within the models
    are exchanged, or those across models are.

    Parameters
    ----------
    y : numpy.ndarray, shape (n,)
        Class of each record, 0 or 1.
    a, b : numpy.ndarray, shape (n,)
        Scores of the two models.

    References
    ----------
    Venkatraman & Begg (1996), Biometrika 83:835 (ranks that are exchanged); Bandos,
    Rockette & Gur (2005), Statistics in Medicine 24:2873 (the difference of areas).

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1])
    >>> terms = auroc_terms(y, np.array([1.0, 3, 2, 4]), np.array([1.0, 2, 3, 4]))
    >>> float(terms.sum())
    0.25
    """
    first, second = midrank(round_significant(a)), midrank(round_significant(b))
    positive = np.asarray(y) == 1
    terms = np.empty(len(positive))
    for members, sign in ((positive, 1), (~positive, -1)):
        rivals = np.sort(np.concatenate([first[~members], second[~members]]))
        # twice as many rivals: those of either model
        gained = _below(rivals, second[members]) - _below(rivals, first[members])
        terms[members] = sign * gained
    return np.asarray(terms / (2 * positive.sum() * (~positive).sum()))


def _below(ordered: Floats, values: Floats) -> Floats:
    """Count the ordered numbers below each value; a tie counts as one half."""
    left = np.searchsorted(ordered, values, side="left")
    return (left + np.searchsorted(ordered, values, side="right")) / 2


def swap(
    metric: Callable[[Floats], float],
    a: Floats,
    b: Floats,
    clusters: Numbers | None,
    times: int,
    rng: np.random.Generator,
) -> Swaps:
    """Test the difference of a metric by swapping the predictions of two models.

    It serves metrics whose difference is not a sum over records, and evaluates the
    metric of either model once per pattern. A pattern without a value counts as
    extreme.

    Parameters
    ----------
    metric : callable
        Function of the predictions of all records.
    a, b : numpy.ndarray, shape (n,) or (n, classes)
        Predictions of the two models, on one scale.
    clusters, times, rng
        As :func:`flip_signs` takes them.
    """
    units = np.arange(len(a))
    if clusters is not None:
        units = np.unique(clusters, return_inverse=True)[1]
    differ = (a != b).reshape(len(a), -1).any(axis=1)
    moving, place = np.unique(units[differ], return_inverse=True)
    # records that both models predict alike do not move
    observed = metric(b) - metric(a)
    exact = len(moving) <= EXACT_UNITS
    count = 2 ** len(moving) if exact else times
    found = np.empty(count)
    for number in range(count):
        if exact:
            turned = (number >> np.arange(len(moving))) & 1 == 1
        else:
            turned = rng.integers(0, 2, len(moving), dtype=np.int8) == 1
        changed = np.zeros(len(a), dtype=bool)
        changed[differ] = turned[place]
        where = changed if a.ndim == 1 else changed[:, None]
        found[number] = metric(np.where(where, a, b)) - metric(np.where(where, b, a))
    undefined = int(np.isnan(found).sum())
    reached = abs(observed) - SLACK * max(1.0, abs(observed))
    as_extreme = int((np.abs(found) >= reached).sum()) + undefined
    # random swaps include the observed one
    p = as_extreme / count if exact else (1 + as_extreme) / (1 + count)
    known = found[~np.isnan(found)]
    sd = float(np.sqrt(np.mean(known**2))) if len(known) else np.nan
    return Swaps(p, sd, count, exact, undefined)

"""The records that curves and groups are made from, and bootstrap samples of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import MAX_BINS, MAX_RESAMPLES, check_whole
from statcv.errors import MetricError
from statcv.metrics.discrimination.rounding import round_significant
from statcv.metrics.inputs import (
    Bools,
    Floats,
    Ints,
    binary_outcome,
    cluster_codes,
    same_length,
    vector,
)
from statcv.numeric.threads import RECORD, shared


def binary_probabilities(y: ArrayLike, p: ArrayLike) -> tuple[Bools, Floats]:
    """Return a binary outcome, and the probability of 1 for each record."""
    positive, values = binary_outcome(y), vector(p, "p")
    same_length(positive.size, values.size, "p")
    return positive, values


def improper(p: Floats) -> str:
    """Return why values cannot be used as probabilities; empty if they can."""
    if not p.size:
        return "there are no records"
    odd = int((~((p >= 0) & (p <= 1))).sum())
    return f"{odd} of the {p.size} values of p are not probabilities" if odd else ""


def improper_groups(p: Floats, group: Ints, groups: int) -> Bools:
    """Return which groups have a value that cannot be used as a probability."""
    return np.asarray(sums_by_group(group, ~((p >= 0) & (p <= 1)), groups) > 0)


def share_of_sums(part: Floats, whole: Floats, odd: Bools) -> Floats:
    """Return ratios; NaN where the whole is 0, and for odd groups."""
    found: Floats = np.full(len(whole), np.nan)
    with np.errstate(over="ignore"):  # infinite where next to nothing is expected
        np.divide(part, whole, out=found, where=(whole > 0) & ~odd)
    return found


def quantile_groups(p: Floats, groups: int) -> Ints:
    """Return the quantile group of each record, from 0; ties share a group."""
    check_whole(groups, "groups", least=1, most=MAX_BINS, error=MetricError)
    if not p.size:
        return np.empty(0, dtype=np.intp)
    values = round_significant(p)
    edges = np.quantile(values, np.arange(1, groups) / groups, method="inverted_cdf")
    codes: Ints = np.unique(np.searchsorted(edges, values), return_inverse=True)[1]
    return codes.reshape(-1)


def clusters_of(clusters: ArrayLike | None, n: int) -> Ints:
    """Return the cluster of each record, from 0; by default one per record."""
    return np.arange(n) if clusters is None else cluster_codes(clusters, n)


def sum_of_squares(values: Floats, codes: Ints) -> Floats:
    """Sum the cross-products of cluster totals over G clusters, times G / (G - 1).

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Values of the records, with columns that sum to zero.
    codes : ndarray of int, shape (n,)
        Cluster of each record, from 0.

    Returns
    -------
    ndarray of shape (k, k)
        The covariance matrix of the column sums, with clusters taken as independent.
        All NaN for a single cluster.
    """
    n = int(codes.max(initial=-1)) + 1
    if n < 2:
        return np.full((values.shape[1], values.shape[1]), np.nan)
    sums = values
    if n < codes.size:
        sums = np.stack([np.bincount(codes, column, n) for column in values.T], axis=1)
    total: Floats = sums.T @ sums * (n / (n - 1))
    return total


# ---- bootstrap samples of scored records, as counts for curves ----

_N_BOOT = 2000


def number_of_draws(n_boot: int | None) -> int:
    """Return the number of bootstrap samples, 2000 by default."""
    draws = _N_BOOT if n_boot is None else n_boot
    check_whole(draws, "n_boot", least=1, most=MAX_RESAMPLES, error=MetricError)
    return draws


def shares_at(at: ArrayLike) -> Floats:
    """Check the rates at which a band is wanted, and return them."""
    where = vector(at, "at")
    if not ((where >= 0) & (where <= 1)).all():
        raise MetricError("at must hold numbers from 0 to 1.")
    return where


@dataclass(frozen=True, eq=False)
class Falling:
    """Records in descending order of their scores, and the end of each tie."""

    order: Ints
    ends: Ints
    ones: Bools

    @classmethod
    def of(cls, positive: Bools, score: Floats, tie_tol: float) -> Falling:
        """Sort the records in descending order of their scores."""
        values = -round_significant(score, tie_tol)
        order = np.argsort(values, kind="stable")
        values = values[order]
        ends = np.append(np.flatnonzero(values[1:] != values[:-1]), values.size - 1)
        return cls(order, ends, positive[order])

    def counts(self, times: Floats) -> tuple[Floats, Floats]:
        """Return cumulative true and false positives, from 0, of a bootstrap sample.

        Parameters
        ----------
        times : ndarray of shape (n,)
            Number of times that each record is drawn.
        """
        drawn = times[self.order]
        true, false = (
            np.concatenate([[0.0], np.cumsum(drawn * of_class)[self.ends]])
            for of_class in (self.ones, ~self.ones)
        )
        return true, false


def drawn_times(
    positive: Bools, order: Ints, unit: Ints, draws: int, seed: int
) -> Iterator[Floats]:
    """Yield the number of times that each record is drawn, for each bootstrap sample.

    The sampling units are the records, or the clusters in `unit`. The bootstrap is
    stratified by the classes that a unit contains. Units are numbered along `order`,
    so that the draws do not depend on the order of the records.
    """
    own = np.empty(order.size, dtype=np.intp)
    own[order] = cluster_codes(unit[order], order.size)
    holds = np.bincount(own, positive) > 0, np.bincount(own, ~positive) > 0
    kinds = (holds[0] & ~holds[1], ~holds[0] & holds[1], holds[0] & holds[1])
    strata = [np.flatnonzero(kind) for kind in kinds]
    generator = np.random.default_rng(seed)
    times = np.zeros(holds[0].size)
    for _ in range(draws):
        for members in strata:
            size = len(members)
            drawn = generator.integers(size, size=size) if size else members
            times[members] = np.bincount(drawn, minlength=size)
        yield times[own]


# ---- sums by group ----


LONG = 2**12  # records of a group, on average


def is_rising(values: Floats | Ints) -> bool:
    """Return whether no number is less than the one before it."""
    return bool((values[1:] >= values[:-1]).all())


def of_each_group(
    of: Callable[[int, Ints | slice], float], group: Ints, groups: int
) -> Floats:
    """Return what a function makes of the records of each group; NaN without records.

    Parameters
    ----------
    of : callable
        Function of the number of a group, and of the positions of its records.
    group : numpy.ndarray of int, shape (n,)
        Group of each record, from 0.
    groups : int
        Number of groups.

    Examples
    --------
    >>> values = np.array([1.0, 5.0, 3.0])
    >>> of_each_group(lambda _, some: values[some].sum(), np.array([0, 2, 0]), 3)
    array([ 4., nan,  5.])
    """
    order = None if is_rising(group) else np.argsort(group, kind="stable")
    bounds = _bounds(group if order is None else group[order], groups).tolist()
    found = np.full(groups, np.nan)

    def put(number: int) -> None:
        some = slice(bounds[number], bounds[number + 1])
        found[number] = of(number, some if order is None else order[some])

    filled = [number for number in range(groups) if bounds[number] < bounds[number + 1]]
    shared(put, filled, RECORD * len(group) / max(groups, 1))
    return found


def in_one_group(
    by_group: Callable[..., Floats], y: ArrayLike, x: ArrayLike, **named: Any
) -> float:
    """Return what a function of many groups makes of all records as one group."""
    return float(by_group(y, x, np.zeros(np.size(y), dtype=np.intp), 1, **named)[0])


def sums_by_group(group: Ints, values: Bools | Floats, groups: int) -> Floats:
    """Return the sum of the values of each group, shape (groups,).

    Groups of many records that follow one another are summed as they are, which takes
    a tenth of the time.

    Examples
    --------
    >>> sums_by_group(np.array([0, 2, 0]), np.array([1.0, 5.0, 3.0]), 3)
    array([4., 0., 5.])
    """
    if len(group) < LONG * groups or not is_rising(group):
        return np.asarray(np.bincount(group, values, groups), dtype=float)
    return sums_between(values, _bounds(group, groups))


def sums_between(values: Bools | Floats, bounds: Ints) -> Floats:
    """Return the sum of the values from each bound to the next, 0 of none.

    Examples
    --------
    >>> sums_between(np.array([1.0, 2.0, 5.0]), np.array([0, 2, 2, 3]))
    array([3., 0., 5.])
    """
    sums, filled = np.zeros(len(bounds) - 1), bounds[1:] > bounds[:-1]
    if filled.any():
        first = bounds[:-1][filled]
        sums[filled] = np.add.reduceat(values[: bounds[-1]], first, dtype=float)
    return sums


def _bounds(group: Ints, groups: int) -> Ints:
    """Return where each group begins, and the end of the last, if they are rising."""
    return np.searchsorted(group, np.arange(groups + 1))

"""Records that curves and groups are counted from, and bootstrap samples of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import is_whole
from statcv.errors import MetricError
from statcv.metrics.discrimination.ranking import round_significant
from statcv.metrics.inputs import (
    Bools,
    Floats,
    Ints,
    binary_outcome,
    cluster_codes,
    same_length,
    vector,
)


def binary_probabilities(y: ArrayLike, p: ArrayLike) -> tuple[Bools, Floats]:
    """Return a binary outcome and the probability of 1 of each record."""
    positive, values = binary_outcome(y), vector(p, "p")
    same_length(positive.size, values.size, "p")
    return positive, values


def improper(p: Floats) -> str:
    """Say why these cannot be used as probabilities, or nothing."""
    if not p.size:
        return "there is no record"
    odd = int((~((p >= 0) & (p <= 1))).sum())
    return f"{odd} of the {p.size} values of p are no probabilities" if odd else ""


def quantile_groups(p: Floats, groups: int) -> Ints:
    """Return the quantile group of each record, from 0; equal values never part."""
    if not is_whole(groups) or groups < 1:
        raise MetricError(f"groups must be a whole number from 1 on, not {groups!r}.")
    if not p.size:
        return np.empty(0, dtype=np.intp)
    values = round_significant(p)
    edges = np.quantile(values, np.arange(1, groups) / groups, method="inverted_cdf")
    codes: Ints = np.unique(np.searchsorted(edges, values), return_inverse=True)[1]
    return codes.reshape(-1)


def clusters_of(clusters: ArrayLike | None, n: int) -> Ints:
    """Return the cluster of each record, from 0; without clusters, one a record."""
    return np.arange(n) if clusters is None else cluster_codes(clusters, n)


def sum_of_squares(values: Floats, codes: Ints) -> Floats:
    """Sum over clusters of the products of their sums, times G / (G - 1).

    Parameters
    ----------
    values : ndarray of shape (n, k)
        Columns that sum to zero.

    Returns
    -------
    ndarray of shape (k, k)
        Where every record is its own cluster, the covariance matrix of the sum of
        n independent records. All NaN for one cluster.
    """
    n = int(codes.max(initial=-1)) + 1
    if n < 2:
        return np.full((values.shape[1], values.shape[1]), np.nan)
    sums = values
    if n < codes.size:
        sums = np.stack([np.bincount(codes, column, n) for column in values.T], axis=1)
    total: Floats = sums.T @ sums * (n / (n - 1))
    return total


# ---- bootstrap samples of scored records, as the counts that curves are made of ----

_N_BOOT = 2000


def number_of_draws(n_boot: int | None) -> int:
    """Return how many samples are drawn."""
    draws = _N_BOOT if n_boot is None else n_boot
    if not is_whole(draws) or draws < 1:
        raise MetricError(f"n_boot must be a whole number from 1, not {n_boot!r}.")
    return draws


def shares_at(at: ArrayLike) -> Floats:
    """Return the rates at which a band is asked for."""
    where = vector(at, "at")
    if not ((where >= 0) & (where <= 1)).all():
        raise MetricError("at must hold numbers from 0 to 1.")
    return where


def percentiles(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the limits that samples (rows) give at each point."""
    lower, upper = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return lower, upper


@dataclass(frozen=True, eq=False)
class Falling:
    """Records by falling score, and where each distinct score ends."""

    order: Ints
    ends: Ints
    ones: Bools

    @classmethod
    def of(cls, positive: Bools, score: Floats, tie_tol: float) -> Falling:
        """Sort the records by falling score."""
        values = -round_significant(score, tie_tol)
        order = np.argsort(values, kind="stable")
        values = values[order]
        ends = np.append(np.flatnonzero(values[1:] != values[:-1]), values.size - 1)
        return cls(order, ends, positive[order])

    def counts(self, times: Floats) -> tuple[Floats, Floats]:
        """Return true and false positives, from 0, of records drawn so many times."""
        drawn = times[self.order]
        true, false = (
            np.concatenate([[0.0], np.cumsum(drawn * of_class)[self.ends]])
            for of_class in (self.ones, ~self.ones)
        )
        return true, false


def drawn_times(
    positive: Bools, order: Ints, unit: Ints | None, draws: int, seed: int
) -> Iterator[Floats]:
    """Yield how often each record is drawn.

    A unit is a record, or the cluster `unit` tells of. Units are drawn among those
    that hold records of the same classes, as often as there are such. They are
    numbered along `order`, so that the order of the records is nothing.
    """
    own = np.empty(order.size, dtype=np.intp)
    if unit is None:
        own[order] = np.arange(order.size)
    else:
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

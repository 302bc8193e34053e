"""Probabilities record by record, groups of them, and records that repeat."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics._inputs import (
    Bools,
    Floats,
    Ints,
    binary_outcome,
    cluster_codes,
    same_length,
    vector,
)
from statcv.metrics.ranking import round_significant
from statcv.whole import is_whole


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

"""Checks of the arrays and options that metrics accept, and sums by group."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from statcv import arguments
from statcv.errors import MetricError
from statcv.numeric.arrays import Array, ArrayLike, Bools, Floats, Numbers
from statcv.words import stored_texts

# why a standard error or a band does not measure uncertainty
REMARKS = stored_texts("statcv.metrics", "remarks.txt")
one_of = partial(arguments.one_of, error=MetricError)


def real_array(values: ArrayLike, name: str) -> Array:
    """Return numbers as a float array, which keeps the precision of a float input.

    Masked values become NaN.
    """
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "fbiu":
        kept = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
        return np.asarray(np.ma.filled(values.astype(kept), np.nan))
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise MetricError(
            f"{name} is not an array: its rows differ in length."
        ) from error
    if array.dtype.kind == "f":
        return array
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    odd = [value for value in array.ravel().tolist() if not isinstance(value, Real)]
    if odd:
        raise MetricError(f"{name} must hold numbers, not values such as {odd[0]!r}.")
    try:
        return array.astype(np.float64)
    except OverflowError as error:
        raise MetricError(
            f"{name} holds a number too large for double precision."
        ) from error


def real_number(value: object, name: str) -> float:
    """Check that a value is a number, and return it as a float."""
    if not arguments.is_number(value):
        shown = arguments.described(value)
        raise MetricError(f"{name} must be a number, not {shown}.")
    return float(value)


def vector(values: ArrayLike, name: str) -> Floats:
    """Return numbers as a one-dimensional float64 array."""
    array = real_array(values, name).astype(np.float64, copy=False)
    if array.ndim != 1:
        raise MetricError(f"{name} has shape {array.shape}; it must be (n,).")
    return array


def wrong_shape(name: str, array: Array, right: str) -> MetricError:
    """Return the error of an array that does not have the right shape."""
    return MetricError(f"{name} has shape {array.shape}; it must be {right}.")


def per_record(values: ArrayLike, n: int, name: str) -> Floats:
    """Return one number per record, from a single number or from n of them."""
    array = real_array(values, name).astype(np.float64, copy=False)
    if array.ndim == 0:
        return np.full(n, float(array))
    same_length(n, vector(array, name).size, name)
    return array


def mean_of(values: Floats) -> float:
    """Return the mean, infinite if it is too large, and NaN without values."""
    with np.errstate(over="ignore"):
        return float(values.mean()) if values.size else float("nan")


def same_length(n_y: int, n_other: int, name: str) -> None:
    """Check that another array has as many records as y."""
    if n_y != n_other:
        raise MetricError(
            f"y has {n_y} records and {name} has {n_other}; pass one value per record."
        )


def group_numbers(group: ArrayLike, n: int, groups: int) -> Numbers:
    """Return the group of each of n records, an integer from 0."""
    arguments.check_whole(groups, "groups", 0, arguments.MAX_GROUPS, MetricError)
    own = np.asarray(group)
    same_length(n, own.size, "group")
    whole = own.ndim == 1 and (own.dtype.kind in "iu" or not own.size)
    if not whole or (own.size and not 0 <= own.min() <= own.max() < groups):
        raise MetricError(
            f"group must be of shape (n,) and hold integers from 0 to {groups - 1}."
        )
    return own.astype(np.intp, copy=False)


def binary_outcome(y: ArrayLike) -> Bools:
    """Return an outcome of 0 and 1 as booleans, True for positive records."""
    values = vector(y, "y")
    positive: Bools = values == 1
    if np.count_nonzero(positive) + np.count_nonzero(values == 0) < values.size:
        odd = values[~positive & (values != 0)]
        raise MetricError(
            f"y must hold only 0 and 1, but {odd.size} of {values.size} values differ, "
            f"such as {odd[0]:g}; code the positive class as 1."
        )
    return positive


def binary_scores(
    y: ArrayLike, score: ArrayLike, name: str = "score"
) -> tuple[Bools, Floats]:
    """Return a binary outcome and one score per record."""
    positive, values = binary_outcome(y), vector(score, name)
    same_length(positive.size, values.size, name)
    return positive, values


def binary_probabilities(y: ArrayLike, p: ArrayLike) -> tuple[Bools, Floats]:
    """Return a binary outcome, and the probability of 1 for each record."""
    return binary_scores(y, p, "p")


def score_rows(scores: ArrayLike, n: int) -> Floats:
    """Return m scores of n records, one row per score."""
    rows = real_array(scores, "scores").astype(np.float64, copy=False)
    if rows.ndim != 2:
        raise MetricError(f"scores has shape {rows.shape}; it must be (m, n).")
    same_length(n, rows.shape[1], "each row of scores")
    return rows


def cluster_codes(clusters: ArrayLike, n: int) -> Numbers:
    """Return the cluster of each of n records, from 0, in order of appearance."""
    from pandas import factorize

    labels = np.asarray(clusters)
    if labels.dtype.kind in "US" and not isinstance(clusters, np.ndarray):
        labels = np.asarray(clusters, dtype=object)  # as text, NaN would be a label
    if labels.ndim != 1:
        raise MetricError(f"clusters has shape {labels.shape}; it must be (n,).")
    same_length(n, labels.size, "clusters")
    codes = np.asarray(factorize(labels)[0], dtype=np.intp)
    missing = int((codes < 0).sum())
    if missing:
        raise MetricError(
            f"{missing} of {n} records have no cluster; give each of them a cluster of "
            "its own if it shares none."
        )
    return codes


def class_codes(y: ArrayLike, n_classes: int) -> Numbers:
    """Return the class codes 0 … n_classes - 1 as integers."""
    values = vector(y, "y")
    known = (values >= 0) & (values < n_classes) & (values == np.floor(values))
    if not known.all():
        raise MetricError(
            f"y must hold the class codes 0 to {n_classes - 1}, one for each column of "
            f"p, but has values such as {values[~known][0]:g}."
        )
    return values.astype(np.intp)


def improper(p: Floats) -> str:
    """Return why values cannot be used as probabilities; empty if they can."""
    if not p.size:
        return "there are no records"
    odd = int((~((p >= 0) & (p <= 1))).sum())
    return f"{odd} of the {p.size} values of p are not probabilities" if odd else ""


def improper_groups(group: Numbers, groups: int, *p: Floats) -> Bools:
    """Return which groups have a value that cannot be used as a probability."""
    odd = ~np.all([(one >= 0) & (one <= 1) for one in p], axis=0)
    return np.asarray(np.bincount(group, odd, groups) > 0)


def share_of_sums(
    part: Floats | Numbers, whole: Floats | Numbers, odd: Bools
) -> Floats:
    """Return ratios; NaN where the whole is 0, and for odd groups."""
    found: Floats = np.full(len(whole), np.nan)
    with np.errstate(over="ignore"):  # infinite where next to nothing is expected
        np.divide(part, whole, out=found, where=(whole > 0) & ~odd)
    return found


def clusters_of(clusters: ArrayLike | None, n: int) -> Numbers:
    """Return the cluster of each record, from 0; by default one per record."""
    return np.arange(n) if clusters is None else cluster_codes(clusters, n)


def sum_of_squares(values: Floats, codes: Numbers) -> Floats:
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
    return np.asarray(sums.T @ sums * (n / (n - 1)))


# ---- sums by group ----


def in_one_group(
    by_group: Callable[..., Floats], y: ArrayLike, x: ArrayLike, **named: Any
) -> float:
    """Return what a function of many groups makes of all records as one group."""
    return float(by_group(y, x, np.zeros(np.size(y), dtype=np.intp), 1, **named)[0])

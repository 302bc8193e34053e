"""Calibration slope, intercept, and observed over expected, also by group."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.groups import in_one_group, of_each_group, sums_by_group
from statcv.metrics.inputs import Bools, Floats, Ints
from statcv.metrics.probabilities.logistic import FLAT
from statcv.metrics.probabilities.recalibration import (
    logit_of,
    probability_of,
    recalibration,
)
from statcv.metrics.records import binary_probabilities, improper_groups, share_of_sums

_FEW = 64  # records of a group, on average, that is fitted together with others


_MANY_STEPS = 200  # most groups are done by Newton's method in fewer than ten


_LONGEST = 3.0  # longest step of an intercept, below 4.35, from which steps may return


_SETTLED = 1e-20  # expected gain of a step after which none is needed


def calibration_slope(y: ArrayLike, p: ArrayLike) -> float:
    """Slope of the logistic regression on the logit of the probabilities.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    float
        The slope: 1 if the probabilities are calibrated, below 1 if they are too
        extreme, NaN if it does not exist (see `calibration`).

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    References
    ----------
    Cox (1958), Biometrika 45:562.

    Examples
    --------
    >>> round(calibration_slope([0, 1, 0, 1, 1], [0.2, 0.3, 0.4, 0.5, 0.6]), 3)
    2.458
    """
    return recalibration(*binary_probabilities(y, p), slope=True).slope


def calibration_intercept(y: ArrayLike, p: ArrayLike) -> float:
    """Calibration in the large: the shift by which the logits fit the outcomes best.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    float
        The intercept: 0 if the probabilities are correct on average, above 0 if they
        are too low, NaN if it does not exist (see `calibration`).

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    References
    ----------
    Cox (1958), Biometrika 45:562.

    Examples
    --------
    >>> round(calibration_intercept([0, 1, 0, 1, 1], [0.5] * 5), 3)
    0.405
    """
    return recalibration(*binary_probabilities(y, p), slope=False).intercept


def oe_ratio(y: ArrayLike, p: ArrayLike) -> float:
    """Observed over expected: number of positives divided by sum of probabilities.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    float
        The ratio: 1 if the probabilities are correct on average, above 1 if they are
        too low, NaN if it does not exist (see `calibration`).

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    Examples
    --------
    >>> oe_ratio([0, 1, 0, 1], [0.2, 0.6, 0.2, 0.6])
    1.25
    """
    return in_one_group(oe_ratio_by_group, y, p)


def oe_ratio_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int
) -> Floats:
    """Observed over expected in each group.

    Parameters
    ----------
    y, p : array_like of shape (n,)
        Outcome, 0 or 1 (or bool), and probability of 1.
    group : array_like of int, shape (n,)
        Group of each record, from 0.
    groups : int
        Number of groups.

    Returns
    -------
    ndarray of shape (groups,)
        The value in each group; NaN where it does not exist.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    Examples
    --------
    >>> oe_ratio_by_group([0, 1, 0, 1], [0.2, 0.5, 0.2, 0.6], [0, 0, 1, 2], 3).round(2)
    array([1.43, 0.  , 1.67])
    """
    positive, read = binary_probabilities(y, p)
    own = np.asarray(group)
    observed = sums_by_group(own, positive, groups)
    expected = sums_by_group(own, read, groups)
    return share_of_sums(observed, expected, improper_groups(read, own, groups))


def calibration_slope_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int
) -> Floats:
    """Calibration slope in each group, as `calibration_slope` of its records."""
    positive, read = binary_probabilities(y, p)
    own = np.asarray(group)
    able = _have_a_logit(positive, read, own, groups)
    able &= np.bincount(own, minlength=groups) > 2  # two records are separated or equal

    def slope(number: int, some: Ints | slice) -> float:
        if not able[number]:
            return math.nan
        return recalibration(positive[some], read[some], slope=True).slope

    return of_each_group(slope, own, groups)


def calibration_intercept_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int
) -> Floats:
    """Calibration in the large in each group, as `calibration_intercept`."""
    positive, read = binary_probabilities(y, p)
    own = np.asarray(group)
    if len(own) > _FEW * groups:

        def intercept(_: int, some: Ints | slice) -> float:
            return recalibration(positive[some], read[some], slope=False).intercept

        return of_each_group(intercept, own, groups)
    able = _have_a_logit(positive, read, own, groups)
    sure = able[own]
    own, ones, logit = own[sure], positive[sure], logit_of(read[sure])
    size = np.maximum(np.bincount(own, minlength=groups), 1)
    share = np.where(able, sums_by_group(own, ones, groups) / size, 0.5)
    shift = logit_of(share) - sums_by_group(own, logit, groups) / size
    for _ in range(_MANY_STEPS):  # Newton's method, by steps too short to overshoot
        fitted = probability_of(logit + shift[own])
        weight = sums_by_group(own, fitted * (1 - fitted), groups)
        short = sums_by_group(own, ones - fitted, groups)
        step = np.divide(short, weight, out=np.sign(short), where=weight > 0)
        shift += np.clip(step, -_LONGEST, _LONGEST)
        if not (short**2 > _SETTLED * weight).any():
            break
    return np.where(able & (weight >= FLAT * size), shift, np.nan)


def _have_a_logit(positive: Bools, p: Floats, own: Ints, groups: int) -> Bools:
    """Return which groups have both classes, and probabilities between 0 and 1."""
    size, events = np.bincount(own, None, groups), sums_by_group(own, positive, groups)
    certain = sums_by_group(own, ~((p > 0) & (p < 1)), groups) > 0
    return np.asarray((events > 0) & (events < size) & ~certain)


# ---- the discrimination slope ----


def discrimination_slope(y: ArrayLike, p: ArrayLike) -> float:
    """Mean probability of positive records minus that of negative records.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    float
        The slope: 1 if the classes are separated with certainty, 0 if the means are
        equal, and NaN if a class has no record or `p` is not a probability.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    References
    ----------
    Yates (1982); Tjur (2009), The American Statistician 63:366.

    Examples
    --------
    >>> discrimination_slope([0, 1, 0, 1], [0.25, 0.75, 0.25, 0.5])
    0.375
    """
    return in_one_group(discrimination_slope_by_group, y, p)


def discrimination_slope_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int
) -> Floats:
    """Difference of the mean probabilities of the two classes in each group.

    Parameters
    ----------
    y, p, group, groups
        As in `oe_ratio_by_group`.

    Returns
    -------
    ndarray of shape (groups,)
        The value in each group; NaN where it does not exist.

    Raises
    ------
    MetricError
        As in `oe_ratio_by_group`.

    Examples
    --------
    >>> y, p = [0, 1, 0, 1], [0.25, 0.75, 0.25, 0.5]
    >>> discrimination_slope_by_group(y, p, [0, 0, 1, 1], 3)
    array([0.5 , 0.25,  nan])
    """
    positive, read = binary_probabilities(y, p)
    own = np.asarray(group)
    odd = improper_groups(read, own, groups)

    def mean(side: Bools) -> Floats:
        total = sums_by_group(own, side * read, groups)
        return share_of_sums(total, sums_by_group(own, side, groups), odd)

    return np.asarray(mean(positive) - mean(~positive))

"""Calibration slope, intercept, and observed over expected, also by group."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.groups import in_one_group, of_each_group, sums_by_group
from statcv.metrics.inputs import Bools, Floats, Ints
from statcv.metrics.probabilities.recalibration import recalibration
from statcv.metrics.records import binary_probabilities, improper_groups, share_of_sums


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
    """Slope of the logistic regression on the logit in each group, as one by one."""
    return _of_each_group(y, p, group, groups, slope=True)


def calibration_intercept_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int
) -> Floats:
    """Calibration in the large in each group, as one by one."""
    return _of_each_group(y, p, group, groups, slope=False)


def _of_each_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int, slope: bool
) -> Floats:
    """Return the slope or the intercept of each group that has both classes."""
    positive, read = binary_probabilities(y, p)
    own = np.asarray(group)
    events, size = sums_by_group(own, positive, groups), np.bincount(own, None, groups)
    both = (events > 0) & (events < size)

    def fitted(number: int, some: Ints | slice) -> float:
        if not both[number]:
            return math.nan
        fit = recalibration(positive[some], read[some], slope=slope)
        return fit.slope if slope else fit.intercept

    return of_each_group(fitted, own, groups)


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

"""Metrics of probabilities in each of many groups of records, in one computation.

The groups are the folds of a plan, which may be single records or pairs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.groups import of_each_group, sums_by_group
from statcv.metrics.inputs import Bools, Floats, Ints, per_record
from statcv.metrics.probabilities.logistic import FLAT
from statcv.metrics.probabilities.recalibration import logit_of, recalibration
from statcv.metrics.records import binary_probabilities

_MANY = 64  # records of a group, on average, that is computed by itself
_STEPS = 200  # most of them are done by Newton's method in fewer than ten
_SETTLED = 1e-20  # expected gain of a step after which none is needed


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
    return _share(observed, expected, _improper(read, own, groups))


def brier_skill_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int, baseline: ArrayLike
) -> Floats:
    """Brier skill score in each group.

    Parameters
    ----------
    y, p, group, groups
        As in `oe_ratio_by_group`.
    baseline : array_like of shape (n,) or float
        Probability that would be predicted without a model.

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
    >>> y, p = [0, 1, 0, 1], [0.2, 0.8, 0.4, 0.6]
    >>> brier_skill_by_group(y, p, [0, 0, 1, 1], 2, baseline=0.5).round(2)
    array([0.84, 0.36])
    """
    positive, read = binary_probabilities(y, p)
    own, reference = np.asarray(group), per_record(baseline, read.size, "baseline")
    remaining = sums_by_group(own, (read - positive) ** 2, groups)
    removable = sums_by_group(own, (reference - positive) ** 2, groups)
    odd = _improper(read, own, groups) | _improper(reference, own, groups)
    return 1 - _share(remaining, removable, odd)


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
    odd = _improper(read, own, groups)

    def mean(side: Bools) -> Floats:
        total = sums_by_group(own, side * read, groups)
        return _share(total, sums_by_group(own, side, groups), odd)

    return np.asarray(mean(positive) - mean(~positive))


def calibration_intercept_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int
) -> Floats:
    """Calibration in the large in each group.

    The sum of the shifted probabilities rises with the intercept, so that Newton's
    steps are kept between two intercepts with a lower and a higher sum.

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
    >>> y, p = [0, 1, 0, 1], [0.2, 0.5, 0.5, 0.9]
    >>> calibration_intercept_by_group(y, p, [0, 0, 1, 1], 2).round(3)
    array([ 0.693, -1.099])
    """
    positive, read = binary_probabilities(y, p)
    own, found = np.asarray(group), np.full(groups, np.nan)
    if len(own) > _MANY * groups:

        def intercept(number: int, some: Ints | slice) -> float:
            return recalibration(positive[some], read[some], slope=False).intercept

        return of_each_group(intercept, own, groups)
    able = _have_a_logit(positive, read, own, groups)
    sure = able[own]
    positive, read, own = positive[sure], read[sure], own[sure]
    logit, events = logit_of(read), sums_by_group(own, positive, groups)
    size, least, most = _ranges(logit, own, groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        level = logit_of(events / size)
    low, high = level - most, level - least
    shift, going = np.zeros(groups), able.copy()
    for _ in range(_STEPS):
        short, weight = _shifted_sums(positive, logit, own, shift, groups)
        low, high = np.where(short > 0, (shift, high), (low, shift))
        with np.errstate(divide="ignore", invalid="ignore"):
            ahead = shift + short / weight
        ahead = np.where((ahead >= low) & (ahead <= high), ahead, (low + high) / 2)
        shift = np.where(going, ahead, shift)
        going &= short**2 > _SETTLED * weight
        if not going.any():
            break
    weight = _shifted_sums(positive, logit, own, shift, groups)[1]
    exist = able & ~going & (weight >= FLAT * size)
    found[exist] = shift[exist]
    return found


def calibration_slope_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int
) -> Floats:
    """Calibration slope in each group.

    Parameters
    ----------
    y, p, group, groups
        As in `oe_ratio_by_group`.

    Returns
    -------
    ndarray of shape (groups,)
        The value in each group; NaN where it does not exist, as in each pair of a
        positive and a negative record.

    Raises
    ------
    MetricError
        As in `oe_ratio_by_group`.

    Examples
    --------
    >>> y, p = [0, 1, 0, 1, 1, 0, 1], [0.2, 0.3, 0.4, 0.5, 0.6, 0.1, 0.9]
    >>> calibration_slope_by_group(y, p, [0, 0, 0, 0, 0, 1, 1], 2).round(3)
    array([2.458,   nan])
    """
    positive, read = binary_probabilities(y, p)
    own, able = np.asarray(group), np.ones(groups, dtype=bool)
    if len(own) <= _MANY * groups:
        able = _have_a_logit(positive, read, own, groups)
        _, least_of_ones, most_of_ones = _ranges(read[positive], own[positive], groups)
        _, least, most = _ranges(read[~positive], own[~positive], groups)
        able &= (least_of_ones <= most) & (least <= most_of_ones)  # not separated

    def slope(number: int, some: Ints | slice) -> float:
        if not able[number]:
            return math.nan
        return recalibration(positive[some], read[some], slope=True).slope

    return of_each_group(slope, own, groups)


def _share(part: Floats, whole: Floats, odd: Bools) -> Floats:
    """Return ratios; NaN where the whole is 0 or a value is not a probability."""
    found: Floats = np.full(len(whole), np.nan)
    with np.errstate(over="ignore"):  # infinite where next to nothing is expected
        np.divide(part, whole, out=found, where=(whole > 0) & ~odd)
    return found


def _improper(p: Floats, own: Ints, groups: int) -> Bools:
    """Return which groups have a value that is not a probability."""
    return np.asarray(sums_by_group(own, ~((p >= 0) & (p <= 1)), groups) > 0)


def _have_a_logit(positive: Bools, p: Floats, own: Ints, groups: int) -> Bools:
    """Return which groups have both classes, and probabilities between 0 and 1."""
    size, events = np.bincount(own, None, groups), sums_by_group(own, positive, groups)
    certain = sums_by_group(own, ~((p > 0) & (p < 1)), groups) > 0
    return np.asarray((events > 0) & (events < size) & ~certain)


def _ranges(values: Floats, own: Ints, groups: int) -> tuple[Ints, Floats, Floats]:
    """Return the number of values of each group, the least and the greatest."""
    least, most = np.full(groups, np.inf), np.full(groups, -np.inf)
    with np.errstate(invalid="ignore"):  # NaN
        np.minimum.at(least, own, values)
        np.maximum.at(most, own, values)
    return np.bincount(own, None, groups), least, most


def _shifted_sums(
    positive: Bools, logit: Floats, own: Ints, shift: Floats, groups: int
) -> tuple[Floats, Floats]:
    """Return events less expected ones, and the variance, at shifts of the logits."""
    from scipy.special import expit

    fitted = expit(logit + shift[own])
    short = sums_by_group(own, positive - fitted, groups)
    return short, sums_by_group(own, fitted * (1 - fitted), groups)

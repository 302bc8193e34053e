"""Calibration in groups of similar predictions, and Spiegelhalter's test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import check_level
from statcv.errors import MetricError
from statcv.metrics.areas.placements import normal_quantile
from statcv.metrics.inputs import Floats, Ints
from statcv.metrics.records import binary_probabilities, improper, quantile_groups
from statcv.tables import Printed
from statcv.words import plural


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationGroups(Printed):
    """Observed share of positives in groups of records by predicted probability.

    Attributes
    ----------
    predicted, observed : ndarray of shape (groups,)
        Mean predicted probability, and observed share of positives.
    lower, upper : ndarray of shape (groups,)
        Wilson's interval for the share.
    count : ndarray of int, shape (groups,)
        Number of records.
    level : float
        Confidence level of the intervals.
    reason : str
        Why there are no groups; empty if there are.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.random.default_rng(1).uniform(size=200)
    >>> y = np.random.default_rng(2).uniform(size=200) < p
    >>> groups = calibration_groups(y, p, groups=4)
    >>> groups.count.tolist(), groups.predicted.round(2).tolist()
    ([50, 50, 50, 50], [0.15, 0.38, 0.63, 0.87])
    >>> groups.observed.round(2).tolist()
    [0.16, 0.26, 0.66, 0.86]
    """

    _points, _with_band = ("predicted", "observed", "count"), "observed"

    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    count: Ints
    level: float
    reason: str = ""


def calibration_groups(
    y: ArrayLike, p: ArrayLike, *, groups: int = 10, level: float = 0.95
) -> CalibrationGroups:
    """Observed share of positives in groups of records by predicted probability.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    groups : int, default 10
        Number of groups of about equal size. Equal values of `p` share a group, so
        there may be fewer groups.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    CalibrationGroups
        The groups in order of probability. They are empty, with the reason, if a value
        of `p` is not a probability or there are no records.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or an argument is
        out of range.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22:209.

    Examples
    --------
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.4, 0.4, 0.8, 0.9]
    >>> g = calibration_groups(y, p, groups=3)
    >>> g.observed.tolist(), g.lower.round(2).tolist(), g.count.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.09, 0.34], [2, 2, 2])
    """
    check_level(level, MetricError)
    positive, p = binary_probabilities(y, p)
    codes = quantile_groups(p, groups)
    if odd := improper(p):
        empty, none = np.empty(0), np.empty(0, dtype=np.intp)
        return CalibrationGroups(empty, empty, empty, empty, none, level, odd)
    count = np.bincount(codes)
    share = np.bincount(codes, positive) / count
    lower, upper = wilson(share, count, normal_quantile(level))
    predicted = np.bincount(codes, p) / count
    return CalibrationGroups(predicted, share, lower, upper, count, level)


def wilson(share: Floats, count: Floats | Ints, z: float) -> tuple[Floats, Floats]:
    """Return Wilson's limits of shares of some numbers of records."""
    spread = z * np.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    centre = share + z**2 / (2 * count)
    lower, upper = (centre + side * spread for side in (-1, 1))
    scale = 1 + z**2 / count
    lower, upper = lower / scale, upper / scale
    return np.where(share == 0, 0.0, lower), np.where(share == 1, 1.0, upper)


# ---- Spiegelhalter's test of calibration ----


@dataclass(frozen=True, repr=False)
class SpiegelhalterTest(Printed):
    """Result of Spiegelhalter's test that predicted probabilities are correct.

    Attributes
    ----------
    statistic, p_value : float
        Statistic, which is standard normal under the null hypothesis, and two-sided
        p-value.
    reason : str
        Why a value is missing or not informative; otherwise empty.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.2, 0.3, 0.35, 0.6, 0.7, 0.8, 0.9]
    >>> test = spiegelhalter_test(y, p)
    >>> round(test.statistic, 2), round(test.p_value, 2)
    (-0.57, 0.57)
    """

    statistic: float
    p_value: float
    reason: str = ""


def spiegelhalter_test(y: ArrayLike, p: ArrayLike) -> SpiegelhalterTest:
    """Test the hypothesis that each record is positive with its predicted probability.

    The statistic is the Brier score minus its expectation under the hypothesis, divided
    by its standard deviation. Records are taken as independent.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    SpiegelhalterTest
        The test. It is NaN, with the reason, if a value of `p` is not a probability or
        if the Brier score cannot vary (every `p` is 0, ½ or 1). If an outcome with
        predicted probability 0 occurred, the p-value is 0 for any statistic, and the
        reason gives the number of such records.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    References
    ----------
    Spiegelhalter (1986), Statistics in Medicine 5:421, section 4.

    Examples
    --------
    >>> test = spiegelhalter_test([0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.9])
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (0.258, 0.796)
    """
    from scipy.special import ndtr

    positive, p = binary_probabilities(y, p)
    if odd := improper(p):
        return SpiegelhalterTest(np.nan, np.nan, odd)
    excess = float(((positive - p) * (1 - 2 * p)).sum())
    variance = float(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    impossible = int((np.where(positive, p, 1 - p) == 0).sum())
    if impossible:
        statistic = float(excess / np.sqrt(variance)) if variance else np.inf
        happened = f"{plural(impossible, 'outcome')} of probability 0 occurred"
        return SpiegelhalterTest(statistic, 0.0, happened)
    if variance == 0:
        fixed = "every p is 0, 1/2 or 1, so the Brier score does not vary"
        return SpiegelhalterTest(np.nan, np.nan, fixed)
    statistic = float(excess / np.sqrt(variance))
    return SpiegelhalterTest(statistic, 2 * float(ndtr(-abs(statistic))))

"""Calibration of probabilities: slope, intercept, observed against expected.

The outcome is regressed on the logit of the probabilities (Cox 1958). Nothing is
clipped: a probability of exactly 0 or 1 has no logit, and then there is neither
slope nor intercept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.level import check_level
from statcv.metrics._inputs import Bools, Floats, Ints, one_of
from statcv.metrics._logistic import sandwich
from statcv.metrics._recalibrating import (
    columns_of,
    intercept_fit,
    ones_of,
    profile_limits,
    slope_fit,
)
from statcv.metrics._records import (
    binary_probabilities,
    clusters_of,
    improper,
    sum_of_squares,
)
from statcv.metrics.placements import normal_quantile


@dataclass(frozen=True)
class Calibration:
    """How predicted probabilities agree with what happened.

    Attributes
    ----------
    slope, slope_se, slope_lower, slope_upper : float
        Slope of the logistic regression on the logit of the probabilities: 1 where
        they are calibrated, below 1 where they are too extreme.
    intercept, intercept_se, intercept_lower, intercept_upper : float
        Calibration in the large: the intercept where the slope is held at 1. 0
        where calibrated, above 0 where the probabilities are too low.
    joint_intercept, joint_intercept_se : float
        The intercept of the regression that has the slope.
    joint_intercept_lower, joint_intercept_upper : float
        Its interval.
    observed_expected, observed_expected_lower, observed_expected_upper : float
        Positive records over the sum of the probabilities.
    level : float
        Level of the intervals.
    n_positive, n_negative : int
        Records of each class.
    reason : str
        Why a number is missing; empty where none is.
    """

    slope: float
    slope_se: float
    slope_lower: float
    slope_upper: float
    intercept: float
    intercept_se: float
    intercept_lower: float
    intercept_upper: float
    joint_intercept: float
    joint_intercept_se: float
    joint_intercept_lower: float
    joint_intercept_upper: float
    observed_expected: float
    observed_expected_lower: float
    observed_expected_upper: float
    level: float
    n_positive: int
    n_negative: int
    reason: str = ""


def calibration(
    y: ArrayLike,
    p: ArrayLike,
    *,
    level: float = 0.95,
    interval: Literal["wald", "profile"] = "wald",
    clusters: ArrayLike | None = None,
) -> Calibration:
    """Calibration slope, calibration in the large, and observed over expected.

    The probabilities are taken as given. For cross-validated ones the standard
    errors leave out that the fits vary too.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    level : float, default 0.95
        Level of the intervals, between 0 and 1.
    interval : {"wald", "profile"}
        Coefficients: from the curvature of the likelihood, or where the profile
        likelihood falls by a chi-squared quantile. (Observed over expected has one
        interval only: symmetric on the log scale, by the variance of a ratio of
        two means over records.)
    clusters : array_like of shape (n,), optional
        Equal values are records that belong together. The standard errors are then
        those of the sandwich of clusters, times G / (G - 1).

    Returns
    -------
    Calibration
        With NaN and the reason for what does not exist: all coefficients where a
        `p` is exactly 0 or 1 or no probability, or a class has no record; the slope
        where `p` is constant, or separates the classes (it would be infinite); the
        standard errors where there are no more clusters than coefficients.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, an argument is out
        of range, or a profile likelihood is asked for with clusters.

    References
    ----------
    Cox (1958), Biometrika 45:562; Steyerberg et al. (2010), Epidemiology 21:128;
    Liang & Zeger (1986), Biometrika 73:13, for the clusters; Venzon & Moolgavkar
    (1988), Applied Statistics 37:87, for the profile likelihood.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.2, 0.4, 0.3, 0.6, 0.5, 0.8, 0.7]
    >>> c = calibration(y, p)
    >>> round(c.slope, 3), round(c.slope_lower, 3), round(c.slope_upper, 3)
    (1.345, -0.581, 3.271)
    >>> round(c.intercept, 3), round(c.observed_expected, 3)
    (0.256, 1.111)
    """
    check_level(level, MetricError)
    one_of(interval, ("wald", "profile"), "interval")
    positive, p = binary_probabilities(y, p)
    codes = clusters_of(clusters, positive.size)
    if clusters is not None and interval == "profile":
        raise MetricError(
            "interval='profile' needs independent records, which clusters are not; "
            "leave out one of the two."
        )
    held, joint = intercept_fit(positive, p), slope_fit(positive, p)
    reasons = [held.reason, joint.reason]
    errors = []
    for fit, columns in ((held, ones_of(p)), (joint, columns_of(p))):
        covariance = fit.covariance
        if clusters is not None and not fit.reason:
            covariance, few = sandwich(fit, positive, columns, codes)
            reasons.append(few)
        errors.append(np.sqrt(np.diag(covariance)))
    beta, se = np.concatenate([held.beta, joint.beta]), np.concatenate(errors)
    if interval == "profile":
        limits = profile_limits(positive, p, held, joint, level)
    else:
        margin = normal_quantile(level) * se
        limits = np.stack([beta - margin, beta + margin], axis=1)
    ratio, lower, upper, unclear = _observed_expected(positive, p, codes, level)
    reasons.append(unclear)

    def told(k: int) -> tuple[float, float, float, float]:
        return float(beta[k]), float(se[k]), float(limits[k, 0]), float(limits[k, 1])

    return Calibration(
        *told(2),
        *told(0),
        *told(1),
        ratio,
        lower,
        upper,
        level,
        int(positive.sum()),
        int((~positive).sum()),
        "; ".join(dict.fromkeys(reason for reason in reasons if reason)),
    )


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
        1 where the probabilities are calibrated, below 1 where they are too
        extreme; NaN where it does not exist (see `calibration`).

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
    return float(slope_fit(*binary_probabilities(y, p)).beta[1])


def calibration_intercept(y: ArrayLike, p: ArrayLike) -> float:
    """Calibration in the large: what must be added to the logit of probabilities.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    float
        0 where the probabilities are right on average, above 0 where they are too
        low; NaN where it does not exist (see `calibration`).

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
    return float(intercept_fit(*binary_probabilities(y, p)).beta[0])


def oe_ratio(y: ArrayLike, p: ArrayLike) -> float:
    """Observed over expected: the number of positives over the sum of probabilities.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    float
        1 where the probabilities are right on average, above 1 where they are too
        low; NaN where it does not exist (see `calibration`).

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    Examples
    --------
    >>> oe_ratio([0, 1, 0, 1], [0.2, 0.6, 0.2, 0.6])
    1.25
    """
    positive, read = binary_probabilities(y, p)
    codes = np.arange(len(read))
    return _observed_expected(positive, read, codes, level=0.95)[0]


def _observed_expected(
    positive: Bools, p: Floats, codes: Ints, level: float
) -> tuple[float, float, float, str]:
    """Return the ratio with its limits, and why something is missing."""
    nan = float("nan")
    if odd := improper(p):
        return nan, nan, nan, odd
    observed, expected = float(positive.sum()), float(p.sum())
    if expected == 0:
        return nan, nan, nan, "all p are 0, so nothing is expected"
    ratio = observed / expected
    if observed == 0:
        none = "no record is positive, so the log of observed over expected is infinite"
        return ratio, nan, nan, none
    residual = (positive - ratio * p)[:, None]
    se = float(np.sqrt(sum_of_squares(residual, codes)[0, 0])) / observed
    if not se > 1e-12:
        return ratio, nan, nan, "observed over expected shows no variation"
    margin = normal_quantile(level) * se
    return ratio, ratio * math.exp(-margin), ratio * math.exp(margin), ""

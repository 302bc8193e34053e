"""Calibration slope, intercept, and observed over expected: by group, with limits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from statcv.arguments import check_level
from statcv.errors import MetricError
from statcv.metrics import inputs
from statcv.metrics.areas.placements import normal_quantile
from statcv.metrics.probabilities import recalibration as logistic
from statcv.numeric.arrays import ArrayLike, Bools, Floats, Numbers
from statcv.tables import Printed


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
    return logistic.recalibration(*inputs.binary_probabilities(y, p), slope=True)[1]


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
    return logistic.recalibration(*inputs.binary_probabilities(y, p), slope=False)[0]


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
    return inputs.in_one_group(oe_ratio_by_group, y, p)


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
    positive, read = inputs.binary_probabilities(y, p)
    own = np.asarray(group)
    observed = np.bincount(own, positive, groups)
    expected = np.bincount(own, read, groups)
    odd = inputs.improper_groups(own, groups, read)
    return inputs.share_of_sums(observed, expected, odd)


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
    return inputs.in_one_group(discrimination_slope_by_group, y, p)


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
    positive, read = inputs.binary_probabilities(y, p)
    own = np.asarray(group)
    odd = inputs.improper_groups(own, groups, read)

    def mean(side: Bools) -> Floats:
        total = np.bincount(own, side * read, groups)
        return inputs.share_of_sums(total, np.bincount(own, side, groups), odd)

    return np.asarray(mean(positive) - mean(~positive))


# ---- limits ----


def profile_limits(
    positive: Bools,
    p: Floats,
    held: logistic.LogisticFit,
    joint: logistic.LogisticFit,
    level: float,
) -> Floats:
    """Return lower and upper limits for the intercept, joint intercept and slope."""
    limits = np.full((3, 2), np.nan)
    if not held.reason:
        logit, ones = logistic.logit_of(p), logistic.ones_of(p)

        def at_intercept(a: float) -> float:
            eta = a + logit
            return float(np.logaddexp(0, np.where(positive, -eta, eta)).sum())

        limits[0] = _where_it_falls(at_intercept, held, 0, level)
    if not joint.reason:
        nothing = np.zeros(p.size)

        def at_joint_intercept(a: float) -> float:
            return logistic.fit_logistic(positive, logit[:, None], nothing + a).loss

        def at_slope(b: float) -> float:
            return logistic.fit_logistic(positive, ones, b * logit).loss

        limits[1] = _where_it_falls(at_joint_intercept, joint, 0, level)
        limits[2] = _where_it_falls(at_slope, joint, 1, level)
    return limits


def _where_it_falls(
    loss: Callable[[float], float], fit: logistic.LogisticFit, k: int, level: float
) -> tuple[float, float]:
    """Find the values at which twice the loss exceeds its minimum by a quantile."""
    from scipy.optimize import brentq

    drop = normal_quantile(level) ** 2 / 2
    best, se = float(fit.beta[k]), float(np.sqrt(fit.covariance[k, k]))

    def excess(value: float) -> float:
        return loss(value) - fit.loss - drop

    limits = []
    for side in (-1, 1):
        reach = side * normal_quantile(level) * se
        while excess(best + reach) < 0:
            reach *= 2
        limits.append(float(brentq(excess, best, best + reach, xtol=1e-13)))
    return limits[0], limits[1]


@dataclass(frozen=True, repr=False)
class Calibration(Printed):
    """Agreement of predicted probabilities with observed outcomes.

    Attributes
    ----------
    slope, slope_se, slope_lower, slope_upper : float
        Slope of the logistic regression on the logit of the probabilities: 1 if they
        are calibrated, below 1 if they are too extreme.
    intercept, intercept_se, intercept_lower, intercept_upper : float
        Calibration in the large, the intercept with the slope fixed at 1: 0 if the
        probabilities are calibrated, above 0 if they are too low.
    joint_intercept, joint_intercept_se : float
        Intercept of the regression in which the slope is estimated.
    joint_intercept_lower, joint_intercept_upper : float
        Confidence limits for the joint intercept.
    observed_expected, observed_expected_lower, observed_expected_upper : float
        Number of positive records divided by the sum of the probabilities.
    level : float
        Confidence level of the intervals.
    n_positive, n_negative : int
        Number of records of each class.
    reason : str
        Why a value is missing; empty if no value is.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.2, 0.3, 0.35, 0.6, 0.7, 0.8, 0.9]
    >>> found = calibration(y, p)
    >>> round(found.slope, 2), round(found.intercept, 2)
    (1.63, 0.04)
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

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    level : float, default 0.95
        Confidence level of the intervals.
    interval : {"wald", "profile"}
        Intervals for the coefficients, from the curvature of the likelihood or from the
        profile likelihood. That for observed over expected is symmetric on the log
        scale.
    clusters : array_like of shape (n,), optional
        Cluster labels, for the cluster sandwich estimator.

    Returns
    -------
    Calibration
        ``slope``, ``intercept`` (with the slope fixed at 1), ``joint_intercept`` and
        ``observed_expected``, with standard errors and limits such as ``slope_se`` and
        ``slope_lower``. Those that do not exist are NaN, with the ``reason``: if a
        value of `p` is exactly 0 or 1, a class has no records, or `p` is constant or
        separates the classes.

    Raises
    ------
    MetricError
        If an argument is not valid.

    References
    ----------
    Cox (1958), Biometrika 45:562; Steyerberg et al. (2010), Epidemiology 21:128; Liang
    & Zeger (1986), Biometrika 73:13 (clusters); Venzon & Moolgavkar (1988), Applied
    Statistics 37:87 (profile likelihood).

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.2, 0.4, 0.3, 0.6, 0.5, 0.8, 0.7]
    >>> c = calibration(y, p)
    >>> round(c.slope, 3), round(c.slope_lower, 3), round(c.observed_expected, 3)
    (1.345, -0.581, 1.111)
    """
    check_level(level, MetricError)
    inputs.one_of(interval, ("wald", "profile"), "interval")
    positive, p = inputs.binary_probabilities(y, p)
    codes = inputs.clusters_of(clusters, positive.size)
    if clusters is not None and interval == "profile":
        raise MetricError(
            "interval='profile' needs independent records, but records of a cluster "
            "are dependent; omit one of the two arguments."
        )
    held, joint = logistic.intercept_fit(positive, p), logistic.slope_fit(positive, p)
    reasons = [held.reason, joint.reason]
    errors = []
    for fit, columns in ((held, logistic.ones_of(p)), (joint, logistic.columns_of(p))):
        covariance = fit.covariance
        if clusters is not None and not fit.reason:
            covariance, few = logistic.sandwich(fit, positive, columns, codes)
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

    def with_limits(k: int) -> tuple[float, float, float, float]:
        return float(beta[k]), float(se[k]), float(limits[k, 0]), float(limits[k, 1])

    found = (*with_limits(2), *with_limits(0), *with_limits(1), ratio, lower, upper)
    counts = int(positive.sum()), int((~positive).sum())
    reason = "; ".join(dict.fromkeys(filter(None, reasons)))
    return Calibration(*found, level, *counts, reason)


def _observed_expected(
    positive: Bools, p: Floats, codes: Numbers, level: float
) -> tuple[float, float, float, str]:
    """Return the ratio and its limits, and the reason if one is missing."""
    nan = float("nan")
    if odd := inputs.improper(p):
        return nan, nan, nan, odd
    observed, expected = float(positive.sum()), float(p.sum())
    if expected == 0:
        return nan, nan, nan, "all values of p are 0, so the expected number is 0"
    ratio = observed / expected
    if observed == 0:
        empty = (
            "no record is positive, so the log of observed over expected is infinite"
        )
        return ratio, nan, nan, empty
    if ratio == np.inf:
        return ratio, nan, nan, "the sum of p is so near 0 that the ratio is infinite"
    residual = (positive - ratio * p)[:, None]
    se = float(np.sqrt(inputs.sum_of_squares(residual, codes)[0, 0])) / observed
    if not se > 1e-12:
        return ratio, nan, nan, "the variance of observed over expected is 0"
    margin = normal_quantile(level) * se
    return ratio, ratio * math.exp(-margin), ratio * math.exp(margin), ""

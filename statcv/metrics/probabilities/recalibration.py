"""Calibration slope, calibration intercept, and ratio of observed to expected events.

The outcome is regressed on the logit of the probabilities (Cox 1958). Probabilities are
not clipped: if one is exactly 0 or 1, its logit is infinite, and there is neither a
slope nor an intercept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import check_level
from statcv.errors import MetricError
from statcv.metrics.areas.placements import normal_quantile
from statcv.metrics.groups import in_one_group, of_each_group, sums_by_group
from statcv.metrics.inputs import Bools, Floats, Ints, one_of
from statcv.metrics.probabilities.logistic import (
    COLLINEAR,
    DECREMENT,
    FLAT,
    IN_CACHE,
    RANK,
    SEPARATED,
    LogisticFit,
    fit_logistic,
    sandwich,
)
from statcv.metrics.records import (
    binary_probabilities,
    clusters_of,
    improper,
    improper_groups,
    share_of_sums,
    sum_of_squares,
)
from statcv.threads import RECORD, shared

# ---- logistic regression on the logit of predicted probabilities ----

_FIRST = 2**10  # records that are looked at first
_SAME = 1e-12  # logits nearer than this, relative to the largest, are equal


def undefined(positive: Bools, p: Floats) -> str:
    """Return why there is no logistic recalibration; empty if there is one."""
    if odd := improper(p):
        return odd
    certain = int(((p == 0) | (p == 1)).sum())
    if certain:
        return (
            f"{certain} of the {p.size} values of p are exactly 0 or 1, so their logit "
            "is infinite"
        )
    if positive.all() or not positive.any():
        return f"all records are {'positive' if positive.any() else 'negative'}"
    return ""


def intercept_fit(positive: Bools, p: Floats) -> LogisticFit:
    """Fit the intercept alone, with the logit of p as an offset."""
    if reason := undefined(positive, p):
        return _failed(1, reason)
    return fit_logistic(positive, ones_of(p), logit_of(p))


def separated(positive: Bools, p: Floats) -> str:
    """Return why the regression on the logit of p has no slope; empty if it has one.

    With one covariate the classes are separated if their ranges do not overlap (Albert
    & Anderson 1984), which is checked on the logits themselves.
    """
    return _separated(positive, logit_of(p))


def _separated(positive: Bools, logit: Floats) -> str:
    low, high = float(logit.min()), float(logit.max())
    same = _SAME * max(1.0, -low, high)
    if high - low <= same:
        return "all values of p are equal, so there is no slope"
    for some in (slice(_FIRST), slice(None)):  # ranges of a part may overlap already
        one, part = positive[some], logit[some]
        ones, zeros = part[one], part[~one]
        if not len(ones) or not len(zeros):
            continue
        if ones.min() < zeros.max() - same and zeros.min() < ones.max() - same:
            return ""
    return "p separates the classes, so the slope is infinite"


def slope_fit(positive: Bools, p: Floats) -> LogisticFit:
    """Fit the intercept and the slope."""
    if reason := undefined(positive, p) or separated(positive, p):
        return _failed(2, reason)
    fit = fit_logistic(positive, columns_of(p), np.zeros(p.size))
    if fit.reason in (SEPARATED, COLLINEAR):
        return _failed(2, f"{fit.reason}, up to rounding")
    return fit


@dataclass(frozen=True, eq=False)
class Recalibration:
    """The coefficients of a logistic regression on the logit of probabilities.

    Attributes
    ----------
    intercept, slope : float
        The coefficients; a slope of 1 if it is not estimated. The intercept is NaN if
        there is no fit, for the reasons that :class:`LogisticFit` gives.
    """

    intercept: float
    slope: float


def recalibration(positive: Bools, p: Floats, *, slope: bool) -> Recalibration:
    """Fit the intercept with the slope fixed at 1, or both.

    With many records Newton's steps begin at the probabilities themselves. Where these
    steps do not soon become short the fit is that of :func:`fit_logistic`.
    """
    reason = undefined(positive, p)
    if not reason and len(p) >= _MANY:
        logit = np.log(p / (1 - p))
        reason = _separated(positive, logit) if slope else ""
        found = None if reason else _from_start(positive, p, logit, slope)
        if found is not None:
            return found
    if slope:
        return Recalibration(*map(float, slope_fit(positive, p).beta))
    return Recalibration(float(intercept_fit(positive, p).beta[0]), 1.0)


_MANY = 2**10  # records
_SURE = 1e-20  # expected gain of a step that need not be made
_FEW = 64  # records of a group, on average, that is fitted together with others
_MANY_STEPS = 200  # most groups are done by Newton's method in fewer than ten
_LONGEST = 3.0  # longest step of an intercept, below 4.35, from which steps may return
_SETTLED = 1e-20  # expected gain of a step after which none is needed
_STEPS = 8  # more than enough from probabilities that are near their best fit


def _from_start(
    positive: Bools, p: Floats, logit: Floats, slope: bool
) -> Recalibration | None:
    """Fit by Newton's method from slope 1; None if its steps do not soon end."""
    middle = float(logit.mean())
    away = logit - middle
    squares = float(away @ away)
    if slope and not squares > RANK**2 * float(logit @ logit) * len(p):
        return None
    a, b, last = middle, 1.0, np.inf
    for step in range(_STEPS):
        gradient, information = _sums_at(positive, p if not step else None, away, a, b)
        if slope:
            scale = np.sqrt([len(p), squares])
            alike = information / scale / scale[:, None]
            if np.linalg.eigvalsh(alike)[0] < FLAT:
                return None
        elif information[0, 0] < FLAT * len(p):
            return None
        k = 2 if slope else 1
        move = np.linalg.solve(information[:k, :k], gradient[:k])
        gain = float(gradient[:k] @ move)
        if not gain <= last / 4:
            return None
        a, b = a + move[0], b + (move[1] if slope else 0.0)
        # the next gain is the third power of this one, over the square of the last
        if gain <= DECREMENT or (step and gain * (gain / last) ** 2 <= _SURE):
            break
        last = gain
    else:
        return None
    return Recalibration(float(a - b * middle), float(b))


def _sums_at(
    positive: Bools, p: Floats | None, away: Floats, a: float, b: float
) -> tuple[Floats, Floats]:
    """Return the gradient of the log-likelihood, and minus its second derivatives.

    They are those by a and b, where a + b t is the linear predictor at a distance t of
    the logit from its mean. Fitted probabilities that are known are not computed.
    """

    def sums(start: int) -> Floats:
        some = slice(start, start + IN_CACHE)
        t = away[some]
        if p is None:
            fitted = b * t
            fitted += a
            fitted = probability_of(fitted)
        else:
            fitted = p[some]
        weight = 1 - fitted
        weight *= fitted
        residual = positive[some] - fitted
        heavy = weight * t
        mixed = heavy.sum()
        return np.array(
            [
                [residual.sum(), residual @ t],
                [weight.sum(), mixed],
                [mixed, heavy @ t],
            ]
        )

    parts = shared(sums, range(0, len(away), IN_CACHE), RECORD * IN_CACHE)
    gradient, *information = np.sum(parts, axis=0)
    return gradient, np.array(information)


def _failed(k: int, reason: str) -> LogisticFit:
    nan = np.full((k, k), np.nan)
    return LogisticFit(nan[0], nan, nan[0], np.nan, reason)


def logit_of(p: Floats) -> Floats:
    """Return the logits of probabilities."""
    from scipy.special import logit

    return np.asarray(logit(p))


def probability_of(logit: Floats) -> Floats:
    """Return the probabilities of logits; of many in half the time of scipy's."""
    with np.errstate(over="ignore"):  # a probability of 0
        odds = np.exp(-logit)
    odds += 1
    return np.reciprocal(odds, out=odds)


def ones_of(p: Floats) -> Floats:
    """Return the design matrix of the intercept alone."""
    return np.ones((p.size, 1))


def columns_of(p: Floats) -> Floats:
    """Return the design matrix of the intercept and the logit."""
    return np.stack([np.ones(p.size), logit_of(p)], axis=1)


def profile_limits(
    positive: Bools, p: Floats, held: LogisticFit, joint: LogisticFit, level: float
) -> Floats:
    """Return lower and upper limits for the intercept, joint intercept and slope."""
    limits = np.full((3, 2), np.nan)
    if not held.reason:
        logit, ones = logit_of(p), ones_of(p)

        def at_intercept(a: float) -> float:
            eta = a + logit
            return float(np.logaddexp(0, np.where(positive, -eta, eta)).sum())

        limits[0] = _where_it_falls(at_intercept, held, 0, level)
    if not joint.reason:
        nothing = np.zeros(p.size)

        def at_joint_intercept(a: float) -> float:
            return fit_logistic(positive, logit[:, None], nothing + a).loss

        def at_slope(b: float) -> float:
            return fit_logistic(positive, ones, b * logit).loss

        limits[1] = _where_it_falls(at_joint_intercept, joint, 0, level)
        limits[2] = _where_it_falls(at_slope, joint, 1, level)
    return limits


def _where_it_falls(
    loss: Callable[[float], float], fit: LogisticFit, k: int, level: float
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


# ---- calibration of probabilities: slope, intercept, observed over expected ----


@dataclass(frozen=True)
class Calibration:
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

    The probabilities are taken as given. For cross-validated probabilities the standard
    errors do not include the variability of the fits.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.
    interval : {"wald", "profile"}
        Intervals for the coefficients, from the curvature of the likelihood or from the
        profile likelihood. The only interval for observed over expected is symmetric
        on the log scale, with the variance of a ratio of two means over records.
    clusters : array_like of shape (n,), optional
        Cluster labels, equal for records that belong together. The standard errors are
        then those of the cluster sandwich estimator, with the correction G / (G - 1).

    Returns
    -------
    Calibration
        The estimates. Those that do not exist are NaN, with the reason: all
        coefficients if a value of `p` is exactly 0 or 1 or not a probability, or if a
        class has no records; the slope if `p` is constant, or if it separates the
        classes, so that the slope would be infinite; and the standard errors if there
        are no more clusters than coefficients.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, an argument is out
        of range, or the profile likelihood is requested with clusters.

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
            "interval='profile' needs independent records, but records of a cluster "
            "are dependent; omit one of the two arguments."
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

    def with_limits(k: int) -> tuple[float, float, float, float]:
        return float(beta[k]), float(se[k]), float(limits[k, 0]), float(limits[k, 1])

    return Calibration(
        *with_limits(2),
        *with_limits(0),
        *with_limits(1),
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


def _observed_expected(
    positive: Bools, p: Floats, codes: Ints, level: float
) -> tuple[float, float, float, str]:
    """Return the ratio and its limits, and the reason if one is missing."""
    nan = float("nan")
    if odd := improper(p):
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
    se = float(np.sqrt(sum_of_squares(residual, codes)[0, 0])) / observed
    if not se > 1e-12:
        return ratio, nan, nan, "the variance of observed over expected is 0"
    margin = normal_quantile(level) * se
    return ratio, ratio * math.exp(-margin), ratio * math.exp(margin), ""

"""Logistic regression of an outcome on the logit of its predicted probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from statcv.metrics._inputs import Bools, Floats
from statcv.metrics._logistic import COLLINEAR, SEPARATED, LogisticFit, fit_logistic
from statcv.metrics._records import improper
from statcv.metrics.placements import normal_quantile

_SAME = 1e-12  # logits nearer than this, relative to the largest, are equal


def undefined(positive: Bools, p: Floats) -> str:
    """Say why no logistic recalibration exists, or nothing."""
    if odd := improper(p):
        return odd
    certain = int(((p == 0) | (p == 1)).sum())
    if certain:
        return (
            f"{certain} of the {p.size} values of p are exactly 0 or 1, which have no "
            "logit"
        )
    if positive.all() or not positive.any():
        return f"all records are {'positive' if positive.any() else 'negative'}"
    return ""


def intercept_fit(positive: Bools, p: Floats) -> LogisticFit:
    """Fit the intercept alone, with the logit of p as it is."""
    if reason := undefined(positive, p):
        return _none(1, reason)
    return fit_logistic(positive, ones_of(p), logit_of(p))


def separated(positive: Bools, p: Floats) -> str:
    """Say why the regression on the logit of p has no slope, or nothing.

    With one covariate the classes are separated where their ranges do not overlap
    (Albert & Anderson 1984), which is asked of the logits themselves.
    """
    logit = logit_of(p)
    same = _SAME * max(1.0, float(np.abs(logit).max()))
    if np.ptp(logit) <= same:
        return "all p are equal, so there is no slope"
    ones, zeros = logit[positive], logit[~positive]
    if ones.min() >= zeros.max() - same or zeros.min() >= ones.max() - same:
        return "p separates the classes, so the slope is infinite"
    return ""


def slope_fit(positive: Bools, p: Floats) -> LogisticFit:
    """Fit intercept and slope."""
    if reason := undefined(positive, p) or separated(positive, p):
        return _none(2, reason)
    fit = fit_logistic(positive, columns_of(p), np.zeros(p.size))
    if fit.reason in (SEPARATED, COLLINEAR):
        return _none(2, f"{fit.reason} but for rounding")
    return fit


def _none(k: int, reason: str) -> LogisticFit:
    nan = np.full((k, k), np.nan)
    return LogisticFit(nan[0], nan, nan[0], np.nan, reason)


def logit_of(p: Floats) -> Floats:
    from scipy.special import logit

    return np.asarray(logit(p))


def ones_of(p: Floats) -> Floats:
    return np.ones((p.size, 1))


def columns_of(p: Floats) -> Floats:
    return np.stack([np.ones(p.size), logit_of(p)], axis=1)


def profile_limits(
    positive: Bools, p: Floats, held: LogisticFit, joint: LogisticFit, level: float
) -> Floats:
    """Return lower and upper limits of intercept, joint intercept and slope."""
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
    """Solve for where twice the loss exceeds its minimum by a quantile."""
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

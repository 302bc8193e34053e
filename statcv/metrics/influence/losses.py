"""Derivatives by weights of means over records, their ratios, and calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.classification.classwise import casewise_log_loss
from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.inputs import Floats
from statcv.metrics.probabilities.recalibration import probability_of, recalibration

Outcomes = NDArray[Any]

# ---- losses ----


def brier_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the Brier score."""
    apart = p - _observed(y, p)
    loss = apart**2 if p.ndim == 1 else (apart**2).sum(axis=1)
    return Derivative(_of_mean(loss))


def log_loss_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the log-loss."""
    return Derivative(_of_mean(casewise_log_loss(y, p)))


def mse_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the mean squared error."""
    return Derivative(_of_mean((p - y) ** 2))


def rmse_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the root mean squared error."""
    squared = mse_derivative(y, p)
    twice = 2 * np.sqrt(((p - y) ** 2).mean())
    with np.errstate(invalid="ignore"):  # a perfect prediction
        return Derivative(squared.weight / twice)


def mae_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the mean absolute error."""
    return Derivative(_of_mean(np.abs(p - y)))


def explained_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the explained share: R², and the scaled Brier score.

    Without a baseline, the squared errors are compared with those of the mean outcome,
    which changes with the weights too, but only to the second order.
    """
    centre = y.mean() if baseline is None else baseline
    remaining, removable = (p - y) ** 2, (y - centre) ** 2
    total = removable.sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # nothing to explain
        ratio = remaining.sum() / total
        return Derivative((ratio * removable - remaining) / total)


def _observed(y: Outcomes, p: Floats) -> Floats:
    """Return the outcome as 0 and 1, with one column per class if there are several."""
    if p.ndim == 1:
        return np.asarray(y, dtype=float)
    return np.asarray(y[:, None] == np.arange(p.shape[1]), dtype=float)


def _of_mean(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / len(values))


# ---- discrimination ----


def discrimination_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the difference between the mean probabilities."""
    weight = np.full(len(p), np.nan)
    positive = np.asarray(y) == 1
    if positive.any() and not positive.all():
        for own, sign in ((positive, 1.0), (~positive, -1.0)):
            weight[own] = sign * (p[own] - p[own].mean()) / own.sum()
    return Derivative(weight)


# ---- calibration ----


def oe_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the ratio of observed to expected events."""
    expected = p.sum()
    with np.errstate(all="ignore"):  # infinite where next to nothing is expected
        ratio = y.sum() / expected
        return Derivative((y - ratio * p) / expected)


def intercept_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the calibration intercept."""
    return _recalibration(y, p, slope=False)


def slope_derivative(
    y: Outcomes,
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the calibration slope."""
    return _recalibration(y, p, slope=True)


def _recalibration(y: Outcomes, p: Floats, slope: bool) -> Derivative:
    """Differentiate the equations that the maximum of the likelihood solves."""
    fit = recalibration(y == 1, p, slope=slope)
    if np.isnan(fit.intercept):
        return Derivative(np.full(len(p), np.nan))
    logit = np.log(p / (1 - p))
    fitted = probability_of(fit.intercept + fit.slope * logit)
    residual, variance = y - fitted, fitted * (1 - fitted)
    if not slope:
        return Derivative(residual / variance.sum())
    logit -= (variance @ logit) / variance.sum()  # orthogonal to the intercept
    return Derivative(logit * residual / ((variance * logit) @ logit))

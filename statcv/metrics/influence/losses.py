"""Derivatives by weights of means over records, their ratios, and calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.classification.classwise import predicted_class
from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.inputs import Floats
from statcv.metrics.probabilities.recalibration import recalibration
from statcv.numeric.logistic import expit

Outcomes = NDArray[Any]

# ---- means over records ----


@dataclass(frozen=True)
class DerivativeOfMean:
    """The derivatives of the mean of a function of single records, or of its root.

    Attributes
    ----------
    casewise : callable
        The function of outcomes and predictions, and of a threshold if there is one.
    root : bool
        Whether the metric is the square root of the mean.
    """

    casewise: Callable[..., Floats]
    root: bool = False

    def __call__(self, y: Outcomes, x: Floats, **named: Any) -> Derivative:
        """Return the derivatives."""
        own = self.casewise(y, x, **named)
        mean = own.mean()
        weight = (own - mean) / len(own)
        if self.root:
            with np.errstate(invalid="ignore"):  # a perfect prediction
                weight = weight / (2 * np.sqrt(mean))
        return Derivative(weight)


def explained_derivative(
    y: Outcomes, p: Floats, baseline: Floats | None = None
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


# ---- discrimination ----


def discrimination_derivative(y: Outcomes, p: Floats) -> Derivative:
    """Return the derivatives of the difference between the mean probabilities."""
    weight = np.full(len(p), np.nan)
    positive = np.asarray(y) == 1
    if positive.any() and not positive.all():
        for own, sign in ((positive, 1.0), (~positive, -1.0)):
            weight[own] = sign * (p[own] - p[own].mean()) / own.sum()
    return Derivative(weight)


# ---- calibration ----


def oe_derivative(y: Outcomes, p: Floats) -> Derivative:
    """Return the derivatives of the ratio of observed to expected events."""
    expected = p.sum()
    with np.errstate(all="ignore"):  # infinite where next to nothing is expected
        ratio = y.sum() / expected
        return Derivative((y - ratio * p) / expected)


def intercept_derivative(y: Outcomes, p: Floats) -> Derivative:
    """Return the derivatives of the calibration intercept."""
    return _recalibration(y, p, slope=False)


def slope_derivative(y: Outcomes, p: Floats) -> Derivative:
    """Return the derivatives of the calibration slope."""
    return _recalibration(y, p, slope=True)


def _recalibration(y: Outcomes, p: Floats, slope: bool) -> Derivative:
    """Differentiate the equations that the maximum of the likelihood solves."""
    fit = recalibration(y == 1, p, slope=slope)
    if np.isnan(fit.intercept):
        return Derivative(np.full(len(p), np.nan))
    logit = np.log(p / (1 - p))
    fitted = expit(fit.intercept + fit.slope * logit)
    residual, variance = y - fitted, fitted * (1 - fitted)
    if not slope:
        return Derivative(residual / variance.sum())
    logit -= (variance @ logit) / variance.sum()  # orthogonal to the intercept
    return Derivative(logit * residual / ((variance * logit) @ logit))


# ---- functions of the table of classes ----


STEP = 1e-4  # change of a count in the numerical derivatives of a metric


@dataclass(frozen=True)
class DerivativeOfTable:
    """The derivatives of a metric that is a function of the table of classes.

    Attributes
    ----------
    of_table : callable
        The metric as a function of the counts of records by observed (row) and
        predicted (column) class, shape (K, K), or of the shares of these counts.
    """

    of_table: Callable[[Floats], float]

    def __call__(
        self, y: NDArray[Any], x: Floats, threshold: Floats | float | None = None
    ) -> Derivative:
        """Return the derivatives."""
        codes = y.astype(np.intp)
        chosen = predicted_class(x, 0.5 if threshold is None else threshold)
        chosen = np.nan_to_num(chosen).astype(np.intp)
        rates = self._rates(codes, chosen, 2 if x.ndim == 1 else x.shape[1])
        own = rates[codes, chosen]
        return Derivative(own - own.mean())

    def _rates(self, observed: Any, chosen: Any, classes: int) -> Floats:
        """Return the derivatives of the metric by the count of each cell."""
        counts = np.bincount(observed * classes + chosen, minlength=classes**2)
        table = counts.reshape(classes, classes).astype(float)
        rates = np.full((classes, classes), np.nan)
        if np.isnan(self.of_table(table)):
            return rates
        for cell in np.ndindex(classes, classes):
            up, down = table.copy(), table.copy()
            up[cell] += STEP
            down[cell] -= STEP
            rates[cell] = (self.of_table(up) - self.of_table(down)) / (2 * STEP)
        return rates

"""Metrics of expected counts: deviance, scores of Poisson's distribution, calibration.

Expected counts include the exposure of each record, if the model has one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.influence.table import influence_on_mean, oe_derivative
from statcv.metrics.influence.weighted import observed_expected
from statcv.metrics.inputs import Floats, same_length, vector
from statcv.metrics.metric import Metric

MAX_ROUNDS = 50  # steps of Newton's method by which a calibration is fitted
MAX_STEP = 2.0  # change of linear predictors, in standard deviations, in one of these
SETTLED = 1e-12  # change in the last of these, relative to the value


def poisson_deviance(y: ArrayLike, mean: ArrayLike) -> float:
    """Mean deviance of counts, as scikit-learn's ``mean_poisson_deviance``.

    It is the mean of 2 (y log(y / m) - y + m) for expected counts m, which is least for
    the true expectations whatever the distribution.

    Parameters
    ----------
    y, mean : array_like of shape (n,)
        Observed and expected counts.

    Returns
    -------
    float
        The mean; NaN if an expected count is negative or NaN, infinite if one is 0
        where something was counted, NaN without records.

    Raises
    ------
    MetricError
        If a count is negative, or the lengths differ.

    Examples
    --------
    >>> round(poisson_deviance([0, 1, 4], [0.5, 1.0, 2.0]), 4)
    0.8484
    """
    return _mean(casewise_poisson_deviance(y, mean))


def casewise_poisson_deviance(y: ArrayLike, mean: ArrayLike) -> Floats:
    """Deviance of each record."""
    from scipy.special import xlogy

    counts, expected = _read(y, mean)
    with np.errstate(all="ignore"):
        ratio = np.where(counts > 0, counts / expected, 1.0)
        return np.asarray(2 * (xlogy(counts, ratio) - counts + expected))


def poisson_log_score(y: ArrayLike, mean: ArrayLike) -> float:
    """Mean of minus the logarithm of the probability that Poisson's distribution gives.

    Parameters, exceptions and missing values are as in `poisson_deviance`.

    Examples
    --------
    >>> round(poisson_log_score([0, 1, 4], [0.5, 1.0, 2.0]), 4)
    1.3018
    """
    return _mean(casewise_poisson_log_score(y, mean))


def casewise_poisson_log_score(y: ArrayLike, mean: ArrayLike) -> Floats:
    """Logarithmic score of each record."""
    from scipy.special import gammaln, xlogy

    counts, expected = _read(y, mean)
    with np.errstate(all="ignore"):
        return np.asarray(expected - xlogy(counts, expected) + gammaln(counts + 1))


def poisson_rps(y: ArrayLike, mean: ArrayLike) -> float:
    """Mean ranked probability score of Poisson's distribution.

    It is the sum over k of the squared difference between the probability of at most k
    and whether at most k were counted; for a certain prediction the absolute error.
    Parameters, exceptions and missing values are as in `poisson_deviance`.

    References
    ----------
    Czado, Gneiting & Held (2009), Biometrics 65:1254; Wei & Held (2014), Test 23:787.

    Examples
    --------
    >>> round(poisson_rps([0, 1, 4], [0.5, 1.0, 2.0]), 4)
    0.5846
    """
    return _mean(casewise_poisson_rps(y, mean))


def casewise_poisson_rps(y: ArrayLike, mean: ArrayLike) -> Floats:
    """Ranked probability score of each record."""
    from scipy.special import gammaln, ive, pdtr, xlogy

    counts, expected = _read(y, mean)
    with np.errstate(all="ignore"):
        density = np.exp(xlogy(counts, expected) - expected - gammaln(counts + 1))
        below = 2 * pdtr(counts, expected) - 1
        # half the mean difference of two counts, by Bessel functions
        spread = expected * (ive(0, 2 * expected) + ive(1, 2 * expected))
        return np.asarray((counts - expected) * below + 2 * expected * density - spread)


def oe_counts(y: ArrayLike, mean: ArrayLike) -> float:
    """Ratio of observed to expected counts.

    Parameters and exceptions are as in `poisson_deviance`; NaN if nothing is expected.

    Examples
    --------
    >>> oe_counts([0, 1, 4], [0.5, 1.5, 2.0])
    1.25
    """
    counts, expected = _read(y, mean)
    with np.errstate(all="ignore"):
        return float(counts.sum() / expected.sum())


def slope_counts(y: ArrayLike, mean: ArrayLike) -> float:
    """Calibration slope of expected counts on the logarithmic scale.

    It is the coefficient of log(mean) in a Poisson regression of the counts, as in R's
    ``CalibrationCurves::genCalCurve``: below 1 if high expectations are too high and
    low ones too low.

    Returns
    -------
    float
        The slope; NaN if an expected count is not above 0, if all are equal, or if
        there is no maximum of the likelihood.

    Raises
    ------
    MetricError
        As in `poisson_deviance`.

    Examples
    --------
    >>> round(slope_counts([1, 1, 4, 6], [1.0, 2.0, 3.0, 4.0]), 4)
    1.6147
    """
    counts, expected = _read(y, mean)
    if not counts.size:
        return float("nan")
    return float(weighted_slope(counts, expected[None], np.ones((1, counts.size)))[0])


def weighted_slope(y: Any, x: Floats, weights: Floats) -> Floats:
    """Return the slopes of weighted records, for many sets of them at once."""
    return _recalibrated(y, x, weights)[1]


def slope_counts_derivative(y: Any, x: Floats) -> Derivative:
    """Return the derivatives of the slope: by the equations that it solves."""
    a, b = _recalibrated(y, x[None], np.ones((1, len(y))))
    with np.errstate(all="ignore"):
        eta = np.log(x)
        fitted = np.exp(a + b * eta)
        eta = eta - (fitted @ eta) / fitted.sum()  # orthogonal to the intercept
        return Derivative(eta * (y - fitted) / ((fitted * eta) @ eta))


def _recalibrated(y: Any, x: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return intercepts and slopes of Poisson regressions on log x, by Newton steps."""
    with np.errstate(all="ignore"):
        eta = np.log(np.where(x > 0, x, np.nan))
        # about the mean, where the slope hardly changes the total
        total = weights.sum(axis=1, keepdims=True)
        middle = (weights * eta).sum(axis=1, keepdims=True) / total
        spread = np.sqrt(
            (weights * (eta - middle) ** 2).sum(axis=1, keepdims=True) / total
        )
        eta = (eta - middle) / np.where(spread > SETTLED, spread, np.nan)
        a = np.log((weights * y).sum(axis=1, keepdims=True) / total) + 0 * middle
        b, step = 0 * a, np.inf * a
        for _ in range(MAX_ROUNDS):
            fitted = np.exp(a + b * eta)
            pull, curved = weights * (y - fitted), weights * fitted
            total = curved.sum(axis=1, keepdims=True)
            centre = (curved * eta).sum(axis=1, keepdims=True) / total
            away = eta - centre
            square = (curved * away**2).sum(axis=1, keepdims=True)
            step = (pull * away).sum(axis=1, keepdims=True) / square
            up = (
                pull.sum(axis=1, keepdims=True) / total
                - np.clip(step, -MAX_STEP, MAX_STEP) * centre
            )
            a = a + np.clip(up, -MAX_STEP, MAX_STEP)
            b = b + np.clip(step, -MAX_STEP, MAX_STEP)
            moving = np.maximum(np.abs(step), np.abs(up)) > SETTLED * (1 + np.abs(b))
            if not moving.any():
                break
        b = np.where(np.abs(step) <= 1e-6 * (1 + np.abs(b)), b, np.nan) / spread
        return (a - b * middle)[:, 0], b[:, 0]


def _read(y: ArrayLike, mean: ArrayLike) -> tuple[Floats, Floats]:
    counts, expected = vector(y, "y"), vector(mean, "mean")
    same_length(counts.size, expected.size, "mean")
    if (counts < 0).any():
        raise MetricError(
            f"y must hold counts, but {int((counts < 0).sum())} of {counts.size} are "
            f"negative, such as {counts.min():g}."
        )
    return counts, np.where(expected >= 0, expected, np.nan)


def _mean(values: Floats) -> float:
    return float(values.mean()) if values.size else float("nan")


# ---- the metrics by name ----


def _loss(name: str, label: str, function: Any, casewise: Any, **more: Any) -> Metric:
    more |= {"casewise": casewise, **influence_on_mean(casewise)}
    return Metric(name, label, function, False, frozenset(("continuous",)), **more)


def _calibration(name: str, label: str, function: Any, **more: Any) -> Metric:
    kinds = frozenset(("continuous",))
    return Metric(name, label, function, False, kinds, target=1.0, **more)


_ALL = (
    _loss(
        "poisson_deviance",
        "Poisson deviance",
        poisson_deviance,
        casewise_poisson_deviance,
        perfect=0.0,
    ),
    _loss("log_score", "log score", poisson_log_score, casewise_poisson_log_score),
    _loss("rps", "ranked probability score", poisson_rps, casewise_poisson_rps),
    _calibration(
        "slope_counts",
        "calibration slope",
        slope_counts,
        limits=(-np.inf, np.inf),
        derive=slope_counts_derivative,
        weighted=weighted_slope,
    ),
    _calibration(
        "oe_counts",
        "O:E",
        oe_counts,
        limits=(0.0, np.inf),
        derive=oe_derivative,
        weighted=observed_expected,
    ),
)
COUNT_METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}

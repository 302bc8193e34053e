"""Metrics of expected counts: deviance, scores of a distribution, calibration.

Expected counts include the exposure of each record, if the model has one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from statcv.errors import MetricError
from statcv.metrics.influence import weighted
from statcv.metrics.influence.table import influence_on_mean, oe_derivative
from statcv.metrics.influence.weighted import Derivative
from statcv.metrics.inputs import mean_of, same_length, vector
from statcv.metrics.metric import Metric
from statcv.numeric.arrays import ArrayLike, Floats

MAX_ROUNDS = 50  # steps of Newton's method by which a calibration is fitted
HYPERGEOMETRIC = 0.01  # least dispersion at which that function is exact
NODES = 40  # points of the integral that stands for it below
MIN_DISPERSION = 1e-8  # below which the distribution is Poisson's but for rounding
SAME = 1e-12  # spread of log expectations that are equal but for rounding


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
    return mean_of(casewise_poisson_deviance(y, mean))


def casewise_poisson_deviance(y: ArrayLike, mean: ArrayLike) -> Floats:
    """Deviance of each record."""
    from scipy.special import xlogy

    counts, expected = _read(y, mean)
    with np.errstate(all="ignore"):
        ratio = np.where(counts > 0, counts / expected, 1.0)
        return np.asarray(2 * (xlogy(counts, ratio) - counts + expected))


def log_score_counts(
    y: ArrayLike, mean: ArrayLike, dispersion: ArrayLike | None = None
) -> float:
    """Mean of minus the logarithm of the probability of the count.

    Parameters
    ----------
    y, mean : array_like of shape (n,)
        As in `poisson_deviance`, and so are exceptions and missing values.
    dispersion : array_like of shape (n,), optional
        1 / theta of negative binomial distributions, whose variance is the mean plus
        dispersion times its square. It is 0, so that they are Poisson's, by default.

    Examples
    --------
    >>> round(log_score_counts([0, 1, 4], [0.5, 1.0, 2.0]), 4)
    1.3018
    >>> round(log_score_counts([0, 1, 4], [0.5, 1.0, 2.0], [1.0, 1.0, 1.0]), 4)
    1.5041
    """
    return mean_of(casewise_log_score(y, mean, dispersion))


def casewise_log_score(
    y: ArrayLike, mean: ArrayLike, dispersion: ArrayLike | None = None
) -> Floats:
    """Logarithmic score of each record."""
    from scipy.special import betaln, gammaln, xlogy

    counts, expected = _read(y, mean)
    with np.errstate(all="ignore"):
        made = expected - xlogy(counts, expected) + gammaln(counts + 1)
        if dispersion is not None:
            d, size = _dispersed(dispersion, made)
            # a binomial coefficient; the beta function is exact for large sizes
            own = np.log(size + counts) + betaln(size, counts + 1)
            own += size * np.log1p(d * expected)
            own -= xlogy(counts, d * expected / (1 + d * expected))
            made = np.where(d < MIN_DISPERSION, made, own)
        return np.asarray(made)


def rps_counts(
    y: ArrayLike, mean: ArrayLike, dispersion: ArrayLike | None = None
) -> float:
    """Mean ranked probability score of counts.

    It is the sum over k of the squared difference between the probability of at most k
    and whether at most k were counted; for a certain prediction the absolute error.
    Parameters, exceptions and missing values are as in `log_score_counts`.

    References
    ----------
    Czado, Gneiting & Held (2009), Biometrics 65:1254; Wei & Held (2014), Test 23:787.

    Examples
    --------
    >>> round(rps_counts([0, 1, 4], [0.5, 1.0, 2.0]), 4)
    0.5846
    >>> round(rps_counts([0, 1, 4], [0.5, 1.0, 2.0], [1.0, 1.0, 1.0]), 4)
    0.6828
    """
    return mean_of(casewise_rps(y, mean, dispersion))


def casewise_rps(
    y: ArrayLike, mean: ArrayLike, dispersion: ArrayLike | None = None
) -> Floats:
    """Ranked probability score of each record."""
    from scipy.special import betainc, gammaln, ive, pdtr, xlogy

    counts, expected = _read(y, mean)
    with np.errstate(all="ignore"):
        density = np.exp(xlogy(counts, expected) - expected - gammaln(counts + 1))
        below = 2 * pdtr(counts, expected) - 1
        # half the mean difference of two counts, by Bessel functions
        spread = expected * (ive(0, 2 * expected) + ive(1, 2 * expected))
        made = (counts - expected) * below + 2 * expected * density - spread
        if dispersion is not None:
            d, size = _dispersed(dispersion, made)
            none = 1 / (1 + d * expected)  # probability of a count of 0 if size is 1
            own = counts * (2 * betainc(size, counts + 1, none) - 1)
            upper = np.where(counts > 0, betainc(size + 1, counts, none), 0.0)
            own -= expected * (2 * upper - 1)
            own -= _half_difference(expected * (1 + d * expected), d, size)
            made = np.where(d < MIN_DISPERSION, made, own)
        return np.asarray(made)


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
        return Derivative(weighted.by_record(eta, y - fitted, fitted, slope=True))


def _recalibrated(y: Any, x: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return intercepts and slopes of Poisson regressions on log x, by Newton steps."""
    with np.errstate(all="ignore"):
        eta = np.log(np.where(x > 0, x, np.nan))
        # about the mean, where the slope hardly changes the total
        total = weights.sum(axis=1, keepdims=True)
        middle = (weights * eta).sum(axis=1, keepdims=True) / total
        square = (weights * (eta - middle) ** 2).sum(axis=1, keepdims=True) / total
        spread = np.sqrt(square)
        eta = (eta - middle) / np.where(spread > SAME, spread, np.nan)
        start = np.log((weights * y).sum(axis=1, keepdims=True) / total) + 0 * middle
        rest = start, 0 * start, np.exp, lambda mean: mean
        a, b, step = weighted.regressed(y, eta, weights, *rest, rounds=MAX_ROUNDS)
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


def _half_difference(variance: Floats, d: Floats, size: Floats) -> Floats:
    """Return half the mean absolute difference of two negative binomial counts."""
    from scipy.special import hyp2f1

    made: Floats = variance * hyp2f1(size + 1, 0.5, 2.0, -4 * d * variance)
    few = d < HYPERGEOMETRIC  # where its integral is computed, over a half circle
    v, d, size = variance[few, None], d[few, None], size[few, None]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    # up to where the integrand is rounding error
    end = np.arcsin(np.minimum(np.sqrt(np.expm1(36 * d) / (4 * d * v)), 1.0))
    angle = end * (nodes + 1) / 2
    away = np.exp(-(size + 1) * np.log1p(4 * d * v * np.sin(angle) ** 2))
    made[few] = (2 * v * end / np.pi * away * np.cos(angle) ** 2) @ weights
    return made


def _dispersed(dispersion: ArrayLike, like: Floats) -> tuple[Floats, Floats]:
    """Return dispersions of the shape of some values, and their inverses."""
    d = np.broadcast_to(np.asarray(dispersion, dtype=float), like.shape)
    return d, 1 / np.maximum(d, MIN_DISPERSION)


# ---- the metrics by name ----


_OF_COUNTS = frozenset(("continuous",))


def _loss(function: Any, label: str, **more: Any) -> Metric:
    """Describe a mean loss, whose losses of single records have its name as well."""
    name = function.__name__.removesuffix("_counts")
    casewise = globals()[f"casewise_{name}"]
    more |= {"casewise": casewise, **influence_on_mean(casewise)}
    return Metric(name, label, function, False, _OF_COUNTS, **more)


def _calibration(function: Any, label: str, **more: Any) -> Metric:
    name = function.__name__
    return Metric(name, label, function, False, _OF_COUNTS, target=1.0, **more)


_SLOPE: dict[str, Any] = {"derive": slope_counts_derivative, "weighted": weighted_slope}
_OE: dict[str, Any] = {"derive": oe_derivative, "weighted": weighted.observed_expected}
_ALL = (
    _loss(poisson_deviance, "Poisson deviance", perfect=0.0),
    _loss(log_score_counts, "log score", takes="dispersion"),
    _loss(rps_counts, "ranked probability score", takes="dispersion"),
    _calibration(slope_counts, "calibration slope", limits=(-np.inf, np.inf), **_SLOPE),
    _calibration(oe_counts, "O:E", limits=(0.0, np.inf), **_OE),
)
COUNT_METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}

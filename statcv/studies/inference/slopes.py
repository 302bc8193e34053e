"""Calibration slopes beside that of pooled predictions: of pairs, and Harrell's."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from statcv.errors import StatcvWarning
from statcv.metrics.recalibration import calibration_slope
from statcv.result import CVResult

Floats = NDArray[np.float64]

STEPS = 100


def slope_of_pairs(difference: ArrayLike) -> float:
    """Return the calibration slope from pairs that one fit left out.

    Of two records of different classes, predicted by the same fit, the positive one
    is the one with the larger log-odds with probability ``expit(slope * difference)``
    if the log-odds are right but for intercept and slope: a conditional logistic
    regression (Breslow & Day 1980, chapter 7), in which the intercepts of the fits
    cancel.

    Parameters
    ----------
    difference : array_like of shape (pairs,)
        Log-odds of the positive record less those of the negative one.

    Returns
    -------
    float
        NaN where all differences are of one sign, so that no finite slope is best.

    Examples
    --------
    >>> round(slope_of_pairs([1.0, 1.0, 1.0, -1.0]), 6)  # log 3
    1.098612
    """
    d = np.asarray(difference, dtype=float)
    if not len(d) or not np.isfinite(d).all() or (d >= 0).all() or (d <= 0).all():
        return math.nan
    unit = float(np.abs(d).max())
    d = d / unit
    low, high = -1.0, 1.0
    while _slope_score(d, low) < 0:
        low *= 2
    while _slope_score(d, high) > 0:
        high *= 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        if _slope_score(d, middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2 / unit


def _slope_score(d: Floats, slope: float) -> float:
    """Return the derivative of the log-likelihood, which falls with the slope."""
    return float((d * 0.5 * (1 - np.tanh(slope * d / 2))).sum())


def pooled_slope(result: CVResult) -> float:
    """Return the calibration slope of the pooled predictions, the mean over repeats.

    Parameters
    ----------
    result : CVResult
    """
    slopes = [
        calibration_slope(part["observed"], part["predicted"])
        for _, part in result.predictions.groupby("repeat")
    ]
    return float(np.mean(slopes))


def paired_slope(result: CVResult) -> float:
    """Return the calibration slope of the pairs of a result (`slope_of_pairs`).

    Parameters
    ----------
    result : CVResult
    """
    pairs = result.pairs
    sign = 2 * pairs["observed"].to_numpy(dtype=float) - 1
    mine = _log_odds(pairs["predicted"])
    return slope_of_pairs(sign * (mine - _log_odds(pairs["predicted_partner"])))


def harrell_slope(result: CVResult, data: pd.DataFrame) -> float:
    """Return the optimism-corrected calibration slope of bootstrap samples.

    The slope of the fit on all records, on those same records, less the mean over
    samples of (slope in the sample) - (slope on all records).

    Parameters
    ----------
    result : CVResult
        Of bootstrap samples, of a model with coefficients.
    data : pandas.DataFrame
        What was fitted.

    References
    ----------
    Harrell, Lee & Mark (1996), Statistics in Medicine 15:361.
    """
    y = data["y"].to_numpy()
    coefficients = result.coefficients
    names = [name for name in coefficients if name in data]
    scores = (
        coefficients["Intercept"].to_numpy()[:, None]
        + coefficients[names].to_numpy(dtype=float) @ data[names].to_numpy().T
    )
    optimism = []
    for (train, _), score in zip(result.plan.split(), scores, strict=True):
        p = 0.5 * (1 + np.tanh(score / 2))
        optimism.append(
            _slope(y[train], p[train]) - _slope(y, p),
        )
    apparent = _slope(y, result.predict(data).to_numpy())
    return apparent - float(np.nanmean(optimism))


def _slope(y: NDArray[np.generic], p: Floats) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        return calibration_slope(y, p)


def _log_odds(probability: pd.Series[float]) -> Floats:
    from scipy.special import logit

    return np.asarray(logit(probability.to_numpy(dtype=float)))

"""Calibration slopes of pooled predictions, of pairs, and by Harrell's bootstrap."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import StatcvWarning
from statcv.metrics import calibration_slope, slope_of_pairs
from statcv.metrics.probabilities.paired_slope import log_odds_difference
from statcv.results.result import CVResult

Floats = NDArray[np.float64]


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
    mine, partner = pairs["predicted"].to_numpy(), pairs["predicted_partner"].to_numpy()
    return slope_of_pairs(sign * log_odds_difference(mine, partner))


def harrell_slope(result: CVResult, data: pd.DataFrame) -> float:
    """Return the optimism-corrected calibration slope of bootstrap samples.

    The slope of the fit on all records, on those same records, minus the mean over
    samples of (slope in the sample) - (slope on all records).

    Parameters
    ----------
    result : CVResult
        Result of bootstrap samples, of a model with coefficients.
    data : pandas.DataFrame
        The data of the result.

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
    known = [each for each in optimism if not math.isnan(each)]
    return apparent - float(np.mean(known)) if known else math.nan


def _slope(y: NDArray[np.generic], p: Floats) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        return calibration_slope(y, p)

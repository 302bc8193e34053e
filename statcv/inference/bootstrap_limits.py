"""Limits of an interval from bootstrap replicates: percentiles, plain and corrected."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.placements import normal_quantile

Floats = NDArray[np.float64]


def percentile_limits(replicates: Floats, level: float) -> tuple[float, float]:
    """Return the percentile limits of bootstrap replicates.

    Between two order statistics they are interpolated on the normal scale, as in
    Davison & Hinkley (1997), equation 5.8. NaN beyond the replicates.

    Examples
    --------
    >>> percentile_limits(np.arange(1.0, 1000.0), 0.95)
    (25.0, 975.0)
    """
    from scipy.special import ndtr

    z = normal_quantile(level)
    return _at(replicates, float(ndtr(-z))), _at(replicates, float(ndtr(z)))


def bca_limits(
    replicates: Floats, value: float, moved: Floats, level: float
) -> tuple[float, float]:
    """Return the bias-corrected and accelerated limits of bootstrap replicates.

    Parameters
    ----------
    replicates : numpy.ndarray
        Those that equal the estimate count half for the bias, which matters where it
        has few values.
    value : float
        The estimate.
    moved : numpy.ndarray
        How far each record moves it: for the acceleration, a sixth of the sum of
        cubes over the sum of squares to the power of 1.5.
    level : float

    Returns
    -------
    lower, upper : float
        NaN where all replicates are on one side of the estimate, or a corrected
        percentile is beyond them.

    References
    ----------
    Efron (1987), JASA 82:171.

    Examples
    --------
    >>> values, moved = np.arange(1.0, 1000.0), np.array([-1.0, 1.0])
    >>> bca_limits(values, 500.0, moved, 0.95) == percentile_limits(values, 0.95)
    True
    """
    from scipy.special import ndtr, ndtri

    slack = 1e-12 * max(1.0, abs(value))
    below = float((replicates < value - slack).sum())
    below += float((np.abs(replicates - value) <= slack).sum()) / 2
    squares = float((moved**2).sum())
    if not 0 < below < len(replicates) or not squares > 0:
        return np.nan, np.nan
    bias = float(ndtri(below / len(replicates)))
    acceleration = float((moved**3).sum()) / (6 * squares**1.5)
    z = normal_quantile(level)
    limits = []
    for side in (bias - z, bias + z):
        scale = 1 - acceleration * side
        share = float(ndtr(bias + side / scale)) if scale > 0 else np.nan
        limits.append(_at(replicates, share))
    return limits[0], limits[1]


def _at(replicates: Floats, share: float) -> float:
    """Return a quantile of replicates; NaN where it lies beyond them."""
    from scipy.special import ndtri

    place = (len(replicates) + 1) * share
    if not 1 - 1e-9 <= place <= len(replicates) + 1e-9:
        return np.nan
    k, ordered = int(np.floor(place + 1e-9)), np.sort(replicates)
    if abs(place - k) <= 1e-9:
        return float(ordered[k - 1])
    low, high, at = ndtri(np.array([k, k + 1, place]) / (len(replicates) + 1))
    step = ordered[k] - ordered[k - 1]
    return float(ordered[k - 1] + (at - low) / (high - low) * step)

"""Limits from bootstrap replicates: percentiles, and those that are bias-corrected."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.areas.placements import normal_quantile

Floats = NDArray[np.float64]


def percentile_limits(replicates: Floats, level: float) -> tuple[float, float]:
    """Return the percentile limits of bootstrap replicates.

    Between two order statistics they are interpolated on the normal scale, as in
    Davison & Hinkley (1997), equation 5.8. A limit beyond the replicates is NaN.

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
        The bootstrap replicates. Those that equal the estimate count half for the bias,
        which matters if the estimate has few possible values.
    value : float
        The estimate.
    moved : numpy.ndarray
        The amount by which each record moves the estimate. The acceleration is a sixth
        of the sum of cubes over the sum of squares to the power of 1.5.
    level : float
        Confidence level of the limits.

    Returns
    -------
    lower, upper : float
        NaN if all replicates are on one side of the estimate, or if a corrected
        percentile lies beyond them.

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

    # replicates that equal the estimate count one half
    slack = 1e-12 * max(1.0, abs(value))
    below = float((replicates < value - slack).sum())
    below += float((np.abs(replicates - value) <= slack).sum()) / 2
    squares = float((moved**2).sum())
    if not 0 < below < len(replicates) or not squares > 0:
        return np.nan, np.nan
    # the median bias in normal deviates
    bias = float(ndtri(below / len(replicates)))
    # a sixth of the skewness of the influences
    acceleration = float((moved**3).sum()) / (6 * squares**1.5)
    z = normal_quantile(level)
    limits = []
    for side in (bias - z, bias + z):
        scale = 1 - acceleration * side
        share = float(ndtr(bias + side / scale)) if scale > 0 else np.nan
        limits.append(_at(replicates, share))
    return limits[0], limits[1]


def _at(replicates: Floats, share: float) -> float:
    """Return a quantile of replicates; NaN if it lies beyond them."""
    from scipy.special import ndtri

    place = (len(replicates) + 1) * share
    if not 1 - 1e-9 <= place <= len(replicates) + 1e-9:
        return np.nan
    k, ordered = int(np.floor(place + 1e-9)), np.sort(replicates)
    if abs(place - k) <= 1e-9:
        return float(ordered[k - 1])
    # interpolation on the normal scale between two order statistics
    low, high, at = ndtri(np.array([k, k + 1, place]) / (len(replicates) + 1))
    step = ordered[k] - ordered[k - 1]
    return float(ordered[k - 1] + (at - low) / (high - low) * step)

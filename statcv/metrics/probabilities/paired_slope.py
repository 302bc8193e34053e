"""Calibration slope of pairs of a positive and a negative record."""

from __future__ import annotations

import numpy as np

from statcv.metrics.inputs import same_length, vector
from statcv.numeric.arrays import ArrayLike, Floats

_SAME = 1e-12  # log-odds nearer than this, relative to the larger, are equal
_EXACT = 1e-14  # accuracy of the slope by differences of at most 1


def slope_of_pairs(difference: ArrayLike) -> float:
    """Return the calibration slope of pairs of a positive and a negative record.

    If predicted log-odds are correct up to an intercept and a slope, then of two
    records of different classes the one with the larger log-odds is positive with
    probability ``expit(slope * difference)``. This is conditional logistic regression
    for matched pairs, in which intercepts cancel, even if they differ between fits.

    Parameters
    ----------
    difference : array_like of shape (pairs,)
        Log-odds of the positive record minus those of the negative one.

    Returns
    -------
    float
        The slope: 1 if the log-odds are calibrated, below 1 if they are too extreme.
        NaN if the differences all have one sign, so that the likelihood has no finite
        maximum, or if a difference is not finite.

    Raises
    ------
    MetricError
        If `difference` is not a one-dimensional numeric array.

    Notes
    -----
    For pairs held out by the same fit this is ``estimate("calibration_slope",
    how="paired")``. Pooled predictions of different fits have different intercepts,
    which are biased against the held-out outcome and lower the slope: in simulations of
    60 records (true slope 0.71) the slope was 0.45 for leave-one-out, 0.52 for
    rebalanced leave-one-out, and 0.57 for the pairs of the latter.

    References
    ----------
    Breslow & Day (1980), Statistical Methods in Cancer Research I, chapter 7.

    Examples
    --------
    >>> round(slope_of_pairs([1.0, 1.0, 1.0, -1.0]), 6)  # log 3
    1.098612
    """
    d = vector(difference, "difference")
    return float("nan") if no_slope(d) else _solve(d)


def no_slope(difference: Floats) -> str:
    """Return why pairs have no calibration slope; empty if they have one."""
    if not difference.size:
        return "no fit held out records of both classes"
    if not np.isfinite(difference).all():
        return "a prediction is 0, 1 or not a probability, and has no finite logit"
    if not difference.any():
        return "the records of each pair have equal predictions, so there is no slope"
    if (difference >= 0).all() or (difference <= 0).all():
        return "all pairs are ranked alike, so the slope is infinite"
    return ""


def log_odds_difference(first: Floats, second: Floats) -> Floats:
    """Return the log-odds of the first probabilities minus those of the second.

    A difference is 0 if it is due to rounding alone, and not finite if a probability
    has no finite logit.
    """
    from scipy.special import logit

    same_length(first.size, second.size, "second")
    one, other = logit(first), logit(second)
    with np.errstate(invalid="ignore"):
        difference = one - other
        same = _SAME * np.maximum(1.0, np.maximum(np.abs(one), np.abs(other)))
        equal = np.isfinite(difference) & (np.abs(difference) <= same)
    return np.where(equal, 0.0, difference)


def slope_influence(difference: Floats, slope: float) -> Floats:
    """Return the influence of each pair on the slope: its score over the information.

    The influences sum to zero at the estimated slope.
    """
    score, information = _score(difference, slope)
    return np.asarray(score / information.sum())


def _score(d: Floats, slope: float) -> tuple[Floats, Floats]:
    """Return the score and the information of each pair."""
    from scipy.special import expit

    left = expit(-slope * d)
    return d * left, d**2 * left * (1 - left)


def _solve(d: Floats) -> float:
    """Find the zero of the score, which decreases with the slope.

    The differences are scaled to at most 1.
    """
    from scipy.optimize import brentq

    unit = float(np.abs(d).max())

    def score(slope: float) -> float:
        return float(_score(d / unit, slope)[0].sum())

    low, high = -1.0, 1.0
    while score(low) < 0:
        low *= 2
    while score(high) > 0:
        high *= 2
    return float(brentq(score, low, high, xtol=_EXACT)) / unit

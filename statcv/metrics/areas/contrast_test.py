"""A Wald test that compares several areas under ROC curves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics.areas.counts import placements
from statcv.metrics.areas.delong_test import SAME_EVERYWHERE, warn_degenerate
from statcv.metrics.inputs import Floats, binary_outcome, real_array, score_rows
from statcv.tables import Printed


@dataclass(frozen=True, eq=False, repr=False)
class DeLongContrast(Printed):
    """Result of a joint test of contrasts of areas under ROC curves.

    Attributes
    ----------
    estimate : ndarray of shape (k,)
        Estimated contrasts.
    covariance : ndarray of shape (k, k)
        Covariance matrix of the contrasts.
    statistic, p_value : float
        Wald's chi-square statistic for the hypothesis that all contrasts are 0, and its
        upper-tail probability.
    df : int
        Degrees of freedom: the rank of the covariance matrix.
    reason : str
        Why a value is missing or not informative; otherwise empty.

    Examples
    --------
    >>> y, a, b = [0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], [2, 1, 5, 4, 3, 6]
    >>> test = delong_contrast(y, [a, b])
    >>> test.df, round(test.p_value, 3)
    (1, 0.48)
    """

    estimate: Floats
    covariance: Floats
    statistic: float
    df: int
    p_value: float
    reason: str = ""


def delong_contrast(
    y: ArrayLike,
    scores: ArrayLike,
    contrast: ArrayLike | None = None,
    *,
    clusters: ArrayLike | None = None,
    tie_tol: float = 1e-12,
) -> DeLongContrast:
    """Test whether several scores of the same records have the same area.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    scores : array_like of shape (m, n)
        One row for each of m scores.
    contrast : array_like of shape (m,) or (k, m), optional
        Weights of the areas, one row per contrast, each with sum 0. The default is
        each score minus the next, which tests that all areas are equal.
    clusters : array_like of shape (n,), optional
        Cluster labels, equal for records that belong together; see `delong`.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    DeLongContrast
        The test. A contrast that follows from the others, or that is 0 and does not
        vary (for two scores that rank alike), adds no degree of freedom; with no
        degrees of freedom the statistic is 0 and p is 1. If a contrast does not vary
        and is not 0, the statistic is infinite, p is 0, and a warning and the reason
        say so. The values are NaN, with the reason, if a class has fewer than two
        records (or clusters) or a score is NaN.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the shapes do not match, or a row of
        `contrast` is not a contrast.

    Warns
    -----
    DegenerateVarianceWarning
        If a contrast is not 0 but its estimated variance is 0.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837, eq. 7.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> a, b = [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7]
    >>> test = delong_contrast(y, [a, b, [5, 1, 3, 4, 2, 6, 7, 8]])
    >>> test.df, round(test.p_value, 3)
    (2, 0.675)
    >>> delong_contrast(y, [a, b, b]).df
    1
    """
    positive = binary_outcome(y)
    values = score_rows(scores, positive.size)
    weights = _contrast(contrast, len(values))
    placed = placements(positive, values, clusters, tie_tol)
    contrasts = placed.combined(weights)
    estimate, covariance = contrasts.areas, contrasts.covariance
    reason = placed.reason
    if reason:
        return DeLongContrast(
            estimate, covariance, math.nan, len(weights), math.nan, reason
        )
    size = np.abs(weights)
    statistic, df = _wald(
        estimate, covariance, size.sum(axis=1), size @ placed.standard_errors
    )
    if np.isinf(statistic):
        reason = SAME_EVERYWHERE
        warn_degenerate("the areas differ")
    return DeLongContrast(
        estimate, covariance, statistic, df, _upper_tail(statistic, df), reason
    )


def _contrast(contrast: ArrayLike | None, m: int) -> Floats:
    """Check and return the weights of m areas, one row per contrast."""
    if contrast is None:
        if m < 2:
            raise MetricError(
                f"scores must have at least two rows to compare, but has {m}."
            )
        return np.eye(m - 1, m) - np.eye(m - 1, m, 1)
    weights = np.atleast_2d(real_array(contrast, "contrast").astype(np.float64))
    if weights.ndim != 2 or weights.shape[1] != m or not len(weights):
        raise MetricError(
            f"contrast has shape {weights.shape}; it must be ({m},) or (k, {m}), with "
            "one weight for each row of scores."
        )
    size = np.abs(weights).sum(axis=1)
    odd = ~(np.isfinite(size) & (size > 0))
    odd[~odd] = np.abs(weights[~odd].sum(axis=1)) > 1e-9 * size[~odd]
    if odd.any():
        raise MetricError(
            "each row of contrast must have weights that sum to 0 and are not all 0, "
            f"unlike {weights[odd][0].tolist()}."
        )
    return weights


def _wald(
    estimate: Floats, covariance: Floats, unit: Floats, spread: Floats
) -> tuple[float, int]:
    """Return the Wald chi-square under a covariance of any rank, and the rank.

    Rounding alone changes an estimate by about 1e-16 times `unit`, and its standard
    error by about 1e-16 times `spread`. The statistic is infinite if the estimates are
    not 0 in a direction in which they do not vary.
    """
    error = np.sqrt(np.diag(covariance))
    varies = error > 1e-13 * spread
    if (np.abs(estimate) > 1e-12 * unit)[~varies].any():
        return math.inf, int(varies.sum())
    if not varies.any():
        return 0.0, 0
    error = error[varies]
    correlation = covariance[np.ix_(varies, varies)] / np.outer(error, error)
    values, vectors = np.linalg.eigh(correlation)
    along = vectors.T @ (estimate[varies] / error)
    kept = values > 1e-12 * len(values)
    rank = int(kept.sum())
    if (np.abs(along[~kept]) > 1e-4).any():
        return math.inf, rank
    return float((along[kept] ** 2 / values[kept]).sum()), rank


def _upper_tail(statistic: float, df: int) -> float:
    from scipy.special import chdtrc

    if df == 0 or np.isinf(statistic):
        return float(statistic == 0)
    return float(chdtrc(df, statistic))

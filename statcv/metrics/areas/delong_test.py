"""DeLong's test of two areas under ROC curves, and a Wald test of several."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from statcv.arguments import check_level, check_types
from statcv.errors import DegenerateVarianceWarning, MetricError, warn
from statcv.metrics import inputs
from statcv.metrics.areas import placements as areas
from statcv.numeric.arrays import ArrayLike, Floats
from statcv.tables import Printed


@dataclass(frozen=True, repr=False)
class DeLongTest(Printed):
    """Result of DeLong's test of two areas under ROC curves.

    Attributes
    ----------
    estimate : float
        The difference ``auc_a - auc_b``.
    auc_a, auc_b : float
        The two areas.
    se, statistic, p_value : float
        Standard error of the difference, difference divided by its standard error, and
        two-sided p-value.
    lower, upper, level : float
        Confidence interval for the difference, clipped to [-1, 1], and its level.
    reason : str
        Why a value is missing or not informative; otherwise empty.
    df : float
        Degrees of freedom of Student's t; infinite for paired scores, for which the
        test is normal.

    Examples
    --------
    >>> y, a, b = [0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6], [2, 1, 5, 4, 3, 6]
    >>> test = delong_test(y, a, b)
    >>> round(test.estimate, 3), round(test.p_value, 3)
    (0.111, 0.48)
    """

    estimate: float
    auc_a: float
    auc_b: float
    se: float
    statistic: float
    p_value: float
    lower: float
    upper: float
    level: float
    reason: str = ""
    df: float = math.inf


def delong_test(
    y: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    paired: bool = True,
    y_b: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    clusters_b: ArrayLike | None = None,
    level: float = 0.95,
    tie_tol: float = 1e-12,
) -> DeLongTest:
    """Test whether two scores have the same area under the ROC curve.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    a, b : array_like of shape (n,)
        Two scores. Unpaired, `b` may have another length.
    paired : bool, default True
        Whether the two scores belong to the same records. Otherwise they are those of
        two independent samples, and the test uses Student's t with the degrees of
        freedom of Welch and Satterthwaite, as in R's pROC.
    y_b : array_like, optional
        Outcome of the records of `b` if the scores are not paired; `y` by default.
    clusters, clusters_b : array_like, optional
        Cluster labels of the records of `a` and, if the scores are not paired, of `b`.
    level : float, default 0.95
        Confidence level of the interval for the difference.
    tie_tol : float, default 1e-12
        Relative difference below which two scores tie.

    Returns
    -------
    DeLongTest
        ``estimate``, the difference a minus b, with ``se``, ``lower``, ``upper``,
        ``statistic`` and the two-sided ``p_value``. If the difference does not vary, p
        is 1 for equal areas and 0 for others. The values are NaN, with the ``reason``,
        if a class has fewer than two records (or clusters) or a score is NaN.

    Raises
    ------
    MetricError
        If an argument is not valid.

    Warns
    -----
    DegenerateVarianceWarning
        If the areas differ by an amount whose estimated variance is 0.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837, eq. 7; Obuchowski
    (1997), Biometrics 53:567, for clusters.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> a, b = [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7]
    >>> test = delong_test(y, a, b)
    >>> round(test.estimate, 4), round(test.p_value, 4)
    (0.0625, 0.7119)
    """
    check_types(delong_test, locals(), MetricError)
    check_level(level, MetricError)
    positive, first = inputs.binary_scores(y, a)
    if paired:
        if y_b is not None or clusters_b is not None:
            raise MetricError(
                "y_b and clusters_b belong to a second sample, which paired scores do "
                "not have; use paired=False."
            )
        _, second = inputs.binary_scores(y, b)
        scores = np.stack([first, second])
        both = areas.placements(positive, scores, clusters, tie_tol)
        difference = both.combined(np.array([[1.0, -1.0]]))
        (area_a, area_b), (estimate,) = both.areas, difference.areas
        se, df, reason = difference.standard_errors[0], math.inf, both.reason
    else:
        positive_b, second = inputs.binary_scores(y if y_b is None else y_b, b)
        of_b = clusters if clusters_b is None else clusters_b
        sides = (positive, first[None], clusters), (positive_b, second[None], of_b)
        samples = [areas.placements(*side, tie_tol) for side in sides]
        area_a, area_b = (sample.areas[0] for sample in samples)
        estimate = area_a - area_b
        se, df = _welch(*samples)
        reasons = zip("ab", samples, strict=True)
        reason = "; ".join(f"in {k}, {s.reason}" for k, s in reasons if s.reason)
    statistic = areas.ratio(float(estimate), float(se))
    if np.isinf(statistic):
        reason = SAME_EVERYWHERE
        warn_degenerate(f"the areas {area_a:.6g} and {area_b:.6g} differ")
    known = df if np.isfinite(df) else np.nan
    ends = areas.symmetric_limits(float(estimate), float(se), level, df=known)
    lower, upper = map(float, np.clip(ends, -1, 1))
    p = areas.tail(statistic, known, "two-sided")
    shown = float(estimate), float(area_a), float(area_b), float(se), statistic
    return DeLongTest(*shown, p, lower, upper, level, reason, float(df))


SAME_EVERYWHERE = inputs.REMARKS["same_everywhere"]


def warn_degenerate(what: str) -> None:
    """Warn that a difference does not vary."""
    message = f"DeLong's test: {what}, but {SAME_EVERYWHERE}."
    warn(message, DegenerateVarianceWarning)


def _welch(
    one: areas.PlacementCounts, other: areas.PlacementCounts
) -> tuple[float, float]:
    """Return the standard error of the samples' difference, and degrees of freedom."""
    variances = np.array([one.covariance[0, 0], other.covariance[0, 0]])
    spare = np.array([one.units - 1, other.units - 1])
    total = float(variances.sum())
    if not total > 0:
        return total, math.nan
    return math.sqrt(total), total**2 / float((variances**2 / spare).sum())


# ---- several areas ----


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
    from scipy.special import chdtrc

    positive = inputs.binary_outcome(y)
    values = inputs.score_rows(scores, positive.size)
    weights = _contrast(contrast, len(values))
    placed = areas.placements(positive, values, clusters, tie_tol)
    contrasts = placed.combined(weights)
    estimate, covariance = contrasts.areas, contrasts.covariance
    reason = placed.reason
    if reason:
        tested = math.nan, len(weights), math.nan
        return DeLongContrast(estimate, covariance, *tested, reason)
    unit, spread = np.abs(weights).sum(axis=1), np.abs(weights) @ placed.standard_errors
    statistic, df = _wald(estimate, covariance, unit, spread)
    if np.isinf(statistic):
        reason = SAME_EVERYWHERE
        warn_degenerate("the areas differ")
    constant = df == 0 or np.isinf(statistic)
    p_value = float(statistic == 0 if constant else chdtrc(df, statistic))
    return DeLongContrast(estimate, covariance, statistic, df, p_value, reason)


def _contrast(contrast: ArrayLike | None, m: int) -> Floats:
    """Check and return the weights of m areas, one row per contrast."""
    if contrast is None:
        if m < 2:
            raise MetricError(
                f"scores must have at least two rows to compare, but has {m}."
            )
        return np.eye(m - 1, m) - np.eye(m - 1, m, 1)
    weights = np.atleast_2d(inputs.real_array(contrast, "contrast").astype(np.float64))
    if weights.ndim != 2 or weights.shape[1] != m or not len(weights):
        right = f"({m},) or (k, {m}), with one weight for each row of scores"
        raise inputs.wrong_shape("contrast", weights, right)
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

"""DeLong's test of two areas under ROC curves, and the Wald test of several."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import check_level
from statcv.errors import DegenerateVarianceWarning, MetricError, warn
from statcv.metrics.areas.counts import Placements, placements
from statcv.metrics.areas.placements import normal_quantile
from statcv.metrics.inputs import (
    Floats,
    binary_outcome,
    binary_scores,
    real_array,
    score_rows,
)


@dataclass(frozen=True)
class DeLongTest:
    """Two areas under ROC curves compared by DeLong's test.

    Attributes
    ----------
    estimate : float
        ``auc_a - auc_b``.
    auc_a, auc_b : float
        The two areas.
    se, statistic, p_value : float
        Standard error of the difference, its ratio, two-sided p-value.
    lower, upper, level : float
        Interval of the difference, clipped to [-1, 1], and its level.
    reason : str
        Why a number is missing or says little; empty where all is well.
    df : float
        Degrees of freedom of t, infinite for the normal test of paired scores.
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

    The null hypothesis is that the two areas are equal; the test is two-sided. It
    takes the scores as given (see `delong`).

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    a, b : array_like of shape (n,)
        Two scores. If not paired, `b` may have another length.
    paired : bool, default True
        Whether the two are scores of the same records, whose covariance counts.
        If not, the records of `a` and of `b` are two independent samples.
    y_b : array_like, optional
        Outcome of the records of `b` if not paired; `y` by default.
    clusters, clusters_b : array_like, optional
        Equal labels for records that belong together (see `delong`), and those of
        the records of `b` if not paired, by default the same.
    level : float, default 0.95
        Level of the interval of the difference, between 0 and 1.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    DeLongTest
        Where the difference does not vary (both scores rank every record alike,
        for one), the statistic is 0 and p is 1 if the areas are equal; if not, the
        statistic is infinite, p is 0, and a warning and the reason say so. With NaN
        and the reason where a class has fewer than two records (or clusters) or a
        score is NaN.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, a cluster is missing,
        `level` is out of range, or a second sample is given for paired scores.

    Warns
    -----
    DegenerateVarianceWarning
        If areas differ by an amount whose estimated variance is 0.

    Notes
    -----
    Paired, the statistic is normal. Unpaired, it is t with the degrees of freedom
    of Welch and Satterthwaite, each sample counting its records (or clusters) less
    one, as ``roc.test(paired = FALSE)`` of R's pROC has it.

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
    >>> test = delong_test(y, a, b, paired=False)
    >>> round(test.p_value, 4), round(test.df, 2)
    (0.7186, 11.6)
    """
    check_level(level, MetricError)
    positive, first = binary_scores(y, a)
    if paired:
        if y_b is not None or clusters_b is not None:
            raise MetricError(
                "y_b and clusters_b are of a second sample, and paired scores have "
                "none; say paired=False."
            )
        _, second = binary_scores(y, b)
        scores = np.stack([first, second])
        both = placements(positive, scores, clusters, tie_tol)
        difference = both.combined(np.array([[1.0, -1.0]]))
        (area_a, area_b), (estimate,) = both.areas, difference.areas
        se, df, reason = difference.standard_errors[0], math.inf, both.reason
    else:
        positive_b, second = binary_scores(y if y_b is None else y_b, b)
        of_b = clusters if clusters_b is None else clusters_b
        samples = (
            placements(positive, first[None, :], clusters, tie_tol),
            placements(positive_b, second[None, :], of_b, tie_tol),
        )
        area_a, area_b = (sample.areas[0] for sample in samples)
        estimate = area_a - area_b
        se, df = _welch(*samples)
        reasons = zip("ab", samples, strict=True)
        reason = "; ".join(f"of {k}, {s.reason}" for k, s in reasons if s.reason)
    statistic = _ratio(estimate, se)
    if np.isinf(statistic):
        reason = SAME_EVERYWHERE
        warn_degenerate(f"the areas {area_a:.6g} and {area_b:.6g} differ")
    margin = _quantile(level, df) * se if se > 0 else se
    return DeLongTest(
        float(estimate),
        float(area_a),
        float(area_b),
        float(se),
        statistic,
        _two_sided(statistic, df),
        float(np.clip(estimate - margin, -1, 1)),
        float(np.clip(estimate + margin, -1, 1)),
        level,
        reason,
        float(df),
    )


SAME_EVERYWHERE = (
    "the difference is the same for every record, so its estimated variance is 0 "
    "and the statistic infinite: the p-value of 0 is no evidence of that strength"
)


def warn_degenerate(what: str) -> None:
    """Warn of a difference that does not vary."""
    message = f"DeLong's test: {what}, but {SAME_EVERYWHERE}."
    warn(message, DegenerateVarianceWarning)


def _welch(one: Placements, other: Placements) -> tuple[float, float]:
    """Return the standard error of two samples' difference, and degrees of freedom."""
    variances = np.array([one.covariance[0, 0], other.covariance[0, 0]])
    spare = np.array([one.units - 1, other.units - 1])
    total = float(variances.sum())
    if not total > 0:
        return total, math.nan
    return math.sqrt(total), total**2 / float((variances**2 / spare).sum())


def _ratio(estimate: float, se: float) -> float:
    if se == 0:
        return float(np.sign(estimate) * np.inf) if estimate else 0.0
    return float(estimate / se)


def _two_sided(statistic: float, df: float) -> float:
    from scipy.special import ndtr, stdtr

    below = -abs(statistic)
    return 2 * float(stdtr(df, below) if np.isfinite(df) else ndtr(below))


def _quantile(level: float, df: float) -> float:
    from scipy.special import stdtrit

    if np.isfinite(df):
        return -float(stdtrit(df, (1 - level) / 2))
    return normal_quantile(level)


# ---- several areas under ROC curves compared by one Wald test ----


@dataclass(frozen=True, eq=False)
class DeLongContrast:
    """Contrasts of areas under ROC curves, tested together.

    Attributes
    ----------
    estimate : ndarray of shape (k,)
        The contrasts.
    covariance : ndarray of shape (k, k)
        Their covariance.
    statistic, p_value : float
        Wald's chi-square that all contrasts are 0, and its upper tail.
    df : int
        Its degrees of freedom: the rank of the covariance.
    reason : str
        Why a number is missing or says little; empty where all is well.
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
        A row for each of m scores.
    contrast : array_like of shape (m,) or (k, m), optional
        Weights of the areas, a row a contrast, each of sum 0. By default each
        score less the next: that all areas are equal.
    clusters : array_like of shape (n,), optional
        Equal labels for records that belong together; see `delong`.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    DeLongContrast
        A contrast that follows from the others, or that does not vary and is 0 (of
        two scores that rank alike), takes no degree of freedom; with none left the
        statistic is 0 and p is 1. Where a contrast does not vary and is not 0, the
        statistic is infinite, p is 0, and a warning and the reason say so. With NaN
        and the reason where a class has fewer than two records (or clusters) or a
        score is NaN.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, shapes do not fit, or a row of `contrast`
        is no contrast.

    Warns
    -----
    DegenerateVarianceWarning
        If a contrast is not 0 while its estimated variance is.

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
    """Return weights of m areas, a row a contrast."""
    if contrast is None:
        if m < 2:
            raise MetricError(f"scores has {m} of at least two rows to compare.")
        return np.eye(m - 1, m) - np.eye(m - 1, m, 1)
    weights = np.atleast_2d(real_array(contrast, "contrast").astype(np.float64))
    if weights.ndim != 2 or weights.shape[1] != m or not len(weights):
        raise MetricError(
            f"contrast has shape {weights.shape}; it must be ({m},) or (k, {m}), a "
            "weight for each row of scores."
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
    """Chi-square of estimates by a covariance of any rank, and the rank.

    What an estimate would be by rounding alone is some 1e-16 of `unit`, and its
    standard error of `spread`. Infinite where estimates are not 0 in a direction
    in which they do not vary.
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

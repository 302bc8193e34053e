"""Two areas under ROC curves compared by DeLong's test."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import DegenerateVarianceWarning, MetricError, warn
from statcv.level import check_level
from statcv.metrics._counts import Placements, placements
from statcv.metrics._inputs import binary_scores
from statcv.metrics.placements import normal_quantile


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

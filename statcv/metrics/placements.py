"""DeLong's variance of the area under the ROC curve, by placement values.

The area is the mean of the placements of either class, and its variance is that of
two independent means; how they are counted is in ``_counts``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics._counts import area, covariance, placement_counts, standard_error
from statcv.metrics._inputs import (
    Bools,
    Floats,
    binary_outcome,
    binary_scores,
    one_of,
    real_array,
    same_length,
)


@dataclass(frozen=True)
class DeLong:
    """An area under the ROC curve with DeLong's standard error and interval.

    Attributes
    ----------
    auc, se, lower, upper, level : float
        Area, standard error, and interval of the given level.
    n_positive, n_negative : int
        Records of each class.
    reason : str
        Why a number is missing or says little; empty where all is well.
    """

    auc: float
    se: float
    lower: float
    upper: float
    level: float
    n_positive: int
    n_negative: int
    reason: str = ""


@dataclass(frozen=True)
class DeLongTest:
    """Two areas on the same records compared by DeLong's test.

    Attributes
    ----------
    estimate : float
        ``auc_a - auc_b``.
    auc_a, auc_b : float
        The two areas.
    se, statistic, p_value : float
        Standard error of the difference, its ratio, two-sided normal p-value.
    lower, upper, level : float
        Interval of the difference, clipped to [-1, 1], and its level.
    reason : str
        Why a number is missing or says little; empty where all is well.
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


def delong(
    y: ArrayLike,
    score: ArrayLike,
    *,
    level: float = 0.95,
    interval: Literal["wald", "logit"] = "wald",
    tie_tol: float = 1e-12,
) -> DeLong:
    """Area under the ROC curve with DeLong's standard error and interval.

    The scores are taken as given, as if they came from a model fitted elsewhere.
    For cross-validated scores the standard error leaves out that the fits vary too,
    and is too small (most so at small n).

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1.
    level : float, default 0.95
        Level of the interval, between 0 and 1.
    interval : {"wald", "logit"}
        Symmetric about the area and clipped to [0, 1], or symmetric about its
        logit, which stays inside by itself.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    DeLong
        With NaN for the standard error and the interval, and the reason, where a
        class has fewer than two records or a score is NaN. Where the standard
        error is 0 (all pairs ranked right, wrong, or tied) the interval is the
        area itself, and the reason says that this measures nothing.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or an argument is
        out of range.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837, eq. 3 to 6;
    Sun & Xu (2014), IEEE Signal Processing Letters 21:1389, for the mid-ranks.

    Examples
    --------
    >>> d = delong([0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6])
    >>> round(d.auc, 4), round(d.se, 4), round(d.lower, 4), d.upper
    (0.8889, 0.1571, 0.5809, 1.0)
    """
    _check_level(level)
    one_of(interval, ("wald", "logit"), "interval")
    positive, values = binary_scores(y, score)
    won, beaten = placement_counts(positive, values[None, :], tie_tol)
    auc, se = area(won, beaten), standard_error(won, beaten)
    lower, upper = _area_interval(auc, se, level, interval)
    return DeLong(
        auc,
        se,
        lower,
        upper,
        level,
        won.shape[1],
        beaten.shape[1],
        _shortage(positive, values) or (_CONSTANT if se == 0 else ""),
    )


def delong_covariance(
    y: ArrayLike, scores: ArrayLike, *, tie_tol: float = 1e-12
) -> tuple[Floats, Floats]:
    """Areas of several scores on the same records, and their covariance matrix.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    scores : array_like of shape (m, n)
        A row for each of m scores.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    aucs : ndarray of shape (m,)
        The areas; NaN as for `auroc`.
    covariance : ndarray of shape (m, m)
        NaN where an area is, and all NaN where a class has fewer than two records.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or `scores` is not (m, n).

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837, eq. 6.

    Examples
    --------
    >>> aucs, cov = delong_covariance([0, 0, 1, 1], [[1, 3, 2, 4], [1, 2, 3, 4]])
    >>> aucs.tolist(), cov.tolist()
    ([0.75, 1.0], [[0.125, 0.0], [0.0, 0.0]])
    """
    positive = binary_outcome(y)
    values = real_array(scores, "scores").astype(np.float64, copy=False)
    if values.ndim != 2:
        raise MetricError(f"scores has shape {values.shape}; it must be (m, n).")
    same_length(positive.size, values.shape[1], "each row of scores")
    won, beaten = placement_counts(positive, values, tie_tol)
    aucs = np.array([area(row[None, :], beaten) for row in won])
    return aucs, covariance(won, beaten)


def delong_test(
    y: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    tie_tol: float = 1e-12,
) -> DeLongTest:
    """Test whether two scores on the same records have the same area.

    The null hypothesis is that the areas under the two ROC curves are equal; the
    test is two-sided and normal. It takes the scores as given (see `delong`).

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    a, b : array_like of shape (n,)
        Two scores of the same records.
    level : float, default 0.95
        Level of the interval of the difference, between 0 and 1.
    tie_tol : float, default 1e-12
        See `round_significant`.

    Returns
    -------
    DeLongTest
        Where the difference does not vary (both scores rank every record alike,
        for one), the statistic is 0 and p is 1 if the areas are equal; if not, the
        statistic is infinite, p is 0, and the reason says so. With NaN and the
        reason where a class has fewer than two records or a score is NaN.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or `level` is out of
        range.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837, eq. 7.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> a, b = [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7]
    >>> test = delong_test(y, a, b)
    >>> round(test.estimate, 4), round(test.p_value, 4)
    (0.0625, 0.7119)
    """
    _check_level(level)
    positive, first = binary_scores(y, a)
    _, second = binary_scores(y, b)
    scores = np.stack([first, second])
    won, beaten = placement_counts(positive, scores, tie_tol)
    gained, spared = won[:1] - won[1:], beaten[:1] - beaten[1:]
    estimate, se = area(gained, spared), standard_error(gained, spared)
    statistic = _ratio(estimate, se)
    margin = normal_quantile(level) * se
    reason = _shortage(positive, scores)
    if se == 0 and estimate != 0:
        reason = _SAME_EVERYWHERE
    return DeLongTest(
        estimate,
        area(won[:1], beaten),
        area(won[1:], beaten),
        se,
        statistic,
        _two_sided(statistic),
        float(np.clip(estimate - margin, -1, 1)),
        float(np.clip(estimate + margin, -1, 1)),
        level,
        reason,
    )


_CONSTANT = (
    "the placement values do not vary, so the standard error is 0 and the interval "
    "a point: neither measures uncertainty"
)
_SAME_EVERYWHERE = (
    "the difference is the same for every record, so its estimated variance is 0 "
    "and the statistic infinite: the p-value of 0 is no evidence of that strength"
)


def _shortage(positive: Bools, scores: Floats) -> str:
    """Say why there is no variance, or nothing."""
    missing = int(np.isnan(scores).sum())
    if missing:
        return f"{missing} of the scores are NaN"
    for count, name in ((positive.sum(), "positive"), ((~positive).sum(), "negative")):
        if count < 2:
            some = "one" if count else "no"
            return f"{some} {name} record: the variance needs two of each class"
    return ""


def _area_interval(
    auc: float, se: float, level: float, interval: str
) -> tuple[float, float]:
    from scipy.special import expit, logit

    margin = normal_quantile(level) * se
    if interval == "wald" or se == 0 or np.isnan(se):
        return float(np.clip(auc - margin, 0, 1)), float(np.clip(auc + margin, 0, 1))
    centre, spread = logit(auc), margin / (auc * (1 - auc))
    return float(expit(centre - spread)), float(expit(centre + spread))


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise MetricError(
            f"level must be between 0 and 1, such as 0.95, not {level!r}."
        )


def normal_quantile(level: float) -> float:
    """Return the two-sided normal quantile of a confidence level."""
    from scipy.special import ndtri

    return -float(ndtri((1 - level) / 2))


def _two_sided(statistic: float) -> float:
    from scipy.special import ndtr

    return 2 * float(ndtr(-abs(statistic)))


def _ratio(estimate: float, se: float) -> float:
    if se == 0:
        return float(np.sign(estimate) * np.inf) if estimate else 0.0
    return estimate / se

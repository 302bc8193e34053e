"""Decomposition of the Brier score, and the Brier skill score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import check_types
from statcv.errors import MetricError
from statcv.metrics.discrimination.rounding import round_significant
from statcv.metrics.groups import in_one_group, sums_by_group
from statcv.metrics.inputs import Floats, Ints, per_record
from statcv.metrics.records import (
    binary_probabilities,
    improper,
    improper_groups,
    quantile_groups,
    share_of_sums,
)
from statcv.tables import Printed
from statcv.words import plural


@dataclass(frozen=True, repr=False)
class BrierParts(Printed):
    """The Brier score and its components.

    The score equals ``reliability - resolution + uncertainty + within_variance -
    within_covariance``. The last two are 0 if each group is one distinct forecast.

    Attributes
    ----------
    brier : float
        Brier score.
    reliability : float
        Mean squared distance between the mean forecast of a group and its share of
        positive records; 0 for calibrated forecasts.
    resolution : float
        Mean squared distance between the share of positives in a group and the overall
        share.
    uncertainty : float
        Brier score of the overall share as the forecast for every record.
    within_variance, within_covariance : float
        Mean squared distance between the forecasts and the mean of their group, and
        twice the covariance of forecast and outcome within groups.
    n_groups, n : int
        Number of groups and of records.
    bias_corrected : bool
        Whether reliability, resolution and uncertainty are corrected for bias.
    reason : str
        Why a value is missing; empty if no value is.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.2, 0.3, 0.35, 0.6, 0.7, 0.8, 0.9]
    >>> parts = brier_parts(y, p, groups=2)
    >>> round(parts.brier, 3), round(parts.reliability, 3), round(parts.resolution, 3)
    (0.133, 0.0, 0.062)
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float
    n_groups: int
    n: int
    bias_corrected: bool
    reason: str = ""

    @property
    def generalized_resolution(self) -> float:
        """Resolution including the terms within groups, for a score of three terms."""
        return self.resolution - self.within_variance + self.within_covariance


def brier_parts(
    y: ArrayLike,
    p: ArrayLike,
    *,
    groups: int | None = None,
    bias_corrected: bool = False,
) -> BrierParts:
    """Brier score as reliability minus resolution plus uncertainty.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    groups : int, optional
        Number of groups of about equal size, by quantiles of `p`; by default each
        distinct forecast is a group. If all forecasts differ, reliability and
        resolution are not informative.
    bias_corrected : bool, default False
        Whether to subtract the expected excess of reliability and resolution in small
        groups, and to correct the uncertainty. A component can then be negative.

    Returns
    -------
    BrierParts
        ``brier``, ``reliability``, ``resolution``, ``uncertainty``, and the variance
        and covariance within groups; NaN, with the ``reason``, if they do not exist.

    Raises
    ------
    MetricError
        If an argument is not valid.

    References
    ----------
    Murphy (1973), Journal of Applied Meteorology 12:595; Stephenson, Coelho & Jolliffe
    (2008), Weather and Forecasting 23:752 (within groups); Ferro & Fricker (2012), Q.
    J. R. Meteorol. Soc. 138:1954 (correction).

    Examples
    --------
    >>> parts = brier_parts([0, 0, 1, 0, 1, 1], [0.2, 0.2, 0.2, 0.6, 0.6, 0.6])
    >>> round(parts.reliability, 4), round(parts.resolution, 4), parts.uncertainty
    (0.0111, 0.0278, 0.25)
    """
    check_types(brier_parts, locals(), MetricError)
    positive, p = binary_probabilities(y, p)
    if groups is None:
        codes: Ints = np.unique(round_significant(p), return_inverse=True)[1]
        codes = codes.reshape(-1)
    else:
        codes = quantile_groups(p, groups)
    n, n_groups = p.size, int(codes.max(initial=-1)) + 1
    if odd := improper(p):
        nan = float("nan")
        return BrierParts(
            nan, nan, nan, nan, nan, nan, n_groups, n, bias_corrected, odd
        )
    size = np.bincount(codes)
    share = np.bincount(codes, positive) / size
    forecast = np.bincount(codes, p) / size
    overall = positive.mean()
    reliability = float((size * (forecast - share) ** 2).sum() / n)
    resolution = float((size * (share - overall) ** 2).sum() / n)
    uncertainty = float(overall * (1 - overall))
    within_variance = within_covariance = 0.0
    if groups is not None:
        off = p - forecast[codes]
        within_variance = float((off**2).mean())
        within_covariance = float(2 * (off * (positive - share[codes])).mean())
    reason = ""
    if bias_corrected:
        excess, missing, reason = _corrections(size, share, uncertainty)
        reliability -= excess
        resolution -= excess - missing
        uncertainty += missing
    return BrierParts(
        float(((p - positive) ** 2).mean()),
        reliability,
        resolution,
        uncertainty,
        within_variance,
        within_covariance,
        n_groups,
        n,
        bias_corrected,
        reason,
    )


def brier_skill(y: ArrayLike, p: ArrayLike, baseline: ArrayLike | None = None) -> float:
    """Brier skill score: the relative reduction of a baseline's Brier score.

    This is 1 - B / B_baseline, also called the scaled Brier score or the index of
    prediction accuracy. It is negative if the baseline predicts better.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    baseline : array_like of shape (n,) or float, optional
        Probability that would be predicted without a model. In cross-validation this
        is the share of positives in the training set of each record. The default is
        the share in `y`, which is not available to held-out predictions.

    Returns
    -------
    float
        The skill score; NaN if a value is not a probability, or if the baseline has no
        error, as when all records are of one class.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    References
    ----------
    Kattan & Gerds (2018), Diagnostic and Prognostic Research 2:7.

    Examples
    --------
    >>> round(brier_skill([0, 1, 0, 1], [0.2, 0.8, 0.4, 0.6]), 3)
    0.6
    >>> round(brier_skill([0, 1, 0, 1], [0.2, 0.8, 0.4, 0.6], baseline=0.6), 3)
    0.615
    """
    if baseline is None:
        positive, _ = binary_probabilities(y, p)
        baseline = positive.mean() if positive.size else np.nan
    return in_one_group(brier_skill_by_group, y, p, baseline=baseline)


def brier_skill_by_group(
    y: ArrayLike, p: ArrayLike, group: ArrayLike, groups: int, baseline: ArrayLike
) -> Floats:
    """Brier skill score in each group.

    Parameters
    ----------
    y, p, group, groups
        As in `oe_ratio_by_group`.
    baseline : array_like of shape (n,) or float
        Probability that would be predicted without a model.

    Returns
    -------
    ndarray of shape (groups,)
        The value in each group; NaN where it does not exist.

    Raises
    ------
    MetricError
        As in `oe_ratio_by_group`.

    Examples
    --------
    >>> y, p = [0, 1, 0, 1], [0.2, 0.8, 0.4, 0.6]
    >>> brier_skill_by_group(y, p, [0, 0, 1, 1], 2, baseline=0.5).round(2)
    array([0.84, 0.36])
    """
    positive, read = binary_probabilities(y, p)
    own, reference = np.asarray(group), per_record(baseline, read.size, "baseline")
    remaining = sums_by_group(own, (read - positive) ** 2, groups)
    removable = sums_by_group(own, (reference - positive) ** 2, groups)
    odd = improper_groups(read, own, groups) | improper_groups(reference, own, groups)
    return 1 - share_of_sums(remaining, removable, odd)


def _corrections(
    size: Ints, share: Floats, uncertainty: float
) -> tuple[float, float, str]:
    """Return the excess of reliability, the deficit of uncertainty, and a reason."""
    n = int(size.sum())
    missing = uncertainty / (n - 1) if n > 1 else np.nan
    single = int((size == 1).sum())
    if single:
        few = (
            f"{plural(single, 'group')} of a single record: set groups, or set it lower"
        )
        return np.nan, missing, few
    excess = float((size * share * (1 - share) / (size - 1)).sum() / n)
    return excess, missing, ""

"""The Brier score: its parts, its skill, and tests of it; and groups by probability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.arguments import MAX_BINS, check_level, check_types, check_whole
from statcv.errors import MetricError
from statcv.metrics import inputs
from statcv.metrics.areas.placements import normal_quantile
from statcv.metrics.discrimination.rounding import round_significant
from statcv.numeric.arrays import ArrayLike, Floats, Numbers
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
    positive, p = inputs.binary_probabilities(y, p)
    if groups is None:
        codes: Numbers = np.unique(round_significant(p), return_inverse=True)[1]
        codes = codes.reshape(-1)
    else:
        codes = quantile_groups(p, groups)
    n, n_groups = p.size, int(codes.max(initial=-1)) + 1
    if odd := inputs.improper(p):
        nan = float("nan")
        terms_of_none = nan, nan, nan, nan, nan, nan
        return BrierParts(*terms_of_none, n_groups, n, bias_corrected, odd)
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
        missing = uncertainty / (n - 1) if n > 1 else np.nan
        with np.errstate(invalid="ignore"):  # NaN for a group of a single record
            excess = float((size * share * (1 - share) / (size - 1)).sum() / n)
        if single := int((size == 1).sum()):
            few = f"{plural(single, 'group')} of a single record"
            reason = f"{few}: set groups, or set it lower"
        reliability -= excess
        resolution -= excess - missing
        uncertainty += missing
    score = float(((p - positive) ** 2).mean())
    terms = reliability, resolution, uncertainty, within_variance, within_covariance
    return BrierParts(score, *terms, n_groups, n, bias_corrected, reason)


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
        positive, _ = inputs.binary_probabilities(y, p)
        baseline = positive.mean() if positive.size else np.nan
    return inputs.in_one_group(brier_skill_by_group, y, p, baseline=baseline)


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
    positive, read = inputs.binary_probabilities(y, p)
    own = np.asarray(group)
    reference = inputs.per_record(baseline, read.size, "baseline")
    remaining = np.bincount(own, (read - positive) ** 2, groups)
    removable = np.bincount(own, (reference - positive) ** 2, groups)
    odd = inputs.improper_groups(own, groups, read, reference)
    return 1 - inputs.share_of_sums(remaining, removable, odd)


# ---- groups of records, and a test of all ----


@dataclass(frozen=True, eq=False, repr=False)
class CalibrationGroups(Printed):
    """Observed share of positives in groups of records by predicted probability.

    Attributes
    ----------
    predicted, observed : ndarray of shape (groups,)
        Mean predicted probability, and observed share of positives.
    lower, upper : ndarray of shape (groups,)
        Wilson's interval for the share.
    count : ndarray of int, shape (groups,)
        Number of records.
    level : float
        Confidence level of the intervals.
    reason : str
        Why there are no groups; empty if there are.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.random.default_rng(1).uniform(size=200)
    >>> y = np.random.default_rng(2).uniform(size=200) < p
    >>> groups = calibration_groups(y, p, groups=4)
    >>> groups.count.tolist(), groups.predicted.round(2).tolist()
    ([50, 50, 50, 50], [0.15, 0.38, 0.63, 0.87])
    >>> groups.observed.round(2).tolist()
    [0.16, 0.26, 0.66, 0.86]
    """

    _points, _with_band = ("predicted", "observed", "count"), "observed"

    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    count: Numbers
    level: float
    reason: str = ""


def calibration_groups(
    y: ArrayLike, p: ArrayLike, *, groups: int = 10, level: float = 0.95
) -> CalibrationGroups:
    """Observed share of positives in groups of records by predicted probability.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    groups : int, default 10
        Number of groups of about equal size. Equal values of `p` share a group, so
        there may be fewer groups.
    level : float, default 0.95
        Confidence level of the intervals, between 0 and 1.

    Returns
    -------
    CalibrationGroups
        The groups in order of probability. They are empty, with the reason, if a value
        of `p` is not a probability or there are no records.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or an argument is
        out of range.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22:209.

    Examples
    --------
    >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.1, 0.4, 0.4, 0.8, 0.9]
    >>> g = calibration_groups(y, p, groups=3)
    >>> g.observed.tolist(), g.lower.round(2).tolist(), g.count.tolist()
    ([0.0, 0.5, 1.0], [0.0, 0.09, 0.34], [2, 2, 2])
    """
    check_level(level, MetricError)
    positive, p = inputs.binary_probabilities(y, p)
    codes = quantile_groups(p, groups)
    if odd := inputs.improper(p):
        empty, none = np.empty(0), np.empty(0, dtype=np.intp)
        return CalibrationGroups(empty, empty, empty, empty, none, level, odd)
    count = np.bincount(codes)
    share = np.bincount(codes, positive) / count
    lower, upper = wilson(share, count, normal_quantile(level))
    predicted = np.bincount(codes, p) / count
    return CalibrationGroups(predicted, share, lower, upper, count, level)


def wilson(share: Floats, count: Floats | Numbers, z: float) -> tuple[Floats, Floats]:
    """Return Wilson's limits of shares of some numbers of records."""
    spread = z * np.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    centre = share + z**2 / (2 * count)
    lower, upper = (centre + side * spread for side in (-1, 1))
    scale = 1 + z**2 / count
    lower, upper = lower / scale, upper / scale
    return np.where(share == 0, 0.0, lower), np.where(share == 1, 1.0, upper)


# ---- Spiegelhalter's test of calibration ----


@dataclass(frozen=True, repr=False)
class SpiegelhalterTest(Printed):
    """Result of Spiegelhalter's test that predicted probabilities are correct.

    Attributes
    ----------
    statistic, p_value : float
        Statistic, which is standard normal under the null hypothesis, and two-sided
        p-value.
    reason : str
        Why a value is missing or not informative; otherwise empty.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.2, 0.3, 0.35, 0.6, 0.7, 0.8, 0.9]
    >>> test = spiegelhalter_test(y, p)
    >>> round(test.statistic, 2), round(test.p_value, 2)
    (-0.57, 0.57)
    """

    statistic: float
    p_value: float
    reason: str = ""


def spiegelhalter_test(y: ArrayLike, p: ArrayLike) -> SpiegelhalterTest:
    """Test the hypothesis that each record is positive with its predicted probability.

    The statistic is the Brier score minus its expectation under the hypothesis, divided
    by its standard deviation. Records are taken as independent.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.

    Returns
    -------
    SpiegelhalterTest
        The test. It is NaN, with the reason, if a value of `p` is not a probability or
        if the Brier score cannot vary (every `p` is 0, ½ or 1). If an outcome with
        predicted probability 0 occurred, the p-value is 0 for any statistic, and the
        reason gives the number of such records.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, or the lengths differ.

    References
    ----------
    Spiegelhalter (1986), Statistics in Medicine 5:421, section 4.

    Examples
    --------
    >>> test = spiegelhalter_test([0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.9])
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (0.258, 0.796)
    """
    from scipy.special import ndtr

    positive, p = inputs.binary_probabilities(y, p)
    if odd := inputs.improper(p):
        return SpiegelhalterTest(np.nan, np.nan, odd)
    excess = float(((positive - p) * (1 - 2 * p)).sum())
    variance = float(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
    impossible = int((np.where(positive, p, 1 - p) == 0).sum())
    if impossible:
        statistic = float(excess / np.sqrt(variance)) if variance else np.inf
        happened = f"{plural(impossible, 'outcome')} of probability 0 occurred"
        return SpiegelhalterTest(statistic, 0.0, happened)
    if variance == 0:
        fixed = "every p is 0, 1/2 or 1, so the Brier score does not vary"
        return SpiegelhalterTest(np.nan, np.nan, fixed)
    statistic = float(excess / np.sqrt(variance))
    return SpiegelhalterTest(statistic, 2 * float(ndtr(-abs(statistic))))


def quantile_groups(p: Floats, groups: int) -> Numbers:
    """Return the quantile group of each record, from 0; ties share a group."""
    check_whole(groups, "groups", least=1, most=MAX_BINS, error=MetricError)
    if not p.size:
        return np.empty(0, dtype=np.intp)
    values = round_significant(p)
    edges = np.quantile(values, np.arange(1, groups) / groups, method="inverted_cdf")
    codes: Numbers = np.unique(np.searchsorted(edges, values), return_inverse=True)[1]
    return codes.reshape(-1)

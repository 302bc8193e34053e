"""Net benefit of treatment by predicted probability: decision curves.

A decision to treat at probabilities of at least t implies that the cost of a false
positive is t / (1 - t) of the benefit of a true positive. As is usual for decision
curves, a record is treated if its probability is at least t, after both are rounded to
12 significant digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.arguments import check_level
from statcv.errors import MetricError
from statcv.metrics import inputs
from statcv.metrics.areas.placements import normal_quantile
from statcv.metrics.discrimination.rounding import round_significant
from statcv.numeric.arrays import ArrayLike, Bools, Floats, Numbers
from statcv.tables import Printed
from statcv.words import plural


@dataclass(frozen=True, eq=False, repr=False)
class DecisionCurve(Printed):
    """Net benefit at each of m thresholds, where treating no record has net benefit 0.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        Smallest probabilities at which records are treated.
    net_benefit, se, lower, upper : ndarray of shape (m,)
        Net benefit of treatment by the model, with its standard error and confidence
        limits. It is also the difference from treating no record.
    treat_all : ndarray of shape (m,)
        Net benefit of treating all records.
    over_all, over_all_se, over_all_lower, over_all_upper : ndarray of shape (m,)
        Difference between the model and treating all, on the same records, with its
        standard error and confidence limits.
    standardized : ndarray of shape (m,)
        Net benefit divided by the prevalence: 1 for perfect prediction.
    avoided : ndarray of shape (m,)
        Net number of interventions that the model avoids per 100 records, compared with
        treating all; NaN at a threshold of 0.
    prevalence : float
        Share of positive records, or the prevalence that was given.
    level : float
        Confidence level of the intervals.
    n : int
        Number of records.
    reason : str
        Why a value is missing; empty if no value is.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.2, 0.3, 0.35, 0.6, 0.7, 0.8, 0.9]
    >>> curve = net_benefit(y, p, [0.2, 0.5])
    >>> curve.net_benefit.round(3).tolist(), curve.treat_all.round(3).tolist()
    ([0.406, 0.25], [0.375, 0.0])
    """

    _points = ("thresholds", "net_benefit", "treat_all", "avoided")
    _with_band = "net_benefit"

    thresholds: Floats
    net_benefit: Floats
    se: Floats
    lower: Floats
    upper: Floats
    treat_all: Floats
    over_all: Floats
    over_all_se: Floats
    over_all_lower: Floats
    over_all_upper: Floats
    standardized: Floats
    avoided: Floats
    prevalence: float
    level: float
    n: int
    reason: str = ""


def net_benefit(
    y: ArrayLike,
    p: ArrayLike,
    thresholds: ArrayLike,
    *,
    prevalence: float | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> DecisionCurve:
    """Net benefit of treatment by predicted probability, at several thresholds.

    The net benefit is the mean over records of 1 for each true positive and -t / (1 -
    t) for each false positive.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    thresholds : array_like of shape (m,) or float
        Threshold probabilities, at least 0 and below 1. A record is treated if `p` is
        at least the threshold.
    prevalence : float, optional
        Share of positives in the population, if the share among the records was fixed
        by design (case-control).
    clusters : array_like of shape (n,), optional
        Cluster labels, for standard errors of G clusters.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    DecisionCurve
        ``net_benefit``, ``treat_all``, ``over_all`` (model minus treating all), with
        standard errors and limits; ``standardized``, divided by the prevalence; and
        ``avoided``, the net number of interventions avoided per 100 records. NaN, with
        the ``reason``, where nothing varies.

    Raises
    ------
    MetricError
        If an argument is not valid.

    References
    ----------
    Vickers & Elkin (2006), Medical Decision Making 26:565; Marsh, Janes & Pepe (2020),
    Biometrics 76:843 (inference); Kerr, Brown, Zhu & Janes (2016), J. Clin. Oncol.
    34:2534 (standardized).

    Examples
    --------
    >>> y, p = [0, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.9]
    >>> curve = net_benefit(y, p, [0.25, 0.5])
    >>> curve.net_benefit.round(4).tolist(), curve.treat_all.round(4).tolist()
    ([0.2222, 0.0], [0.1111, -0.3333])
    """
    check_level(level, MetricError)
    positive, p = inputs.binary_probabilities(y, p)
    cuts = np.atleast_1d(cuts_of(thresholds))
    if cuts.ndim != 1:
        raise MetricError(f"thresholds has shape {cuts.shape}; it must be (m,).")
    codes = None if clusters is None else inputs.clusters_of(clusters, p.size)
    share = _prevalence(positive, prevalence)
    reason = inputs.improper(p) or _absent(positive, prevalence)
    odds = cuts / (1 - cuts)
    model, gain = np.full((2, 2, cuts.size), np.nan)
    if not reason:
        records = Treated.of(positive, p, cuts, prevalence, codes)
        for k, cut in enumerate(round_significant(cuts)):
            worth = np.where(records.positive, 1.0, -odds[k])
            treated = records.p >= cut
            model[:, k] = records.mean_and_se(worth * treated)
            gain[:, k] = records.mean_and_se(-worth * ~treated)
        reason = _still(model[1], gain[1])
    z = normal_quantile(level)
    with np.errstate(divide="ignore", invalid="ignore"):
        avoided = np.where(odds > 0, 100 * gain[0] / odds, np.nan)
    # each with its standard error and limits
    own, over = ((one, se, one - z * se, one + z * se) for one, se in (model, gain))
    everyone, scaled = share - (1 - share) * odds, model[0] / (share or np.nan)
    about = share, level, p.size, reason
    return DecisionCurve(cuts, *own, everyone, *over, scaled, avoided, *about)


def net_benefit_at(
    y: ArrayLike, p: ArrayLike, threshold: float | ArrayLike = 0.5
) -> float:
    """Net benefit of treatment by predicted probability, at one threshold.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    threshold : float or array_like of shape (n,), default 0.5
        Smallest probability at which a record is treated, at least 0 and below 1; or
        one such threshold per record.

    Returns
    -------
    float
        The net benefit; NaN if a value of `p` is not a probability or there are no
        records.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or a threshold is
        out of range.

    References
    ----------
    Vickers & Elkin (2006), Medical Decision Making 26:565.

    Examples
    --------
    >>> net_benefit_at([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9], 0.2)
    0.4375
    """
    return inputs.mean_of(casewise_net_benefit(y, p, threshold))


def casewise_net_benefit(
    y: ArrayLike, p: ArrayLike, threshold: float | ArrayLike = 0.5
) -> Floats:
    """Net benefit of each record: 1, minus the cost of a false positive, or 0.

    Parameters
    ----------
    y, p, threshold
        As in `net_benefit_at`, which is the mean of these values.

    Returns
    -------
    ndarray of shape (n,)
        The values; NaN if `p` is not a probability.

    Raises
    ------
    MetricError
        As in `net_benefit_at`.

    Examples
    --------
    >>> casewise_net_benefit([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9], 0.2).tolist()
    [0.0, -0.25, 1.0, 1.0]
    """
    positive, p = inputs.binary_probabilities(y, p)
    proper = (p >= 0) & (p <= 1)
    if p.size and not proper.any():  # scores, whose thresholds are on another scale
        return np.full(p.shape, np.nan)
    cuts = cuts_of(threshold)
    if cuts.ndim:
        inputs.same_length(p.size, inputs.vector(cuts, "threshold").size, "threshold")
    treated = round_significant(p) >= round_significant(cuts)
    worth = treated * np.where(positive, 1.0, -cuts / (1 - cuts))
    return np.where(proper, worth + 0.0, np.nan)


def cuts_of(thresholds: ArrayLike) -> Floats:
    """Check thresholds, and return them."""
    cuts = inputs.real_array(thresholds, "threshold").astype(np.float64, copy=False)
    odd = cuts[~((cuts >= 0) & (cuts < 1))]
    if odd.size:
        raise MetricError(
            f"a threshold of net benefit must be at least 0 and below 1, not "
            f"{odd[0]:g}."
        )
    return cuts


def _prevalence(positive: Bools, given: float | None) -> float:
    if given is None:
        return float(positive.mean()) if positive.size else float("nan")
    if not 0 < inputs.real_number(given, "prevalence") < 1:
        raise MetricError(f"prevalence must be between 0 and 1, not {given!r}.")
    return given


def _absent(positive: Bools, prevalence: float | None) -> str:
    if prevalence is None or 0 < positive.sum() < positive.size:
        return ""
    return f"no record is {'negative' if positive.all() else 'positive'}"


def _still(*errors: Floats) -> str:
    """Count the thresholds at which a standard error is missing."""
    missing = int(np.isnan(errors).any(axis=0).sum())
    if not missing:
        return ""
    return (
        f"at {plural(missing, 'threshold')} there is no variation between records (or "
        "clusters), so a standard error is missing"
    )


_NOTHING = 1e-14  # a standard error below this share of the values is rounding


@dataclass(frozen=True, eq=False)
class Treated:
    """Records, or, without clusters, the distinct kinds of records with their counts.

    `weights` are the weights of a single record in the mean, and sum to 1 over all
    records.
    """

    positive: Bools
    p: Floats
    count: Numbers
    weights: Floats
    strata: list[Bools]
    codes: Numbers | None

    @classmethod
    def of(
        cls,
        positive: Bools,
        p: Floats,
        cuts: Floats,
        prevalence: float | None,
        codes: Numbers | None,
    ) -> Treated:
        """Group the records by class and by the thresholds that they reach."""
        n, ones = positive.size, int(positive.sum())
        p, count = round_significant(p), np.ones(n, dtype=np.intp)
        if codes is None:
            passed = np.searchsorted(np.sort(round_significant(cuts)), p, side="right")
            kind = 2 * passed + positive
            _, kinds, count = np.unique(kind, return_index=True, return_counts=True)
            positive, p = positive[kinds], p[kinds]
        if prevalence is None:
            weights, strata = np.full(p.size, 1 / n), [np.ones(p.size, dtype=bool)]
        else:
            each = prevalence / ones, (1 - prevalence) / (n - ones)
            weights, strata = np.where(positive, *each), [positive, ~positive]
        return cls(positive, p, count, weights, strata, codes)

    def mean_and_se(self, values: Floats) -> tuple[float, float]:
        """Return the mean and its standard error, which is NaN if nothing varies.

        Strata are independent samples. A stratum of a single record has no variance.
        """
        mean = float((self.count * self.weights) @ values) + 0.0
        parts, variance = np.empty_like(values), 0.0
        still = True
        for members in self.strata:
            own, count = values[members], self.count[members]
            n = int(count.sum())
            if n < 2:
                return mean, np.nan
            still = still and bool(np.ptp(own) == 0)
            parts[members] = self.weights[members] * (own - (count @ own) / n)
            variance += n / (n - 1) * float(count @ parts[members] ** 2)
        if still:
            return mean, np.nan
        if self.codes is None:
            return mean, float(np.sqrt(variance))
        se = float(np.sqrt(inputs.sum_of_squares(parts[:, None], self.codes)[0, 0]))
        return mean, se if se > _NOTHING * np.abs(values).max() else np.nan

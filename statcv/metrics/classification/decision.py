"""Net benefit of treating by predicted probability: decision curves.

Whoever treats from a probability of t on holds a false positive to cost t / (1 - t)
of what a true positive gains. A record is treated where its probability is at least
t, as is the custom for decision curves, after rounding to 12 significant digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import check_level
from statcv.errors import MetricError, plural
from statcv.metrics.areas.placements import normal_quantile
from statcv.metrics.discrimination.ranking import round_significant
from statcv.metrics.inputs import (
    Bools,
    Floats,
    Ints,
    real_array,
    real_number,
    same_length,
    vector,
)
from statcv.metrics.records import (
    binary_probabilities,
    clusters_of,
    improper,
    sum_of_squares,
)

_NOTHING = 1e-14  # a standard error below this share of the values is rounding


@dataclass(frozen=True, eq=False)
class Treated:
    """Records, or where there are no clusters, the kinds of which they are many.

    `weights` are those of one record in the mean; they sum to 1 over all.
    """

    positive: Bools
    p: Floats
    count: Ints
    weights: Floats
    strata: list[Bools]
    codes: Ints | None

    @classmethod
    def of(
        cls,
        positive: Bools,
        p: Floats,
        cuts: Floats,
        prevalence: float | None,
        codes: Ints | None,
    ) -> Treated:
        """Count the records above each threshold."""
        n, ones = positive.size, int(positive.sum())
        p, count = round_significant(p), np.ones(n, dtype=np.intp)
        if codes is None:
            passed = np.searchsorted(np.sort(round_significant(cuts)), p, side="right")
            _, kinds, count = np.unique(
                2 * passed + positive, return_index=True, return_counts=True
            )
            positive, p = positive[kinds], p[kinds]
        if prevalence is None:
            weights, strata = np.full(p.size, 1 / n), [np.ones(p.size, dtype=bool)]
        else:
            each = prevalence / ones, (1 - prevalence) / (n - ones)
            weights, strata = np.where(positive, *each), [positive, ~positive]
        return cls(positive, p, count, weights, strata, codes)

    def mean_and_se(self, values: Floats) -> tuple[float, float]:
        """Return the mean and its standard error, NaN where nothing varies.

        Strata are independent samples; one of a single record has no variance.
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
        se = float(np.sqrt(sum_of_squares(parts[:, None], self.codes)[0, 0]))
        return mean, se if se > _NOTHING * np.abs(values).max() else np.nan


# ---- net benefit of treating by predicted probability: decision curves ----


@dataclass(frozen=True, eq=False)
class DecisionCurve:
    """Net benefit at each of m thresholds; that of treating none is 0.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        Probabilities from which on records are treated.
    net_benefit, se, lower, upper : ndarray of shape (m,)
        Of treating by the model, which is its difference from treating none too.
    treat_all : ndarray of shape (m,)
        Net benefit of treating all.
    over_all, over_all_se, over_all_lower, over_all_upper : ndarray of shape (m,)
        What the model adds to treating all, on the same records.
    standardized : ndarray of shape (m,)
        Net benefit over prevalence: 1 is that of perfect prediction.
    avoided : ndarray of shape (m,)
        Net interventions avoided by the model per 100 records, against treating
        all; NaN at a threshold of 0.
    prevalence : float
        Share of positive records, or as given.
    level : float
        Level of the intervals.
    n : int
        Records.
    reason : str
        Why a number is missing; empty where none is.
    """

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
    """Net benefit of treating by predicted probability, at several thresholds.

    The net benefit is the mean over records of 1 for each true positive and
    -t / (1 - t) for each false one, which gives its standard error. It is that of
    the records given the probabilities; pooled cross-validated ones are scored
    once.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    thresholds : array_like of shape (m,) or float
        Probabilities at least 0 and below 1. A record is treated where `p` is at
        least the threshold.
    prevalence : float, optional
        Share of positives in the population, where that among the records was
        chosen (case-control). Positive and negative records then count as two
        samples, whose sizes are fixed.
    clusters : array_like of shape (n,), optional
        Equal values are records that belong together; the standard errors are then
        those of G clusters, times √(G / (G - 1)).
    level : float, default 0.95
        Level of the intervals, between 0 and 1.

    Returns
    -------
    DecisionCurve
        With NaN for standard error and interval at thresholds at which nothing
        varies (nobody is treated, for one), and the reason with their number. All
        NaN where a `p` is no probability, or where a class has no record and a
        prevalence is given.

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, the lengths differ, or an argument is
        out of range.

    References
    ----------
    Vickers & Elkin (2006), Medical Decision Making 26:565; Marsh, Janes & Pepe
    (2020), Biometrics 76:843, for the inference; Kerr, Brown, Zhu & Janes (2016),
    Journal of Clinical Oncology 34:2534, for the standardized net benefit.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4, 0.6, 0.9]
    >>> curve = net_benefit(y, p, [0.25, 0.5])
    >>> curve.net_benefit.round(4).tolist(), curve.treat_all.round(4).tolist()
    ([0.2222, 0.0], [0.1111, -0.3333])
    >>> curve.avoided.round(1).tolist()
    [33.3, 33.3]
    """
    check_level(level, MetricError)
    positive, p = binary_probabilities(y, p)
    cuts = np.atleast_1d(_cuts(thresholds))
    if cuts.ndim != 1:
        raise MetricError(f"thresholds has shape {cuts.shape}; it must be (m,).")
    codes = None if clusters is None else clusters_of(clusters, p.size)
    share = _prevalence(positive, prevalence)
    reason = improper(p) or _absent(positive, prevalence)
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
    return DecisionCurve(
        cuts,
        model[0],
        model[1],
        model[0] - z * model[1],
        model[0] + z * model[1],
        share - (1 - share) * odds,
        gain[0],
        gain[1],
        gain[0] - z * gain[1],
        gain[0] + z * gain[1],
        model[0] / (share or np.nan),
        avoided,
        share,
        level,
        p.size,
        reason,
    )


def net_benefit_at(
    y: ArrayLike, p: ArrayLike, threshold: float | ArrayLike = 0.5
) -> float:
    """Net benefit of treating by predicted probability, at one threshold.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    p : array_like of shape (n,)
        Probability of 1.
    threshold : float or array_like of shape (n,), default 0.5
        Probability from which on a record is treated, at least 0 and below 1; or
        one a record.

    Returns
    -------
    float
        The net benefit; NaN when a `p` is no probability or there is no record.

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
    values = casewise_net_benefit(y, p, threshold)
    return float(values.mean()) if values.size else float("nan")


def casewise_net_benefit(
    y: ArrayLike, p: ArrayLike, threshold: float | ArrayLike = 0.5
) -> Floats:
    """Net benefit of each record: 1, or what a false positive costs, or 0.

    Parameters
    ----------
    y, p, threshold
        As in `net_benefit_at`, which is the mean of these.

    Returns
    -------
    ndarray of shape (n,)
        The values; NaN where `p` is no probability.

    Raises
    ------
    MetricError
        As in `net_benefit_at`.

    Examples
    --------
    >>> casewise_net_benefit([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9], 0.2).tolist()
    [0.0, -0.25, 1.0, 1.0]
    """
    positive, p = binary_probabilities(y, p)
    if p.size and np.isnan(p).all():  # decision values, whose thresholds are their own
        return p
    cuts = _cuts(threshold)
    if cuts.ndim:
        same_length(p.size, vector(cuts, "threshold").size, "threshold")
    treated = round_significant(p) >= round_significant(cuts)
    worth = treated * np.where(positive, 1.0, -cuts / (1 - cuts))
    return np.where((p >= 0) & (p <= 1), worth + 0.0, np.nan)


def _cuts(thresholds: ArrayLike) -> Floats:
    cuts = real_array(thresholds, "threshold").astype(np.float64, copy=False)
    odd = cuts[~((cuts >= 0) & (cuts < 1))]
    if odd.size:
        raise MetricError(
            f"a threshold of net benefit is at least 0 and below 1, not {odd[0]:g}."
        )
    return cuts


def _prevalence(positive: Bools, given: float | None) -> float:
    if given is None:
        return float(positive.mean()) if positive.size else float("nan")
    if not 0 < real_number(given, "prevalence") < 1:
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
        f"at {plural(missing, 'threshold')} nothing varies between records (or "
        "clusters), so a standard error is missing"
    )

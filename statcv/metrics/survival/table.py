"""The metrics of times to an event by name, for any horizons, and concordances."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from statcv.arguments import described, is_list, is_number
from statcv.errors import MetricError
from statcv.metrics.discrimination.ranking import lower_sums
from statcv.metrics.influence.weighted import Derivative
from statcv.metrics.inputs import real_number
from statcv.metrics.metric import Metric
from statcv.metrics.probabilities.smooth import QUANTILES
from statcv.metrics.registry import METRICS
from statcv.metrics.survival import horizon as measures
from statcv.metrics.survival.smooth import Distance
from statcv.numeric.arrays import ArrayLike, Floats, Numbers
from statcv.numeric.survival import RiskSets

_AT_HORIZON: dict[str, measures.Measure] = {
    "auroc": measures.AreaAtHorizon(),
    "calibration_slope": measures.RecalibrationAtHorizon(slope=True),
    "calibration_intercept": measures.RecalibrationAtHorizon(slope=False),
    "oe_ratio": measures.ObservedExpected(),
    "brier": measures.MeanOf(measures.squared),
    "brier_skill": measures.ScaledBrier(),
    **{name: Distance(name) for name in ("ici", *QUANTILES, "emax")},
    "net_benefit": measures.MeanOf(measures.benefit),
}
_LIMITS = {"brier": (0.0, math.inf), "brier_skill": (-math.inf, 1.0)}


def _metric(
    like: str, name: str, label: str, form: measures.Form, horizon: float | None = None
) -> Metric:
    """Return a metric with the properties of one of other outcomes."""
    metric = METRICS[like]
    columns = len(form.horizons) if isinstance(form, IntegratedBrier) else 0
    changed: dict[str, Any] = {"limits": _LIMITS.get(like, metric.limits)}
    changed |= {"outcomes": frozenset(("survival",)), "uses_baseline": False}
    changed |= {"derive": measures.DerivativeOf(form), "weighted": form}
    changed |= {"function": measures.ValueOf(form, columns), "horizon": horizon}
    changed |= dict.fromkeys(("casewise", "pairs", "by_group"))
    return replace(metric, name=name, label=label, **changed)


def survival_metrics(horizons: tuple[float, ...] = ()) -> dict[str, Metric]:
    """Return the metrics of times to an event, in the order of tables.

    Parameters
    ----------
    horizons : tuple of float
        Times at which risks are predicted.

    Returns
    -------
    dict of str to Metric
        ``harrell_c`` and ``uno_c``, which read linear predictors; and for each horizon
        t ``auroc@t``, ``calibration_slope@t``, ``calibration_intercept@t``,
        ``oe_ratio@t``, ``brier@t``, ``brier_skill@t``, ``ici@t``, ``e50@t``,
        ``e90@t``, ``emax@t`` and ``net_benefit@t``, which read the risk at t. Records
        censored before t are represented by others (inverse probability of censoring
        weights). The metrics are NaN if no record has an event by t, or none is at
        risk after t. Their functions also take ``censoring``, as `uno_c` does.

    Raises
    ------
    MetricError
        If a horizon is not a number above 0.

    References
    ----------
    Blanche, Dartigues & Jacqmin-Gadda (2013), Statistics in Medicine 32:5381 (AUC);
    Gerds & Schumacher (2006), Biometrical Journal 48:1029 (Brier score); Blanche, Holt
    & Scheike (2023), Lifetime Data Analysis 29:441 (calibration); Austin, Harrell &
    van Klaveren (2020), Statistics in Medicine 39:2714 (ICI); Vickers, Cronin, Elkin &
    Gonen (2008), BMC Med Inform Decis Mak 8:53 (net benefit).

    Examples
    --------
    >>> metrics = survival_metrics((10,))
    >>> list(metrics)[:4]
    ['harrell_c', 'uno_c', 'auroc@10', 'calibration_slope@10']
    >>> y, risk = [5, -8, 12, 20], [0.9, 0.5, 0.6, 0.1]
    >>> metrics["auroc@10"](y, risk), round(metrics["brier@10"](y, risk), 4)
    (1.0, 0.1413)
    """
    found = [
        _metric("concordance", "harrell_c", "Harrell's C", Concordance()),
        _metric("concordance", "uno_c", "Uno's C", Concordance(uno=True)),
    ]
    for time in _checked(horizons):
        for name, measure in _AT_HORIZON.items():
            label = f"{METRICS[name].label} at {time:g}"
            form = measures.AtHorizon(measure, time)
            found.append(_metric(name, f"{name}@{time:g}", label, form, time))
    return {metric.name: metric for metric in found}


def _checked(horizons: tuple[float, ...]) -> list[float]:
    if not is_list(horizons):
        shown = described(horizons)
        raise MetricError(f"horizons must be a tuple such as (365,), not {shown}.")
    odd = [one for one in horizons if not is_number(one) or not 0 < one < math.inf]
    if odd:
        raise MetricError(f"A horizon must be a number above 0, not {odd[0]!r}.")
    return [float(one) for one in horizons]


# ---- the Brier score over time ----


def integrated_brier(
    y: ArrayLike,
    risk: ArrayLike,
    horizons: tuple[float, ...],
    *,
    censoring: ArrayLike | None = None,
) -> float:
    """Mean of the Brier score over time, from 0 to the largest horizon.

    Parameters
    ----------
    y : array_like of shape (n,)
        Signed times: of an event if positive, of censoring if negative.
    risk : array_like of shape (n, H)
        Predicted risk at each horizon.
    horizons : tuple of H floats
        Rising times, between which the score is interpolated linearly from 0 at 0.
    censoring : array_like, optional
        As in `uno_c`.

    Returns
    -------
    float
        The mean; NaN if a score is NaN.

    Raises
    ------
    MetricError
        If the horizons do not rise, or differ in number from the risks.

    References
    ----------
    Graf, Schmoor, Sauerbrei & Schumacher (1999), Statistics in Medicine 18:2529.

    Examples
    --------
    >>> risk = [[0.5, 0.8], [0.3, 0.4], [0.2, 0.6], [0.1, 0.2]]
    >>> round(integrated_brier([5, -8, 12, 20], risk, (10, 15)), 4)
    0.0548
    """
    metric = integrated_brier_metric(horizons)
    return metric.function(y, risk, censoring=censoring)


def integrated_brier_metric(horizons: tuple[float, ...]) -> Metric:
    """Return `integrated_brier` as a metric, whose predictions are of shape (n, H).

    >>> integrated_brier_metric((10, 15)).name
    'integrated_brier@15'
    """
    times = _rising(horizons)
    name, label = f"integrated_brier@{times[-1]:g}", f"Brier score to {times[-1]:g}"
    form = IntegratedBrier(times)
    return _metric("brier", name, f"integrated {label}", form, times[-1])


def _rising(horizons: tuple[float, ...]) -> tuple[float, ...]:
    times = _checked(horizons)
    if not times or any(np.diff(times) <= 0):
        raise MetricError(f"horizons={horizons!r} must be times in rising order.")
    return tuple(times)


@dataclass(frozen=True)
class IntegratedBrier:
    """The Brier score over time by the trapezoidal rule, from 0 at 0.

    Attributes
    ----------
    horizons : tuple of float
    """

    horizons: tuple[float, ...]

    def _parts(self) -> list[tuple[float, measures.AtHorizon]]:
        ends = np.array([0.0, *self.horizons, self.horizons[-1]])
        shares = (ends[2:] - ends[:-2]) / 2 / self.horizons[-1]
        score = measures.MeanOf(measures.squared)
        forms = (measures.AtHorizon(score, time) for time in self.horizons)
        return list(zip(shares.tolist(), forms, strict=True))

    def __call__(self, y: Floats, x: Floats, weights: Floats, **named: Any) -> Floats:
        """Return the mean over time, for predictions of shape (m, n, H)."""
        each = [
            share * form(y, x[..., k], weights, **_at(k, **named))
            for k, (share, form) in enumerate(self._parts())
        ]
        return np.asarray(sum(each))

    def derivative(self, y: Floats, x: Floats, **named: Any) -> Derivative:
        """Return the derivatives."""
        each = [
            share * form.derivative(y, x[:, k], **_at(k, **named)).weight
            for k, (share, form) in enumerate(self._parts())
        ]
        return Derivative(np.asarray(sum(each)))


def _at(k: int, uncensored: Floats | None = None, **named: Any) -> dict[str, Any]:
    """Return what is known of censoring at one of the horizons."""
    own = None if uncensored is None else uncensored[:, min(k, uncensored.shape[1] - 1)]
    return {**named, "uncensored": own}


# ---- concordance ----

# Two records are compared if one has its event while the other is still at risk, also
# if the other is censored at that time. The pair is concordant if the first has the
# higher prediction; a tie counts one half. Two events at the same time are not
# compared.


def harrell_c(y: ArrayLike, prediction: ArrayLike) -> float:
    """Harrell's concordance: the share of comparable pairs that are ranked correctly.

    Parameters
    ----------
    y : array_like of shape (n,)
        Signed times: of an event if positive, of censoring if negative.
    prediction : array_like of shape (n,)
        Scores, higher for earlier events.

    Returns
    -------
    float
        The share, in which a tie of predictions counts one half; NaN without
        comparable pairs, or if a prediction is NaN.

    Raises
    ------
    MetricError
        If a time is 0 or not finite, or the lengths differ.

    References
    ----------
    Harrell, Califf, Pryor, Lee & Rosati (1982), JAMA 247:2543.

    Examples
    --------
    >>> harrell_c([5, -8, 12, 20], [0.9, 0.5, 0.6, 0.1])
    1.0
    """
    return measures.ValueOf(Concordance())(y, prediction)


def uno_c(
    y: ArrayLike,
    prediction: ArrayLike,
    *,
    tau: float | None = None,
    censoring: ArrayLike | None = None,
) -> float:
    """Uno's concordance, which does not depend on the distribution of censoring.

    A pair has the weight 1 / G(T-)², where T is the time of its event and G the
    probability of not being censored.

    Parameters
    ----------
    y, prediction : array_like of shape (n,)
        As in `harrell_c`.
    tau : float, optional
        Largest time whose events count; by default that of the last event.
    censoring : array_like of shape (n_train,), optional
        Signed times from which G is estimated, such as those of the training records;
        by default `y`. Beyond the last of these times, G keeps its last value above 0.

    Returns
    -------
    float
        The share; NaN as in `harrell_c`.

    Raises
    ------
    MetricError
        As in `harrell_c`, or if `tau` is not a number.

    References
    ----------
    Uno, Cai, Pencina, D'Agostino & Wei (2011), Statistics in Medicine 30:1105.

    Examples
    --------
    >>> round(uno_c([5, -8, 12, 20], [0.5, 0.9, 0.6, 0.1]), 3)
    0.619
    """
    last = None if tau is None else real_number(tau, "tau")
    return measures.ValueOf(Concordance(True, last))(y, prediction, censoring=censoring)


@dataclass(frozen=True)
class Concordance:
    """Harrell's or Uno's concordance of weighted records.

    Attributes
    ----------
    uno : bool
        Whether pairs are weighted by the inverse probability of censoring.
    tau : float or None
        Largest time whose events count.
    """

    uno: bool = False
    tau: float | None = None

    def __call__(
        self, y: Floats, x: Floats, weights: Floats, **named: Floats | None
    ) -> Floats:
        """Return the concordance."""
        slot, ranks = RiskSets.of(y).slot, measures.with_ties(x)
        events = weights * self._factor(y, weights, **named)
        right = _before(slot, -ranks, events)
        pairs = weights * _before(slot, None, events)
        with np.errstate(all="ignore"):
            found = (weights * right).sum(1) / pairs.sum(1)
        found = np.minimum(found, 1.0)  # equal sums may be rounded apart
        return np.where(np.isnan(x).any(axis=1), np.nan, found)

    def derivative(self, y: Floats, x: Floats, **named: Floats | None) -> Derivative:
        """Return the derivatives."""
        slot, one = RiskSets.of(y).slot, np.ones((1, len(y)))
        ranks = measures.with_ties(x)[None]
        factor = self._factor(y, one, **named)
        right, pairs = (_before(slot, by, factor)[0] for by in (-ranks, None))
        above, later = (_before(-slot, by, one)[0] for by in (ranks, None))
        total = pairs.sum()
        value = float(right.sum() / total)
        by_event = factor[0] * (above - value * later) / total
        weight = by_event + (right - value * pairs) / total
        if self.uno and named.get("censoring") is None:
            weight = weight - 2 * measures.by_censoring(y, by_event)
        return Derivative(weight, None, value)

    def _factor(
        self,
        y: Floats,
        weights: Floats,
        censoring: Floats | None = None,
        uncensored: Floats | None = None,
    ) -> Floats:
        """Return the factor by which the pairs of each event are weighted."""
        counts = (y > 0) & (y <= (np.inf if self.tau is None else self.tau))
        if not self.uno:
            return counts[None].astype(float)
        if uncensored is None:
            curve = measures.censoring_curve(y, weights, censoring)
            uncensored = curve.before(np.abs(y))
        return np.where(counts, 1 / uncensored**2, 0.0).reshape(-1, len(y))


def _before(slot: Numbers, ranks: Floats | None, values: Floats) -> Floats:
    """Return sums of values over the records in smaller slots, and of smaller rank.

    Parameters
    ----------
    slot : numpy.ndarray of int, shape (n,)
    ranks : numpy.ndarray, shape (m, n) or (1, n), or None
        Ranks, whose ties count one half; None if they do not matter.
    values : numpy.ndarray, shape (m, n) or (1, n)
    """
    place = np.unique(slot, return_inverse=True)[1].reshape(-1)
    if ranks is None:
        size = int(place.max()) + 1
        sums = np.array([np.bincount(place, row, size) for row in values])
        return np.asarray((np.cumsum(sums, axis=1) - sums)[:, place])
    own = np.broadcast_to(place, ranks.shape)
    found = _dominated(place, np.lexsort((own, ranks)), values)
    rising = np.sort(ranks, axis=1)
    if (rising[:, 1:] == rising[:, :-1]).any():  # once with and once without ties
        found += _dominated(place, np.lexsort((-own, ranks)), values)
        found /= 2
    return found


def _dominated(place: Numbers, order: Numbers, values: Floats) -> Floats:
    """Return sums of values over records earlier in the order, at smaller places."""
    sets, n = order.shape
    begin = np.repeat(np.arange(sets) * n, n)
    if sets > 1:  # one row, in which each set is a block
        values = np.take_along_axis(np.broadcast_to(values, (sets, n)), order, axis=1)
        values = values.reshape(1, sets * n)
    else:
        values = values[:, order[0]]
    sums = lower_sums(place[order].ravel(), begin, begin + n, values)
    found = np.empty_like(sums)
    found[:, order.ravel() + begin] = sums
    return found.reshape(-1, n)

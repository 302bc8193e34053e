"""The metrics of times to an event by name, for any horizons."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import described, is_list, is_number
from statcv.errors import MetricError
from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.inputs import Floats
from statcv.metrics.metric import Metric
from statcv.metrics.registry import METRICS
from statcv.metrics.survival.concordance import Concordance
from statcv.metrics.survival.horizon import (
    Area,
    AtHorizon,
    MeanOf,
    Measure,
    ObservedExpected,
    Recalibration,
    ScaledBrier,
    benefit,
    squared,
)
from statcv.metrics.survival.known import DerivativeOf, Form, ValueOf
from statcv.metrics.survival.smooth import QUANTILES, Distance

_AT_HORIZON: dict[str, Measure] = {
    "auroc": Area(),
    "calibration_slope": Recalibration(slope=True),
    "calibration_intercept": Recalibration(slope=False),
    "oe_ratio": ObservedExpected(),
    "brier": MeanOf(squared),
    "brier_skill": ScaledBrier(),
    **{name: Distance(name) for name in ("ici", *QUANTILES, "emax")},
    "net_benefit": MeanOf(benefit),
}
_LIMITS = {"brier": (0.0, math.inf), "brier_skill": (-math.inf, 1.0)}


def _metric(
    like: str, name: str, label: str, form: Form, horizon: float | None = None
) -> Metric:
    """Return a metric with the properties of one of other outcomes."""
    metric = METRICS[like]
    columns = len(form.horizons) if isinstance(form, IntegratedBrier) else 0
    return replace(
        metric,
        name=name,
        label=label,
        function=ValueOf(form, columns),
        outcomes=frozenset(("survival",)),
        casewise=None,
        uses_baseline=False,
        limits=_LIMITS.get(like, metric.limits),
        pairs=None,
        by_group=None,
        derive=DerivativeOf(form),
        weighted=form,
        horizon=horizon,
    )


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
            form = AtHorizon(measure, time)
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
    return _metric(
        "brier", name, f"integrated {label}", IntegratedBrier(times), times[-1]
    )


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

    def _parts(self) -> list[tuple[float, AtHorizon]]:
        ends = np.array([0.0, *self.horizons, self.horizons[-1]])
        shares = (ends[2:] - ends[:-2]) / 2 / self.horizons[-1]
        forms = (AtHorizon(MeanOf(squared), time) for time in self.horizons)
        return list(zip(shares.tolist(), forms, strict=True))

    def __call__(self, y: Floats, x: Floats, weights: Floats, **named: Any) -> Floats:
        """Return the mean over time, for predictions of shape (m, n, H)."""
        parts = enumerate(self._parts())
        each = [
            share * form(y, x[..., k], weights, **_at(k, **named))
            for k, (share, form) in parts
        ]
        return np.asarray(sum(each))

    def derivative(self, y: Floats, x: Floats, **named: Any) -> Derivative:
        """Return the derivatives."""
        parts = enumerate(self._parts())
        each = [
            share * form.derivative(y, x[:, k], **_at(k, **named)).weight
            for k, (share, form) in parts
        ]
        return Derivative(np.asarray(sum(each)))


def _at(k: int, uncensored: Floats | None = None, **named: Any) -> dict[str, Any]:
    """Return what is known of censoring at one of the horizons."""
    own = None if uncensored is None else uncensored[:, min(k, uncensored.shape[1] - 1)]
    return {**named, "uncensored": own}

"""The scale on which an estimate is symmetric, and Wilson's limits of a share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from statcv.metrics import Metric


@dataclass(frozen=True)
class Scale:
    """A scale on which an estimate is nearly normal.

    Attributes
    ----------
    name : str
        What the transformed estimate is called.
    to, back : callable
        The transformation, and its inverse.
    slope : callable
        The change of the estimate with its transform, by which the delta method carries
        standard errors from one to the other.
    """

    name: str
    to: Callable[[Any], Any]
    back: Callable[[Any], Any]
    slope: Callable[[Any], Any]


SCALES = {
    "identity": Scale("value", lambda x: x, lambda x: x, lambda x: 1.0),
    "log": Scale("logarithm", np.log, np.exp, lambda x: x),
    "logit": Scale(
        "logit",
        lambda x: np.log(np.divide(x, 1 - x)),
        lambda x: 1 / (1 + np.exp(-x)),
        lambda x: x * (1 - x),
    ),
}


def is_ratio(metric: Metric) -> bool:
    """Return whether a metric is positive, and its error relative to its size.

    >>> from statcv.metrics import METRICS
    >>> [is_ratio(METRICS[name]) for name in ("oe_ratio", "rmse", "brier")]
    [True, True, False]
    """
    return metric.root_of is not None or (metric.target == 1 and metric.bounds[0] == 0)


def scale_of(metric: Metric, value: float) -> str:
    """Return the scale on which the limits of an estimate are symmetric."""
    return "log" if is_ratio(metric) and value > 0 else "identity"


def wilson_limits(
    value: float, rate: float, level: float, df: float
) -> tuple[float, float]:
    """Return limits between 0 and 1 whose variance depends on the parameter.

    They are the values θ for which (t - θ)² = q² c θ(1 - θ), where t is the estimate
    and q the quantile of Student's t. For a share of n records with c = 1/n they are
    Wilson's limits.

    Parameters
    ----------
    value : float
        The estimate.
    rate : float
        The variance of the estimate for a parameter θ, over θ(1 - θ).
    level, df : float
        The confidence level and the degrees of freedom.

    Examples
    --------
    >>> lower, upper = wilson_limits(0.8, 1 / 50, 0.95, float("inf"))
    >>> round(lower, 3), round(upper, 3)
    (0.67, 0.888)
    """
    from scipy.special import stdtrit

    quantile = float(stdtrit(df, (1 + level) / 2))
    # Wilson's limits solve (value - p)² = t² rate p (1 - p) for p
    ratio = quantile**2 * rate
    centre = (2 * value + ratio) / (2 * (1 + ratio))
    half = math.sqrt(ratio * (ratio / 4 + value * (1 - value))) / (1 + ratio)
    lower, upper = max(centre - half, 0.0), min(centre + half, 1.0)
    return min(lower, value), max(upper, value)  # despite rounding

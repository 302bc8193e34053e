"""Metrics of ordered classes: ranked probability score, ordinal C, and calibration.

The order of classes is that of their codes 0 … K - 1. A cut point divides them into
those below a class, and that class and those above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.classification.classwise import (
    outcome_and_prediction,
    proper_probabilities,
)
from statcv.metrics.influence.table import influence_on_mean
from statcv.metrics.inputs import Floats
from statcv.metrics.metric import Metric
from statcv.metrics.registry import METRICS

MAX_CUTS = 4  # cut points at which calibration is among the usual metrics
AT_CUTS = ("calibration_slope", "oe_ratio")


def expected_class(p: Floats) -> Floats:
    """Return the mean code of a class by the probabilities of all classes."""
    return np.asarray(p @ np.arange(p.shape[-1]))


def ordered_rps(y: ArrayLike, p: ArrayLike) -> float:
    """Mean ranked probability score of ordered classes.

    It is the sum over the cut points of the squared difference between the probability
    of a class below and whether the class was below, the sum of the Brier scores at all
    cut points. It is between 0 and K - 1.

    Parameters
    ----------
    y : array_like of shape (n,)
        The codes 0 … K - 1 of the classes.
    p : array_like of shape (n, K)
        Probabilities of the classes.

    Returns
    -------
    float
        The mean; NaN if a row of `p` has no probabilities, or without records.

    References
    ----------
    Epstein (1969), Journal of Applied Meteorology 8:985.

    Examples
    --------
    >>> round(ordered_rps([0, 2], [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]), 4)
    0.195
    """
    values = casewise_ordered_rps(y, p)
    return float(values.mean()) if values.size else float("nan")


def casewise_ordered_rps(y: ArrayLike, p: ArrayLike) -> Floats:
    """Ranked probability score of each record."""
    codes, p = outcome_and_prediction(y, p)
    below = np.cumsum(proper_probabilities(p), axis=1)[:, :-1]
    known = codes[:, None] <= np.arange(below.shape[1])
    return np.asarray(((below - known) ** 2).sum(axis=1))


def at_least(code: int, p: Floats) -> Floats:
    """Return the probability of a class or a higher one."""
    return np.asarray(np.minimum(p[..., code:].sum(axis=-1), 1.0))


def at_cut(function: Any, code: int, y: ArrayLike, *others: Any, **named: Any) -> Any:
    """Return a function of two classes: whether a class is at least that code."""
    return function((np.asarray(y) >= code).astype(int), *others, **named)


def _most(classes: int) -> tuple[float, float]:
    return 0.0, classes - 1.0


CLASSES = frozenset(("multiclass",))
RPS = replace(
    METRICS["brier"],
    name="rps",
    label="ranked probability score",
    function=ordered_rps,
    outcomes=CLASSES,
    casewise=casewise_ordered_rps,
    limits=_most,
    **influence_on_mean(casewise_ordered_rps),
)
ORDINAL_C = replace(
    METRICS["concordance"],
    name="ordinal_c",
    label="ordinal C",
    outcomes=CLASSES,
    column=expected_class,
)


@lru_cache(maxsize=8)
def ordered_metrics(*levels: str) -> Mapping[str, Metric]:
    """Return the metrics of ordered classes by name, at each cut point.

    >>> [*ordered_metrics("I", "II", "III")][2:4]
    ['calibration_slope@II', 'calibration_slope@III']
    """
    codes = range(1, len(levels))
    at_cuts = [_at(METRICS[base], k, levels[k]) for base in AT_CUTS for k in codes]
    return {metric.name: metric for metric in (ORDINAL_C, RPS, *at_cuts)}


def _at(metric: Metric, code: int, level: str) -> Metric:
    """Return a metric of two classes at a cut point."""
    changed: dict[str, Any] = {
        name: partial(at_cut, getattr(metric, name), code)
        for name in ("function", "by_group", "derive", "weighted")
    }
    return replace(
        metric,
        name=f"{metric.name}@{level}",
        label=f"{metric.label}, {level} or higher",
        outcomes=CLASSES,
        column=partial(at_least, code),
        pairs=None,
        **changed,
    )

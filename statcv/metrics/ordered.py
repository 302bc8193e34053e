"""Metrics of ordered classes: ranked probability score, ordinal C, and calibration.

The order of classes is that of their codes 0 … K - 1. A cut point divides them into
those below a class, and that class and those above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class AtLeast:
    """The probability of a class or a higher one."""

    code: int

    def __call__(self, p: Floats) -> Floats:
        """Return it by the probabilities of all classes, along the last axis."""
        return np.asarray(np.minimum(p[..., self.code :].sum(axis=-1), 1.0))


@dataclass(frozen=True)
class AtCut:
    """A function of two classes, and a prediction, as one of the classes above a cut.

    Attributes
    ----------
    function : callable
    code : int
        The lowest of the classes above the cut.
    """

    function: Callable[..., Any]
    code: int

    def __call__(self, y: ArrayLike, *others: Any, **named: Any) -> Any:
        """Return the function of whether classes are above the cut."""
        return self.function((np.asarray(y) >= self.code).astype(int), *others, **named)


def _most(classes: int) -> tuple[float, float]:
    return 0.0, classes - 1.0


CLASSES = frozenset(("multiclass",))
RPS = Metric(
    "rps",
    "ranked probability score",
    ordered_rps,
    False,
    CLASSES,
    casewise=casewise_ordered_rps,
    reads="probabilities",
    limits=_most,
    perfect=0.0,
    **influence_on_mean(casewise_ordered_rps),
)
ORDINAL_C = replace(
    METRICS["concordance"],
    name="ordinal_c",
    label="ordinal C",
    outcomes=CLASSES,
    column=expected_class,
)


def ordered_metrics(levels: tuple[Any, ...]) -> Mapping[str, Metric]:
    """Return the metrics of ordered classes by name, at each cut point.

    >>> [*ordered_metrics(("I", "II", "III"))][2:4]
    ['calibration_slope@II', 'calibration_slope@III']
    """
    found = {"ordinal_c": ORDINAL_C, "rps": RPS}
    for base in AT_CUTS:
        for code, level in list(enumerate(levels))[1:]:
            made = _at(METRICS[base], code, str(level))
            found[made.name] = made
    return found


def _at(metric: Metric, code: int, level: str) -> Metric:
    """Return a metric of two classes at a cut point."""
    changed: dict[str, Any] = {
        name: AtCut(getattr(metric, name), code)
        for name in ("function", "by_group", "derive", "weighted")
    }
    return replace(
        metric,
        name=f"{metric.name}@{level}",
        label=f"{metric.label}, {level} or higher",
        outcomes=CLASSES,
        column=AtLeast(code),
        pairs=None,
        **changed,
    )

"""The metrics by name, with what the other rooms must know of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError, suggestion
from statcv.metrics._inputs import Floats
from statcv.metrics.classwise import (
    accuracy,
    balanced_accuracy,
    brier,
    casewise_accuracy,
    casewise_brier,
    casewise_log_loss,
    log_loss,
)
from statcv.metrics.numeric import casewise_mae, casewise_mse, mae, mse, r2, rmse
from statcv.metrics.ranking import auprc, auroc


@dataclass(frozen=True)
class Metric:
    """A metric, and what it means.

    Attributes
    ----------
    name, label : str
        What a user types, and what tables and plots show.
    function : callable
        ``function(y, prediction)``, a float.
    greater_is_better : bool
        Its direction.
    outcomes : frozenset of str
        Kinds of outcome: "binary", "multiclass", "continuous".
    reads : {"order", "classes", "probabilities", "numbers"}
        What it reads of the predictions.
    casewise : callable or None
        ``casewise(y, prediction)``, the records' values whose mean the metric is;
        None where it is no such mean.
    uses_baseline : bool
        Whether it takes ``baseline``, a prediction made without a model.

    Examples
    --------
    >>> METRICS["brier"]([0, 1], [0.5, 1.0])
    0.125
    >>> METRICS["brier"].greater_is_better
    False
    """

    name: str
    label: str
    function: Callable[..., float]
    greater_is_better: bool
    outcomes: frozenset[str]
    reads: str = "numbers"
    casewise: Callable[..., Floats] | None = None
    uses_baseline: bool = False

    def check_outcome(self, kind: str, name: str) -> None:
        """Raise MetricError where it is not for outcomes of this kind."""
        if kind not in self.outcomes:
            raise MetricError(
                f"{self.label} needs a {' or '.join(sorted(self.outcomes))} outcome, "
                f"but {name!r} is {kind}."
            )

    @property
    def rank(self) -> bool:
        """Whether it depends on the order of the predictions only.

        Pooled over folds, such a metric compares predictions of different fits.
        """
        return self.reads == "order"

    def readable(self, prediction: Floats, probabilities: bool = True) -> Floats:
        """Return what the metric reads of predictions.

        Predictions that are no probabilities but scores, positive where they speak
        for class 1, have an order and a class; a metric of probabilities then
        reads NaN.

        Parameters
        ----------
        prediction : numpy.ndarray
        probabilities : bool
            Whether they are probabilities (or means), not scores.

        Examples
        --------
        >>> import numpy as np
        >>> METRICS["accuracy"].readable(np.array([-2.0, 0.3]), probabilities=False)
        array([0., 1.])
        """
        if probabilities or self.reads in ("order", "numbers"):
            return prediction
        if self.reads == "classes":
            return (prediction > 0).astype(float)
        return np.full_like(prediction, np.nan)

    @property
    def bounds(self) -> tuple[float, float]:
        """The values it can take: a loss from 0, a share to 1, R² below 1."""
        if not self.greater_is_better:
            return 0.0, math.inf
        return (-math.inf if self.uses_baseline else 0.0), 1.0

    def __call__(
        self, y: ArrayLike, prediction: ArrayLike, baseline: ArrayLike | None = None
    ) -> float:
        """Return the metric.

        Parameters
        ----------
        y : array_like of shape (n,)
            Outcome.
        prediction : array_like of shape (n,) or (n, K)
            Score, probability or number; probabilities of K classes.
        baseline : array_like of shape (n,), optional
            Handed on where `uses_baseline`; the other metrics have no use for it,
            so that all can be called alike.

        Returns
        -------
        float
            The value; NaN where it is undefined.
        """
        if self.uses_baseline:
            return self.function(y, prediction, baseline=baseline)
        return self.function(y, prediction)


def _metric(
    name: str, label: str, function: Callable[..., float], *outcomes: str, **more: Any
) -> Metric:
    higher = more.pop("higher", False)
    return Metric(name, label, function, higher, frozenset(outcomes), **more)


_CLASSES = ("binary", "multiclass")
_ALL = (
    _metric("auroc", "auROC", auroc, "binary", higher=True, reads="order"),
    _metric("auprc", "auPR", auprc, "binary", higher=True, reads="order"),
    _metric(
        "brier",
        "Brier score",
        brier,
        *_CLASSES,
        casewise=casewise_brier,
        reads="probabilities",
    ),
    _metric(
        "log_loss",
        "log-loss",
        log_loss,
        *_CLASSES,
        casewise=casewise_log_loss,
        reads="probabilities",
    ),
    _metric(
        "accuracy",
        "accuracy",
        accuracy,
        *_CLASSES,
        higher=True,
        casewise=casewise_accuracy,
        reads="classes",
    ),
    _metric(
        "balanced_accuracy",
        "balanced accuracy",
        balanced_accuracy,
        *_CLASSES,
        higher=True,
        reads="classes",
    ),
    _metric("rmse", "RMSE", rmse, "continuous"),
    _metric("mae", "MAE", mae, "continuous", casewise=casewise_mae),
    _metric("mse", "MSE", mse, "continuous", casewise=casewise_mse),
    _metric("r2", "R²", r2, "continuous", higher=True, uses_baseline=True),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}

_DEFAULTS = {
    "binary": (
        "auroc",
        "auprc",
        "brier",
        "log_loss",
        "accuracy",
        "balanced_accuracy",
    ),
    "multiclass": ("accuracy", "balanced_accuracy", "log_loss", "brier"),
    "continuous": ("rmse", "mae", "r2"),
}


def get_metric(name: str | Metric) -> Metric:
    """Return a metric by its name.

    Parameters
    ----------
    name : str or Metric
        One of `METRICS`; a `Metric` is returned as it is.

    Returns
    -------
    Metric
        The metric.

    Raises
    ------
    MetricError
        If there is none of that name; the nearest is suggested.

    Examples
    --------
    >>> get_metric("auroc").label
    'auROC'
    >>> get_metric("brierr")
    Traceback (most recent call last):
    ...
    statcv.errors.MetricError: there is no metric 'brierr'. Did you mean 'brier'?
    """
    if isinstance(name, Metric):
        return name
    if isinstance(name, str) and name in METRICS:
        return METRICS[name]
    hint = suggestion(name, METRICS) or f" There are: {', '.join(METRICS)}."
    raise MetricError(f"there is no metric {name!r}.{hint}")


def default_metrics(kind: str) -> tuple[str, ...]:
    """Return the names of the metrics shown for a kind of outcome.

    Parameters
    ----------
    kind : {"binary", "multiclass", "continuous"}
        The kind of outcome.

    Returns
    -------
    tuple of str
        Names in `METRICS`.

    Raises
    ------
    MetricError
        If the kind is unknown.

    Examples
    --------
    >>> default_metrics("continuous")
    ('rmse', 'mae', 'r2')
    """
    if kind not in _DEFAULTS:
        known = ", ".join(repr(name) for name in _DEFAULTS)
        raise MetricError(
            f"An outcome is {known}, not {kind!r}.{suggestion(kind, _DEFAULTS)}"
        )
    return _DEFAULTS[kind]

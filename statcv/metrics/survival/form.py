"""What a metric of times to an event is made from: its weighted form and derivative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from statcv.errors import MetricError
from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.influence.weighted import DIGITS
from statcv.metrics.inputs import Floats, real_array, same_length, vector


class Form(Protocol):
    """A metric of signed times, shape (n,), and predictions."""

    def __call__(self, *args: Any, **named: Any) -> Floats:
        """Return the metric for outcomes, predictions and weights: (m, n) or (1, n)."""

    def derivative(self, *args: Any, **named: Any) -> Derivative:
        """Return its derivatives for outcomes and predictions of equal weight."""


@dataclass(frozen=True)
class ValueOf:
    """The value of a metric for records of equal weight.

    Attributes
    ----------
    form : Form
    columns : int
        Number of columns of the predictions, if they have columns.
    """

    form: Form
    columns: int = 0

    def __call__(self, y: ArrayLike, prediction: ArrayLike, **named: Any) -> float:
        """Return the value; NaN if there is none."""
        times, read = checked_times(y), real_array(prediction, "prediction")
        if read.shape[1:] != ((self.columns,) if self.columns else ()) or not read.ndim:
            right = f"(n, {self.columns})" if self.columns else "(n,)"
            raise MetricError(
                f"The prediction has shape {read.shape}; it must be {right}."
            )
        same_length(times.size, len(read), "prediction")
        if named.get("censoring") is not None:
            named["censoring"] = checked_times(named["censoring"], "censoring")
        if not times.size:
            return float("nan")
        return float(self.form(times, read[None], np.ones((1, times.size)), **named)[0])


@dataclass(frozen=True)
class DerivativeOf:
    """The derivatives of a metric by the weights of the records.

    Attributes
    ----------
    form : Form
    """

    form: Form

    def __call__(self, y: Floats, x: Floats, **named: Any) -> Derivative:
        """Return the derivatives; NaN if the metric has no value."""
        value = float(self.form(y, x[None], np.ones((1, len(y))), **named)[0])
        if np.isnan(value):
            return Derivative(np.full(len(y), np.nan), None, value)
        with np.errstate(all="ignore"):
            return self.form.derivative(y, x, **named)


def checked_times(y: ArrayLike, name: str = "y") -> Floats:
    """Check signed times, and return them."""
    times = vector(y, name)
    odd = times[~(np.isfinite(times) & (times != 0))]
    if odd.size:
        raise MetricError(
            f"{name} must hold times of events as positive and times of censoring as "
            f"negative numbers, but {odd.size} of {times.size} values are neither, "
            f"such as {odd[0]:g}; leave these records out."
        )
    return times


def with_ties(x: Floats) -> Floats:
    """Return predictions as integers that tie where they differ by rounding error."""
    size = float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) or 1.0
    return np.rint(x * (DIGITS / size))

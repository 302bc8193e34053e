"""The first-order changes of a metric, and the smoothing that steps need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.inputs import Floats

WIDTH = math.sqrt(5)  # half-width of a parabolic kernel whose sd is 1
POWER = -0.25  # of the number of records, in the sd of the kernel
SAME = 1e-12  # sd, relative to the size of predictions, of those that all tie


@dataclass(frozen=True, eq=False)
class Placements:
    """How each record is placed among those of the other of two classes.

    Attributes
    ----------
    share : numpy.ndarray, shape (n,)
        The share of the other class that a record is on the right side of, where a tie
        counts one half.
    area : float
        The area under the ROC curve.
    tied : float
        The share of the pairs of two classes that tie.
    """

    share: Floats
    area: float
    tied: float


@dataclass(frozen=True, eq=False)
class Derivative:
    """The derivatives of a metric, record by record.

    Attributes
    ----------
    weight : numpy.ndarray, shape (n,)
        The derivative by the weight of each record; they sum to 0.
    prediction : numpy.ndarray, shape (n,) or (n, K)
        The derivative by each prediction. A metric that changes in steps as predictions
        change is smoothed first.
    placed : Placements or None
        The placements, for an area under a ROC curve.
    value : float or None
        The metric itself, if it is known by the way.
    """

    weight: Floats
    prediction: Floats
    placed: Placements | None = None
    value: float | None = None


class Derive(Protocol):
    """A function that returns the derivatives of a metric."""

    def __call__(
        self,
        y: NDArray[Any],
        x: Floats,
        baseline: Floats | None = None,
        threshold: Floats | float | None = None,
    ) -> Derivative:
        """Return the derivatives, as functions of outcomes and predictions.

        A metric that reads the order of predictions, or classes, is given them (and
        thresholds) on the scale of the linear predictor, where it is smoothed; without
        a threshold that of class 1 is 0 there.
        """


def bandwidth(x: Floats) -> float:
    """Return the half-width of the kernel for predictions on a scale; 0 if all tie."""
    n = x.size
    spread = float(np.std(x)) if n else 0.0
    if not spread > SAME * float(np.abs(x).max(initial=0.0)):
        return 0.0
    return float(WIDTH * spread * n**POWER)

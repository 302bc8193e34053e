"""The first-order change of a metric with the weight of each record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from statcv.numeric.arrays import Floats


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
    """The derivative of a metric by the weight of each record.

    Attributes
    ----------
    weight : numpy.ndarray, shape (n,)
        The derivatives, which sum to 0.
    placed : Placements or None
        The placements, for an area under a ROC curve.
    value : float or None
        The metric itself, if it is known by the way.
    """

    weight: Floats
    placed: Placements | None = None
    value: float | None = None


Derive = Callable[..., Derivative]  # arguments: outcomes and predictions

"""Derivatives by weights of metrics of predicted classes, and of a caller's means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.classification.classwise import predicted_as, predicted_class
from statcv.metrics.discrimination.ranking import round_significant
from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.inputs import Floats

STEP = 1e-4  # change of a count in the numerical derivatives of a metric


@dataclass(frozen=True)
class OfTable:
    """The derivatives of a metric that is a function of the table of classes.

    Attributes
    ----------
    of_table : callable
        The metric as a function of the counts of records by observed (row) and
        predicted (column) class, shape (K, K), or of the shares of these counts.
    """

    of_table: Callable[[Floats], float]

    def __call__(
        self,
        y: NDArray[Any],
        x: Floats,
        baseline: Floats | None = None,
        threshold: Floats | float | None = None,
    ) -> Derivative:
        """Return the derivatives."""
        codes, chosen = y.astype(np.intp), chosen_class(x, threshold)
        rates = self._rates(codes, chosen, 2 if x.ndim == 1 else x.shape[1])
        own = rates[codes, chosen]
        return Derivative(own - own.mean())

    def _rates(self, observed: Any, chosen: Any, classes: int) -> Floats:
        """Return the derivatives of the metric by the count of each cell."""
        counts = np.bincount(observed * classes + chosen, minlength=classes**2)
        table = counts.reshape(classes, classes).astype(float)
        rates = np.full((classes, classes), np.nan)
        if np.isnan(self.of_table(table)):
            return rates
        for cell in np.ndindex(classes, classes):
            up, down = table.copy(), table.copy()
            up[cell] += STEP
            down[cell] -= STEP
            rates[cell] = (self.of_table(up) - self.of_table(down)) / (2 * STEP)
        return rates


def chosen_class(x: Floats, threshold: Floats | float | None) -> NDArray[np.intp]:
    """Return the predicted class; of several with the largest prediction, the first."""
    chosen = predicted_class(x, 0.5 if threshold is None else threshold)
    return np.nan_to_num(chosen).astype(np.intp)


# ---- means over records, of losses that depend on a threshold or are a user's ----


def net_benefit_derivative(
    y: NDArray[Any],
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the net benefit."""
    cut = np.broadcast_to(0.5 if threshold is None else threshold, p.shape)
    worth = np.where(y == 1, 1.0, -cut / (1 - cut))
    gained = worth * (round_significant(p) >= round_significant(cut))
    return Derivative((gained - gained.mean()) / len(p))


@dataclass(frozen=True)
class OfCasewise:
    """The derivatives of the mean of a function of a record.

    Attributes
    ----------
    casewise : callable
        Function of outcomes and predictions, with one value per record.
    classes : bool
        Whether it depends on the predicted class alone.
    """

    casewise: Callable[..., Floats]
    classes: bool

    def __call__(
        self,
        y: NDArray[Any],
        x: Floats,
        baseline: Floats | None = None,
        threshold: Floats | float | None = None,
    ) -> Derivative:
        """Return the derivatives."""
        read = x
        if self.classes:
            read = predicted_as(x, 0.5 if threshold is None else threshold)
        own = self.casewise(y, read)
        return Derivative((own - own.mean()) / len(x))

"""Derivatives by weights of metrics of predicted classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.classification.classwise import predicted_class
from statcv.metrics.influence.derivative import Derivative
from statcv.metrics.inputs import Floats

STEP = 1e-4  # change of a count in the numerical derivatives of a metric


@dataclass(frozen=True)
class DerivativeOfTable:
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
        threshold: Floats | float | None = None,
    ) -> Derivative:
        """Return the derivatives."""
        codes = y.astype(np.intp)
        chosen = predicted_class(x, 0.5 if threshold is None else threshold)
        chosen = np.nan_to_num(chosen).astype(np.intp)
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

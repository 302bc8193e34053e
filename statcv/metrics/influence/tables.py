"""Derivatives of metrics of predicted classes, through the table of their counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.influence.derivative import Derivative, bandwidth, kernel
from statcv.metrics.inputs import Floats

LARGE = 36.0  # log-odds beyond which a probability is taken as this
STEP = 1e-6  # of a share of the records, for the derivatives by the table


@dataclass(frozen=True)
class OfTable:
    """The derivatives of a metric that is a function of the table of classes.

    Attributes
    ----------
    of_table : callable
        The metric as a function of the shares of records by observed (row) and
        predicted (column) class, shape (K, K).
    """

    of_table: Callable[[Floats], float]

    def __call__(
        self,
        y: NDArray[Any],
        x: Floats,
        baseline: Floats | None = None,
        threshold: Floats | None = None,
    ) -> Derivative:
        """Return the derivatives; predictions are smoothed about the thresholds."""
        n, codes = len(x), y.astype(np.intp)
        if x.ndim == 1:
            cut = 0.0 if threshold is None else threshold
            margin = x - cut
            chosen = (margin > 0).astype(np.intp)
            rates = self._rates(codes, chosen, 2)
            density = kernel(margin, bandwidth(x))
            slope = density * (rates[codes, 1] - rates[codes, 0]) / n
        else:
            order = np.argsort(x, axis=1, kind="stable")
            chosen, second = order[:, -1], order[:, -2]
            rows = np.arange(n)
            margin = x[rows, chosen] - x[rows, second]
            signed = np.concatenate([margin, -margin])
            rates = self._rates(codes, chosen, x.shape[1])
            density = kernel(margin, bandwidth(signed))
            change = density * (rates[codes, chosen] - rates[codes, second]) / n
            slope = np.zeros_like(x)
            slope[rows, chosen], slope[rows, second] = change, -change
        own = rates[codes, chosen]
        return Derivative((own - own.mean()) / n, slope)

    def _rates(self, observed: Any, chosen: Any, classes: int) -> Floats:
        """Return the derivatives of the metric by the share of each cell."""
        counts = np.bincount(observed * classes + chosen, minlength=classes**2)
        table = counts.reshape(classes, classes) / len(observed)
        rates = np.zeros((classes, classes))
        for cell in np.ndindex(classes, classes):
            up, down = table.copy(), table.copy()
            up[cell] += STEP
            down[cell] -= STEP
            rates[cell] = (self.of_table(up) - self.of_table(down)) / (2 * STEP)
        return rates


# ---- means over records, of losses that depend on a threshold or are a user's ----


def net_benefit_derivative(
    y: NDArray[Any],
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | None = None,
) -> Derivative:
    """Return the derivatives of the net benefit, smoothed on the logit scale."""
    from scipy.special import logit

    cut = np.broadcast_to(0.5 if threshold is None else threshold, p.shape)
    worth = np.where(y == 1, 1.0, -cut / (1 - cut))
    gained = worth * (p >= cut)
    x = np.clip(logit(p), -LARGE, LARGE)
    with np.errstate(divide="ignore"):
        density = kernel(x - logit(cut), bandwidth(x))
    rate = np.maximum(p * (1 - p), np.exp(-LARGE))
    weight = (gained - gained.mean()) / len(p)
    return Derivative(weight, density * worth / rate / len(p))


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
        threshold: Floats | None = None,
    ) -> Derivative:
        """Return the derivatives, that by the prediction as a finite difference."""
        width = bandwidth(x)
        if self.classes:
            margin = x - (0.0 if threshold is None else threshold)
            low, high = (self.casewise(y, np.full(len(x), one)) for one in (0.0, 1.0))
            own = np.where(margin > 0, high, low)
            slope = kernel(margin, width) * (high - low)
        else:
            own, step = self.casewise(y, x), max(width / 4, 1e-12)
            above, below = (self.casewise(y, x + s) for s in (step, -step))
            slope = (above - below) / (2 * step)
        return Derivative((own - own.mean()) / len(x), slope / len(x))

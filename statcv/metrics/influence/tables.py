"""Derivatives of metrics of predicted classes, through the table of their counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics.discrimination.ranking import round_significant
from statcv.metrics.influence.derivative import Derivative, bandwidth
from statcv.metrics.influence.kernels import kernel
from statcv.metrics.inputs import Floats

LARGE = 36.0  # log-odds beyond which a probability is taken as this
STEP = 1e-4  # of a count, for the derivatives by the table


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
        """Return the derivatives; predictions are smoothed about the thresholds."""
        codes, choice = y.astype(np.intp), _Choice.of(x, threshold)
        rates = self._rates(codes, choice.first, 2 if x.ndim == 1 else x.shape[1])
        own, other = rates[codes, choice.first], rates[codes, choice.second]
        return Derivative(own - own.mean(), choice.slope(own, other))

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


@dataclass(frozen=True, eq=False)
class _Choice:
    """The predicted class of each record, the next, and the density between them.

    Attributes
    ----------
    first, second : numpy.ndarray of int, shape (n,)
        The class with the largest prediction, and that with the second largest.
    density : numpy.ndarray, shape (n,)
        The kernel at the distance from being predicted otherwise.
    classes : int
        The number of columns of the predictions; 1 for those of class 1 alone.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    density: Floats
    classes: int

    @classmethod
    def of(cls, x: Floats, threshold: Floats | float | None) -> _Choice:
        """Predict the class; of several with the largest prediction, the first."""
        rounded = round_significant(x)
        if x.ndim == 1:
            cut = np.zeros(1) if threshold is None else threshold
            first = (rounded > round_significant(cut)).astype(np.intp)
            return cls(first, 1 - first, kernel(x - cut, bandwidth(x)), 1)
        order = np.argsort(-rounded, axis=1, kind="stable")
        first, second, rows = order[:, 0], order[:, 1], np.arange(len(x))
        margin = x[rows, first] - x[rows, second]
        width = bandwidth(np.concatenate([margin, -margin]))
        return cls(first, second, kernel(margin, width), x.shape[1])

    def slope(self, own: Floats, other: Floats) -> Floats:
        """Return the derivative by the predictions of a sum over records.

        Parameters
        ----------
        own, other : numpy.ndarray, shape (n,)
            What each record adds to the sum if its first and its second class is
            predicted.
        """
        change = self.density * (own - other)
        if self.classes == 1:
            return np.where(self.first == 1, change, -change)
        made, rows = np.zeros((len(own), self.classes)), np.arange(len(own))
        made[rows, self.first], made[rows, self.second] = change, -change
        return made


# ---- means over records, of losses that depend on a threshold or are a user's ----


def net_benefit_derivative(
    y: NDArray[Any],
    p: Floats,
    baseline: Floats | None = None,
    threshold: Floats | float | None = None,
) -> Derivative:
    """Return the derivatives of the net benefit, smoothed on the logit scale."""
    from scipy.special import logit

    cut = np.broadcast_to(0.5 if threshold is None else threshold, p.shape)
    worth = np.where(y == 1, 1.0, -cut / (1 - cut))
    gained = worth * (round_significant(p) >= round_significant(cut))
    x = np.clip(logit(p), -LARGE, LARGE)
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
        threshold: Floats | float | None = None,
    ) -> Derivative:
        """Return the derivatives, that by the prediction as a finite difference.

        The difference is that over the smoothing kernel, as the function may change in
        steps; probabilities do not leave the interval from 0 to 1.
        """
        if self.classes:
            own, slope = self._of_classes(y, x, threshold)
        else:
            own, slope = self.casewise(y, x), self._differences(y, x)
        return Derivative((own - own.mean()) / len(x), slope / len(x))

    def _of_classes(
        self, y: NDArray[Any], x: Floats, threshold: Floats | float | None
    ) -> tuple[Floats, Floats]:
        choice = _Choice.of(x, threshold)
        own, other = (
            self.casewise(y, each.astype(float) if x.ndim == 1 else _only(each, x))
            for each in (choice.first, choice.second)
        )
        return own, choice.slope(own, other)

    def _differences(self, y: NDArray[Any], x: Floats) -> Floats:
        step = bandwidth(x) / 4 or 1e-4 * max(float(np.abs(x).max(initial=0.0)), 1e-8)
        within = x.size and x.min() >= 0 and x.max() <= 1
        low, high = (0.0, 1.0) if within else (-np.inf, np.inf)
        slope = np.zeros_like(x)
        for column in range(x.shape[1] if x.ndim > 1 else 1):
            place = (slice(None), column) if x.ndim > 1 else slice(None)
            above, below = x.copy(), x.copy()
            above[place] = np.minimum(x[place] + step, high)
            below[place] = np.maximum(x[place] - step, low)
            apart = above[place] - below[place]
            slope[place] = (self.casewise(y, above) - self.casewise(y, below)) / apart
        return slope


def _only(chosen: NDArray[np.intp], x: Floats) -> Floats:
    """Return predictions that are 1 for the class chosen, and 0 for others."""
    return np.asarray(chosen[:, None] == np.arange(x.shape[1]), dtype=float)

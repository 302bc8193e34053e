"""Metrics of predictions that are equal within each fold, from counts of records.

A model without predictors makes one prediction for all records of a fold. The number
of records of each class in each fold then determines every metric, so that no record
has to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics import METRICS, Metric, is_listed, round_probabilities

Floats = NDArray[np.float64]

MARGIN = float(np.finfo(np.float64).eps)  # least distance of p from 0 and 1


@dataclass(frozen=True, eq=False)
class FoldCounts:
    """Probabilities of class 1 that are equal within a split, and its class counts.

    Attributes
    ----------
    predicted : numpy.ndarray, shape (m, n_splits)
        Several such predictions, each between 0 and 1.
    counts : numpy.ndarray of int, shape (2, n_splits)
        The number of held-out records of each class.
    first : numpy.ndarray of int, shape (repeats,)
        The first split of each repeat; every repeat holds out some record.

    Examples
    --------
    >>> p, counts = np.array([[0.25, 0.5]]), np.array([[1, 1], [1, 0]])
    >>> folds = FoldCounts(p, counts, np.array([0]))
    >>> float(folds.brier[0, 0]) == (0.25**2 + 0.75**2 + 0.5**2) / 3
    True
    >>> float(folds.auroc[0])
    0.25
    """

    predicted: Floats
    counts: NDArray[np.intp]
    first: NDArray[np.intp]

    def _in_repeats(self, of_splits: NDArray[Any]) -> NDArray[Any]:
        """Sum over the splits of each repeat."""
        return np.asarray(np.add.reduceat(of_splits, self.first, axis=-1))

    @cached_property
    def of_class(self) -> NDArray[np.intp]:
        """The number of records of each class in each repeat, shape (2, repeats)."""
        return self._in_repeats(self.counts)

    @cached_property
    def n(self) -> NDArray[np.intp]:
        """The number of records in each repeat."""
        return np.asarray(self.of_class[0] + self.of_class[1])

    @cached_property
    def squares(self) -> Floats:
        """The sum of the squared errors, shape (m, repeats)."""
        zeros, ones = self.counts
        p = self.predicted
        return self._in_repeats(zeros * p**2 + ones * (1 - p) ** 2)

    @cached_property
    def brier(self) -> Floats:
        """The Brier score, shape (m, repeats)."""
        return np.asarray(self.squares / self.n)

    @cached_property
    def log_loss(self) -> Floats:
        """The log-loss, shape (m, repeats)."""
        zeros, ones = self.counts
        p = np.minimum(np.maximum(self.predicted, MARGIN), 1 - MARGIN)
        loss = self._in_repeats(zeros * np.log(1 - p) + ones * np.log(p))
        return np.asarray(-loss / self.n)

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        """The splits in rising order of the first prediction."""
        return np.argsort(self.predicted[0])

    @cached_property
    def auroc(self) -> Floats:
        """The pooled auROC of the first prediction in each repeat.

        It is NaN in a repeat that holds out one class only.
        """
        values = round_probabilities(self.predicted[0])
        areas = np.full(len(self.first), np.nan)
        stops = [*self.first[1:], len(values)]
        for r in np.flatnonzero(self.of_class.all(axis=0)):
            one, first = len(areas) == 1, self.first[r]
            order = self._order if one else first + values[first : stops[r]].argsort()
            counts, starts = self.counts[:, order], _starts(values[order], 0.0)
            zeros, ones = np.add.reduceat(counts, starts, axis=1)
            pairs = self.of_class[0, r] * self.of_class[1, r]
            areas[r] = ones @ (np.cumsum(zeros) - zeros / 2) / pairs
        return areas

    def ranked(self, apart: float) -> NDArray[np.intp] | None:
        """Return the classes of all records in rising order of the first prediction.

        It is None if records of different classes tie, which predictions do that differ
        by no more than ``apart``.
        """
        starts = _starts(self.predicted[0, self._order], apart)
        zeros, ones = np.add.reduceat(self.counts[:, self._order], starts, axis=1)
        if ((zeros > 0) & (ones > 0)).any():
            return None
        return np.repeat((ones > 0).astype(np.intp), zeros + ones)


def _starts(rising: Floats, apart: float) -> NDArray[np.intp]:
    """Return the positions of numbers that exceed the one before them."""
    new = np.ones(len(rising), dtype=bool)
    np.greater(rising[1:] - rising[:-1], apart, out=new[1:])
    return np.flatnonzero(new)


@dataclass(frozen=True, eq=False)
class AgainstConstant:
    """Predictions that differ between folds, and one constant for all records.

    Attributes
    ----------
    folds : FoldCounts
        Four predictions: those of the folds; the constant; and the baselines of both,
        which are the training means of the folds, and a constant.
    """

    folds: FoldCounts

    def brier(self) -> Floats:
        """Return the Brier scores."""
        return self.folds.brier[:2]

    def log_loss(self) -> Floats:
        """Return the log-losses."""
        return self.folds.log_loss[:2]

    def brier_skill(self) -> Floats:
        """Return the scaled Brier scores; NaN where a baseline has no error."""
        error, removable = self.folds.squares[:2], self.folds.squares[2:]
        none = (removable == 0) | (self.folds.n < 2)
        return np.where(none, np.nan, 1 - error / np.where(none, 1.0, removable))

    def auroc(self) -> Floats:
        """Return the pooled auROCs; a constant ties all pairs."""
        area = self.folds.auroc
        return np.stack([area, np.where(np.isnan(area), np.nan, 0.5)])

    def values(self, metric: Metric) -> tuple[float, float] | None:
        """Return a pooled metric of the folds' predictions, and of the constant.

        They are means over the repeats with a value, NaN if no repeat has one; None
        for a metric that is not computed from counts.
        """
        known = _FROM_COUNTS.get(metric.name)
        if known is None or not is_listed(metric):
            return None
        own, constant = (_mean(values) for values in known(self))
        return own, constant


@dataclass(frozen=True, eq=False)
class ClassesAgainstConstant:
    """Probabilities of several classes that are equal within a split, and constants.

    Attributes
    ----------
    predicted : numpy.ndarray, shape (n_splits, classes)
        The probabilities that each split predicts.
    constant : numpy.ndarray, shape (classes,)
        Those that are the same in all splits.
    counts : numpy.ndarray of int, shape (classes, n_splits)
        The number of held-out records of each class.
    first : numpy.ndarray of int, shape (repeats,)
        The first split of each repeat; every repeat holds out some record.

    Examples
    --------
    >>> both = ClassesAgainstConstant(
    ...     np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]), np.array([0.4, 0.3, 0.3]),
    ...     np.array([[2, 1], [0, 1], [0, 1]]), np.array([0]),
    ... )
    >>> both.values(METRICS["accuracy"]), both.values(METRICS["r2"])
    ((0.6, 0.6), None)
    """

    predicted: Floats
    constant: Floats
    counts: NDArray[np.intp]
    first: NDArray[np.intp]

    def values(self, metric: Metric) -> tuple[float, float] | None:
        """Return a metric as :meth:`AgainstConstant.values` does."""
        balanced = metric == METRICS["balanced_accuracy"]
        loss = METRICS["accuracy"].casewise if balanced else metric.casewise
        if loss is None or not is_listed(metric):
            return None
        split, code = np.nonzero(self.counts.T)
        times, classes = self.counts.T[split, code], len(self.counts)
        every = np.broadcast_to(self.constant, (len(split), classes))
        predicted = np.concatenate([self.predicted[split], every])
        losses = loss(np.tile(code, 2), metric.readable(predicted, True, None))
        repeat = np.searchsorted(self.first, split, side="right") - 1
        cell, size = repeat * classes + code, len(self.first) * classes
        sizes = np.bincount(cell, times, size).reshape(-1, classes)

        def value(losses: Floats) -> float:
            sums = np.bincount(cell, times * losses, size).reshape(-1, classes)
            if not balanced:
                return _mean(sums.sum(axis=1) / sizes.sum(axis=1))
            with np.errstate(invalid="ignore"):  # a class that is absent
                return _mean((sums / sizes).mean(axis=1))

        own, constant = losses.reshape(2, -1)
        return value(own), value(constant)


def _mean(values: Floats) -> float:
    """Return the mean of the values that are defined."""
    if len(values) == 1:
        return float(values[0])
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else np.nan


_FROM_COUNTS: dict[str, Callable[[AgainstConstant], Floats]] = {
    "brier": AgainstConstant.brier,
    "log_loss": AgainstConstant.log_loss,
    "brier_skill": AgainstConstant.brier_skill,
    "auroc": AgainstConstant.auroc,
}

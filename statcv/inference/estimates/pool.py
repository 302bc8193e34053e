"""The predictions that a metric pools, and the influence of each record on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.inference.clusters import mean_by
from statcv.inference.estimates.beside import beside
from statcv.inference.estimates.units import Units
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.metrics.discrimination.by_value import in_rising_order
from statcv.metrics.influence.derivative import Derivative
from statcv.numeric.threads import RECORD, shared
from statcv.sensitivity import Sensitivity

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pool:
    """The predictions that are pooled, in the forms that metrics read.

    Attributes
    ----------
    scores : Scores
    sensitivity : Sensitivity or None
        How the predictions change with the training records, if that is asked for.
    """

    scores: Scores
    sensitivity: Sensitivity | None

    def units(self, metric: Metric) -> Units:
        """Return the records or clusters that vary, of each class if it ranks them."""
        if not metric.ranks_classes:
            return self.one_sample
        classes = self.scores.y.astype(np.intp, copy=False)
        return replace(self.one_sample, sample=classes)

    @cached_property
    def one_sample(self) -> Units:
        """The records or clusters that vary, as one sample."""
        n, clusters = len(self.scores.y), self.scores.clusters
        counted = np.zeros(n, dtype=bool)
        counted[self.scores.row] = True
        unit = np.arange(n) if clusters is None else clusters
        return Units(np.zeros(n, dtype=np.intp), unit, counted)

    @cached_property
    def linear(self) -> Floats:
        """The standardised linear predictors of ``scores.left``; NaN if dropped."""
        assert self.sensitivity is not None
        left = self.scores.left
        if left.held.all():
            return self.sensitivity.standardised(left.fit, left.row)
        linear, known = np.full(len(left.row), np.nan), np.flatnonzero(left.held)
        linear[known] = self.sensitivity.standardised(left.fit[known], left.row[known])
        return linear

    @cached_property
    def predicted(self) -> list[PooledRepeat]:
        """The predictions of each repeat, or of all if each is one split."""
        return [self._part(*one) for one in self._repeats]

    @cached_property
    def standardised(self) -> list[PooledRepeat]:
        """The same for the standardised linear predictors."""
        return [self._part(*one, self.linear) for one in self._repeats]

    def parts(self, metric: Metric, how: str) -> list[PooledRepeat]:
        """Return the predictions that a metric compares, stated in some way.

        A mean over folds or pairs compares predictions of one fit only; their linear
        predictors are standardised before they are pooled, since it does not depend on
        their location and scale.
        """
        # ranks within a fold do not depend on its mean and scale
        one = self.scores.predicted.ndim == 1 or isinstance(metric.column, int)
        within = metric.rank and how != "pooled" and one
        known = within and self.sensitivity is not None
        return self.standardised if known else self.predicted

    @cached_property
    def _repeats(self) -> list[tuple[Numbers | slice, Numbers | slice]]:
        """The positions of the predictions of each part, and those of the fits."""
        scores, left = self.scores, self.scores.left
        every = slice(None) if left.held.all() else np.flatnonzero(left.held)
        if scores.apart or len(scores.by_repeat) == 1:
            return [(slice(None), every)]
        if isinstance(every, slice):
            every = np.arange(len(left.row))
        repeat = left.repeat[left.fit[every]]
        return [
            (where, every[repeat == scores.repeat[scores.split[where[0]]]])
            for where in scores.by_repeat
        ]

    def _part(
        self,
        where: Numbers | slice,
        fitted: Numbers | slice,
        linear: Floats | None = None,
    ) -> PooledRepeat:
        scores, row = self.scores, self.scores.row[where]
        values = scores.predicted[where] if linear is None else linear[fitted]
        of_fits = scores.left.row[fitted]
        alone = not (scores.apart or scores.overlapping) and len(of_fits) == len(row)
        whole = isinstance(where, slice)
        if not alone:
            # a record that several fits predict has its mean prediction
            row, values = mean_by(row if linear is None else of_fits, values)
        return PooledRepeat(
            row=row,
            y=scores.outcome if whole and alone else scores.y[row],
            predicted=values,
            scores=scores,
            where=where,
            fitted=fitted,
            alone=alone,
            standardised=linear is not None,
        )


@dataclass(frozen=True, eq=False)
class PooledRepeat:
    """The pooled predictions of a repeat, each record once.

    Attributes
    ----------
    row, y, predicted : numpy.ndarray, shape (m,)
        The records, their outcomes, and what is pooled of each.
    scores : Scores
    where, fitted : numpy.ndarray of int, or slice
        The positions of the predictions in ``scores``, and in ``scores.left``.
    alone : bool
        Whether one fit predicts each record, so that the records are those of both.
    standardised : bool
        Whether standardised linear predictors are pooled in place of predictions.
    order : numpy.ndarray, shape (m,), or None
        The order in which the records were, if they were sorted.
    """

    row: Numbers
    y: NDArray[np.generic]
    predicted: Floats
    scores: Scores
    where: Numbers | slice
    fitted: Numbers | slice
    alone: bool
    standardised: bool
    order: Numbers | None = None

    def read_by(self, metric: Metric) -> PooledRepeat:
        """Return the part in the order that a metric reads soonest."""
        return self.rising if metric.rank and self.predicted.ndim == 1 else self

    @cached_property
    def rising(self) -> PooledRepeat:
        """The part in the order of its predictions, which is soon ranked."""
        order, predicted = in_rising_order(self.predicted)

        def ordered(values: NDArray[Any]) -> NDArray[Any]:
            return np.asarray(values[order])

        row, y = shared(ordered, (self.row, self.y), RECORD * len(order))
        return replace(self, row=row, y=y, predicted=predicted, order=order)

    def beside(self, values: Floats | None) -> Floats | None:
        """Return the mean of what belongs to the predictions of each record."""
        if values is None:
            return None
        values = values[self.where]
        if not self.alone:
            values = mean_by(self.scores.row[self.where], values)[1]
        return values if self.order is None else values[self.order]

    def baseline(self, metric: Metric) -> Floats | None:
        """Return the baselines, or what else the metric takes, if it takes any."""
        return self.beside(beside(self.scores, metric))

    def threshold(self, metric: Metric) -> Floats | None:
        """Return the thresholds, if there are any and the metric depends on them."""
        return self.beside(self.scores.threshold_for(metric))

    def read(self, metric: Metric) -> Floats:
        """Return the predictions in the form that a metric reads."""
        if self.standardised:
            return self.predicted
        known = self.threshold(metric)
        return metric.readable(self.predicted, self.scores.probabilities, known)

    def value(self, metric: Metric) -> float:
        """Return the metric."""
        cut, base = self.threshold(metric), self.baseline(metric)
        return float(metric(self.y, self.read(metric), base, cut))

    def derivative(self, metric: Metric) -> Derivative:
        """Return the derivatives of the metric by the weights of the records."""
        assert metric.derive is not None
        read, cut = self.predicted, self.threshold(metric)
        if metric.rank and not self.standardised:
            read = metric.readable(read, self.scores.probabilities)
        elif read.ndim > 1:
            read = metric.column_of(read)
        given = {f"{metric.beside}": self.baseline(metric), "threshold": cut}
        named = {name: one for name, one in given.items() if one is not None}
        return metric.derive(self.y, read, **named)

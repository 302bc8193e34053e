"""An estimate as a function of how often each record was drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from statcv.inference.estimates.losses import losses_by_cell
from statcv.inference.estimates.values import ReadPart, fold_parts, pooled_part
from statcv.inference.intervals.influence import ComparedCells
from statcv.inference.scores import Scores
from statcv.metrics import Metric

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]


def weighted_metric(scores: Scores, metric: Metric, how: str) -> Statistic:
    """Return the estimate as a function of how often each record occurs.

    The function takes weights of shape (times, n) and returns values of shape (times,).
    It is vectorized for auROC and for means over records; other metrics are computed
    for one sample after the other.
    """
    if metric.is_auroc:
        what = ComparedCells.of(scores, how)
        return lambda weights: what.value(weights[:, what.row])
    if metric.root_of is not None:
        return _weighted_mean(scores, metric.root_of, how, root=True)
    if metric.casewise is not None:
        return _weighted_mean(scores, metric, how)
    if how == "per_fold":
        parts = fold_parts(scores, metric)
    else:
        parts = [pooled_part(scores, metric, where) for where in scores.by_repeat]
    return lambda weights: np.array([_one_by_one(metric, parts, w) for w in weights])


def _weighted_mean(
    scores: Scores, metric: Metric, how: str, root: bool = False
) -> Statistic:
    """Return the mean over cells of the weighted mean loss (or its root) in each."""
    row, loss, first = losses_by_cell(scores, metric, how)

    def mean(weights: Floats) -> Floats:
        # the weighted mean loss of each cell, and its mean over cells with records
        chosen = weights[:, row]
        total = np.add.reduceat(chosen * loss, first, axis=1)
        count = np.add.reduceat(chosen, first, axis=1)
        known = count > 0
        value = np.divide(total, count, out=np.zeros_like(total), where=known)
        value = np.sqrt(value) if root else value
        with np.errstate(invalid="ignore"):
            return np.asarray(value.sum(axis=1) / known.sum(axis=1))

    return mean


def _one_by_one(metric: Metric, parts: list[ReadPart], weights: Floats) -> float:
    times = weights.astype(np.intp)
    values = [part.taken(times[part.row]).value(metric) for part in parts]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan

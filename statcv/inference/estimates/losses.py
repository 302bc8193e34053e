"""Losses of single predictions, and their means by record, fold and repeat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.inference.clusters import mean_by
from statcv.inference.estimates.beside import beside
from statcv.inference.scores import Scores
from statcv.metrics import Metric

Floats = NDArray[np.float64]


def casewise(scores: Scores, metric: Metric) -> Floats:
    """Return the loss of each prediction."""
    assert metric.casewise is not None
    y, cuts = scores.outcome, scores.threshold_for(metric)
    read = metric.readable(scores.predicted, scores.probabilities, cuts)
    given = {"threshold": cuts, f"{metric.beside}": beside(scores, metric)}
    named = {name: one for name, one in given.items() if one is not None}
    return metric.casewise(y, read, **named)


def casewise_by_record(
    scores: Scores, metric: Metric
) -> tuple[NDArray[np.intp], Floats]:
    """Return the held-out records, and the mean loss of each."""
    # a record held out in several repeats has the mean of its losses
    return mean_by(scores.row, casewise(scores, metric))


def losses_by_cell(
    scores: Scores, metric: Metric, how: str
) -> tuple[NDArray[np.intp], Floats, NDArray[np.intp]]:
    """Return the record and loss of each prediction, and where each cell begins.

    A cell is a fold, or all held-out records of a repeat. Within a repeat, the losses
    of a record are averaged.
    """
    losses = casewise(scores, metric)
    if how == "per_fold":
        filled = np.diff(scores.starts) > 0
        return scores.row, losses, scores.starts[:-1][filled]
    if not scores.overlapping:
        return scores.row, losses, np.array([one[0] for one in scores.by_repeat])
    rows, means = [], []
    for where in scores.by_repeat:
        row, mean = mean_by(scores.row[where], losses[where])
        rows.append(row)
        means.append(mean)
    first = np.cumsum([0, *map(len, rows[:-1])])
    return np.concatenate(rows), np.concatenate(means), first


def share_by_record(scores: Scores, metric: Metric, how: str) -> Floats:
    """Return a value for each record whose mean over held-out records is the estimate.

    For a mean over records that all repeats hold out, the value is the record's mean
    loss. If cells (folds, or repeats) hold out different records, it is the estimate
    plus n times the amount by which the record's losses move the mean over cells.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        A metric with a loss for each record.
    how : {"pooled", "per_fold"}
        The way of stating it.

    Returns
    -------
    numpy.ndarray, shape (n,)
        NaN for records that are never held out. If a loss is not finite, the value is
        the mean loss of each record.
    """
    row, loss, first = losses_by_cell(scores, metric, how)
    n = len(scores.y)
    times = np.bincount(row, None, n)
    sizes = np.diff([*first, len(row)])
    if len(first) == 1 or not np.isfinite(loss).all() or _alike(row, first, sizes):
        with np.errstate(invalid="ignore"):
            return np.asarray(np.bincount(row, loss, n) / times)
    # cells of other sizes weigh their records by 1 / (records × cells)
    means = np.add.reduceat(loss, first) / sizes
    weight = np.repeat(1 / (sizes * len(first)), sizes)
    moved = np.bincount(row, (loss - np.repeat(means, sizes)) * weight, n)
    shares = means.mean() + np.count_nonzero(times) * moved
    return np.where(times > 0, shares, np.nan)


def _alike(
    row: NDArray[np.intp], first: NDArray[np.intp], sizes: NDArray[np.intp]
) -> bool:
    """Return whether all cells hold the same records."""
    if np.ptp(sizes):
        return False
    cells = np.sort(row.reshape(len(first), -1), axis=1)
    return bool((cells == cells[0]).all())

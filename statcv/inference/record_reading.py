"""Each record once: its predictions averaged, and what a metric reads of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from statcv.inference.scores import Scores
from statcv.metrics import Metric, round_significant


def averaged(scores: Scores) -> Scores:
    """Return the predictions of each record averaged, as those of one repeat.

    Each record is a split of its own; so its baseline is averaged too. The records
    are in the order of ``scores.mean_prediction()``.

    Parameters
    ----------
    scores : Scores
    """
    row, predicted = scores.mean_prediction()
    place = np.searchsorted(row, scores.row)
    times = np.bincount(place)
    count, none = len(row), np.empty(0, dtype=np.intp)
    nothing = replace(
        scores.left,
        fit=none,
        row=none,
        predicted=scores.left.predicted[:0],
        held=np.empty(0, dtype=bool),
        repeat=none,
    )
    return replace(
        scores,
        split=np.arange(count),
        row=row,
        predicted=predicted,
        repeat=np.zeros(count, dtype=np.intp),
        n_train=np.bincount(place, scores.n_train[scores.split]) / times,
        baseline=np.bincount(place, scores.baseline[scores.split]) / times,
        left=nothing,
        pairwise=False,
        tournament=False,
        threshold=scores.mean_threshold,
    )


def read_by_record(scores: Scores, metric: Metric) -> NDArray[np.float64]:
    """Return what a metric reads of each record's mean prediction.

    Where there are thresholds and it reads classes, these: 0 and 1, NaN where a
    threshold is missing.

    Parameters
    ----------
    scores : Scores
    metric : Metric

    Returns
    -------
    numpy.ndarray, shape (records,) or (records, classes)
        In the order of ``scores.mean_prediction()``.
    """
    predicted, cuts = scores.mean_prediction()[1], scores.mean_threshold
    if cuts is not None and metric.reads == "classes":
        positive = round_significant(predicted) > round_significant(cuts)
        return np.where(np.isnan(cuts), np.nan, positive)
    return metric.readable(predicted, scores.probabilities)

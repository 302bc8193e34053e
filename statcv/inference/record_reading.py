"""What a metric reads of each record, whose predictions are averaged before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.inference.scores import Scores
from statcv.metrics import Metric, round_significant


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

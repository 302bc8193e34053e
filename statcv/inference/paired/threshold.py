"""A metric of predictions and a threshold, held at the one of all results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from statcv.errors import MetricError
from statcv.inference.scores import Scores
from statcv.metrics import Metric

HALF = 0.5  # above which class 1 is predicted, where no threshold is given


def at_common_threshold(metric: Metric, scores: Iterable[Scores]) -> Metric:
    """Hold a metric at the threshold that all results have; others stay as they are.

    Parameters
    ----------
    metric : Metric
    scores : iterable of Scores

    Raises
    ------
    MetricError
        If the thresholds differ, between results or between the folds of one.

    Examples
    --------
    >>> from statcv.metrics import get_metric
    >>> at_common_threshold(get_metric("auroc"), []).label
    'auROC'
    """
    if not metric.takes_threshold or metric.casewise is None:
        return metric
    given = [HALF if one.threshold is None else one.threshold for one in scores]
    every = {float(cut) for one in given for cut in np.ravel(one)}
    if len(every) > 1:
        raise MetricError(
            f"{metric.label} is at thresholds that differ between or within the "
            "results, and at each it weighs false positives by another weight; "
            "plot_decision() draws it along all thresholds."
        )
    cut = every.pop()
    return replace(
        metric,
        label=f"{metric.label} (threshold {cut:g})",
        function=partial(metric.function, threshold=cut),
        casewise=partial(metric.casewise, threshold=cut),
        takes_threshold=False,
    )

"""A metric that depends on a threshold, fixed at the threshold of all results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from statcv.errors import MetricError
from statcv.inference.scores import Scores
from statcv.metrics import Metric

HALF = 0.5  # default threshold above which class 1 is predicted


def at_common_threshold(metric: Metric, scores: Iterable[Scores]) -> Metric:
    """Fix a metric at the threshold that all results share.

    A metric that does not depend on a threshold is returned unchanged.

    Parameters
    ----------
    metric : Metric
    scores : iterable of Scores

    Raises
    ------
    MetricError
        If the thresholds differ between results, or between the folds of one result.

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
            f"{metric.label} cannot be compared: the thresholds differ between or "
            "within the results, and the weight of a false positive depends on the "
            "threshold; plot_decision() draws it over all thresholds."
        )
    cut = every.pop()
    return replace(
        metric,
        label=f"{metric.label} (threshold {cut:g})",
        function=partial(metric.function, threshold=cut),
        casewise=partial(metric.casewise, threshold=cut),
        takes_threshold=False,
    )

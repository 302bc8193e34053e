"""The pooled auROC of the training means alone, which the folds make."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds import FoldPlan
from statcv.inference.estimates.values import pooled_values
from statcv.inference.scores import Scores
from statcv.metrics import METRICS


def mean_model_hand_till(
    scores: Scores, plan: FoldPlan, weights: NDArray[Any] | None = None
) -> float:
    """Return Hand and Till's pooled auROC of the class shares in the training sets.

    A difference from 0.5 is distributional bias. Under leave-one-out the value is 0,
    since the training share of the held-out record's class is the smaller one.

    Parameters
    ----------
    scores : Scores
        The held-out predictions of several classes.
    plan : FoldPlan
        The fold plan.
    weights : numpy.ndarray, shape (n,), optional
        Weights of the records in the fits; in rebalanced training sets the classes have
        equal totals of these as well.

    Returns
    -------
    float
        The mean over the repeats that hold out every class; NaN if no repeat does.

    References
    ----------
    Austin, Pe'er & Korem (2024); Hand & Till (2001), Machine Learning 45:171.
    """
    weighed = np.ones(plan.n) if weights is None or plan.rebalanced else weights
    fits, total = plan.fits, plan.training_means(weighed)
    shares = [
        fits.mean_by_split(plan.training_means(weighed * (scores.y == code)) / total)
        for code in range(scores.n_classes)
    ]
    # the class shares of the training set stand for predictions
    alone = np.column_stack(shares)[scores.split]
    values = pooled_values(replace(scores, predicted=alone), METRICS["auroc_hand_till"])
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")

"""What a model of several classes scores when its predictors are taken out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds import FoldPlan
from statcv.inference.scores import Scores
from statcv.inference.values import pooled_values
from statcv.metrics import METRICS


def mean_model_hand_till(
    scores: Scores, plan: FoldPlan, weights: NDArray[Any] | None = None
) -> float:
    """Return Hand and Till's pooled auROC of the classes' shares in the training sets.

    Whatever differs from 0.5 is distributional bias: 0 under leave-one-out, where
    the share of the held-out record's class is the smaller one.

    Parameters
    ----------
    scores : Scores
        Of several classes.
    plan : FoldPlan
    weights : numpy.ndarray, shape (n,), optional
        Weights of the records in the fits; in rebalanced training sets classes have
        equal totals of these too.

    Returns
    -------
    float
        The mean over the repeats that hold out every class; NaN if none does.

    References
    ----------
    Austin, Pe'er & Korem (2024); Hand & Till (2001), Machine Learning 45:171.
    """
    weighed = np.ones(plan.n) if weights is None or plan.rebalanced else weights
    total = plan.training_means(weighed)
    shares = [
        plan.mean_over_fits(plan.training_means(weighed * (scores.y == code)) / total)
        for code in range(scores.n_classes)
    ]
    alone = np.column_stack(shares)[scores.split]
    values = pooled_values(replace(scores, predicted=alone), METRICS["auroc_hand_till"])
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")


def mean_model_concordance(scores: Scores) -> float:
    """Return the pooled concordance of the training means of a number alone.

    0 under leave-one-out, where each mean falls as the held-out value rises.

    Parameters
    ----------
    scores : Scores
        Of a continuous outcome.

    Returns
    -------
    float
        The mean over the repeats that hold out different values; NaN if none does.
    """
    alone = scores.baseline[scores.split]
    values = pooled_values(replace(scores, predicted=alone), METRICS["concordance"])
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")

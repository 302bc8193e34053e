"""What a plan leaks through the training mean, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds.plan import FoldPlan
from statcv.metrics import auroc

LEANS = 0.05  # how far the mean model's auROC may be from 0.5 and not be told


def training_means(plan: FoldPlan, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean outcome of each split's training set, shape (n_splits,)."""
    sums, sizes = plan.training_sums(y)
    return sums / sizes


def mean_model_auroc(plan: FoldPlan, y: NDArray[Any]) -> float:
    """Return the pooled auROC of the training mean as the prediction.

    Whatever differs from 0.5 is distributional bias: 0 under leave-one-out, where
    the training mean gives the held-out label away (Austin, Pe'er & Korem 2024,
    Fig. S2c); 0.5 where all training sets are balanced alike.

    Parameters
    ----------
    plan : FoldPlan
    y : numpy.ndarray of 0 and 1, shape (n,)

    Returns
    -------
    float
        The mean over the repeats that hold out both classes; NaN if none does.
    """
    means, values, first = training_means(plan, y), [], 0
    for fold, labels in zip(plan.held_out, plan.labels, strict=True):
        rows = np.flatnonzero(fold >= 0)
        values.append(auroc(y[rows], means[first + fold[rows]]))
        first += len(labels)
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else np.nan

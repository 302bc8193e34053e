"""What a plan leaks through the training mean, in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds.plan import FoldPlan
from statcv.metrics import auroc

LEANS = 0.05  # how far the mean model's auROC may be from 0.5 and not be told


def training_means(plan: FoldPlan, y: NDArray[Any]) -> NDArray[np.float64]:
    """Return the mean outcome of each split's training sets, shape (n_splits,)."""
    means = np.bincount(plan.split_of, plan.training_means(y))
    return np.asarray(means / np.diff(plan.first_fit))


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
    if plan.tournament:  # a pair is compared within its own fit: always a tie
        return 0.5
    means, values = training_means(plan, y), []
    owners, rows = plan.tests.owners, plan.tests.values
    repeat = plan.repeat_of[owners]
    begin = np.searchsorted(repeat, np.arange(plan.repeats + 1))
    for first, last in pairwise(begin):
        values.append(auroc(y[rows[first:last]], means[owners[first:last]]))
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else np.nan


@dataclass(frozen=True)
class Audit:
    """What a plan leaks."""


def audit_plan(plan: FoldPlan, y: Any = None, **checks: Any) -> Audit:
    """Say what a plan leaks."""
    raise NotImplementedError

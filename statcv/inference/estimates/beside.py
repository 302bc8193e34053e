"""What a metric takes besides each prediction: baseline, censoring, dispersion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Held
from statcv.folds import FoldPlan
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.models import theta_of
from statcv.models.batched import Folds
from statcv.numeric.survival import RiskSets

Floats = NDArray[np.float64]


def beside(
    scores: Scores, metric: Metric, where: NDArray[np.intp] | slice = slice(None)
) -> Floats | None:
    """Return what a metric takes besides some of the predictions; None if nothing."""
    if metric.takes:
        known = scores.of_training
        return None if known is None else metric.column_of(known)[where]
    return scores.baseline[scores.split[where]] if metric.uses_baseline else None


def dispersion_in_training(plan: FoldPlan, held: Held) -> Floats:
    """Return the dispersion of counts by the fits that predict each held-out record.

    It is NaN if these do not say, for imputed covariates whose columns differ.
    """
    if held.learnt is None:
        return np.full(len(plan.tests.owners), np.nan)
    spread = 1 / np.asarray(held.learnt)[:, held.names.index(theta_of(held.names))]
    return np.asarray(plan.fits.mean_by_split(spread)[plan.tests.owners])


def uncensored_in_training(
    plan: FoldPlan, y: NDArray[Any], horizons: Sequence[float]
) -> tuple[Floats, int]:
    """Return the probability of not being censored, as in each training set.

    It is the Kaplan-Meier estimate from the distinct training records of a split, and
    keeps its last value beyond the longest of their times.

    Returns
    -------
    numpy.ndarray, shape (m, 1 + horizons)
        For each held-out record the probability just before its time; and at each
        horizon, or just before its time if that is earlier.
    int
        The number of held-out records with an event after all training times, or at
        risk by a horizon after these.

    Examples
    --------
    >>> from statcv.folds import make_plan
    >>> y = np.array([1.0, -2, 3, -4, 2.5, 5])
    >>> plan = make_plan("loocv", y, "continuous")
    >>> found, longer = uncensored_in_training(plan, y, [2.0])
    >>> found[2:4].round(3), longer
    (array([[0.75, 0.75],
           [0.75, 0.75]]), 1)
    """
    folds, sets, first = Folds.of(plan), RiskSets.of(y), plan.first_fit
    ends, time = np.array([np.inf, *horizons]), np.abs(y)
    needed = np.where(y > 0, time, np.minimum(time, max(horizons, default=0.0)))
    made, longer = [np.empty((0, len(ends)))], 0
    for split in range(plan.n_splits):
        used = folds.counts_in(plan.n, np.arange(first[split], first[split + 1])) > 0
        curve, row = sets.curves(used.mean(axis=0)[None], True), plan.tests[split]
        before = time[row][:, None] <= ends
        made.append(np.where(before, curve.before(time[row]).T, curve.at(ends)))
        longer += int((needed[row] > time[used.any(axis=0)].max()).sum())
    return np.concatenate(made), longer

"""A metric when records are deleted, and everything is fitted again without them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Held, Setup, run
from statcv.engine.permuted import OF_THE_FITS
from statcv.engine.progress import progress_bar
from statcv.errors import ConvergenceWarning, warn
from statcv.folds import FoldPlan
from statcv.folds.deleting import count_fits, delete_records
from statcv.inference.scores import Scores
from statcv.inference.values import values_by_repeat, values_by_split
from statcv.metrics import Metric
from statcv.models.thresholds import NAME

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

PREDICTIONS = 2**20  # of a batch


def values_without(
    setup: Setup,
    sets: Sequence[Numbers],
    metric: Metric,
    how: str,
    *,
    threshold: float | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> tuple[Floats, int]:
    """Return a metric with each set of records deleted, and all fits made again.

    Parameters
    ----------
    setup : Setup
    sets : sequence of numpy.ndarray of int
        The records that are deleted together.
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    threshold : float, optional
        As :func:`scores_of` takes it.
    n_jobs, progress
        As :func:`statcv.engine.run` takes them.

    Returns
    -------
    values : numpy.ndarray, shape (sets,)
        NaN where the metric has no value.
    failed : int
        Fits that did not converge, or whose classes were separated.

    Raises
    ------
    OutcomeError
        If a training set then lacks a class.
    FitError
        If the model fails.
    """
    values, failed = np.full(len(sets), np.nan), 0
    total = count_fits(setup.plan, sets)
    with progress_bar(total, progress, "fit") as bar:
        for batch in _batches(setup.plan, sets):
            left = delete_records(setup.plan, [sets[s] for s in batch], setup.seed)
            held = run_quietly(setup, left.plan, n_jobs, numbers=left.fits)
            failed += int((~held.converged | held.separated).sum())
            scores = scores_of(left.plan, held, setup.design.y, threshold)
            values[batch] = mean_values(scores, metric, how, left.of_repeat, len(batch))
            bar.update(left.plan.n_fits)
    return values, failed


def mean_values(
    scores: Scores, metric: Metric, how: str, of_repeat: Numbers, groups: int
) -> Floats:
    """Return the mean over the repeats (or folds) of each group that have a value.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    of_repeat : numpy.ndarray of int, shape (repeats,)
        The group of each repeat.
    groups : int
    """
    group = of_repeat
    if how == "per_fold":
        values, group = values_by_split(scores, metric), of_repeat[scores.repeat]
    else:
        values = values_by_repeat(scores, metric, how)
    known = ~np.isnan(values)
    total = np.bincount(group[known], values[known], groups)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.bincount(group[known], None, groups))


def run_quietly(
    setup: Setup, plan: FoldPlan, n_jobs: int | None, numbers: Numbers | None = None
) -> Held:
    """Fit another plan of the same records; what goes wrong is for the caller to tell.

    ``numbers`` are those by which the fits get their seeds.
    """
    with warnings.catch_warnings():
        for category in OF_THE_FITS:
            warnings.simplefilter("ignore", category)
        return run(
            setup.design,
            plan,
            setup.model,
            seed=setup.seed,
            weights=setup.weights,
            n_jobs=n_jobs,
            progress=False,
            numbers=numbers,
        )


def scores_of(
    plan: FoldPlan, held: Held, y: NDArray[Any], threshold: float | None = None
) -> Scores:
    """Read what the fits of a plan predicted, with their thresholds.

    Parameters
    ----------
    plan : FoldPlan
    held : Held
    y : numpy.ndarray, shape (n,)
    threshold : float, optional
        Above what class 1 is predicted, where the model does not choose it.
    """
    scores = Scores.of(plan, held, y)
    if held.chosen is not None and NAME in held.chosen:
        chosen = held.chosen[NAME].to_numpy(dtype=float)
        return replace(scores, threshold=plan.mean_over_fits(chosen)[scores.split])
    if threshold is None:
        return scores
    return replace(scores, threshold=np.full(len(scores.row), threshold))


def fixed_threshold(scores: Scores) -> float | None:
    """Return the threshold of all predictions; what models choose is no matter."""
    cuts = scores.threshold
    return None if cuts is None or not len(cuts) else float(cuts[0])


def warn_of_refits(failed: int, fits: int) -> None:
    """Warn of fits, of those made again, that had no optimum."""
    if failed:
        warn(
            f"{failed} of {fits} fits made again did not converge, or their classes "
            "were separated.",
            ConvergenceWarning,
        )


def _batches(plan: FoldPlan, sets: Sequence[Any]) -> Iterator[Numbers]:
    """Yield numbers of sets whose fits together predict no more than memory holds."""
    predicted = len(plan.tests_by_fit.values) + len(plan.dropped.values)
    size = max(1, PREDICTIONS // max(predicted, 1))
    for start in range(0, len(sets), size):
        yield np.arange(start, min(start + size, len(sets)))

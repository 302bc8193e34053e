"""A metric of held-out predictions, and the influence of each record on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from statcv.inference import Scores, record_influence, values_by_split
from statcv.inference.estimates.values import casewise_by_record, values_by_repeat
from statcv.inference.intervals.interval import sums_by_cluster
from statcv.metrics import Metric

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]


def values_of(runs: Sequence[Scores], metric: Metric, how: str) -> Floats:
    """Return the metric in every repeat of every run."""
    return np.concatenate([values_by_repeat(run, metric, how) for run in runs])


def mean_value(scores: Scores, metric: Metric, how: str) -> float:
    """Return the mean over repeats; NaN if the metric is undefined in one."""
    return float(values_by_repeat(scores, metric, how).mean())


def undefined_folds(runs: Sequence[Scores], metric: Metric, how: str) -> int:
    """Count the folds without a value, if the metric is a mean over folds."""
    if how != "per_fold":
        return 0
    values = np.concatenate([values_by_split(run, metric) for run in runs])
    return int(np.isnan(values).sum())


def moved_by_records(runs: Sequence[Scores], metric: Metric, how: str) -> Floats | None:
    """Return the influence of each record on the metric, averaged over runs.

    It is computed to first order with the fits taken as given, so that its sum is 0 and
    its sum of squares is the variance over records. It is None if the influence on the
    metric is not known.
    """
    each = [_moved(run, metric, how) for run in runs]
    known = [one for one in each if one is not None]
    return np.mean(known, axis=0) if len(known) == len(each) else None


def _moved(scores: Scores, metric: Metric, how: str) -> Floats | None:
    if metric.is_auroc:
        return record_influence(scores, how)
    root = metric.root_of is not None
    loss = metric.root_of or metric
    if loss.casewise is None:
        return None
    rows, losses = casewise_by_record(scores, loss)
    mean = float(losses.mean())
    moved = np.zeros(len(scores.y))
    moved[rows] = (losses - mean) / len(rows)
    return moved / (2 * np.sqrt(mean)) if root and mean > 0 else moved


def standard_error(moved: Floats, groups: Codes | None) -> float:
    """Return the standard error over records, or over groups of duplicates."""
    sums = moved if groups is None else sums_by_cluster(moved, groups)[0]
    return float(np.sqrt((sums**2).sum()))

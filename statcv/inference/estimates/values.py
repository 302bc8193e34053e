"""The values of a metric in each repeat or fold: pooled, per fold, or paired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from statcv.inference.estimates.pairs import paired_values
from statcv.inference.estimates.slopes import paired_slopes
from statcv.inference.scores import Scores, mean_by
from statcv.metrics import Metric
from statcv.numeric.arrays import Array, Floats, Numbers
from statcv.numeric.threads import RECORD, shared


def casewise(scores: Scores, metric: Metric) -> Floats:
    """Return the loss of each prediction."""
    assert metric.casewise is not None
    read = readable(scores, metric, scores.predicted)
    return metric.casewise(scores.outcome, read, **scores.besides(metric))


def casewise_by_record(scores: Scores, metric: Metric) -> tuple[Numbers, Floats]:
    """Return the held-out records, and the mean loss of each."""
    # a record held out in several repeats has the mean of its losses
    return mean_by(scores.row, casewise(scores, metric))


def losses_by_cell(
    scores: Scores, metric: Metric, how: str
) -> tuple[Numbers, Floats, Numbers]:
    """Return the record and loss of each prediction, and where each cell begins.

    A cell is a fold, or all held-out records of a repeat. Within a repeat, the losses
    of a record are averaged.
    """
    losses = casewise(scores, metric)
    if how == "per_fold":
        filled = np.diff(scores.starts) > 0
        return scores.row, losses, scores.starts[:-1][filled]
    if not scores.overlapping:
        return scores.row, losses, np.array([one[0] for one in scores.by_repeat])
    rows, means = [], []
    for where in scores.by_repeat:
        row, mean = mean_by(scores.row[where], losses[where])
        rows.append(row)
        means.append(mean)
    first = np.cumsum([0, *map(len, rows[:-1])])
    return np.concatenate(rows), np.concatenate(means), first


def share_by_record(scores: Scores, metric: Metric, how: str) -> Floats:
    """Return a value for each record whose mean over held-out records is the estimate.

    For a mean over records that all repeats hold out, the value is the record's mean
    loss. If cells (folds, or repeats) hold out different records, it is the estimate
    plus n times the amount by which the record's losses move the mean over cells.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        A metric with a loss for each record.
    how : {"pooled", "per_fold"}
        The way of stating it.

    Returns
    -------
    numpy.ndarray, shape (n,)
        NaN for records that are never held out. If a loss is not finite, the value is
        the mean loss of each record.
    """
    row, loss, first = losses_by_cell(scores, metric, how)
    n = len(scores.y)
    times = np.bincount(row, None, n)
    sizes = np.diff([*first, len(row)])
    if len(first) == 1 or not np.isfinite(loss).all():
        with np.errstate(invalid="ignore"):
            return np.asarray(np.bincount(row, loss, n) / times)
    # cells of other sizes weigh their records by 1 / (records × cells)
    means = np.add.reduceat(loss, first) / sizes
    weight = np.repeat(1 / (sizes * len(first)), sizes)
    moved = np.bincount(row, (loss - np.repeat(means, sizes)) * weight, n)
    shares = means.mean() + np.count_nonzero(times) * moved
    return np.where(times > 0, shares, np.nan)


def values_by_repeat(scores: Scores, metric: Metric, how: str) -> Floats:
    """Return the metric in each repeat; NaN where it has no value.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        The metric to compute.
    how : {"pooled", "per_fold", "paired"}
        The way of stating it; ``per_fold`` is the mean over the folds of the repeat
        that have a value.
    """
    make = partial(_values_by_repeat, scores, metric, how)
    return scores.once(metric, ("repeats", how), make)


def _values_by_repeat(scores: Scores, metric: Metric, how: str) -> Floats:
    if how == "pooled":
        return pooled_values(scores, metric)
    if how == "paired" and metric.pairs == "slope":
        return paired_slopes(scores)
    if how == "paired":
        return paired_values(scores, metric)
    # the mean over the folds of each repeat in which the metric has a value
    repeat = np.unique(scores.repeat, return_inverse=True)[1]
    return means_of_known(values_by_split(scores, metric), repeat)


def means_of_known(values: Floats, group: Numbers) -> Floats:
    """Return the mean of the values of each group that are not NaN; NaN of none.

    >>> means_of_known(np.array([1.0, np.nan, 3.0, np.nan]), np.array([0, 0, 0, 1]))
    array([ 2., nan])
    """
    known, groups = ~np.isnan(values), int(group.max(initial=-1)) + 1
    total = np.bincount(group[known], values[known], groups)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.bincount(group[known], None, groups))


def mean_of_known(values: Floats) -> float:
    """Return the mean of the values that are not NaN; NaN of none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else np.nan


def know_values(scores: Scores, asked: Sequence[tuple[Metric, str]]) -> None:
    """Compute what several estimates are means of, of many predictions in threads.

    Parameters
    ----------
    scores : Scores
        The held-out predictions, which keep the values.
    asked : sequence of (Metric, str)
        Metrics that are listed, and the way in which each is stated.
    """

    def know(one: tuple[Metric, str]) -> None:
        values_by(scores, *one)

    with scores.in_threads():
        shared(know, asked, RECORD * len(scores.split))


def values_by(scores: Scores, metric: Metric, how: str) -> Floats:
    """Return what an estimate is the mean of: the metric in each fold, or repeat."""
    if how == "per_fold":
        return values_by_split(scores, metric)
    return values_by_repeat(scores, metric, how)


def folds_differ(scores: Scores, values: Floats) -> bool:
    """Return whether at least two folds that hold out different records have a value.

    A single split is not a mean over folds, and counts as it is.
    """
    if scores.n_splits == 1:
        return True
    # two folds that hold out the same records are one value, not two
    known = np.flatnonzero(~np.isnan(values)).tolist()
    held = (np.sort(scores.row[scores.starts[k] : scores.starts[k + 1]]) for k in known)
    first = next(held, np.empty(0))
    return any(not np.array_equal(first, other) for other in held)


# ---- the predictions, in the form that a metric uses ----


@dataclass(frozen=True, eq=False)
class ReadPart:
    """The predictions from which one value is computed: of a repeat, or of a fold.

    Attributes
    ----------
    row : numpy.ndarray of int, shape (m,)
        The record of each prediction.
    y : numpy.ndarray, shape (m,)
        Its outcome.
    read : numpy.ndarray, shape (m,) or (m, classes)
        The predictions, in the form that the metric uses.
    more : dict of str to numpy.ndarray, shape (m,)
        What else the metric takes of each prediction, such as a threshold.
    """

    row: Numbers
    y: Array
    read: Floats
    more: dict[str, Floats]

    def value(self, metric: Metric) -> float:
        """Return the metric; NaN where it has no value.

        A rank metric has no value if a class is absent (average precision would be 1 if
        all records were positive), and a share of variance has no value for a single
        record.
        """
        classes = 2 if self.read.ndim == 1 else self.read.shape[1]
        if metric.ranks_classes and lacks_a_class(self.y, classes):
            return np.nan
        if metric.uses_baseline and len(self.y) < 2:
            return np.nan
        base, cuts = self.more.get(f"{metric.beside}"), self.more.get("threshold")
        return float(metric(self.y, self.read, base, cuts))

    def taken(self, times: Numbers) -> ReadPart:
        """Repeat each prediction as often as ``times`` says, of shape (m,)."""
        where = np.repeat(np.arange(len(times)), times)
        more = {name: one[where] for name, one in self.more.items()}
        return ReadPart(self.row[where], self.y[where], self.read[where], more)


def lacks_a_class(y: Array, classes: int) -> bool:
    """Return whether there is no record of some class; classes are coded from 0."""
    return not np.bincount(y.astype(np.intp), minlength=classes).all()


def readable(scores: Scores, metric: Metric, predicted: Floats) -> Floats:
    """Return the predictions in the form that a metric uses."""
    cuts = scores.threshold_for(metric)
    return metric.readable(predicted, scores.probabilities, cuts)


def part(scores: Scores, metric: Metric, where: Numbers | slice) -> ReadPart:
    """Return the predictions at some positions, in the form that the metric uses."""
    read = readable(scores, metric, scores.predicted[where])
    more = {name: one[where] for name, one in scores.besides(metric).items()}
    return ReadPart(scores.row[where], scores.outcome[where], read, more)


def pooled_part(scores: Scores, metric: Metric, where: Numbers) -> ReadPart:
    """Return the predictions of a repeat, each record once.

    The predictions of a record that was held out more than once are averaged, and so
    are its baselines and thresholds: class 1 is predicted if the mean prediction is at
    least the mean threshold.
    """
    if not (scores.overlapping or scores.apart):
        return part(scores, metric, where)
    rows, predicted = scores.by_record(where, metric.rank)
    read = readable(scores, metric, predicted)
    more = means_beside(scores, metric, where)
    return ReadPart(rows, scores.y[rows], read, more)


def means_beside(scores: Scores, metric: Metric, where: Numbers) -> dict[str, Floats]:
    """Return by record the means of what else a metric takes of each prediction."""
    row, more = scores.row[where], scores.besides(metric)
    return {name: mean_by(row, one[where])[1] for name, one in more.items()}


def by_group(scores: Scores, metric: Metric, group: Numbers, groups: int) -> Floats:
    """Return the metric in each of many groups of predictions at once."""
    assert metric.by_group is not None
    y, read = scores.outcome, readable(scores, metric, scores.predicted)
    values = metric.by_group(y, read, group, groups, **scores.besides(metric))
    if not metric.uses_baseline:
        return values
    return np.where(np.bincount(group, None, groups) < 2, np.nan, values)


def beside_itself(scores: Scores, times: int, **differing: Any) -> Scores:
    """Return the predictions several times, as repeats with records of their own.

    Attributes that differ between the copies are given for all of them. The values of
    metrics that compare pairs within single fits are not those of the copies.
    """
    numbers = np.arange(times)[:, None]
    names = {"y", "predicted", "n_train", "baseline", "threshold", "of_training"}
    for name in names - {*differing}:
        if getattr(scores, name) is not None:
            differing[name] = np.concatenate([getattr(scores, name)] * times)
    sizes = {"split": scores.n_splits, "row": len(scores.y)}
    sizes["repeat"] = int(scores.repeat[-1]) + 1
    for name, size in sizes.items():
        differing[name] = (getattr(scores, name) + size * numbers).ravel()
    made = replace(scores, clusters=None, **differing)
    vars(made)["overlapping"] = scores.overlapping
    return made


# ---- pooled ----


def pooled_values(scores: Scores, metric: Metric) -> Floats:
    """Return the metric over all held-out predictions of each repeat.

    Overlapping splits are pooled together for metrics that need it: the predictions of
    a record are averaged.
    """
    # overlapping splits are pooled, since one split may hold a single class
    if scores.apart and metric.pools_splits:
        every = pooled_part(scores, metric, np.arange(len(scores.row)))
        return np.array([every.value(metric)])
    if metric.by_group is not None and not scores.overlapping:
        return by_group(scores, metric, scores.repeat_number, len(scores.by_repeat))
    if metric.casewise is not None:
        # a mean loss counts every record of a repeat once
        _, losses, first = losses_by_cell(scores, metric, "pooled")
        return np.array([one.mean() for one in np.split(losses, first[1:])])
    parts = [pooled_part(scores, metric, where) for where in scores.by_repeat]
    return np.array([one.value(metric) for one in parts])


# ---- per fold ----


def values_by_split(scores: Scores, metric: Metric) -> Floats:
    """Return the metric in each split; NaN where it has no value."""
    return scores.once(metric, ("splits",), partial(_values_by_split, scores, metric))


def _values_by_split(scores: Scores, metric: Metric) -> Floats:
    sizes = np.diff(scores.starts)
    if metric.casewise is not None:
        return scores.sums_by_split(casewise(scores, metric)) / sizes
    # the root of a fold's mean squared error, not the mean of roots
    if metric.root_of is not None:
        return np.sqrt(values_by_split(scores, metric.root_of))
    if metric.by_group is not None:
        return by_group(scores, metric, scores.split, scores.n_splits)
    values = np.full(scores.n_splits, np.nan)
    admitted = scores.all_classes if metric.ranks_classes else sizes > 0
    for split in np.flatnonzero(admitted):
        where = slice(scores.starts[split], scores.starts[split + 1])
        values[split] = part(scores, metric, where).value(metric)
    return values

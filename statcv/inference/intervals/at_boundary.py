"""Exact bounds for an auROC, or a share of records, of exactly 1 or 0."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from statcv.inference.assumptions import ASSUMED
from statcv.inference.estimates.pairs import concordant_pairs
from statcv.inference.estimates.values import pooled_values
from statcv.inference.intervals.interval import Interval
from statcv.inference.scores import Scores
from statcv.metrics import Metric, round_significant
from statcv.metrics.areas import placements
from statcv.words import plural

if TYPE_CHECKING:
    from statcv.inference.intervals.request import IntervalRequest

ENDS = (0.0, 1.0)
GIVEN = "takes the fits as given"
OF_OTHERS = "the model was fitted to other records and does not vary"
OF_FOLDS = ASSUMED["zero_by_folds"]
REVERSED = ASSUMED["one_by_folds"]
# shares of all records, or of those of one class, by the code of the class
SHARES = {"accuracy": None, "sensitivity": 1, "specificity": 0}


def at_end(metric: Metric, value: float) -> bool:
    """Return whether an estimate is an auROC of exactly 1 or 0."""
    return metric.is_auroc and value in ENDS


def interval_at_end(made: Interval, asked: IntervalRequest) -> Interval:
    """Return an exact bound if an auROC, or a share, of 1 or 0 has no other interval.

    Parameters
    ----------
    made : Interval
        The interval so far. It is returned unchanged if the estimate is not 1 or 0, or
        neither an auROC nor a share of records that are decided right, and for an
        auROC also if it has limits.
    asked : IntervalRequest
        The estimate.

    Returns
    -------
    Interval
        The exact bound, without a standard error; ``made`` if fewer than two pairs are
        disjoint. The interval has no limits, but a reason, if the training means alone
        rank all pairs wrong, for example under leave-one-out: a pooled auROC of 0 is
        then a property of the folds, since each fit depends on the record that it holds
        out. The same holds for an auROC of 1 if the predictions are the training means
        reversed; a model that has learnt from predictors may also have this value.
    """
    scores, metric, how, value = asked.scores, asked.metric, asked.how, asked.value
    if not at_end(metric, value):
        return _share_at_end(made, asked)
    if how == "pooled" and _means_rank_wrong(scores, metric):
        if value == 0:
            return replace(Interval.none(OF_FOLDS), name=made.name)
        if _are_means(scores):
            return replace(Interval.none(REVERSED), name=made.name)
    if not np.isnan(made.lower):
        return made
    pairs = compared_disjoint(scores, how)
    if pairs < placements.FEWEST:
        return made
    unit = "record" if scores.clusters is None else "cluster"
    said = f"all of {pairs} pairs that share no {unit} are ranked"
    found = _bound(made, asked, pairs, f"{pairs} disjoint pairs", said)
    return replace(found, pairs=pairs)


def _bound(
    made: Interval, asked: IntervalRequest, units: int, counted: str, said: str
) -> Interval:
    """Return the exact bound on independent units that are all right, or all wrong."""
    # m of them are all right with probability share**m
    lower, upper = placements.limits_at_end(asked.value, units, asked.level)
    of = OF_OTHERS if asked.scores.external else GIVEN
    assumes = f"{of}; {said} {'right' if asked.value == 1 else 'wrong'}"
    found = replace(made, lower=lower, upper=upper, assumes=assumes)
    return replace(found, method=f"exact bound on {counted}")


def _share_at_end(made: Interval, asked: IntervalRequest) -> Interval:
    """Return at least the exact bound if all records of a share are decided alike."""
    scores, value = asked.scores, asked.value
    units = units_of_share(scores, asked.metric)
    lacking = asked.undefined if asked.how == "pooled" else not asked.has_folds
    if units < placements.FEWEST or value not in ENDS or lacking:
        return made
    counted = plural(units, "record" if scores.clusters is None else "cluster")
    found = _bound(made, asked, units, counted, f"all of {counted} are decided")
    if np.isnan(made.lower):
        return found
    # fits that vary make no interval narrower
    ends = min(made.lower, found.lower), max(made.upper, found.upper)
    return replace(made, lower=ends[0], upper=ends[1])


def units_of_share(scores: Scores, metric: Metric) -> int:
    """Return of how many records, or clusters, a metric is the share decided right.

    It is 0 for metrics that are not such a share.
    """
    if metric.name not in SHARES:
        return 0
    row, own = np.unique(scores.row), SHARES[metric.name]
    if own is not None:
        row = row[scores.y[row] == own]
    return len(row if scores.clusters is None else np.unique(scores.clusters[row]))


def _means_rank_wrong(scores: Scores, metric: Metric) -> bool:
    """Return whether the training means, as predictions, have a pooled auROC of 0."""
    if scores.external:
        return False
    # an area of 0 of the training means is distributional bias at its largest
    alone = replace(scores, predicted=scores.baseline[scores.split])
    return not pooled_values(alone, metric).any()


def _are_means(scores: Scores) -> bool:
    """Return whether predictions follow from the training means, and vary no more.

    Predictions of 0 and 1 may also follow from the training means, but vary more.
    """
    # predictions that are a function of the training mean alone
    means = round_significant(scores.baseline[scores.split])
    group = np.unique(means, return_inverse=True)[1]
    first = np.unique(group, return_index=True)[1]
    alike = np.allclose(scores.predicted, scores.predicted[first][group], 1e-12, 1e-12)
    return bool(alike and np.ptp(scores.predicted) <= np.ptp(means) * (1 + 1e-9))


def compared_disjoint(scores: Scores, how: str) -> int:
    """Return how many pairs that an auROC compares share no record (or cluster).

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    how : {"pooled", "per_fold", "paired"}
        The way of stating the auROC. A pooled auROC compares all pairs of a repeat,
        others compare pairs within a fold or a fit. With several repeats, the largest
        number counts; if folds share records or clusters, so does that of one fold.
    """
    if np.isnan(scores.predicted).any() or np.isnan(scores.left.predicted).any():
        return 0
    listed = concordant_pairs(scores) if how == "paired" else None
    codes = scores.clusters
    if listed is not None:
        first, second = listed.first, listed.second
        if codes is not None:
            first, second = codes[first], codes[second]
        return placements.pick_disjoint(first, second)
    folds = np.split(np.arange(len(scores.row)), scores.starts[1:-1])
    each = []
    for where in scores.by_repeat if how == "pooled" else folds:
        rows = np.unique(scores.row[where])
        own = None if codes is None else codes[rows]
        each.append(placements.disjoint_pairs(scores.y[rows] == 1, own))
    if how == "pooled" or scores.overlapping or scores.split_clusters:
        # records of one repeat are held out again in the next
        return max(each)
    return int(np.bincount(scores.repeat, each).max())

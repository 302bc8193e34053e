"""Intervals from the held-out predictions alone, with the fits taken as given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from statcv.inference.estimates.pairs import (
    MIRRORED,
    NO_PAIRS,
    concordant_pairs,
    lists_pairs,
)
from statcv.inference.estimates.slopes import slope_interval
from statcv.inference.estimates.values import casewise_by_record
from statcv.inference.intervals import interval
from statcv.inference.intervals.influence import influence_interval
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.words import plural

if TYPE_CHECKING:
    from statcv.inference.intervals.request import IntervalRequest


def delong_of(asked: IntervalRequest, scale: str = "wald") -> interval.Interval:
    """Compute the interval of a pooled auROC by DeLong's variance.

    The auROC and the variance are averaged over repeats.

    Parameters
    ----------
    asked : IntervalRequest
        The estimate.
    scale : {"wald", "logit"}
        An interval that is symmetric about the area, or about its logit.
    """
    scores, codes = asked.scores, asked.scores.clusters
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    return interval.delong_interval(
        [scores.y[rows] for rows, _ in parts],
        [scores.to_rank(predicted) for _, predicted in parts],
        asked.level,
        interval=scale,
        clusters=None if codes is None else [codes[rows] for rows, _ in parts],
    )


def folds_of(asked: IntervalRequest) -> interval.Interval:
    """Compute the interval of a mean over folds by the corrected t.

    Parameters
    ----------
    asked : IntervalRequest
        The estimate.
    """
    scores, values = asked.scores, asked.values
    # folds without a value do not count
    known, sizes = ~np.isnan(values), np.diff(scores.starts)
    folds = values[known], scores.n_train[known], sizes[known]
    made = interval.corrected_t_interval(*folds, asked.level)
    if not scores.split_clusters or np.isnan(made.lower):
        return made
    said = f"{plural(scores.split_clusters, 'cluster')} with records in several folds"
    assumes = f"{made.assumes}; does not count the correlation within {said}"
    return replace(made, assumes=assumes)


def has_pairs(scores: Scores, metric: Metric) -> bool:
    """Return whether pairs have an interval of their own.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        The metric that is estimated from pairs.
    """
    return lists_pairs(scores) if metric.rank else not scores.apart


def pairs_of(asked: IntervalRequest) -> interval.Interval:
    """Compute the interval of a paired estimate: a share of pairs, or a slope.

    Parameters
    ----------
    asked : IntervalRequest
        The estimate.
    """
    scores, metric = asked.scores, asked.metric
    if not metric.rank:
        return slope_interval(scores, asked.level)
    pairs = concordant_pairs(scores, metric)
    if pairs is None:
        return interval.Interval.none(MIRRORED)
    if not len(pairs.won) or np.isnan(pairs.shares).any():
        return interval.Interval.none(NO_PAIRS[metric.pairs])
    if pairs.cells > 1 and pairs.sizes.min() < 2:
        return interval.Interval.none("for some two classes there is a single pair")
    given = pairs.first, pairs.second, pairs.won, asked.level, scores.clusters
    share, moved = float(pairs.shares.mean()), pairs.moved
    return interval.pairs_interval(*given, share=share, moved=moved)


def records_of(asked: IntervalRequest) -> interval.Interval:
    """Compute the interval of a mean over records of their loss.

    The loss of a record is averaged over repeats. For a root mean squared error, the
    limits are the roots of those of the mean squared error.

    Parameters
    ----------
    asked : IntervalRequest
        The estimate of a metric with a loss for each record, or of its root.
    """
    scores, metric = asked.scores, asked.metric
    if metric.root_of is not None:
        made = records_of(replace(asked, metric=metric.root_of))
        known = made.method != "none"
        return made.of_root(f"root of the {made.method}") if known else made
    rows, losses = casewise_by_record(scores, metric)
    codes = None if scores.clusters is None else scores.clusters[rows]
    return interval.mean_interval(losses, asked.level, codes)


def narrow_interval(asked: IntervalRequest) -> interval.Interval:
    """Compute an interval of auROC that takes the fits as given, however it is stated.

    Folds may be too small for a variance of their own, so that a mean over folds is
    given the interval of the pooled auROC.

    Parameters
    ----------
    asked : IntervalRequest
        The estimate.
    """
    if asked.how == "paired" and has_pairs(asked.scores, asked.metric):
        return pairs_of(asked)
    if asked.how != "paired" and not asked.scores.apart:
        return delong_of(asked)
    return influence_interval(asked.scores, asked.how, asked.level)

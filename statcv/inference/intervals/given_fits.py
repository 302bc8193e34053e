"""Intervals from the held-out predictions alone, with the fits taken as given."""

from __future__ import annotations

from dataclasses import replace

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
from statcv.numeric.arrays import Floats
from statcv.words import plural


def delong_of(scores: Scores, level: float, scale: str = "wald") -> interval.Interval:
    """Compute the interval of a pooled auROC by DeLong's variance.

    The auROC and the variance are averaged over repeats.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    level : float
        Confidence level of the interval.
    scale : {"wald", "logit"}
        An interval that is symmetric about the area, or about its logit.
    """
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    codes = scores.clusters
    return interval.delong_interval(
        [scores.y[rows] for rows, _ in parts],
        [scores.to_rank(predicted) for _, predicted in parts],
        level,
        interval=scale,
        clusters=None if codes is None else [codes[rows] for rows, _ in parts],
    )


def folds_of(scores: Scores, values: Floats, level: float) -> interval.Interval:
    """Compute the interval of a mean over folds by the corrected t.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    values : numpy.ndarray, shape (folds,)
        The metric in each fold.
    level : float
        Confidence level of the interval.
    """
    # folds without a value do not count
    known, sizes = ~np.isnan(values), np.diff(scores.starts)
    made = interval.corrected_t_interval(
        values[known], scores.n_train[known], sizes[known], level
    )
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


def pairs_of(scores: Scores, metric: Metric, level: float) -> interval.Interval:
    """Compute the interval of a paired estimate: a share of pairs, or a slope.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        The metric that is estimated from pairs.
    level : float
        Confidence level of the interval.
    """
    if not metric.rank:
        return slope_interval(scores, level)
    pairs = concordant_pairs(scores, metric)
    if pairs is None:
        return interval.Interval.none(MIRRORED)
    if not len(pairs.won) or np.isnan(pairs.shares).any():
        return interval.Interval.none(NO_PAIRS[metric.pairs])
    if pairs.cells > 1 and pairs.sizes.min() < 2:
        return interval.Interval.none("for some two classes there is a single pair")
    return interval.pairs_interval(
        pairs.first,
        pairs.second,
        pairs.won,
        level,
        scores.clusters,
        share=float(pairs.shares.mean()),
        moved=pairs.moved,
    )


def records_of(scores: Scores, metric: Metric, level: float) -> interval.Interval:
    """Compute the interval of a mean over records of their loss.

    The loss of a record is averaged over repeats. For a root mean squared error, the
    limits are the roots of those of the mean squared error.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        A metric with a loss for each record, or the root of such a metric.
    level : float
        Confidence level of the interval.
    """
    if metric.root_of is not None:
        made = records_of(scores, metric.root_of, level)
        return (
            made
            if made.method == "none"
            else made.of_root(f"root of the {made.method}")
        )
    rows, losses = casewise_by_record(scores, metric)
    codes = scores.clusters
    return interval.mean_interval(losses, level, None if codes is None else codes[rows])


def narrow_interval(
    scores: Scores, metric: Metric, how: str, level: float
) -> interval.Interval:
    """Compute an interval of auROC that takes the fits as given, however it is stated.

    Folds may be too small for a variance of their own, so that a mean over folds is
    given the interval of the pooled auROC.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        The metric.
    how : {"pooled", "per_fold", "paired"}
        The way in which it is stated.
    level : float
        Confidence level of the interval.
    """
    if how == "paired" and has_pairs(scores, metric):
        return pairs_of(scores, metric, level)
    if how != "paired" and not scores.apart:
        return delong_of(scores, level)
    return influence_interval(scores, how, level)

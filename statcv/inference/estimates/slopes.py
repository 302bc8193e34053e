"""The calibration slope of pairs that the same fit predicts, and its interval."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statcv.inference.estimates.pairs import compared_fits
from statcv.inference.intervals import interval
from statcv.inference.scores import LeftOut, Scores
from statcv.metrics.probabilities import paired_slope
from statcv.numeric.arrays import Floats, Numbers

MOST_PAIRS = 5_000_000  # the most in a repeat, including pairs of the same class


@dataclass(frozen=True, eq=False)
class SlopePairs:
    """Pairs of records of different classes that the fits of a repeat predict.

    Attributes
    ----------
    first, second : numpy.ndarray of int, shape (m,)
        The positive record of each pair, and the negative one.
    difference : numpy.ndarray, shape (m,)
        The difference of their predicted log-odds.
    reason : str
        The reason why the pairs have no slope; empty if they have one.
    """

    first: Numbers
    second: Numbers
    difference: Floats
    reason: str

    @property
    def slope(self) -> float:
        """The calibration slope of the pairs; NaN if they have no slope."""
        return np.nan if self.reason else paired_slope.slope_of_pairs(self.difference)


def slope_pairs(scores: Scores) -> list[SlopePairs]:
    """List the pairs of each repeat.

    The pairs are those that the scheme compares, or else those within folds.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    """
    left = compared_fits(scores)
    repeats = int(left.repeat.max(initial=-1)) + 1
    first = np.searchsorted(left.repeat, np.arange(repeats + 1))
    return [
        _pairs(_some_fits(left, first[r], first[r + 1]), scores) for r in range(repeats)
    ]


def paired_slopes(scores: Scores) -> Floats:
    """Return the calibration slope of the pairs of each repeat, or NaN.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    """
    return np.array([pairs.slope for pairs in slope_pairs(scores)])


def slope_interval(scores: Scores, level: float) -> interval.Interval:
    """Compute the interval of the calibration slope of pairs.

    The variance is a sandwich estimate: the influence of each pair on the slope, which
    is its score over the information, is summed over pairs that share a record (or a
    cluster), as for the share of correctly ranked pairs.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    level : float
        Confidence level of the interval.

    Notes
    -----
    In simulations of 60 to 100 records the interval covered the slope of the model in
    70 to 90% of data sets, least often where there was no signal; that of the jackknife
    with refits covered it in 80 to 100%.

    References
    ----------
    Cameron, Gelbach & Miller (2011), Journal of Business & Economic Statistics 29:238;
    Fafchamps & Gubert (2007), Journal of Development Economics 83:326, where clusters
    have several records.
    """
    parts, clusters = slope_pairs(scores), scores.clusters
    lacking = [pairs.reason for pairs in parts if pairs.reason]
    if lacking:
        return interval.Interval.none(lacking[0])
    slopes = [pairs.slope for pairs in parts]
    each = zip((pairs.difference for pairs in parts), slopes, strict=True)
    influences = [paired_slope.slope_influence(*one) for one in each]
    moved = np.concatenate(influences) / len(parts)
    first = np.concatenate([pairs.first for pairs in parts])
    second = np.concatenate([pairs.second for pairs in parts])
    first, second, few = interval.units_of_pairs(first, second, clusters)
    if few:
        return interval.Interval.none(few)
    # pairs that share a record are correlated
    total = interval.squares_of_pairs(first, second, moved)
    if total <= 1e-9 * float((moved**2).sum()):
        why = f"the pairs do not move the slope, {interval.NOTHING}"
        return interval.Interval.none(why)
    method, assumes = "slope of pairs, clustered by record", interval.RECORDS_ONLY
    if clusters is not None:
        method, assumes = "slope of pairs, cluster-robust", interval.CLUSTERS_ONLY
    se = float(np.sqrt(total))
    return interval.symmetric(float(np.mean(slopes)), se, level, method, assumes)


def _some_fits(left: LeftOut, start: int, stop: int) -> LeftOut:
    """Return the predictions of the fits from ``start`` to before ``stop``."""
    where = slice(left.starts[start], left.starts[stop])
    some = left.chosen(where)
    return replace(some, fit=some.fit - start, repeat=left.repeat[start:stop])


def _pairs(left: LeftOut, scores: Scores) -> SlopePairs:
    why = "" if scores.probabilities else "the predictions are not probabilities"
    if not why and left.most_pairs > MOST_PAIRS:
        why = f"there are more than {MOST_PAIRS:,} pairs"
    if why:
        none = np.empty(0, dtype=np.intp)
        return SlopePairs(none, none, np.empty(0), why)
    one, two = left.pairs(scores.y)
    # a pair is the log-odds of its positive record minus that of the other
    positive = scores.y[left.row[one]] == 1
    first, second = np.where(positive, one, two), np.where(positive, two, one)
    both = (left.predicted[first], left.predicted[second])
    difference = paired_slope.log_odds_difference(*both)
    why = paired_slope.no_slope(difference)
    return SlopePairs(left.row[first], left.row[second], difference, why)

"""The calibration slope of pairs that one fit left out, and its interval."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv.inference.intervals.interval import (
    NOTHING,
    RECORDS_ONLY,
    SOURCES_ONLY,
    Interval,
    squares_of_pairs,
    symmetric,
)
from statcv.inference.scores import LeftOut, Scores
from statcv.metrics.probabilities.paired_slope import (
    log_odds_difference,
    no_slope,
    slope_influence,
    slope_of_pairs,
)

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

MOST_PAIRS = 5_000_000  # of a repeat, those of equal classes counted


@dataclass(frozen=True, eq=False)
class SlopePairs:
    """Pairs of different classes that the fits of a repeat left out.

    Attributes
    ----------
    first, second : numpy.ndarray of int, shape (m,)
        The positive record of each pair, and the negative one.
    difference : numpy.ndarray, shape (m,)
        Of their predicted log-odds.
    reason : str
        Why they have no slope; empty where they have one.
    """

    first: Numbers
    second: Numbers
    difference: Floats
    reason: str

    @property
    def slope(self) -> float:
        """Their calibration slope; NaN where there is none."""
        return np.nan if self.reason else slope_of_pairs(self.difference)


def slope_pairs(scores: Scores) -> list[SlopePairs]:
    """List the pairs of each repeat, of what the scheme compares, or of its folds.

    Parameters
    ----------
    scores : Scores
    """
    left = scores.left if scores.pairwise else _of_folds(scores)
    repeats = int(left.repeat.max(initial=-1)) + 1
    first = np.searchsorted(left.repeat, np.arange(repeats + 1))
    return [
        _pairs(_some_fits(left, first[r], first[r + 1]), scores) for r in range(repeats)
    ]


def paired_slopes(scores: Scores) -> Floats:
    """Return the calibration slope of the pairs of each repeat; NaN where none.

    Parameters
    ----------
    scores : Scores
    """
    return np.array([pairs.slope for pairs in slope_pairs(scores)])


def slope_interval(scores: Scores, level: float) -> Interval:
    """Interval of the calibration slope of pairs.

    By the sandwich: what each pair moves the slope, its score over the information, is
    summed over pairs that share a record (or a source), as for the share of pairs
    ranked right.

    Parameters
    ----------
    scores : Scores
    level : float

    Notes
    -----
    In simulations of 60 to 100 records it held the slope of the model in 70 to 90% of
    data sets, least where there was no signal; the jackknife with refits in 80 to
    100%.

    References
    ----------
    Cameron, Gelbach & Miller (2011), Journal of Business & Economic Statistics 29:238;
    Fafchamps & Gubert (2007), Journal of Development Economics 83:326, where sources
    have several records.
    """
    parts, clusters = slope_pairs(scores), scores.clusters
    lacking = [pairs.reason for pairs in parts if pairs.reason]
    if lacking:
        return Interval.none(lacking[0])
    slopes = [pairs.slope for pairs in parts]
    moved = np.concatenate(
        [
            slope_influence(pairs.difference, slope) / len(parts)
            for pairs, slope in zip(parts, slopes, strict=True)
        ]
    )
    first = np.concatenate([pairs.first for pairs in parts])
    second = np.concatenate([pairs.second for pairs in parts])
    if clusters is not None:
        first, second = clusters[first], clusters[second]
    if min(len(np.unique(first)), len(np.unique(second))) < 2:
        few = "record" if clusters is None else "source"
        return Interval.none(f"one class has a single {few}")
    total = squares_of_pairs(first, second, moved)
    if total <= 1e-9 * float((moved**2).sum()):
        return Interval.none(f"the pairs move the slope by nothing, {NOTHING}")
    method, assumes = "slope of pairs, clustered by record", RECORDS_ONLY
    if clusters is not None:
        method, assumes = "slope of pairs, clustered by source", SOURCES_ONLY
    se = float(np.sqrt(total))
    return symmetric(float(np.mean(slopes)), se, level, method, assumes)


def _of_folds(scores: Scores) -> LeftOut:
    """Return the held-out predictions as those of one fit a fold."""
    return LeftOut(
        fit=scores.split,
        row=scores.row,
        predicted=scores.predicted,
        held=np.ones(len(scores.row), dtype=bool),
        repeat=scores.repeat,
    )


def _some_fits(left: LeftOut, start: int, stop: int) -> LeftOut:
    """Return what the fits from one to another left out."""
    where = slice(left.starts[start], left.starts[stop])
    return replace(
        left,
        fit=left.fit[where] - start,
        row=left.row[where],
        predicted=left.predicted[where],
        held=left.held[where],
        repeat=left.repeat[start:stop],
    )


def _pairs(left: LeftOut, scores: Scores) -> SlopePairs:
    none = np.empty(0, dtype=np.intp)
    if not scores.probabilities:
        return SlopePairs(none, none, np.empty(0), "predictions are no probabilities")
    if left.most_pairs > MOST_PAIRS:
        why = f"there are more than {MOST_PAIRS:,} pairs"
        return SlopePairs(none, none, np.empty(0), why)
    one, two = left.pairs(scores.y)
    positive = scores.y[left.row[one]] == 1
    first, second = np.where(positive, one, two), np.where(positive, two, one)
    difference = log_odds_difference(left.predicted[first], left.predicted[second])
    return SlopePairs(
        left.row[first], left.row[second], difference, no_slope(difference)
    )

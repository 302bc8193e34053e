"""Placements of records of one class among those of the other, as counts.

A positive record's placement is the share of negative records it outranks, and a
negative record's is the share of positive ones that outrank it (a tie counts
half). Three mid-ranks give them all (Sun & Xu 2014), in O(n log n). They are kept
as counts, which are exact in floating point: a variance that is zero in truth is
zero here, and needs no tolerance.
"""

from __future__ import annotations

import numpy as np

from statcv.metrics._inputs import Bools, Floats
from statcv.metrics.ranking import midrank, round_significant


def placement_counts(
    positive: Bools, scores: Floats, tie_tol: float
) -> tuple[Floats, Floats]:
    """Count negatives below each positive, and positives above each negative.

    `scores` has a row for each of m scores; the counts are (m, n_positive) and
    (m, n_negative), all NaN in a row whose scores hold NaN.
    """
    negative = ~positive
    won = np.empty((len(scores), int(positive.sum())))
    beaten = np.empty((len(scores), int(negative.sum())))
    for k, score in enumerate(round_significant(scores, tie_tol)):
        ranks = midrank(score)
        won[k] = ranks[positive] - midrank(score[positive])
        beaten[k] = won.shape[1] - (ranks[negative] - midrank(score[negative]))
    return won, beaten


def area(won: Floats, beaten: Floats) -> float:
    """Area of one row of counts; NaN where a class has no record."""
    pairs = won.shape[1] * beaten.shape[1]
    return float(won.sum() / pairs) if pairs else float("nan")


def covariance(won: Floats, beaten: Floats) -> Floats:
    """Covariance of the rows' areas: that of two independent means of placements."""
    n_positive, n_negative = won.shape[1], beaten.shape[1]
    if min(n_positive, n_negative) < 2:
        return np.full((len(won), len(won)), np.nan)
    of_positives: Floats = _covariance_of_means(won) / n_negative**2
    of_negatives: Floats = _covariance_of_means(beaten) / n_positive**2
    return of_positives + of_negatives


def _covariance_of_means(counts: Floats) -> Floats:
    """Covariance of row means, exactly 0 for a row of equal counts."""
    n = counts.shape[1]
    from_first = counts - counts[:, :1]
    centred = from_first - from_first.mean(axis=1, keepdims=True)
    covariance: Floats = centred @ centred.T / (n - 1) / n
    return covariance


def standard_error(won: Floats, beaten: Floats) -> float:
    """Root of the variance of one row of counts."""
    return float(np.sqrt(covariance(won, beaten)[0, 0]))

"""Placements of the records of each class among those of the other, with clusters.

Records of one cluster (visits of a patient, both eyes of a person, duplicates of a
record) are dependent, within a class and between the classes, while clusters are
independent. The variance is therefore based on the sums of placements over clusters
(Obuchowski 1997).

The placement of a positive record is the share of negative records that it outranks,
and that of a negative record is the share of positive records that outrank it (a tie
counts one half). A single sort gives all placements in O(n log n). They are stored as
counts, which are exact in floating point, so that a variance that is truly zero is
computed as zero and needs no tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.discrimination.by_value import placement_counts
from statcv.metrics.inputs import Bools, Floats, Ints, cluster_codes


def clustered_covariance(
    won: Floats, beaten: Floats, of_positives: Ints, of_negatives: Ints
) -> Floats:
    """Covariance of the areas of rows of placement counts.

    `won` and `beaten` are the counts of `placement_counts`; the other arguments are the
    clusters of the positive and of the negative records. If every record is a cluster
    of its own, the result is exactly DeLong's covariance.

    S10, S01 and S11 in the paper are sums of products of the clusters' deviations,
    times I10/(I10 - 1), I01/(I01 - 1) and I/(I - 1), where I10, I01 and I are the
    numbers of clusters with a positive record, with a negative record, and in total.
    Here the common part of these factors multiplies the deviation of the area due to
    both classes, and the remainder multiplies the deviation due to each class. The
    result is the same, but as a sum of squares: a variance is never negative, and is
    zero if it is truly zero.
    """
    clusters = 1 + int(max(of_positives.max(), of_negatives.max()))
    positives = np.bincount(of_positives, minlength=clusters)
    negatives = np.bincount(of_negatives, minlength=clusters)
    n_positive, n_negative = positives.sum(), negatives.sum()
    by_positives = _deviations(won, of_positives, positives)
    by_negatives = _deviations(beaten, of_negatives, negatives)
    pairs = float(n_positive) * float(n_negative)
    total = n_negative * by_positives + n_positive * by_negatives
    covariance = clusters / (clusters - 1) * _products(total / pairs**2)
    for deviations, members in ((by_positives, positives), (by_negatives, negatives)):
        holding = int((members > 0).sum())
        more = (clusters - holding) / ((holding - 1) * (clusters - 1))
        covariance += more * _products(deviations / (pairs * members.sum()))
    return np.asarray(covariance)


def _deviations(counts: Floats, member: Ints, size: Ints) -> Floats:
    """Return cluster sums minus their expectation by size, times all records.

    Multiplied by the number of records they are multiples of one half, and exact.
    """
    summed = np.stack([np.bincount(member, row, len(size)) for row in counts])
    deviations: Floats = size.sum() * summed - size * counts.sum(1, keepdims=True)
    return deviations


def _products(rows: Floats) -> Floats:
    products: Floats = rows @ rows.T
    return products


@dataclass(frozen=True, eq=False)
class PlacementCounts:
    """Placements of the same records by m scores, or by contrasts of scores.

    Attributes
    ----------
    won : ndarray of shape (m, n_positive)
        Number of negative records below each positive one; NaN in a row with a NaN
        score.
    beaten : ndarray of shape (m, n_negative)
        Number of positive records above each negative one.
    of_positives, of_negatives : ndarray of int, or None
        Clusters of the records of each class.
    reason : str
        Why there is no variance; empty if there is one.
    """

    won: Floats
    beaten: Floats
    of_positives: Ints | None
    of_negatives: Ints | None
    reason: str

    @property
    def areas(self) -> Floats:
        """Area of each row; NaN if a class has no records."""
        pairs = self.won.shape[1] * self.beaten.shape[1]
        if not pairs:
            return np.full(len(self.won), np.nan)
        return np.asarray(self.won.sum(axis=1) / pairs)

    @property
    def covariance(self) -> Floats:
        """Covariance of the rows' areas; NaN if there are too few records."""
        n_positive, n_negative = self.won.shape[1], self.beaten.shape[1]
        if self.of_positives is None or self.of_negatives is None:
            if min(n_positive, n_negative) < 2:
                return np.full((len(self.won), len(self.won)), np.nan)
            of_positives: Floats = _covariance_of_means(self.won) / n_negative**2
            of_negatives: Floats = _covariance_of_means(self.beaten) / n_positive**2
            return of_positives + of_negatives
        if min(map(_distinct, (self.of_positives, self.of_negatives))) < 2:
            return np.full((len(self.won), len(self.won)), np.nan)
        return clustered_covariance(
            self.won, self.beaten, self.of_positives, self.of_negatives
        )

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the areas."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def units(self) -> int:
        """Number of independent units: clusters, or else records."""
        if self.of_positives is None or self.of_negatives is None:
            return int(self.won.shape[1] + self.beaten.shape[1])
        return _distinct(np.concatenate([self.of_positives, self.of_negatives]))

    def combined(self, contrast: Floats) -> PlacementCounts:
        """Return the placements of linear combinations of the rows."""
        return replace(self, won=contrast @ self.won, beaten=contrast @ self.beaten)


def placements(
    positive: Bools, scores: Floats, clusters: ArrayLike | None, tie_tol: float
) -> PlacementCounts:
    """Return the placements of the records of each class by each of m scores."""
    codes = None if clusters is None else cluster_codes(clusters, positive.size)
    won, beaten = _counts(positive, scores, tie_tol)
    return PlacementCounts(
        won,
        beaten,
        None if codes is None else codes[positive],
        None if codes is None else codes[~positive],
        shortage(positive, scores, codes),
    )


def _counts(positive: Bools, scores: Floats, tie_tol: float) -> tuple[Floats, Floats]:
    """Count negatives below each positive, and positives above each negative.

    `scores` has one row for each of m scores. The counts have shapes (m, n_positive)
    and (m, n_negative), and are NaN in a row whose scores include NaN.
    """
    negative = ~positive
    won = np.empty((len(scores), int(positive.sum())))
    beaten = np.empty((len(scores), int(negative.sum())))
    for k, score in enumerate(scores):
        if np.isnan(score).any():
            won[k] = beaten[k] = np.nan
            continue
        counts, _ = placement_counts(positive, score, tie_tol)
        won[k], beaten[k] = counts[positive], counts[negative]
    return won, beaten


def shortage(positive: Bools, scores: Floats, codes: Ints | None) -> str:
    """Return why there is no variance; empty if there is one."""
    missing = int(np.isnan(scores).sum())
    if missing:
        return f"{missing} of the scores are NaN"
    for members, name in ((positive, "positive"), (~positive, "negative")):
        count = int(members.sum())
        if count < 2:
            some = "one" if count else "no"
            return f"{some} {name} record: the variance needs two of each class"
        if codes is not None and _distinct(codes[members]) < 2:
            return (
                f"all {count} {name} records belong to one cluster: the variance needs "
                "two clusters with records of each class"
            )
    return ""


def _distinct(codes: Ints) -> int:
    return int(np.count_nonzero(np.bincount(codes))) if codes.size else 0


def _covariance_of_means(counts: Floats) -> Floats:
    """Covariance of row means, which is exactly 0 for a row of equal counts."""
    n = counts.shape[1]
    centred = counts - counts[:, :1]
    centred -= centred.mean(axis=1, keepdims=True)
    covariance: Floats = centred @ centred.T / (n - 1) / n
    return covariance

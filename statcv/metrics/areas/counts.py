"""Placements of the records of each class among those of the other, with clusters.

Records of one cluster (a patient's visits, an eye and its fellow, copies of one
record) are dependent, within a class and between the classes; clusters are not.
So the placements of a cluster are summed, and the sums vary (Obuchowski 1997).

A positive record's placement is the share of negative records it outranks, and a
negative record's is the share of positive ones that outrank it (a tie counts
half). One sort gives them all, in O(n log n). They are kept as counts, which are
exact in floating point: a variance that is zero in truth is zero here, and needs
no tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.discrimination.ranking import round_significant
from statcv.metrics.inputs import Bools, Floats, Ints, cluster_codes


def clustered_covariance(
    won: Floats, beaten: Floats, of_positives: Ints, of_negatives: Ints
) -> Floats:
    """Covariance of the areas of rows of placement counts.

    `won` and `beaten` are those of `placement_counts`, the others the clusters of
    the positive and of the negative records. With every record a cluster of its
    own this is DeLong's covariance exactly.

    The paper's S10, S01 and S11 are sums of products of the clusters' deviations,
    times I10/(I10 - 1), I01/(I01 - 1) and I/(I - 1), for the numbers of clusters
    with a positive record, with a negative one, and of all. Here the part of these
    factors that they share is taken on the deviation of the area by both classes,
    and the rest on each class alone: the same sum, but of squares, so that a
    variance is never negative, and is zero where it is so in truth.
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
    """Sum over clusters, less what their sizes lead to expect, times all records.

    Times all records these are whole or half numbers, and exact.
    """
    summed = np.stack([np.bincount(member, row, len(size)) for row in counts])
    deviations: Floats = size.sum() * summed - size * counts.sum(1, keepdims=True)
    return deviations


def _products(rows: Floats) -> Floats:
    products: Floats = rows @ rows.T
    return products


# ---- placements of records of one class among those of the other, as counts ----


@dataclass(frozen=True, eq=False)
class Placements:
    """Placements of the same records by m scores, or by contrasts of scores.

    Attributes
    ----------
    won : ndarray of shape (m, n_positive)
        Negatives below each positive record; NaN in a row with a NaN score.
    beaten : ndarray of shape (m, n_negative)
        Positives above each negative record.
    of_positives, of_negatives : ndarray of int, or None
        Clusters of the records of each class.
    reason : str
        Why there is no variance; empty where there is one.
    """

    won: Floats
    beaten: Floats
    of_positives: Ints | None
    of_negatives: Ints | None
    reason: str

    @property
    def areas(self) -> Floats:
        """Area of each row; NaN where a class has no record."""
        pairs = self.won.shape[1] * self.beaten.shape[1]
        if not pairs:
            return np.full(len(self.won), np.nan)
        return np.asarray(self.won.sum(axis=1) / pairs)

    @property
    def covariance(self) -> Floats:
        """Covariance of the rows' areas; NaN where there is none."""
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
        """Roots of the variances."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def units(self) -> int:
        """Independent units: clusters, or records where there are none."""
        if self.of_positives is None or self.of_negatives is None:
            return int(self.won.shape[1] + self.beaten.shape[1])
        return _distinct(np.concatenate([self.of_positives, self.of_negatives]))

    def combined(self, contrast: Floats) -> Placements:
        """Return those of linear combinations of the rows."""
        return replace(self, won=contrast @ self.won, beaten=contrast @ self.beaten)


def placements(
    positive: Bools, scores: Floats, clusters: ArrayLike | None, tie_tol: float
) -> Placements:
    """Place the records of each class among the other by each of m scores."""
    codes = None if clusters is None else cluster_codes(clusters, positive.size)
    won, beaten = placement_counts(positive, scores, tie_tol)
    return Placements(
        won,
        beaten,
        None if codes is None else codes[positive],
        None if codes is None else codes[~positive],
        shortage(positive, scores, codes),
    )


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
    for k, score in enumerate(scores):
        if np.isnan(score).any():
            won[k] = beaten[k] = np.nan
            continue
        values = round_significant(score, tie_tol)
        _, group = np.unique(values, return_inverse=True)
        ones, zeros = np.bincount(group, positive), np.bincount(group, negative)
        below = np.cumsum(zeros) - zeros / 2
        above = ones.sum() - np.cumsum(ones) + ones / 2
        won[k], beaten[k] = below[group[positive]], above[group[negative]]
    return won, beaten


def shortage(positive: Bools, scores: Floats, codes: Ints | None) -> str:
    """Say why there is no variance, or nothing."""
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
                f"all {count} {name} records are of one cluster: the variance needs "
                "two clusters with records of each class"
            )
    return ""


def _distinct(codes: Ints) -> int:
    return int(np.count_nonzero(np.bincount(codes))) if codes.size else 0


def _covariance_of_means(counts: Floats) -> Floats:
    """Covariance of row means, exactly 0 for a row of equal counts."""
    n = counts.shape[1]
    centred = counts - counts[:, :1]
    centred -= centred.mean(axis=1, keepdims=True)
    covariance: Floats = centred @ centred.T / (n - 1) / n
    return covariance

"""Variance of areas under the ROC curve where records come in clusters.

Records of one cluster (a patient's visits, an eye and its fellow, copies of one
record) are dependent, within a class and between the classes; clusters are not.
So the placements of a cluster are summed, and the sums vary (Obuchowski 1997).
"""

from __future__ import annotations

import numpy as np

from statcv.metrics._inputs import Floats, Ints


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

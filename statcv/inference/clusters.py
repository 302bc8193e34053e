"""Means by record, and clusters of records: what they hold, and sums over them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.folds import FoldPlan


def mean_by(rows: NDArray[np.intp], values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return the distinct rows in rising order, and the mean value of each."""
    times = np.bincount(rows)
    distinct = np.flatnonzero(times)
    if len(distinct) == len(rows):  # each once
        means = np.empty((len(times), *values.shape[1:]))
        means[rows] = values
        return distinct, means if len(distinct) == len(times) else means[distinct]
    columns = values.reshape(len(values), -1).T
    # the mean of each class is taken over the predictions of a record
    total = np.stack(
        [np.bincount(rows, column)[distinct] for column in columns], axis=1
    )
    means = total / times[distinct][:, None]
    return distinct, means.reshape(len(distinct), *values.shape[1:])


Floats = NDArray[np.float64]
Codes = NDArray[np.intp] | None


def clusters_of(plan: FoldPlan) -> NDArray[np.intp] | None:
    """Return the cluster of each record; None if no cluster has several records.

    A cluster is a value of a stratifier that identifies, for example a person's
    number. Bins of a continuous variable do not identify.
    """
    strata = plan.strata
    if strata is None or not strata.identifies or len(strata.codes) == 0:
        return None
    return strata.codes if np.bincount(strata.codes).max() > 1 else None


def joined_clusters(first: Codes, second: Codes) -> Codes:
    """Return the clusters of records that are linked by either of two results.

    Examples
    --------
    >>> import numpy as np
    >>> joined_clusters(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2])).tolist()
    [0, 0, 0, 1]
    """
    if first is None or second is None or np.array_equal(first, second):
        return second if first is None else first
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # clusters of both results are nodes, and each record links two of them
    one = np.unique(first, return_inverse=True)[1]
    other = np.unique(second, return_inverse=True)[1] + one.max() + 1
    nodes = int(other.max()) + 1
    links = coo_array((np.ones(len(one)), (one, other)), shape=(nodes, nodes))
    label = connected_components(links, directed=False)[1]
    return np.asarray(label[one], dtype=np.intp)


def sums_by_cluster(values: Floats, clusters: NDArray[np.intp]) -> tuple[Floats, int]:
    """Return the sum of the values in each cluster, and the number of clusters."""
    place = np.unique(clusters, return_inverse=True)[1]
    sums = np.asarray(np.bincount(place, values), dtype=float)
    return sums, len(sums)


def se_of_mean(values: Floats, clusters: Codes) -> tuple[float, int]:
    """Return the standard error of a mean, and the number of units that vary.

    The variance of the mean is G/(G - 1) Σ (Σ (v - v̄))² / n², where the inner sum is
    over the records of each of G clusters; without clusters this is the usual s²/n.
    """
    units = np.arange(len(values)) if clusters is None else clusters
    sums, count = sums_by_cluster(values - values.mean(), units)
    if count < 2:
        return np.nan, count
    return float(np.sqrt(count / (count - 1) * (sums**2).sum())) / len(values), count

"""Among which records or clusters outcomes can be exchanged."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from statcv.errors import SchemeError
from statcv.folds import FoldPlan
from statcv.formula import Design
from statcv.words import plural

Numbers = NDArray[np.intp]
FEW = 100  # number of distinct permutations below which p is coarse
AMONG_ALL = "Outcomes are exchanged among all clusters."
AMONG_EQUAL = "Outcomes are permuted among clusters with the same number of records."


def exchanged_clusters(plan: FoldPlan, y: NDArray[np.generic]) -> Numbers | None:
    """Return the cluster of each record if outcomes are exchanged among all clusters.

    They are if clusters differ in size, the outcome is constant within each of them,
    and the folds are a plain partition, which can go with the outcome of a cluster.
    """
    strata = plan.strata
    if strata is None or not strata.identifies:
        return None
    sizes, codes = np.bincount(strata.codes), strata.codes
    lists = plan.dropped, plan.kept_out, plan.copied
    plain = plan.partition and plan.weighting is None
    plain = plain and not any(len(one.values) for one in lists)
    # a cluster's outcome can move to one of another size only in a plain partition
    if not plain or np.ptp(sizes) == 0:
        return None
    return codes if (_by_cluster(codes, y)[codes] == y).all() else None


def _by_cluster(clusters: Numbers, y: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return the outcome of the first record of each cluster."""
    return y[np.unique(clusters, return_index=True)[1]]


def exchange(plan: FoldPlan, design: Design) -> str:
    """Return among which records or clusters outcomes are permuted, if not all."""
    if design.strata:
        return f"Outcomes are permuted within {design.strata}."
    strata = plan.strata
    if strata is None or not strata.identifies:
        return ""
    if exchanged_clusters(plan, design.y) is not None:
        return AMONG_ALL
    return "" if np.ptp(np.bincount(strata.codes)) == 0 else AMONG_EQUAL


def permuted_clusters(plan: FoldPlan, y: NDArray[np.generic]) -> Numbers | None:
    """Return the cluster of each record if clusters are permuted as a whole.

    Return None if records are permuted one by one.

    Raises
    ------
    SchemeError
        If no two clusters have the same number of records, or those that do also have
        the same outcomes, so that no permutation changes the outcomes.
    """
    strata = plan.strata
    if strata is None or not strata.identifies:
        return None
    sizes = np.bincount(strata.codes)
    if len(np.unique(sizes)) == len(sizes):
        raise SchemeError(
            f"no two of the {plural(len(sizes), 'cluster')} of {strata.label} have "
            "the same number of records, so that their outcomes cannot be permuted."
        )
    if distinct_permutations(strata.codes, y) == 1:
        raise SchemeError(
            f"among the {plural(len(sizes), 'cluster')} of {strata.label}, those with "
            "the same number of records have the same outcomes, so that permuting "
            "them changes nothing."
        )
    return strata.codes


def distinct_permutations(clusters: Numbers, y: NDArray[np.generic]) -> float:
    """Count the distinct outcomes if clusters of equal size are permuted.

    Examples
    --------
    >>> distinct_permutations(np.array([0, 1, 1, 2, 2]), np.array([1, 0, 1, 1, 1]))
    2.0
    """
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    starts = np.cumsum(sizes) - sizes
    logarithm = 0.0
    for size in np.unique(sizes[sizes > 0]):
        alike = starts[sizes == size]
        outcomes = y[order][alike[:, None] + np.arange(size)]
        # the multinomial number of ways to arrange outcomes that repeat
        counts = np.unique(outcomes, axis=0, return_counts=True)[1]
        logarithm += math.lgamma(len(alike) + 1)
        logarithm -= sum(math.lgamma(count + 1) for count in counts.tolist())
    return float(round(math.exp(logarithm))) if logarithm < math.log(1e9) else math.inf


def few_permutations(plan: FoldPlan, y: NDArray[np.generic]) -> float:
    """Count the distinct permutations among clusters; infinite unless they are few."""
    exchanged = exchanged_clusters(plan, y)
    if exchanged is not None:
        own = _by_cluster(exchanged, y)
        count = distinct_permutations(np.arange(len(own)), own)
        return count if count < FEW else math.inf
    clusters = permuted_clusters(plan, y)
    count = math.inf if clusters is None else distinct_permutations(clusters, y)
    return count if count < FEW else math.inf


def few_permutations_caveat(plan: FoldPlan, y: NDArray[np.generic]) -> str:
    """Return the caveat that p is coarse if clusters are few; otherwise nothing."""
    count = few_permutations(plan, y)
    if math.isinf(count):
        return ""
    return (
        "outcomes can be permuted among the clusters in only "
        f"{plural(int(count), 'distinct way')}, so that p cannot be expected far below "
        f"{1 / count:.2g}"
    )

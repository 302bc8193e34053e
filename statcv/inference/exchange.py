"""Sources that change places as a whole when outcomes are permuted."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from statcv.errors import SchemeError, plural
from statcv.folds import FoldPlan

Numbers = NDArray[np.intp]
FEW = 100  # ways to deal outcomes, below which p is coarse


def exchanged_sources(plan: FoldPlan, y: NDArray[np.generic]) -> Numbers | None:
    """Return the source of each record, where sources change places as a whole.

    None where every record is exchanged by itself.

    Raises
    ------
    SchemeError
        If no two sources have as many records, or those that have also have the same
        outcomes: every permutation then leaves all as it is.
    """
    strata = plan.strata
    if strata is None or not strata.identifies:
        return None
    sizes = np.bincount(strata.codes)
    if len(np.unique(sizes)) == len(sizes):
        raise SchemeError(
            f"no two of the {plural(len(sizes), 'source')} that {strata.label} tells "
            "have as many records, so that none can change places."
        )
    if ways_to_deal(strata.codes, y) == 1:
        raise SchemeError(
            f"of the {plural(len(sizes), 'source')} that {strata.label} tells, those "
            "with as many records have the same outcomes, so that nothing changes "
            "where they change places."
        )
    return strata.codes


def ways_to_deal(clusters: Numbers, y: NDArray[np.generic]) -> float:
    """Count the distinct outcomes that arise where clusters of a size change places.

    Examples
    --------
    >>> ways_to_deal(np.array([0, 1, 1, 2, 2]), np.array([1, 0, 1, 1, 1]))
    2.0
    """
    order = np.argsort(clusters, kind="stable")
    sizes = np.bincount(clusters)
    starts = np.cumsum(sizes) - sizes
    logarithm = 0.0
    for size in np.unique(sizes[sizes > 0]):
        alike = starts[sizes == size]
        dealt = y[order][alike[:, None] + np.arange(size)]
        counts = np.unique(dealt, axis=0, return_counts=True)[1]
        logarithm += math.lgamma(len(alike) + 1)
        logarithm -= sum(math.lgamma(count + 1) for count in counts.tolist())
    return float(round(math.exp(logarithm))) if logarithm < math.log(1e9) else math.inf


def few_ways(plan: FoldPlan, y: NDArray[np.generic]) -> float:
    """Count the ways to deal outcomes to sources; infinite where they are not few."""
    clusters = exchanged_sources(plan, y)
    ways = math.inf if clusters is None else ways_to_deal(clusters, y)
    return ways if ways < FEW else math.inf


def said_of_few_ways(plan: FoldPlan, y: NDArray[np.generic]) -> str:
    """Say that p is coarse, where sources are too few for more; else nothing."""
    ways = few_ways(plan, y)
    if math.isinf(ways):
        return ""
    return (
        f"outcomes can be dealt to the sources in {plural(int(ways), 'way')} only, so "
        f"that p cannot be expected far below {1 / ways:.2g}"
    )

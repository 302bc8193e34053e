"""Differences of a metric between groups of the records.

Two groups hold different records, but their estimates may covary: a cluster can have
records in both groups, and both groups are predicted by the same fits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from statcv.inference.estimates.estimate import Estimate
from statcv.inference.estimates.groups import among, group_estimates
from statcv.inference.estimates.influences import Influences, influences_on
from statcv.inference.intervals.infinitesimal import shared_training
from statcv.inference.paired.methods import CORRECTED, VARIED
from statcv.inference.paired.tests import PairedTest
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.numeric.arrays import Bools

NEGLIGIBLE = 1e-24  # variance; anything smaller is rounding error


@dataclass(frozen=True, eq=False)
class Group:
    """A group of the records, with its estimates.

    Attributes
    ----------
    name : object
        The value that the records of the group share.
    members : numpy.ndarray of bool, shape (n,)
        Whether each record is in the group.
    scores : Scores
        The held-out predictions of the group.
    estimates : dict of str to Estimate
        The default estimate of each metric.
    influences : dict of str to Influences or str
        The influence of all records on each estimate, or why it is not known.
    """

    name: Any
    members: Bools
    scores: Scores
    estimates: Mapping[str, Estimate]
    influences: Mapping[str, Influences | str]

    @classmethod
    def of(
        cls,
        scores: Scores,
        name: Any,
        members: Bools,
        metrics: Sequence[Metric],
        level: float,
    ) -> Group:
        """Estimate metrics in a group.

        Parameters
        ----------
        scores : Scores
            The held-out predictions of all records.
        name : object
        members : numpy.ndarray of bool, shape (n,)
        metrics : sequence of Metric
        level : float
            Confidence level of the intervals.
        """
        part = among(scores, members)
        names = [metric.name for metric in metrics]
        made = group_estimates(part, metrics, level)
        found = dict(zip(names, made, strict=True))
        known = [one for one in metrics if one.derive is not None]
        asked = [(one, found[one.name].how) for one in known]
        moved = influences_on(part, asked) if asked and len(part.row) else []
        names = [one.name for one in known]
        return cls(name, members, part, found, dict(zip(names, moved, strict=False)))


def group_differences(
    groups: Sequence[Group], reference: Any = None
) -> list[tuple[Group, Group]]:
    """Return the pairs of groups that are compared, the reference or earlier one first.

    Parameters
    ----------
    groups : sequence of Group
    reference : object, optional
        Name of the group with which all others are compared; all pairs unless given.
    """
    if reference is None:
        return list(combinations(groups, 2))
    first = next(group for group in groups if group.name == reference)
    return [(first, group) for group in groups if group is not first]


def compare_pair(first: Group, second: Group, metric: Metric) -> PairedTest:
    """Test the difference of a metric between two groups.

    The variance of the difference is the sum of the variances of both default
    intervals minus twice the covariance of the estimates. The covariance is that of the
    influences of the records, summed by cluster, on the two estimates, and what the
    fits that both groups share add to it.
    Student's t has the degrees of freedom of Welch and Satterthwaite.

    Parameters
    ----------
    first, second : Group
    metric : Metric

    References
    ----------
    Welch (1947), Biometrika 34:28; DeLong, DeLong & Clarke-Pearson (1988), Biometrics
    44:837; Obuchowski (1997), Biometrics 53:567 (clusters).
    """
    both = first.estimates[metric.name], second.estimates[metric.name]
    difference = both[1].value - both[0].value
    for group, found in zip((first, second), both, strict=True):
        if math.isnan(found.interval.se):
            why = found.assumes
            if not math.isnan(found.lower):
                why = f"{found.label} is exactly {found.value:g}, with a bound alone"
            return PairedTest.unavailable(difference, f"{why}, for {group.name}")
    units = _number_of_units(first, second)
    shared = _covariance(first, second, metric, units)
    if isinstance(shared, str):
        return PairedTest.unavailable(difference, shared)
    each = [found.interval.se**2 for found in both]
    # Var(b - a) = Var(a) + Var(b) - 2 Cov(a, b)
    variance = sum(each) - 2 * shared
    if not variance > NEGLIGIBLE:
        why = "the difference has no variation that is known"
        return PairedTest.unavailable(difference, why)
    df = _welch(each, [found.interval.df for found in both])
    df = min(df, units - 1)
    least, most = metric.bounds_with(first.scores.n_classes)
    se = math.sqrt(variance)
    return PairedTest.of(difference, se, both[0].level, df, most=most - least)


def _welch(variances: Sequence[float], dfs: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of two variances.

    >>> round(_welch([1.0, 1.0], [9.0, 9.0]), 6), _welch([1.0, 2.0], [math.nan] * 2)
    (18.0, inf)
    """
    # Welch and Satterthwaite
    both = zip(variances, dfs, strict=True)
    rest = sum(variance**2 / df for variance, df in both if not math.isnan(df))
    return sum(variances) ** 2 / rest if rest else math.inf


def _number_of_units(first: Group, second: Group) -> int:
    """Return the number of records or clusters that are held out in two groups.

    The records of a group that is a whole cluster are units by themselves, as in the
    interval of that group.
    """
    clusters, n = first.scores.clusters, len(first.members)
    known = np.zeros(n, dtype=bool)
    for group in (first, second):
        known[group.scores.row] = True
    rows = np.flatnonzero(known)
    if clusters is None:
        return len(rows)
    units = clusters[rows]
    for group in (first, second):
        own = np.unique(clusters[group.scores.row])
        inside = group.members[rows]
        if len(own) == 1 and not (units[~inside] == own[0]).any():
            units = np.where(inside, clusters.max() + 1 + rows, units)
    return int(np.count_nonzero(np.bincount(units)))


def _covariance(first: Group, second: Group, metric: Metric, units: int) -> float | str:
    """Return the covariance of two estimates, or why it is not known."""
    name = metric.name
    both = [group.influences.get(name, "") for group in (first, second)]
    methods = [group.estimates[name].interval.name for group in (first, second)]
    known = [one for one in both if not isinstance(one, str)]
    of_fits = len(known) == 2 and all(method == VARIED for method in methods)
    clusters = first.scores.clusters
    if not of_fits and clusters is None:
        return 0.0
    codes = np.arange(len(first.members)) if clusters is None else clusters
    if len(known) < 2:
        held = [set(codes[one.scores.row].tolist()) for one in (first, second)]
        if not held[0] & held[1]:
            return 0.0
        return (
            f"clusters have records in both groups, and the influence of records on "
            f"{metric.label} is not known"
        )
    # influences centred in each class or sample, and summed over records of a cluster
    moved = [np.bincount(codes, one.units.centred(one.held)) for one in known]
    # the covariance of sums over units, with the factor I / (I - 1)
    factor = units / max(units - 1, 1)
    shared = float(moved[0] @ moved[1])
    draws = [one.draws for one in known]
    if of_fits and draws[0] is not None and draws[1] is not None:
        shared += draws[0].shared(draws[1])
    if CORRECTED in methods:
        factor *= max(shared_training(one.scores, metric) for one in (first, second))
    return factor * shared * _rescaled(first, name) * _rescaled(second, name)


def _rescaled(group: Group, name: str) -> float:
    """Return by how much the influences on an estimate are those on its pooled value.

    The variance of an interval of Wilson's shape belongs to the estimate θ by the
    factor θ(1 - θ); that of the influences belongs to the value of the pooled
    predictions.
    """
    found, moved = group.estimates[name], group.influences[name]
    assert not isinstance(moved, str)
    # a share's influences are scaled as its Wilson interval is
    spread = moved.value * (1 - moved.value)
    if found.interval.scale != "wilson" or not spread > 0:
        return 1.0
    return math.sqrt(found.interval.spread / spread)

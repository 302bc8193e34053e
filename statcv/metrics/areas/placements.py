"""DeLong's variance of the area under the ROC curve, with intervals.

The area is the mean of the placements of either class. Its variance is that of sums of
placements over clusters, each of which is a single record unless clusters are given.

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

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from statcv.arguments import check_level
from statcv.errors import MetricError
from statcv.metrics import inputs
from statcv.metrics.discrimination.by_value import placement_counts
from statcv.numeric.arrays import ArrayLike, Bools, Floats, Numbers
from statcv.tables import Printed


@dataclass(frozen=True, repr=False)
class DeLong(Printed):
    """An area under the ROC curve with DeLong's standard error and interval.

    Attributes
    ----------
    auc, se, lower, upper, level : float
        Area, standard error, and confidence interval with its level.
    n_positive, n_negative : int
        Number of records of each class.
    reason : str
        Why a value is missing or not informative; otherwise empty.
    n_clusters : int or None
        Number of clusters; None if no clusters were given.

    Examples
    --------
    >>> y = [0, 0, 0, 1, 0, 1, 1, 1]
    >>> p = [0.1, 0.2, 0.3, 0.35, 0.6, 0.7, 0.8, 0.9]
    >>> area = delong(y, p)
    >>> area.auc, round(area.se, 3), area.n_positive
    (0.9375, 0.088, 4)
    """

    auc: float
    se: float
    lower: float
    upper: float
    level: float
    n_positive: int
    n_negative: int
    reason: str = ""
    n_clusters: int | None = None


def delong(
    y: ArrayLike,
    score: ArrayLike,
    *,
    level: float = 0.95,
    interval: Literal["wald", "logit"] = "wald",
    clusters: ArrayLike | None = None,
    tie_tol: float = 1e-12,
) -> DeLong:
    """Area under the ROC curve with DeLong's standard error and interval.

    Scores are taken as given; for held-out predictions the standard error is too small,
    since it does not count the variability of the fits.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1.
    level : float, default 0.95
        Confidence level of the interval.
    interval : {"wald", "logit"}
        An interval that is symmetric about the area and clipped to [0, 1], or one that
        is symmetric on the logit scale. An area of exactly 1 or 0 has then the exact
        bound from pairs that have no record in common.
    clusters : array_like of shape (n,), optional
        Cluster labels. The standard error is then Obuchowski's (1997), which is too
        small if there are few clusters.
    tie_tol : float, default 1e-12
        Relative difference below which two scores tie.

    Returns
    -------
    DeLong
        ``auc``, ``se``, ``lower`` and ``upper``; NaN, with the ``reason``, if a class
        has fewer than two records (or clusters) or a score is NaN. If the standard
        error is 0, the reason says that the interval does not measure uncertainty.

    Raises
    ------
    MetricError
        If an argument is not valid.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837, eq. 3 to 6; Sun & Xu
    (2014), IEEE Signal Processing Letters 21:1389 (by ranks); Obuchowski (1997),
    Biometrics 53:567; Clopper & Pearson (1934), Biometrika 26:404 (exact bound).

    Examples
    --------
    >>> y, score = [0, 0, 0, 1, 1, 1], [1, 2, 4, 3, 5, 6]
    >>> d = delong(y, score)
    >>> round(d.auc, 4), round(d.se, 4), round(d.lower, 4)
    (0.8889, 0.1571, 0.5809)
    >>> round(delong(y, score, clusters=["a", "b", "c", "a", "b", "c"]).se, 4)
    0.1111
    """
    check_level(level, MetricError)
    inputs.one_of(interval, ("wald", "logit"), "interval")
    positive, values = inputs.binary_scores(y, score)
    placed = placements(positive, values[None, :], clusters, tie_tol)
    auc, se = float(placed.areas[0]), float(placed.standard_errors[0])
    plain = interval == "wald" or se == 0 or np.isnan(se)
    scale = "identity" if plain else "logit"
    ends = symmetric_limits(auc, se, level, scale=scale)
    lower, upper = np.clip(ends, 0, 1).tolist()
    constant = _CONSTANT.format("" if clusters is None else " from cluster to cluster")
    if interval == "logit" and se == 0 and auc in (0.0, 1.0):
        pairs = disjoint_pairs(positive, inputs.clusters_of(clusters, positive.size))
        lower, upper = limits_at_end(auc, pairs, level)
        unit = "record" if clusters is None else "cluster"
        constant = (_AT_END if pairs >= FEWEST else _ONE_PAIR).format(pairs, unit)
    counts = int(positive.sum()), int((~positive).sum())
    reason = placed.reason or (constant if se == 0 else "")
    units = None if clusters is None else placed.units
    return DeLong(auc, se, lower, upper, level, *counts, reason, units)


def delong_covariance(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    tie_tol: float = 1e-12,
) -> tuple[Floats, Floats]:
    """Areas of several scores on the same records, and their covariance matrix.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    scores : array_like of shape (m, n)
        One row for each of m scores.
    clusters : array_like of shape (n,), optional
        Cluster labels, equal for records that belong together; see `delong`.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    aucs : ndarray of shape (m,)
        The areas; NaN as in `auroc`.
    covariance : ndarray of shape (m, m)
        Their covariance matrix. An element is NaN if one of its areas is, and all are
        NaN if a class has fewer than two records (or clusters).

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, `scores` is not of shape (m, n), or a cluster
        is missing.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837, eq. 6; Obuchowski
    (1997), Biometrics 53:567, for clusters.

    Examples
    --------
    >>> aucs, cov = delong_covariance([0, 0, 1, 1], [[1, 3, 2, 4], [1, 2, 3, 4]])
    >>> aucs.tolist(), cov.round(6).tolist()
    ([0.75, 1.0], [[0.125, 0.0], [0.0, 0.0]])
    """
    positive = inputs.binary_outcome(y)
    values = inputs.score_rows(scores, positive.size)
    placed = placements(positive, values, clusters, tie_tol)
    return placed.areas, placed.covariance


_CONSTANT = inputs.REMARKS["constant"]
_AT_END = inputs.REMARKS["at_end"]
_ONE_PAIR = inputs.REMARKS["one_pair"]


LARGEST_LOG = 700.0  # a number whose exponential is finite


def symmetric_limits(
    value: float,
    se: float,
    level: float,
    *,
    df: float = np.nan,
    scale: str = "identity",
) -> tuple[float, float]:
    """Return the limits of an interval that is symmetric about a value or its logit.

    Parameters
    ----------
    value, se, level : float
        Estimate, its standard error on the identity scale, and confidence level.
    df : float
        Degrees of freedom of Student's t; NaN for the normal distribution.
    scale : {"identity", "logit", "log"}
        Scale of the symmetry. The logit, for a value between 0 and 1, and the
        logarithm, for a positive one, use the delta method.
    """
    from scipy.special import expit, logit, stdtrit

    quantile = normal_quantile(level)
    if not np.isnan(df):
        quantile = float(stdtrit(df, (1 + level) / 2))
    half = quantile * se
    if scale == "identity":
        return value - half, value + half
    if scale == "log":
        factor = math.exp(min(half / value, LARGEST_LOG))
        return value / factor, value * factor
    half /= value * (1 - value)
    return float(expit(logit(value) - half)), float(expit(logit(value) + half))


def normal_quantile(level: float) -> float:
    """Return the two-sided normal quantile of a confidence level."""
    from scipy.special import ndtri

    return -float(ndtri((1 - level) / 2))


def ratio(difference: float, se: float) -> float:
    """Return a difference over its standard error; if that is 0, 0 or ±inf."""
    if se == 0:
        return float(np.sign(difference) * np.inf) if difference else 0.0
    return difference / se


def tail(statistic: float, df: float, alternative: str) -> float:
    """Return the p-value of a t statistic, or of a normal one if df is NaN."""
    from scipy.special import ndtr, stdtr

    def below(x: float) -> float:
        return float(ndtr(x) if np.isnan(df) else stdtr(df, x))

    # two-sided: twice the smaller tail
    sides = {"greater": below(-statistic), "less": below(statistic)}
    return sides.get(alternative, 2 * below(-abs(statistic)))


# ---- exact bounds of an area of 1 or 0 ----


FEWEST = 2  # fewest pairs for limits; chance ranks a single one correctly in half


def disjoint_pairs(positive: Bools, clusters: Numbers | None = None) -> int:
    """Return the largest number of pairs of the two classes that share no record.

    Parameters
    ----------
    positive : numpy.ndarray of bool, shape (n,)
        Outcome, True for positive records.
    clusters : numpy.ndarray of int, shape (n,), optional
        Cluster codes. Pairs then share no cluster, and the two records of a pair belong
        to different clusters.

    Examples
    --------
    >>> positive = np.array([True, True, False, False, False])
    >>> disjoint_pairs(positive)
    2
    >>> disjoint_pairs(positive, np.array([0, 1, 0, 1, 2]))
    1
    """
    if clusters is None:
        return int(min(positive.sum(), (~positive).sum()))
    ones, zeros = np.unique(clusters[positive]), np.unique(clusters[~positive])
    return min(len(ones), len(zeros), len(np.union1d(ones, zeros)) // 2)


def pick_disjoint(first: Numbers, second: Numbers) -> int:
    """Return the number of the given pairs that a greedy search finds to be disjoint.

    Pairs whose records occur in few pairs are taken first. The largest possible number
    may be greater, so that an interval based on this one is conservative.

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        The two records, or clusters, of each pair.

    Examples
    --------
    >>> pick_disjoint(np.array([0, 1, 1]), np.array([2, 2, 3]))
    2
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    pairs = np.unique(np.stack([low, high], axis=1)[low < high], axis=0)
    if not len(pairs):
        return 0
    times = np.bincount(pairs.ravel())[pairs]
    order = np.lexsort((times.max(axis=1), times.min(axis=1)))
    taken: set[int] = set()
    for one, other in pairs[order].tolist():
        if one not in taken and other not in taken:
            taken |= {one, other}
    return len(taken) // 2


def limits_at_end(area: float, pairs: int, level: float) -> tuple[float, float]:
    """Return the exact confidence limits for an estimated area of 1 or 0.

    Parameters
    ----------
    area : {0.0, 1.0}
        The estimate.
    pairs : int
        Number of pairs that share no record, all of them ranked correctly, or all of
        them wrongly. Since a tie counts one half in the area, ties make the limits
        conservative.
    level : float
        Confidence level.

    Returns
    -------
    lower, upper : float
        The limits; NaN if there are fewer than two pairs.

    References
    ----------
    Clopper & Pearson (1934), Biometrika 26:404; Obuchowski & Lieber (2002), Academic
    Radiology 9:526, on intervals for an estimated area of 1.

    Examples
    --------
    >>> lower, upper = limits_at_end(1.0, 10, 0.95)
    >>> round(lower, 4), upper
    (0.6915, 1.0)
    """
    if pairs < FEWEST:
        return float("nan"), float("nan")
    rate = math.log((1 - level) / 2) / pairs
    return (math.exp(rate), 1.0) if area == 1 else (0.0, -math.expm1(rate))


def p_at_end(area: float, pairs: int, null: float, alternative: str) -> float:
    """Return the exact p-value for an estimated area of 1 or 0.

    Parameters
    ----------
    area, pairs
        As in :func:`limits_at_end`.
    null : float
        Area under the null hypothesis.
    alternative : {"two-sided", "greater", "less"}
        Alternative hypothesis.

    Examples
    --------
    >>> p_at_end(1.0, 4, 0.5, "greater"), p_at_end(1.0, 4, 0.5, "two-sided")
    (0.0625, 0.125)
    """
    alike = float((null if area == 1 else 1 - null) ** pairs)
    if alternative == "two-sided":
        return min(1.0, 2 * alike)
    return alike if (alternative == "greater") == (area == 1) else 1.0


# ---- counts of placements ----


@dataclass(frozen=True, eq=False)
class PlacementCounts:
    """Placements of the same records by m scores, or by contrasts of scores.

    Attributes
    ----------
    counts : ndarray of shape (m, n)
        Number of negative records below each positive one, and of positive records
        above each negative one; NaN in a row with a NaN score.
    positive : ndarray of bool, shape (n,)
        Whether each record is positive.
    codes : ndarray of int, shape (n,)
        Cluster of each record, from 0.
    reason : str
        Why there is no variance; empty if there is one.
    """

    counts: Floats
    positive: Bools
    codes: Numbers
    reason: str

    @property
    def areas(self) -> Floats:
        """Area of each row; NaN if a class has no records."""
        pairs = int(self.positive.sum()) * int((~self.positive).sum())
        if not pairs:
            return np.full(len(self.counts), np.nan)
        return np.asarray(self.counts[:, self.positive].sum(axis=1) / pairs)

    @property
    def covariance(self) -> Floats:
        """Covariance of the rows' areas; NaN if there are too few records.

        S10, S01 and S11 in the paper are sums of products of the clusters' deviations,
        times I10/(I10 - 1), I01/(I01 - 1) and I/(I - 1), where I10, I01 and I are the
        numbers of clusters with a positive record, with a negative record, and in
        total. Here the common part of these factors multiplies the deviation of the
        area due to both classes, and the remainder multiplies the deviation due to each
        class. The result is the same, but as a sum of squares: a variance is never
        negative, and is zero if it is truly zero.
        """
        clusters, by_class = self.units, []
        for members in (self.positive, ~self.positive):
            own, codes = self.counts[:, members], self.codes[members]
            sizes = np.bincount(codes, minlength=clusters)
            summed = np.stack([np.bincount(codes, row, clusters) for row in own])
            # times the number of records, by which they are exact multiples of one half
            deviations = sizes.sum() * summed - sizes * own.sum(axis=1, keepdims=True)
            by_class.append((deviations, float(sizes.sum()), np.count_nonzero(sizes)))
        (of_ones, ones, _), (of_zeros, zeros, _) = by_class
        if min(holding for *_, holding in by_class) < 2:
            return np.full((len(self.counts), len(self.counts)), np.nan)
        total = (zeros * of_ones + ones * of_zeros) / (ones * zeros) ** 2
        covariance = clusters / (clusters - 1) * (total @ total.T)
        for deviations, size, holding in by_class:
            more = (clusters - holding) / ((holding - 1) * (clusters - 1))
            own = deviations / (ones * zeros * size)
            covariance += more * (own @ own.T)
        return np.asarray(covariance)

    @property
    def standard_errors(self) -> Floats:
        """Standard errors of the areas."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def units(self) -> int:
        """Number of clusters."""
        return _distinct(self.codes)

    def combined(self, contrast: Floats) -> PlacementCounts:
        """Return the placements of linear combinations of the rows."""
        return replace(self, counts=contrast @ self.counts)


def placements(
    positive: Bools, scores: Floats, clusters: ArrayLike | None, tie_tol: float
) -> PlacementCounts:
    """Return the placements of the records of each class by each of m scores."""
    codes, counts = inputs.clusters_of(clusters, positive.size), np.empty(scores.shape)
    for row, score in zip(counts, scores, strict=True):
        row[:] = placement_counts(positive, score, tie_tol)[0]
    counts[np.isnan(scores).any(axis=1)] = np.nan
    return PlacementCounts(counts, positive, codes, shortage(positive, scores, codes))


def shortage(positive: Bools, scores: Floats, codes: Numbers) -> str:
    """Return why there is no variance; empty if there is one."""
    missing = int(np.isnan(scores).sum())
    if missing:
        return f"{missing} of the scores are NaN"
    for members, name in ((positive, "positive"), (~positive, "negative")):
        count = int(members.sum())
        if count < 2:
            some = "one" if count else "no"
            return f"{some} {name} record: the variance needs two of each class"
        if _distinct(codes[members]) < 2:
            return (
                f"all {count} {name} records belong to one cluster: the variance needs "
                "two clusters with records of each class"
            )
    return ""


def _distinct(codes: Numbers) -> int:
    return int(np.count_nonzero(np.bincount(codes))) if codes.size else 0

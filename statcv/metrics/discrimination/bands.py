"""Confidence bands of ROC and precision-recall curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from statcv.arguments import MAX_RESAMPLES, check_level, check_whole, resolve_seed
from statcv.errors import MetricError
from statcv.metrics import inputs
from statcv.metrics.areas.placements import shortage
from statcv.metrics.discrimination.by_value import RankedRecords, precision_on_the_way
from statcv.metrics.discrimination.curves import check_complete, sensitivity_at, sweep
from statcv.metrics.discrimination.rounding import round_significant
from statcv.numeric.arrays import ArrayLike, Bools, Floats, Numbers
from statcv.tables import Printed

UNMOVED = inputs.REMARKS["unmoved"]


@dataclass(frozen=True, eq=False, repr=False)
class CurveBand(Printed):
    """A confidence band of a curve.

    Attributes
    ----------
    at : ndarray of shape (points,)
        Horizontal positions: false positive rates, or recalls.
    lower, estimate, upper : ndarray of shape (points,)
        Sensitivity or precision with its limits.
    level : float
        Confidence level at each point, or of the whole band if it is simultaneous.
    method : str
        "pointwise" or "simultaneous".
    reason : str
        Why there is no band, or why it is not informative; otherwise empty.

    Examples
    --------
    >>> y, score = [0, 1] * 20, [k * 7 % 40 + 9 * (k % 2) for k in range(40)]
    >>> band = roc_band(y, score, at=[0.1, 0.5], seed=1)
    >>> band.method, band.level, band.estimate.tolist()
    ('pointwise', 0.95, [0.35, 0.75])
    """

    _points, _with_band = ("at", "estimate"), "estimate"

    at: Floats
    lower: Floats
    estimate: Floats
    upper: Floats
    level: float
    method: str
    reason: str = ""


def roc_band(
    y: ArrayLike,
    score: ArrayLike,
    *,
    level: float = 0.95,
    method: Literal["pointwise", "simultaneous"] = "pointwise",
    at: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_boot: int | None = None,
    seed: int | np.random.Generator | None = None,
    tie_tol: float = 1e-12,
) -> CurveBand:
    """Confidence band of the ROC curve: sensitivity at given false positive rates.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    score : array_like of shape (n,)
        Any increasing function of the probability of 1.
    level : float, default 0.95
        Confidence level of the band.
    method : {"pointwise", "simultaneous"}
        Pointwise bands are percentiles over bootstrap samples of each class, whose
        level holds at each point separately (as in ``ci.se`` of R's pROC). The
        simultaneous band contains the whole curve with at least this level under any
        distribution, and is wide (Campbell 1994); it needs independent records.
    at : array_like of shape (points,), optional
        False positive rates (1 - specificity); by default 0, 0.01, …, 1.
    clusters : array_like of shape (n,), optional
        Cluster labels, equal for records that belong together.
    n_boot : int, optional
        Number of bootstrap samples; 2000 by default.
    seed : int, Generator or None
        Seed for the bootstrap.
    tie_tol : float, default 1e-12
        Relative difference below which two scores tie.

    Returns
    -------
    CurveBand
        ``at``, ``lower``, ``estimate`` and ``upper``; NaN, with the ``reason``, if a
        class has fewer than two records (or clusters).

    Raises
    ------
    MetricError
        If an argument is not valid.

    References
    ----------
    Campbell (1994), Statistics in Medicine 13:499; Robin et al. (2011), BMC
    Bioinformatics 12:77.

    Examples
    --------
    >>> y, score = [0, 1] * 20, [k * 7 % 40 + 9 * (k % 2) for k in range(40)]
    >>> band = roc_band(y, score, at=[0.1, 0.5], seed=1)
    >>> band.estimate.tolist(), band.lower.tolist()
    ([0.35, 0.75], [0.15, 0.45])
    """
    check_level(level, MetricError)
    inputs.one_of(method, ("pointwise", "simultaneous"), "method")
    positive, values = inputs.binary_scores(y, score)
    where = np.linspace(0, 1, 101) if at is None else shares_at(at)
    if method == "simultaneous":
        if clusters is not None or n_boot is not None:
            raise MetricError(
                "clusters and n_boot mean nothing for the simultaneous band, which "
                "takes records as independent and needs no bootstrap; use "
                "method='pointwise'."
            )
        return _kolmogorov(positive, values, level, where, tie_tol)
    how = level, clusters, n_boot, seed
    return _of_score(positive, values, where, tie_tol, sensitivity_at, how)


def pr_band(
    y: ArrayLike,
    score: ArrayLike,
    *,
    level: float = 0.95,
    at: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_boot: int | None = None,
    seed: int | np.random.Generator | None = None,
    tie_tol: float = 1e-12,
) -> CurveBand:
    """Pointwise confidence band of the precision-recall curve.

    The scores are taken as given; for cross-validated scores the band does not include
    the variability of the fits. The share of positive records is taken as fixed.

    Parameters
    ----------
    y, score, level
        As in `roc_band`.
    at : array_like of shape (points,), optional
        Recalls; by default 0.01, 0.02, …, 1. At recall 0 the precision is its limit.
    clusters, n_boot, seed, tie_tol
        As in `roc_band`.

    Returns
    -------
    CurveBand
        Percentiles over bootstrap samples. The precision at a recall is that of the
        highest threshold that attains the recall; between two points the number of
        false positives is interpolated linearly (Davis & Goadrich 2006). The band is
        NaN, with the reason, if a class has fewer than two records (or clusters).

    Raises
    ------
    MetricError
        As in `roc_band`.

    References
    ----------
    Davis & Goadrich (2006), ICML; Boyd, Eng & Page (2013), ECML PKDD, for
    intervals for the area under the curve.

    Examples
    --------
    >>> y, score = [0, 1] * 20, [k * 7 % 40 + 9 * (k % 2) for k in range(40)]
    >>> band = pr_band(y, score, at=[0.5, 1], seed=1)
    >>> band.estimate.round(3).tolist(), band.lower.round(3).tolist()
    ([0.667, 0.571], [0.476, 0.526])
    """
    check_level(level, MetricError)
    positive, values = inputs.binary_scores(y, score)
    where = np.linspace(0, 1, 101)[1:] if at is None else shares_at(at)
    how = level, clusters, n_boot, seed
    return _of_score(positive, values, where, tie_tol, _precision, how)


def _precision(true: Floats, false: Floats, at: Floats) -> Floats:
    """Precision at given recalls, from cumulative counts by falling threshold."""
    if not true[-1]:
        return np.full(at.size, np.nan)
    count = np.round(at * true[-1], 9)
    into = np.searchsorted(true, count, side="left")
    into = np.maximum(into, np.searchsorted(true, 0, side="right"))
    return precision_on_the_way(true, false, into, count)


# the level, the clusters, the number of bootstrap samples, and their seed
Resampled = tuple[float, ArrayLike | None, int | None, int | np.random.Generator | None]


def _of_score(
    positive: Bools,
    score: Floats,
    at: Floats,
    tie_tol: float,
    height: Callable[[Floats, Floats, Floats], Floats],
    how: Resampled,
) -> CurveBand:
    """Percentiles of a curve's height over samples of records or of clusters."""
    check_complete(score)
    ranked = RankedRecords.of(score, tie_tol=tie_tol)
    order = np.argsort(-round_significant(score, tie_tol), kind="stable")

    def of_sample(times: Floats) -> Floats:
        return height(*ranked.falling(times * positive, times * ~positive), at)

    return band_of_samples(at, of_sample, positive, score[None], order, how)


def band_of_samples(
    at: Floats,
    height: Callable[[Floats], Floats],
    positive: Bools,
    scores: Floats,
    order: Numbers,
    how: Resampled,
    unmoved: str = UNMOVED,
) -> CurveBand:
    """Return percentiles of a curve over bootstrap samples, where it can vary.

    Parameters
    ----------
    at : numpy.ndarray, shape (points,)
        Where the curve is evaluated.
    height : callable
        The height of the curve there, as a function of how often each record is drawn.
    positive : numpy.ndarray of bool, shape (n,)
    scores : numpy.ndarray, shape (m, n)
        The scores that the curve compares.
    order : numpy.ndarray of int, shape (n,)
        The order in which the records are drawn.
    how : tuple
        Level, clusters, number of bootstrap samples and seed; see `roc_band`.
    unmoved : str
        The remark if no sample moves the curve.
    """
    level, clusters, n_boot, seed = how
    draws, start = number_of_draws(n_boot), resolve_seed(seed)
    unit = inputs.clusters_of(clusters, positive.size)
    estimate, reason = height(np.ones(positive.size)), shortage(positive, scores, unit)
    lower = upper = np.full(at.size, np.nan)
    if not reason:
        samples = drawn_times(positive, order, unit, draws, start)
        heights = np.stack([height(times) for times in samples])
        ends = [(1 - level) / 2, (1 + level) / 2]
        lower, upper = np.quantile(heights, ends, axis=0)
        reason = unmoved if (lower == upper).all() else ""
    return CurveBand(at, lower, estimate, upper, level, "pointwise", reason)


def _kolmogorov(
    positive: Bools, score: Floats, level: float, at: Floats, tie_tol: float
) -> CurveBand:
    """Simultaneous band from the Kolmogorov-Smirnov distances of both rates.

    Each of the two bands has the square root of the level, so that both hold together
    at the level. Every point of the true curve belongs to a threshold, at which the
    rates of the sample are at most these distances away.
    """
    _, true, false = sweep(positive, score, tie_tol)
    estimate = sensitivity_at(true, false, at)
    if not (true[-1] and false[-1]):
        missing = np.full(at.size, np.nan)
        reason = f"no {'negative' if true[-1] else 'positive'} record"
        return CurveBand(at, missing, estimate, missing, level, "simultaneous", reason)
    up, aside = (_distance(level**0.5, int(count[-1])) for count in (true, false))
    tpr, fpr = true / true[-1], false / false[-1]
    last = np.searchsorted(fpr, at + aside, side="right") - 1
    first = np.searchsorted(fpr, at - aside, side="left")
    lower, upper = np.maximum(0, tpr[first] - up), np.minimum(1, tpr[last] + up)
    return CurveBand(at, lower, estimate, upper, level, "simultaneous")


@lru_cache(maxsize=256)  # slower than all other steps of a band
def _distance(level: float, n: int) -> float:
    """Quantile of the two-sided Kolmogorov-Smirnov distance for n records."""
    from scipy.stats import kstwo

    return float(kstwo.ppf(level, n))


# ---- the difference of two curves ----


_SAME = "the difference is the same in all bootstrap samples: the band has no width"


_MOST_STEPS = 200  # with at most this many negative records, every step is shown


def roc_difference(
    y: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    *,
    level: float = 0.95,
    at: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    n_boot: int | None = None,
    seed: int | np.random.Generator | None = None,
    tie_tol: float = 1e-12,
) -> CurveBand:
    """Difference in sensitivity of two scores at equal false positive rates.

    The scores are taken as given and belong to the same records; each bootstrap sample
    draws the same records for both.

    Parameters
    ----------
    y : array_like of shape (n,)
        Outcome, 0 or 1 (or bool).
    a, b : array_like of shape (n,)
        Two scores.
    level : float, default 0.95
        Confidence level of the band at each point.
    at : array_like of shape (points,), optional
        False positive rates. By default, the rates at which either curve bends or
        jumps, and a point just before each of them, so that the area under the line is
        the difference of the two areas. With more than 200 negative records, the
        default is 0, 0.005, …, 1.
    clusters : array_like of shape (n,), optional
        Cluster labels, equal for records that belong together. The bootstrap then
        draws whole clusters.
    n_boot : int, optional
        Number of bootstrap samples; 2000 by default.
    seed : int, Generator or None
        Seed for the bootstrap.
    tie_tol : float, default 1e-12
        Tolerance for ties, see `round_significant`.

    Returns
    -------
    CurveBand
        Sensitivity of `a` minus that of `b`. At a false positive rate where a curve
        jumps, the upper end of the jump is used. The band is NaN, with the reason, if a
        class has fewer than two records (or clusters).

    Raises
    ------
    MetricError
        If `y` holds anything but 0 and 1, a score is NaN, the lengths differ, or an
        argument is out of range.

    References
    ----------
    Robin et al. (2011), BMC Bioinformatics 12:77, for the stratified bootstrap.

    Examples
    --------
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> a, b = [1, 2, 3, 5, 4, 6, 7, 8], [2, 1, 6, 3, 5, 4, 8, 7]
    >>> roc_difference(y, a, b, at=[0, 0.25, 0.5], seed=1).estimate.tolist()
    [0.25, 0.0, 0.0]
    """
    check_level(level, MetricError)
    positive, first = inputs.binary_scores(y, a)
    _, second = inputs.binary_scores(y, b)
    curves = [sweep(positive, score, tie_tol)[1:] for score in (first, second)]
    where = _grid(at, *[false for _, false in curves])
    if not (positive.any() and not positive.all()):
        missing = np.full(where.size, np.nan)
        reason = f"no {'negative' if positive.any() else 'positive'} record"
        return CurveBand(where, missing, missing, missing, level, "pointwise", reason)
    order = np.lexsort((positive, second, first))
    ranked = [RankedRecords.of(x, tie_tol=tie_tol) for x in (first, second)]

    def of_sample(times: Floats) -> Floats:
        sides = times * positive, times * ~positive
        one, other = (by_score.falling(*sides) for by_score in ranked)
        return sensitivity_at(*one, where) - sensitivity_at(*other, where)

    both, how = np.stack([first, second]), (level, clusters, n_boot, seed)
    return band_of_samples(where, of_sample, positive, both, order, how, _SAME)


def _grid(at: ArrayLike | None, *false: Floats) -> Floats:
    if at is not None:
        return shares_at(at)
    most = false[0][-1]
    if not 0 < most <= _MOST_STEPS:
        return np.linspace(0, 1, _MOST_STEPS + 1)
    steps = np.unique(np.concatenate(false)) / most
    return np.sort(np.concatenate([steps, steps[1:] - 1e-4 / most]))


# ---- bootstrap samples of scored records, as counts for curves ----

_N_BOOT = 2000


def number_of_draws(n_boot: int | None) -> int:
    """Return the number of bootstrap samples, 2000 by default."""
    draws = _N_BOOT if n_boot is None else n_boot
    check_whole(draws, "n_boot", least=1, most=MAX_RESAMPLES, error=MetricError)
    return draws


def shares_at(at: ArrayLike) -> Floats:
    """Check the rates at which a band is wanted, and return them."""
    where = inputs.vector(at, "at")
    if not ((where >= 0) & (where <= 1)).all():
        raise MetricError("at must hold numbers from 0 to 1.")
    return where


def drawn_times(
    positive: Bools, order: Numbers, unit: Numbers, draws: int, seed: int
) -> Iterator[Floats]:
    """Yield the number of times that each record is drawn, for each bootstrap sample.

    The sampling units are the records, or the clusters in `unit`. The bootstrap is
    stratified by the classes that a unit contains. Units are numbered along `order`,
    so that the draws do not depend on the order of the records.
    """
    own = np.empty(order.size, dtype=np.intp)
    own[order] = inputs.cluster_codes(unit[order], order.size)
    holds = np.bincount(own, positive) > 0, np.bincount(own, ~positive) > 0
    kinds = (holds[0] & ~holds[1], ~holds[0] & holds[1], holds[0] & holds[1])
    strata = [np.flatnonzero(kind) for kind in kinds]
    generator = np.random.default_rng(seed)
    times = np.zeros(holds[0].size)
    for _ in range(draws):
        for members in strata:
            size = len(members)
            drawn = generator.integers(size, size=size) if size else members
            times[members] = np.bincount(drawn, minlength=size)
        yield times[own]

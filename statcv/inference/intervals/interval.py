"""Intervals for cross-validated estimates, each with its assumptions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from statcv.inference.assumptions import ASSUMED
from statcv.inference.scores import se_of_mean
from statcv.metrics import Metric, delong
from statcv.metrics.areas.placements import symmetric_limits
from statcv.numeric.arrays import Array, Floats, Numbers
from statcv.tables import Printed, Said, column
from statcv.words import limits_digits


@dataclass(frozen=True, repr=False)
class Interval(Printed):
    """A confidence interval.

    Attributes
    ----------
    lower, upper, se : float
        The limits and the standard error; NaN if there is no interval.
    method : str
        The method by which it was computed, in words.
    assumes : str
        The conditions for its nominal level, or the reason why there is no interval.
    df : float
        Degrees of freedom of the t distribution; NaN for other intervals.
    scale : {"identity", "logit", "log", "wilson"}
        The scale on which it is symmetric; limits of Wilson's shape have a variance
        that is proportional to θ(1 - θ), wholly or in part.
    name : str
        The name by which ``estimate(interval=)`` selects it.
    pairs : int
        For an auROC of exactly 1 or 0, the number of disjoint pairs on which its exact
        bound is based; 0 for other intervals.
    spread : float
        The θ(1 - θ) to which the standard error belongs, for limits of Wilson's shape.
    constant : tuple of float
        The parts of the variances of the lower and of the upper limit that do not
        depend on θ, for limits of Wilson's shape.
    sides : tuple of float
        The standard errors of the lower and of the upper limit if they differ, since
        errors are larger on one side; NaN if both have ``se``.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> interval = res.estimate("brier", interval="records").interval
    >>> round(interval.lower, 3), round(interval.upper, 3), interval.method
    (0.063, 0.239, 'mean over records')
    """

    lower: float
    upper: float
    se: float
    method: str
    assumes: str
    df: float = np.nan
    scale: str = "identity"
    name: str = ""
    pairs: int = 0
    spread: float = np.nan
    constant: tuple[float, float] = (0.0, 0.0)
    sides: tuple[float, float] = (np.nan, np.nan)

    def _said(self) -> Said:
        ends = self.lower, self.upper
        limits = " to ".join(column(ends, [], limits_digits(*ends)))
        below = {"se": self.se, "method": self.method, "assumes": self.assumes}
        return f"Confidence interval: {limits}", below

    @property
    def takes_fits_as_given(self) -> bool:
        """Whether the variation of the fits is not counted."""
        return "fits as given" in self.assumes

    @classmethod
    def none(cls, why: str) -> Interval:
        """Return an interval without limits, with the reason why it has no limits."""
        return cls(np.nan, np.nan, np.nan, "none", why)

    def of_root(self, method: str) -> Interval:
        """Transform the interval of a mean squared error into that of its root."""
        lower, upper = np.sqrt(max(self.lower, 0.0)), np.sqrt(max(self.upper, 0.0))
        # the mean slope of the root between the limits is 1 / (lower + upper)
        se = float(self.se / (lower + upper))
        return Interval(float(lower), float(upper), se, method, self.assumes)

    def se_towards(self, distance: float) -> float:
        """Return the standard error of a distance of the estimate from a value."""
        side = self.sides[0 if distance > 0 else 1]
        return self.se if np.isnan(side) else side

    def se_at(self, null: float, distance: float) -> float:
        """Return the standard error of a distance from a null value, at that value."""
        se = self.se_towards(distance)
        if self.scale != "wilson":
            return se
        constant = self.constant[0 if distance > 0 else 1]
        carried = (se**2 - constant) * null * (1 - null) / self.spread
        return math.sqrt(carried + constant)


def symmetric(
    value: float,
    se: float,
    level: float,
    method: str,
    assumes: str,
    *,
    df: float = np.nan,
    scale: str = "identity",
) -> Interval:
    """Compute an interval that is symmetric about a value, or about its logit.

    Parameters
    ----------
    value, se, level : float
        The estimate, its standard error on the same scale, and the confidence level.
    method, assumes : str
        The method and the assumptions, in words.
    df : float
        Degrees of freedom of the t distribution; NaN for the normal distribution.
    scale : {"identity", "logit", "log"}
        The scale on which the interval is symmetric. The logit scale, for a value
        between 0 and 1, and the logarithmic one, for a positive value, use the delta
        method.
    """
    lower, upper = symmetric_limits(value, se, level, df=df, scale=scale)
    return Interval(lower, upper, se, method, assumes, df, scale)


RECORDS_ONLY = ASSUMED["records_only"]
OF_OTHERS = ASSUMED["of_others"]
CLUSTERS_ONLY = ASSUMED["clusters_only"]
NOTHING = "which measures no variation"


def _constant(values: Floats) -> bool:
    """Return whether all values are equal, except for rounding."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def delong_interval(
    y: Sequence[Array],
    scores: Sequence[Floats],
    level: float,
    *,
    interval: str = "wald",
    clusters: Sequence[Numbers] | None = None,
) -> Interval:
    """Compute the interval of a pooled auROC, the mean over repeats (DeLong 1988).

    The variance is the mean of the repeats' DeLong variances: averaging over
    repeats on the same records is not counted as further information.

    Parameters
    ----------
    y, scores : sequence of numpy.ndarray
        The outcomes and predictions of each repeat.
    level : float
        Confidence level of the interval.
    interval : {"wald", "logit"}
        An interval that is symmetric about the area, or about its logit.
    clusters : sequence of numpy.ndarray of int, optional
        The cluster of each record, if clusters have several records (Obuchowski 1997).
    """
    of_parts = [None] * len(y) if clusters is None else clusters
    parts = [
        delong(one, score, level=level, clusters=codes)
        for one, score, codes in zip(y, scores, of_parts, strict=True)
    ]
    lacking = [part.reason for part in parts if np.isnan(part.se)]
    if lacking:
        return Interval.none(lacking[0])
    # repeats have the same records, so that variances are averaged, not divided
    area = float(np.mean([part.auc for part in parts]))
    se = float(np.sqrt(np.mean([part.se**2 for part in parts])))
    if se == 0:
        among = "" if clusters is None else " from cluster to cluster"
        return Interval.none(f"the placement values do not vary{among}, {NOTHING}")
    method, assumes = "DeLong", RECORDS_ONLY
    if clusters is not None:
        method, assumes = "clustered DeLong", CLUSTERS_ONLY
    if interval == "logit":
        method = f"{method} on the logit scale"
        return symmetric(area, se, level, method, assumes, scale="logit")
    return symmetric(area, se, level, method, assumes)


def pairs_interval(
    first: Numbers,
    second: Numbers,
    won: Floats,
    level: float,
    clusters: Numbers | None = None,
    *,
    share: float | None = None,
    moved: Floats | None = None,
) -> Interval:
    """Compute the interval of the share of correctly ranked pairs.

    Pairs that share a record are dependent, so the variance is clustered by the record
    of either class (Cameron, Gelbach & Miller 2011, two-way). If clusters have several
    records, pairs that share a cluster are dependent, whichever record of the pair is
    in the cluster (Fafchamps & Gubert 2007, dyads).

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        The positive and the negative record of each pair.
    won : numpy.ndarray, shape (pairs,)
        1 if the positive record has the higher score, 0.5 for a tie, 0 otherwise.
    level : float
        Confidence level of the interval.
    clusters : numpy.ndarray of int, shape (n,), optional
        The cluster of each record.
    share : float, optional
        The estimate, if it is not the mean over all pairs.
    moved : numpy.ndarray, shape (pairs,), optional
        The amount by which each pair then moves the estimate.
    """
    first, second, few = units_of_pairs(first, second, clusters)
    if few:
        return Interval.none(few)
    if np.isnan(won).any():
        return Interval.none("a prediction is missing")
    if _constant(won):
        return Interval.none(f"all pairs are ranked alike, {NOTHING}")
    # a pair moves the mean by its deviation from the share
    share = float(won.mean()) if share is None else share
    moved = (won - share) / len(won) if moved is None else moved
    total = squares_of_pairs(first, second, moved * len(won))
    if total <= 1e-9:
        return Interval.none("there are too few pairs for a variance")
    se = float(np.sqrt(total)) / len(won)
    method, assumes = "pairs clustered by record", RECORDS_ONLY
    if clusters is not None:
        method, assumes = "pairs, cluster-robust", CLUSTERS_ONLY
    return symmetric(share, se, level, method, assumes)


def units_of_pairs(
    first: Numbers, second: Numbers, clusters: Numbers | None
) -> tuple[Numbers, Numbers, str]:
    """Return the records or clusters of pairs, and why they are too few to vary."""
    if clusters is not None:
        first, second = clusters[first], clusters[second]
    few = "record" if clusters is None else "cluster"
    enough = min(len(np.unique(first)), len(np.unique(second))) > 1
    return first, second, "" if enough else f"one class has a single {few}"


def squares_of_pairs(first: Numbers, second: Numbers, moved: Floats) -> float:
    """Return the variance of a sum over pairs that share records, or clusters.

    This is the sum of the products of any two pairs with a member in common.

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        The two members of each pair: records, or clusters.
    moved : numpy.ndarray, shape (pairs,)
        The summand of each pair, whose expectation is zero.
    """

    def clustered(member: Array, of: Floats) -> float:
        return float((np.bincount(member, of) ** 2).sum())

    # a pair counts for both of its members, but only once if they are the same
    members = np.concatenate([first, second])
    apart = np.where(first != second, moved, 0.0)
    total = clustered(members, np.concatenate([moved, apart]))
    # a pair that occurs several times was counted for both members
    low, high = np.minimum(first, second), np.maximum(first, second)
    pair = low.astype(np.int64) * (int(high.max()) + 1) + high
    return total - clustered(np.unique(pair, return_inverse=True)[1], apart)


def corrected_t_interval(
    values: Floats, n_train: Floats, n_test: Floats, level: float
) -> Interval:
    """Compute the interval of a mean over folds by the corrected t.

    Training sets overlap, so folds are dependent. For J folds of all repeats, the
    variance of their mean is taken as (1/J + n_test/n_train) s², as it would be if the
    correlation between folds were n_test/n (Nadeau & Bengio 2003). The degrees of
    freedom are J - 1, which is rk - 1 for r repeats of k folds (Bouckaert & Frank
    2004).

    There is no such interval for pooled or paired values over repeats. Each of these is
    computed from all records, so that their variation over repeats is Monte Carlo
    variation alone and says nothing about other records.
    """
    if len(values) < 2:
        return Interval.none("fewer than two folds have a value")
    if not (n_train > 0).all():
        return Interval.none("the fits were trained on other records")
    if not np.isfinite(values).all():
        return Interval.none("a fold has an infinite value")
    if _constant(values):
        return Interval.none(f"all folds have the same value, {NOTHING}")
    # Nadeau & Bengio (2003): correlated folds add n_test / n_train
    overlap = float(np.mean(n_test / n_train))
    with np.errstate(over="ignore"):
        se = float(np.sqrt((1 / len(values) + overlap) * values.var(ddof=1)))
    if se == np.inf:
        return Interval.none("the values of the folds vary without limit")
    mean, df = float(values.mean()), len(values) - 1.0
    said = "corrected t over folds", "takes the correlation of folds as n_test/n"
    return symmetric(mean, se, level, *said, df=df)


def mean_interval(
    losses: Floats, level: float, clusters: Numbers | None = None
) -> Interval:
    """Compute the interval of a mean of casewise losses.

    Parameters
    ----------
    losses : numpy.ndarray, shape (n,)
        The loss of each record.
    level : float
        Confidence level of the interval.
    clusters : numpy.ndarray of int, shape (n,), optional
        The cluster of each record, for a variance of sums (Liang & Zeger 1986).
    """
    if len(losses) < 2:
        return Interval.none("there is only one record")
    if not np.isfinite(losses).all():
        return Interval.none("a record has an infinite loss")
    if _constant(losses):
        return Interval.none(f"all records have the same value, {NOTHING}")
    mean, method, assumes = float(losses.mean()), "mean over records", RECORDS_ONLY
    se, count = se_of_mean(losses, clusters)
    if clusters is not None:
        if count < 2:
            return Interval.none("all records are in one cluster")
        if se <= 1e-12 * np.abs(losses).max():
            return Interval.none(f"all clusters have the same mean, {NOTHING}")
        method, assumes = "mean over records, cluster-robust", CLUSTERS_ONLY
    return symmetric(mean, se, level, method, assumes)


# ---- the scale on which an estimate is symmetric, and Wilson's limits of a share ----


@dataclass(frozen=True)
class Scale:
    """A scale on which an estimate is nearly normal.

    Attributes
    ----------
    name : str
        What the transformed estimate is called.
    to, back : callable
        The transformation, and its inverse.
    slope : callable
        The change of the estimate with its transform, by which the delta method carries
        standard errors from one to the other.
    """

    name: str
    to: Callable[[Any], Any]
    back: Callable[[Any], Any]
    slope: Callable[[Any], Any]


SCALES = {
    "identity": Scale("value", lambda x: x, lambda x: x, lambda x: 1.0),
    "log": Scale("logarithm", np.log, np.exp, lambda x: x),
    "logit": Scale(
        "logit",
        lambda x: np.log(np.divide(x, 1 - x)),
        lambda x: 1 / (1 + np.exp(-x)),
        lambda x: x * (1 - x),
    ),
}


def is_ratio(metric: Metric) -> bool:
    """Return whether a metric is positive, and its error relative to its size.

    It is a ratio, or a mean error of numbers, whose distribution is skewed.

    >>> from statcv.metrics import METRICS
    >>> [is_ratio(METRICS[name]) for name in ("oe_ratio", "mae", "brier")]
    [True, True, False]
    """
    of_numbers = metric.reads == "numbers" and metric.derive is not None
    error = of_numbers and not metric.greater_is_better
    return metric.bounds[0] == 0 and (metric.target == 1 or error)


def is_slope(metric: Metric) -> bool:
    """Return whether a metric is a calibration slope, which is 0 without skill.

    >>> from statcv.metrics import METRICS
    >>> [is_slope(METRICS[name]) for name in ("calibration_slope", "oe_ratio")]
    [True, False]
    """
    return metric.target == 1 and metric.bounds[0] < 0


def scale_of(metric: Metric, value: float) -> str:
    """Return the scale on which the limits of an estimate are symmetric."""
    return "log" if is_ratio(metric) and value > 0 else "identity"


def wilson_limits(
    value: float, rate: float, level: float, df: float, constant: float = 0.0
) -> tuple[float, float]:
    """Return limits between 0 and 1 whose variance depends on the parameter.

    They are the values θ for which (t - θ)² = q² (c θ(1 - θ) + v), where t is the
    estimate and q the quantile of Student's t. For a share of n records with c = 1/n
    and v = 0 they are Wilson's limits.

    Parameters
    ----------
    value : float
        The estimate.
    rate : float
        The part of the variance that is proportional to θ(1 - θ), over θ(1 - θ).
    level, df : float
        The confidence level and the degrees of freedom.
    constant : float
        The part v of the variance that does not depend on the parameter.

    Examples
    --------
    >>> lower, upper = wilson_limits(0.8, 1 / 50, 0.95, float("inf"))
    >>> round(lower, 3), round(upper, 3)
    (0.67, 0.888)
    """
    from scipy.special import stdtrit

    quantile = float(stdtrit(df, (1 + level) / 2))
    # the limits solve (value - p)² = t² (rate p (1 - p) + constant) for p
    ratio, more = quantile**2 * rate, quantile**2 * constant
    centre = (2 * value + ratio) / (2 * (1 + ratio))
    square = ratio * (ratio / 4 + value * (1 - value)) + more * (1 + ratio)
    half = math.sqrt(square) / (1 + ratio)
    lower, upper = max(centre - half, 0.0), min(centre + half, 1.0)
    return min(lower, value), max(upper, value)  # despite rounding

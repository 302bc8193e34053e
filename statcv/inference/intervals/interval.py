"""Intervals for cross-validated estimates, each with what it assumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics import delong
from statcv.metrics.areas.placements import symmetric_limits

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """A confidence interval.

    Attributes
    ----------
    lower, upper, se : float
        NaN where there is none.
    method : str
    assumes : str
        What must hold for it to keep its level, and when it does not.
    df : float
        Degrees of freedom of its t; NaN where it is normal, or no such interval.
    scale : {"identity", "logit"}
        On which it is symmetric.
    name : str
        By which ``estimate(interval=)`` knows it.
    pairs : int
        Of an auROC of exactly 1 or 0: the pairs that share no record, on which its
        exact bound stands. 0 for other intervals.
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

    @classmethod
    def none(cls, why: str) -> Interval:
        """Return the interval that cannot be had, with the reason."""
        return cls(np.nan, np.nan, np.nan, "none", why)


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
    """Make the interval that is symmetric about a value, or about its logit.

    Parameters
    ----------
    value, se, level : float
        The standard error is on the value's own scale.
    method, assumes : str
    df : float
        Of t; normal where NaN.
    scale : {"identity", "logit"}
        By the delta method, for a value between 0 and 1.
    """
    lower, upper = symmetric_limits(value, se, level, df=df, scale=scale)
    return Interval(lower, upper, se, method, assumes, df, scale)


RECORDS_ONLY = (
    "takes the fits as given and counts the variation of the records alone, so it is "
    "too narrow where n is small"
)
OF_OTHERS = (
    "the model was fitted to other records and does not vary; it is judged by these "
    "records alone"
)
SOURCES_ONLY = (
    "takes the fits as given and counts the variation of the sources alone, so it is "
    "too narrow where these are few"
)
NOTHING = "which measures no variation"


def _constant(values: Floats) -> bool:
    """Whether values are equal but for rounding."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def delong_interval(
    y: Sequence[NDArray[Any]],
    scores: Sequence[Floats],
    level: float,
    *,
    interval: str = "wald",
    clusters: Sequence[NDArray[np.intp]] | None = None,
) -> Interval:
    """Interval of a pooled auROC, the mean over repeats (DeLong 1988).

    The variance is the mean of the repeats' DeLong variances: averaging over
    repeats on the same records is not counted as further information.

    Parameters
    ----------
    y, scores : sequence of numpy.ndarray
        Outcomes and predictions of each repeat.
    level : float
    interval : {"wald", "logit"}
        Symmetric about the area, or about its logit.
    clusters : sequence of numpy.ndarray of int, optional
        The source of each record, where a source has several (Obuchowski 1997).
    """
    if clusters is None:
        parts = [
            delong(one, score, level=level)
            for one, score in zip(y, scores, strict=True)
        ]
    else:
        parts = [
            delong(one, score, level=level, clusters=codes)
            for one, score, codes in zip(y, scores, clusters, strict=True)
        ]
    lacking = [part.reason for part in parts if np.isnan(part.se)]
    if lacking:
        return Interval.none(lacking[0])
    area = float(np.mean([part.auc for part in parts]))
    se = float(np.sqrt(np.mean([part.se**2 for part in parts])))
    if se == 0:
        among = "" if clusters is None else " from cluster to cluster"
        return Interval.none(f"the placement values do not vary{among}, {NOTHING}")
    method, assumes = "DeLong", RECORDS_ONLY
    if clusters is not None:
        method, assumes = "clustered DeLong", SOURCES_ONLY
    if interval == "logit":
        method = f"{method} on the logit scale"
        return symmetric(area, se, level, method, assumes, scale="logit")
    return symmetric(area, se, level, method, assumes)


def pairs_interval(
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    won: Floats,
    level: float,
    clusters: NDArray[np.intp] | None = None,
    *,
    share: float | None = None,
    moved: Floats | None = None,
) -> Interval:
    """Interval of the share of pairs ranked right.

    Pairs that share a record are dependent: the variance clusters by the record of
    either class (Cameron, Gelbach & Miller 2011, two-way). Where sources have several
    records pairs that share a source are, on whichever side (Fafchamps & Gubert
    2007, dyads).

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        The positive and the negative record of each pair.
    won : numpy.ndarray, shape (pairs,)
        1 where the positive one has the higher score, 0.5 for a tie, 0 otherwise.
    level : float
    clusters : numpy.ndarray of int, shape (n,), optional
        The source of each record.
    share : float, optional
        The estimate, where it is not the mean over all pairs.
    moved : numpy.ndarray, shape (pairs,), optional
        What each pair then adds to it, beyond its expectation.
    """
    if clusters is not None:
        first, second = clusters[first], clusters[second]
    if min(len(np.unique(first)), len(np.unique(second))) < 2:
        few = "record" if clusters is None else "source"
        return Interval.none(f"one class has a single {few}")
    if np.isnan(won).any():
        return Interval.none("a prediction is missing")
    if _constant(won):
        return Interval.none(f"all pairs are ranked alike, {NOTHING}")
    share = float(won.mean()) if share is None else share
    moved = (won - share) / len(won) if moved is None else moved
    total = squares_of_pairs(first, second, moved * len(won))
    if total <= 1e-9:
        return Interval.none("there are too few pairs for a variance")
    se = float(np.sqrt(total)) / len(won)
    if clusters is not None:
        method, assumes = "pairs clustered by source", SOURCES_ONLY
    else:
        method, assumes = "pairs clustered by record", RECORDS_ONLY
    return symmetric(share, se, level, method, assumes)


def squares_of_pairs(
    first: NDArray[np.intp], second: NDArray[np.intp], moved: Floats
) -> float:
    """Return the variance of a sum over pairs that share records, or sources.

    The sum of the products of any two pairs with a member in common.

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        Both members of each pair.
    moved : numpy.ndarray, shape (pairs,)
        What each adds to the sum, whose expectation is zero.
    """

    def clustered(member: NDArray[Any], of: Floats) -> float:
        return float((np.bincount(member, of) ** 2).sum())

    # a pair counts for both of its members, and once if they are the same
    members = np.concatenate([first, second])
    apart = np.where(first != second, moved, 0.0)
    total = clustered(members, np.concatenate([moved, apart]))
    low, high = np.minimum(first, second), np.maximum(first, second)
    pair = low.astype(np.int64) * (int(high.max()) + 1) + high
    return total - clustered(np.unique(pair, return_inverse=True)[1], apart)


def corrected_t_interval(
    values: Floats, n_train: Floats, n_test: Floats, level: float
) -> Interval:
    """Interval of a mean over folds by the corrected t (Nadeau & Bengio 2003).

    Training sets overlap, so folds are dependent; the variance of their mean is
    taken as (1/J + n_test/n_train) s² over J folds of all repeats, which is what a
    correlation of n_test/n between folds gives; degrees of freedom are J - 1, for r
    times k folds rk - 1 (Bouckaert & Frank 2004).

    There is none of pooled or paired values over repeats: each of those is had from
    all records, so that their spread over repeats is Monte Carlo variation alone and
    says nothing of other records.
    """
    if len(values) < 2:
        return Interval.none("fewer than two folds have a value")
    if not (n_train > 0).all():
        return Interval.none("the fits were trained on other records")
    if not np.isfinite(values).all():
        return Interval.none("a fold has an infinite value")
    if _constant(values):
        return Interval.none(f"all folds have the same value, {NOTHING}")
    overlap = float(np.mean(n_test / n_train))
    se = float(np.sqrt((1 / len(values) + overlap) * values.var(ddof=1)))
    return symmetric(
        float(values.mean()),
        se,
        level,
        "corrected t over folds",
        "takes the correlation of folds as n_test/n",
        df=len(values) - 1.0,
    )


def mean_interval(
    losses: Floats, level: float, clusters: NDArray[np.intp] | None = None
) -> Interval:
    """Interval of a mean of casewise losses, one a record.

    Parameters
    ----------
    losses : numpy.ndarray, shape (n,)
    level : float
    clusters : numpy.ndarray of int, shape (n,), optional
        The source of each record: the G sums of deviations by source are what
        varies, with the factor G/(G - 1) (Liang & Zeger 1986).
    """
    if len(losses) < 2:
        return Interval.none("there is one record only")
    if not np.isfinite(losses).all():
        return Interval.none("a record has an infinite loss")
    if _constant(losses):
        return Interval.none(f"all records have the same value, {NOTHING}")
    mean, method, assumes = float(losses.mean()), "mean over records", RECORDS_ONLY
    if clusters is None:
        se = float(losses.std(ddof=1) / np.sqrt(len(losses)))
    else:
        sums, sources = sums_by_source(losses - mean, clusters)
        if sources < 2:
            return Interval.none("all records are of one source")
        variance = sources / (sources - 1) * float((sums**2).sum())
        se = float(np.sqrt(variance)) / len(losses)
        if se <= 1e-12 * np.abs(losses).max():
            return Interval.none(f"all sources have the same mean, {NOTHING}")
        method, assumes = "mean over records, clustered by source", SOURCES_ONLY
    return symmetric(mean, se, level, method, assumes)


def sums_by_source(values: Floats, clusters: NDArray[np.intp]) -> tuple[Floats, int]:
    """Return the sum of the values of each source, and how many sources there are."""
    place = np.unique(clusters, return_inverse=True)[1]
    sums = np.asarray(np.bincount(place, values), dtype=float)
    return sums, len(sums)

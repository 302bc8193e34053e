"""Intervals for cross-validated estimates, each with what it assumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.metrics import delong
from statcv.metrics.placements import normal_quantile

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
    """

    lower: float
    upper: float
    se: float
    method: str
    assumes: str

    @classmethod
    def none(cls, why: str) -> Interval:
        """Return the interval that cannot be had, with the reason."""
        return cls(np.nan, np.nan, np.nan, "none", why)


RECORDS_ONLY = (
    "takes the fits as given and counts the variation of the records alone, so it is "
    "too narrow where n is small"
)
NOTHING = "which measures no variation"


def _constant(values: Floats) -> bool:
    """Whether values are equal but for rounding."""
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def delong_interval(
    y: Sequence[NDArray[Any]], scores: Sequence[Floats], level: float
) -> Interval:
    """Interval of a pooled auROC, the mean over repeats (DeLong 1988).

    The variance is the mean of the repeats' DeLong variances: averaging over
    repeats on the same records is not counted as further information.
    """
    parts = [
        delong(one, score, level=level) for one, score in zip(y, scores, strict=True)
    ]
    if any(part.reason for part in parts):
        return Interval.none(next(part.reason for part in parts if part.reason))
    area = float(np.mean([part.auc for part in parts]))
    se = float(np.sqrt(np.mean([part.se**2 for part in parts])))
    half = normal_quantile(level) * se
    return Interval(area - half, area + half, se, "DeLong", RECORDS_ONLY)


def pairs_interval(
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    won: Floats,
    level: float,
) -> Interval:
    """Interval of the share of pairs ranked right.

    Pairs that share a record are dependent: the variance clusters by the record of
    either class (Cameron, Gelbach & Miller 2011, two-way).

    Parameters
    ----------
    first, second : numpy.ndarray of int, shape (pairs,)
        The positive and the negative record of each pair.
    won : numpy.ndarray, shape (pairs,)
        1 where the positive one has the higher score, 0.5 for a tie, 0 otherwise.
    """
    if min(len(np.unique(first)), len(np.unique(second))) < 2:
        return Interval.none("one class has a single record")
    if np.isnan(won).any():
        return Interval.none("a prediction is missing")
    if _constant(won):
        return Interval.none(f"all pairs are ranked alike, {NOTHING}")
    deviation = won - won.mean()

    def clustered(member: NDArray[Any]) -> float:
        return float((np.bincount(member, deviation) ** 2).sum())

    pair = first.astype(np.int64) * (int(second.max()) + 1) + second
    same_pair = np.unique(pair, return_inverse=True)[1]
    total = clustered(first) + clustered(second) - clustered(same_pair)
    if total <= 1e-9:
        return Interval.none("there are too few pairs for a variance")
    se = float(np.sqrt(total)) / len(won)
    half = normal_quantile(level) * se
    share = float(won.mean())
    method = "pairs clustered by record"
    return Interval(share - half, share + half, se, method, RECORDS_ONLY)


def corrected_t_interval(
    values: Floats, n_train: Floats, n_test: Floats, level: float
) -> Interval:
    """Interval of a mean over folds by the corrected t (Nadeau & Bengio 2003).

    Training sets overlap, so folds are dependent; the variance of their mean is
    taken as (1/J + n_test/n_train) s² over J folds of all repeats, which is what a
    correlation of n_test/n between folds gives.
    """
    from scipy.special import stdtrit

    if len(values) < 2:
        return Interval.none("fewer than two folds have a value")
    if not np.isfinite(values).all():
        return Interval.none("a fold has an infinite value")
    if _constant(values):
        return Interval.none(f"all folds have the same value, {NOTHING}")
    overlap = float(np.mean(n_test / n_train))
    se = float(np.sqrt((1 / len(values) + overlap) * values.var(ddof=1)))
    half = float(stdtrit(len(values) - 1, (1 + level) / 2)) * se
    mean = float(values.mean())
    return Interval(
        mean - half,
        mean + half,
        se,
        "corrected t over folds",
        "takes the correlation of folds as n_test/n",
    )


def mean_interval(losses: Floats, level: float) -> Interval:
    """Interval of a mean of casewise losses, one a record."""
    if len(losses) < 2:
        return Interval.none("there is one record only")
    if not np.isfinite(losses).all():
        return Interval.none("a record has an infinite loss")
    if _constant(losses):
        return Interval.none(f"all records have the same value, {NOTHING}")
    se = float(losses.std(ddof=1) / np.sqrt(len(losses)))
    half = normal_quantile(level) * se
    mean = float(losses.mean())
    return Interval(mean - half, mean + half, se, "mean over records", RECORDS_ONLY)

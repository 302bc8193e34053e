"""DeLong's test of two auROCs: pooled, per fold, or of pairs that one fit left out.

The fits are taken as given. What a prediction moves an estimate is its structural
component, a placement less the area (`influence`), or what a pair of records adds
(`paired_values`); those of one record, or cluster, are summed over folds, repeats and
both models, so that all dependence between these counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.inference.estimates.pairs import ConcordantPairs, concordant_pairs
from statcv.inference.intervals.influence import SINGLE, Compared
from statcv.inference.intervals.interval import squares_of_pairs
from statcv.inference.paired.tests import Clusters, PairedTest
from statcv.inference.scores import Scores
from statcv.inference.tests.no_skill import ratio, tail
from statcv.metrics.areas.delong_test import SAME_EVERYWHERE, warn_degenerate
from statcv.metrics.areas.placements import symmetric_limits

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

ROUNDING = 1e-12  # of a standard error, beside those of the two areas


@dataclass(frozen=True, eq=False)
class Side:
    """The held-out predictions of one of two models.

    Attributes
    ----------
    scores : Scores
    number : numpy.ndarray of int, shape (n,)
        The number of each record, the same for both models.
    """

    scores: Scores
    number: Numbers


def paired_delong(
    first: Side,
    second: Side,
    how: str,
    difference: float,
    clusters: Clusters,
    level: float,
) -> PairedTest:
    """Compare two auROCs by DeLong's test, or by its clustered form.

    Pooled or per fold, the placements of a record among the other class of its cell
    (of its repeat, or fold) count for the mean over cells. With one cell that is
    DeLong's test, or Obuchowski's where records come in clusters. Of pairs that one
    fit left out the variance sums over pairs with a record (or cluster) in common.

    Parameters
    ----------
    first, second : Side
    how : {"pooled", "per_fold", "paired"}
        The way in which both auROCs are stated.
    difference : float
        The second auROC minus the first.
    clusters : numpy.ndarray of int, shape (n,), or None
        The cluster of each record by its number.
    level : float
        Confidence level of the interval.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Biometrics 44:837; Obuchowski (1997),
    Biometrics 53:567 (clusters); LeDell, Petersen & van der Laan (2015), Electron. J.
    Stat. 9:1583 (folds); Cameron, Gelbach & Miller (2011), Journal of Business &
    Economic Statistics 29:238 (pairs that share a record).
    """
    sides = (first, second)
    reason = _why_not(sides) or _undefined(difference)
    if reason:
        return PairedTest.none(difference, reason)
    listed = None
    if how == "paired":
        listed = [concordant_pairs(side.scores) for side in sides]
    if listed is not None and all(pairs is not None for pairs in listed):
        variances, reason = _of_pairs(sides, listed, clusters)
    else:
        variances, reason = _of_placements(sides, how, clusters)
    if np.isnan(variances[0]):
        return PairedTest.none(difference, reason)
    errors = np.sqrt(np.maximum(variances, 0.0))
    se = float(errors[0]) if errors[0] > ROUNDING * errors[1:].sum() else 0.0
    if se == 0 and abs(difference) <= ROUNDING:
        difference = 0.0
    statistic = ratio(difference, se)
    if np.isinf(statistic):
        reason = SAME_EVERYWHERE
        warn_degenerate(f"the areas differ by {difference:.6g}")
    lower, upper = symmetric_limits(difference, se, level)
    return PairedTest(
        difference=difference,
        se=se,
        lower=max(lower, -1.0),
        upper=min(upper, 1.0),
        statistic=statistic,
        p_value=tail(statistic, np.nan, "two-sided"),
        reason=reason,
    )


def _why_not(sides: Sequence[Side]) -> str:
    """Say how many predictions are missing; nothing where none is."""
    counts = [int(np.isnan(side.scores.left.predicted).sum()) for side in sides]
    missing = sum(counts)
    return f"{missing} of the predictions are NaN" if missing else ""


def _undefined(difference: float) -> str:
    return "" if np.isfinite(difference) else "the difference has no value"


# ---- placements ----


def _of_placements(
    sides: Sequence[Side], how: str, clusters: Clusters
) -> tuple[Floats, str]:
    """Return the variance of the difference and of either area, and what to say.

    NaN, with the reason, where there is none.
    """
    count = 1 + max(int(side.number.max()) for side in sides)
    codes = np.arange(count) if clusters is None else clusters
    unit = "record" if clusters is None else "cluster"
    sums, single, cells = [], 0, 0
    for side in sides:
        what = Compared.of(side.scores, how)
        own, few, counted = unit_sums(what, codes[side.number[what.row]], len(codes))
        if few == counted:
            where = "no fold holds two" if how == "per_fold" else "there are not two"
            return np.full(3, np.nan), f"{where} {unit}s of each class"
        sums.append(own)
        if few > single:
            single, cells = few, counted
    said = SINGLE.format(single=single, cells=cells, unit=unit) if single else ""
    first, second = sums
    squares = [float((one**2).sum()) for one in (second - first, first, second)]
    return np.array(squares), said


def unit_sums(what: Compared, unit: Numbers, count: int) -> tuple[Floats, int, int]:
    """Sum what predictions move an auROC over records or clusters.

    The sum of squares of what is returned is the variance of the auROC. In each cell
    the sums of squares have the factors of an unbiased variance: I/(I - 1) for I
    units where the classes count together, and for each class that has I₁ units what
    I₁/(I₁ - 1) is beyond that; with one cell these are DeLong's and Obuchowski's.

    Parameters
    ----------
    what : Compared
    unit : numpy.ndarray of int, shape (m,)
        The record, or cluster, of each prediction.
    count : int
        The number of units.

    Returns
    -------
    sums : numpy.ndarray, shape (3, count)
    single, cells : int
        Cells in which a class has one unit, which therefore do not show its
        variation; and all cells with a value.
    """
    moved = what.moved
    held = _distinct(moved.cell, unit, what.cells, count)
    both = held / np.maximum(held - 1, 1)
    sums = [np.bincount(unit, np.sqrt(both)[moved.cell] * moved.moved, count)]
    lacking = np.zeros(what.cells, dtype=bool)
    for members in (moved.positive, ~moved.positive):
        cell, own = moved.cell[members], unit[members]
        size = _distinct(cell, own, what.cells, count)
        more = (held - size) / np.maximum((size - 1) * (held - 1), 1)
        more[size < 2] = 0.0
        lacking |= size < 2
        sums.append(np.bincount(own, np.sqrt(more)[cell] * moved.moved[members], count))
    few = int((lacking & moved.counted).sum())
    return np.array(sums), few, int(moved.counted.sum())


def _distinct(cell: Numbers, unit: Numbers, cells: int, count: int) -> Floats:
    """Count the units in each cell, of so many cells and units."""
    there = np.unique(cell * count + unit) // count
    return np.bincount(there, minlength=cells).astype(float)


# ---- pairs ----


def _of_pairs(
    sides: Sequence[Side],
    listed: Sequence[ConcordantPairs | None],
    clusters: Clusters,
) -> tuple[Floats, str]:
    """Return the variance of the difference, and of either share of pairs.

    NaN, with the reason, where there is none.
    """
    none, unit = np.full(3, np.nan), "record" if clusters is None else "cluster"
    first, second, moved = [], [], []
    for side, pairs, sign in zip(sides, listed, (-1, 1), strict=True):
        assert pairs is not None
        one, two = side.number[pairs.first], side.number[pairs.second]
        first.append(one if clusters is None else clusters[one])
        second.append(two if clusters is None else clusters[two])
        moved.append(sign * pairs.moved)
        if min(len(np.unique(first[-1])), len(np.unique(second[-1]))) < 2:
            return none, f"one class has a single {unit}"
    first.insert(0, np.concatenate(first))
    second.insert(0, np.concatenate(second))
    moved.insert(0, np.concatenate(moved))
    parts = zip(first, second, moved, strict=True)
    variances = np.array([squares_of_pairs(*part) for part in parts])
    members, each = np.concatenate([first[0], second[0]]), np.tile(moved[0], 2)
    moves = np.abs(np.bincount(members, each)).max()
    if moves <= ROUNDING * np.abs(each).max():
        variances[0] = 0.0  # both models rank all pairs alike
    elif variances[0] <= ROUNDING * (each**2).sum():
        return none, "there are too few pairs for a variance"
    return variances, ""

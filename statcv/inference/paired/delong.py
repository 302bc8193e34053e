"""DeLong's test of two auROCs: pooled, per fold, or over pairs held out by one fit.

The fits are taken as given. The influence of a prediction on an estimate is its
structural component, a placement minus the area (`influence`), or the contribution of
a pair of records (`paired_values`). The influences of one record, or cluster, are
summed over folds, repeats and both models, so that all dependence between these is
taken into account.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from statcv.inference.estimates.pairs import ConcordantPairs, concordant_pairs
from statcv.inference.intervals.influence import SINGLE, ComparedCells
from statcv.inference.intervals.interval import squares_of_pairs, units_of_pairs
from statcv.inference.paired.tests import Clusters, PairedTest
from statcv.inference.scores import Scores
from statcv.metrics.areas.delong_test import SAME_EVERYWHERE, warn_degenerate
from statcv.metrics.areas.placements import ratio
from statcv.numeric.arrays import Floats, Numbers

# relative size below which a difference, or its standard error, is rounding error
ROUNDING = 1e-12


# the held-out predictions of one of two models, and the number of each record
Side = tuple[Scores, Numbers]


def paired_delong(
    first: Side,
    second: Side,
    how: str,
    difference: float,
    clusters: Clusters,
    level: float,
) -> PairedTest:
    """Compare two auROCs by DeLong's test, or by its clustered form.

    Pooled or per fold, each record has a placement among the records of the other class
    in its cell (its repeat, or its fold), and the estimate is the mean over cells. With
    one cell this is DeLong's test, or Obuchowski's if the records form clusters. For
    pairs held out by one fit, the variance sums over pairs that share a record (or
    cluster).

    Parameters
    ----------
    first, second : Side
    how : {"pooled", "per_fold", "paired"}
        How both auROCs are computed.
    difference : float
        The second auROC minus the first.
    clusters : numpy.ndarray of int, shape (n,), or None
        Cluster of each record, indexed by the number of the record.
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
    missing = sum(int(np.isnan(one.left.predicted).sum()) for one, _ in sides)
    if missing or not np.isfinite(difference):
        of_nan = f"{missing} of the predictions are NaN"
        reason = of_nan if missing else "the difference has no value"
        return PairedTest.unavailable(difference, reason)
    listed = None
    if how == "paired":
        listed = [concordant_pairs(one) for one, _ in sides]
    if listed is not None and all(pairs is not None for pairs in listed):
        variances, reason = _of_pairs(sides, listed, clusters)
    else:
        variances, reason = _of_placements(sides, how, clusters)
    if np.isnan(variances[0]):
        return PairedTest.unavailable(difference, reason)
    # a variance within rounding error of the two others is 0
    errors = np.sqrt(np.maximum(variances, 0.0))
    se = float(errors[0]) if errors[0] > ROUNDING * errors[1:].sum() else 0.0
    if se == 0 and abs(difference) <= ROUNDING:
        difference = 0.0
    if np.isinf(ratio(difference, se)):
        reason = SAME_EVERYWHERE
        warn_degenerate(f"the areas differ by {difference:.6g}")
    return PairedTest.of(difference, se, level, most=1.0, reason=reason)


# ---- placements ----


def _of_placements(
    sides: Sequence[Side], how: str, clusters: Clusters
) -> tuple[Floats, str]:
    """Return the variances of the difference and of each area, and a remark.

    The variances are NaN, and the remark is the reason, if they have no value.
    """
    count = 1 + max(int(number.max()) for _, number in sides)
    codes = np.arange(count) if clusters is None else clusters
    unit = "record" if clusters is None else "cluster"
    sums, single, cells = [], 0, 0
    for scores, number in sides:
        what = ComparedCells.of(scores, how)
        own, few, counted = unit_sums(what, codes[number[what.row]], len(codes))
        if few == counted:
            where = "no fold has" if how == "per_fold" else "there are not"
            return np.full(3, np.nan), f"{where} two {unit}s of each class"
        sums.append(own)
        if few > single:
            single, cells = few, counted
    said = SINGLE.format(single=single, cells=cells, unit=unit) if single else ""
    first, second = sums
    squares = [float((one**2).sum()) for one in (second - first, first, second)]
    return np.array(squares), said


def unit_sums(
    what: ComparedCells, unit: Numbers, count: int
) -> tuple[Floats, int, int]:
    """Sum the influences of predictions on an auROC over records or clusters.

    The sum of squares of the returned values is the variance of the auROC. In each cell
    the sums of squares have the factors of an unbiased variance: I/(I - 1) for I units
    of both classes together, and for a class with I₁ units the excess of I₁/(I₁ - 1)
    over that factor. With one cell these factors are DeLong's and Obuchowski's.

    Parameters
    ----------
    what : ComparedCells
        The predictions, with their cells and influences.
    unit : numpy.ndarray of int, shape (m,)
        Record, or cluster, of each prediction.
    count : int
        Number of units.

    Returns
    -------
    sums : numpy.ndarray, shape (3, count)
    single, cells : int
        Number of cells in which a class has a single unit, so that its variation
        cannot be estimated there; and number of cells with a value.
    """
    (moved, counted), cells, positive = what.moved, what.cell_of, what.ranked.positive
    # squares of units within a cell have the factor I / (I - 1)
    held = _distinct(cells, unit, what.cells, count)
    both = held / np.maximum(held - 1, 1)
    sums = [np.bincount(unit, np.sqrt(both)[cells] * moved, count)]
    lacking = np.zeros(what.cells, dtype=bool)
    for members in (positive, ~positive):
        cell, own = cells[members], unit[members]
        size = _distinct(cell, own, what.cells, count)
        more = (held - size) / np.maximum((size - 1) * (held - 1), 1)
        # a single unit of a class has no variance of its own
        more[size < 2] = 0.0
        lacking |= size < 2
        sums.append(np.bincount(own, np.sqrt(more)[cell] * moved[members], count))
    return np.array(sums), int((lacking & counted).sum()), int(counted.sum())


def _distinct(cell: Numbers, unit: Numbers, cells: int, count: int) -> Floats:
    """Count the distinct units in each cell; ``count`` is the number of units."""
    there = np.unique(cell * count + unit) // count
    return np.bincount(there, minlength=cells).astype(float)


# ---- pairs ----


def _of_pairs(
    sides: Sequence[Side], listed: Sequence[ConcordantPairs | None], clusters: Clusters
) -> tuple[Floats, str]:
    """Return the variances of the difference and of each share of pairs, and a remark.

    The variances are NaN, and the remark is the reason, if they have no value.
    """
    none = np.full(3, np.nan)
    first, second, moved = [], [], []
    for (_, number), pairs, sign in zip(sides, listed, (-1, 1), strict=True):
        assert pairs is not None
        one, two = number[pairs.first], number[pairs.second]
        *units, few = units_of_pairs(one, two, clusters)
        if few:
            return none, few
        first.append(units[0])
        second.append(units[1])
        moved.append(sign * pairs.moved)
    first.insert(0, np.concatenate(first))
    second.insert(0, np.concatenate(second))
    moved.insert(0, np.concatenate(moved))
    # variances of the difference, and of each model by itself
    parts = zip(first, second, moved, strict=True)
    variances = np.array([squares_of_pairs(*part) for part in parts])
    members, each = np.concatenate([first[0], second[0]]), np.tile(moved[0], 2)
    moves = np.abs(np.bincount(members, each)).max()
    if moves <= ROUNDING * np.abs(each).max():
        variances[0] = 0.0  # both models rank all pairs alike
    elif variances[0] <= ROUNDING * (each**2).sum():
        return none, "there are too few pairs for a variance"
    return variances, ""

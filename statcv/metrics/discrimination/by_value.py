"""Records of two classes counted by score, from which areas under curves are computed.

An area under a ROC or precision-recall curve depends on the scores only through the
number of records of each class at each distinct score, in order. These counts are made
in many groups of records at once; a metric of all records is that of one group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from statcv.metrics import inputs
from statcv.metrics.discrimination.rounding import TIE_TOL, begins_value
from statcv.numeric.arrays import ArrayLike, Bools, Floats, Numbers
from statcv.numeric.threads import RECORD, shared

_LARGE = 2**10  # records of a group, on average, that is counted by itself
_AT_ONCE = 2**20  # scores ranked together: enough to be fast, few enough to fit


@dataclass(frozen=True, eq=False)
class CountsByValue:
    """The records of two classes in each of some groups, counted by value.

    Attributes
    ----------
    ones, zeros : numpy.ndarray, shape (values,)
        The number, or the weight, of positive and of other records with each value,
        group by group and in rising order.
    bounds : numpy.ndarray of int, shape (groups + 1,)
        Where the values of each group begin, and the end of the last.
    """

    ones: Floats
    zeros: Floats
    bounds: Numbers

    def _through(self, counts: Floats, total: Floats) -> Floats:
        """Return how many of the group's records have each value or a smaller one."""
        before = np.cumsum(total) - total
        through = np.cumsum(counts)
        if len(total) > 1:
            through = through - np.repeat(before, np.diff(self.bounds))
        return through

    @property
    def totals(self) -> tuple[Floats, Floats]:
        """The positive and the other records of each group."""
        sides = (self.ones, self.zeros)
        ones, zeros = (sums_between(side, self.bounds) for side in sides)
        return ones, zeros

    @property
    def beside(self) -> tuple[Floats, Floats]:
        """The other records below each value, and the positive ones above it.

        A tie counts one half.
        """
        ones, zeros = self.totals
        above = np.repeat(ones, np.diff(self.bounds)) - self._through(self.ones, ones)
        below = self._through(self.zeros, zeros) - self.zeros / 2
        return below, above + self.ones / 2

    def pairs(self) -> tuple[Floats, Floats]:
        """Return the pairs whose positive record has the larger value, and all pairs.

        A tie counts one half.
        """
        ones, zeros = self.totals
        return sums_between(self.ones * self.beside[0], self.bounds), ones * zeros

    def roc_areas(self) -> Floats:
        """Return the area under the ROC curve of each group, NaN without two classes.

        It is the share of pairs whose positive record has the larger value.
        """
        won, pairs = self.pairs()
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(won / pairs)

    def pr_areas(self, method: str) -> Floats:
        """Return the area under the precision-recall curve, NaN without positives."""
        if method == "interpolated":
            ends = pairwise(self.bounds)
            return np.array([self._interpolated(*both) for both in ends])
        (ones, zeros), values = self.totals, np.diff(self.bounds)
        above = np.repeat(ones, values) - self._through(self.ones, ones)
        false = np.repeat(zeros, values) - self._through(self.zeros, zeros)
        true = above + self.ones
        height = true / (true + false + self.zeros)
        if method == "trapezoid":  # with the precision at the next larger value
            before = np.append(height[1:], 1.0)
            before[self.bounds[1:][self.bounds[1:] > 0] - 1] = 1.0
            height = (height + before) / 2
        with np.errstate(invalid="ignore"):
            return np.asarray(sums_between(self.ones * height, self.bounds) / ones)

    def _interpolated(self, begin: int, end: int) -> float:
        """Return the area under the lines that join precisions at 0, 1, 2, … hits."""
        sides = self.ones[begin:end], self.zeros[begin:end]
        true, false = (by_falling_value(counts) for counts in sides)
        if not true[-1]:
            return float("nan")
        count = np.arange(true[-1])
        into = np.searchsorted(true, count, side="right")
        left = precision_on_the_way(true, false, into, count)
        right = precision_on_the_way(true, false, into, count + 1)
        return float((left + right).sum() / 2 / true[-1])


@dataclass(frozen=True, eq=False)
class RankedRecords:
    """Records in rising order of their values, within groups.

    Attributes
    ----------
    order : numpy.ndarray of int, shape (n,)
        The records group by group, in rising order within each.
    begins : numpy.ndarray of int, shape (values,)
        The positions in that order at which a distinct value of a group begins.
    bounds : numpy.ndarray of int, shape (groups + 1,)
        Where the values of each group begin, and the end of the last.
    """

    order: Numbers
    begins: Numbers
    bounds: Numbers

    @classmethod
    def of(
        cls,
        values: Floats,
        group: Numbers | None = None,
        groups: int = 1,
        tie_tol: float = TIE_TOL,
    ) -> RankedRecords:
        """Rank values, all of them in one group by default."""
        if group is None or groups == 1:
            order = np.argsort(values)
            begins = np.flatnonzero(begins_value(values[order], tie_tol))
            return cls(order, begins, np.array([0, len(begins)]))
        order = _order_in_groups(group, values, groups)
        own = group[order]
        first = np.append(True, own[1:] != own[:-1])[: len(own)]
        begins = np.flatnonzero(begins_value(values[order], tie_tol, first))
        return cls(order, begins, np.searchsorted(own[begins], np.arange(groups + 1)))

    @property
    def sizes(self) -> Numbers:
        """The number of records with each value."""
        return np.diff(self.begins, append=len(self.order))

    def sums(self, values: Floats | Bools) -> Floats:
        """Return the sums of what belongs to the records with each value."""
        if len(self.begins) == len(self.order):
            return values[self.order].astype(float)
        return np.asarray(np.add.reduceat(values[self.order], self.begins, dtype=float))

    def classes(self, positive: Bools) -> CountsByValue:
        """Count the records of two classes by value."""
        ones = self.sums(positive)
        return CountsByValue(ones, self.sizes - ones, self.bounds)

    def falling(
        self, ones: Floats | Bools, zeros: Floats | Bools
    ) -> tuple[Floats, Floats]:
        """Return cumulative weights of two classes by falling value, each from 0."""
        return by_falling_value(self.sums(ones)), by_falling_value(self.sums(zeros))

    def repeated(self, by_value: Floats) -> Floats:
        """Return what belongs to the value of each record, in rising order."""
        if len(self.begins) == len(self.order):
            return by_value
        return np.repeat(by_value, self.sizes)

    def of_records(self, by_value: Floats) -> Floats:
        """Return what belongs to the value of each record."""
        found = np.empty(len(self.order))
        found[self.order] = self.repeated(by_value)
        return found


def by_falling_value(counts: Floats) -> Floats:
    """Return cumulative counts from 0, of the largest value first."""
    return np.append(0.0, np.cumsum(counts[::-1], dtype=float))


def sums_between(values: Bools | Floats, bounds: Numbers) -> Floats:
    """Return the sum of the values from each bound to the next, 0 of none.

    Examples
    --------
    >>> sums_between(np.array([1.0, 2.0, 5.0]), np.array([0, 2, 2, 3]))
    array([3., 0., 5.])
    """
    sums, filled = np.zeros(len(bounds) - 1), bounds[1:] > bounds[:-1]
    if filled.any():
        first = bounds[:-1][filled]
        sums[filled] = np.add.reduceat(values[: bounds[-1]], first, dtype=float)
    return sums


def areas_of_scores(
    y: ArrayLike,
    score: ArrayLike,
    tie_tol: float,
    area: Callable[[CountsByValue], Floats],
) -> Any:
    """Return the area of a score, or of each of m scores; NaN where a score is."""
    inputs.real_number(tie_tol, "tie_tol")
    positive, rows = inputs.binary_outcome(y), inputs.real_array(score, "score")
    one, n = rows.ndim == 1, positive.size
    if one:
        inputs.same_length(n, rows.size, "score")
    elif rows.ndim != 2 or rows.shape[1] != n:
        right = f"({n},), or (m, {n}) for m scores of the same records"
        raise inputs.wrong_shape("score", rows, right)
    rows = np.atleast_2d(rows)
    areas, step = np.empty(len(rows)), max(1, _AT_ONCE // max(1, n))
    for begin in range(0, len(rows), step):
        some = rows[begin : begin + step].astype(np.float64, copy=False)
        group = None if len(some) == 1 else np.repeat(np.arange(len(some)), n)
        every = np.tile(positive, len(some))
        ranked = RankedRecords.of(some.ravel(), group, len(some), tie_tol)
        areas[begin : begin + step] = area(ranked.classes(every))
    areas[np.isnan(rows).any(axis=1)] = np.nan
    return float(areas[0]) if one else areas


def areas_of_groups(
    positive: Bools,
    score: Floats,
    group: Numbers,
    groups: int,
    tie_tol: float,
    area: Callable[[CountsByValue], Floats],
) -> Floats:
    """Return the area of each group; NaN where a score is."""
    if len(group) > _LARGE * groups:  # each of them stays in the cache

        def alone(some: Numbers) -> float:
            if not len(some):
                return float("nan")
            ranked = RankedRecords.of(score[some], tie_tol=tie_tol)
            return float(area(ranked.classes(positive[some]))[0])

        order = np.argsort(group, kind="stable")
        parts = np.split(order, np.searchsorted(group[order], np.arange(1, groups)))
        areas = np.array(shared(alone, parts, RECORD * len(group) / groups))
    else:
        ranked = RankedRecords.of(score, group, groups, tie_tol)
        areas = area(ranked.classes(positive))
    areas[group[np.isnan(score)]] = np.nan
    return areas


def _order_in_groups(own: Numbers, values: Floats, groups: int) -> Numbers:
    """Return the order by group, and by value within a group."""
    size = len(own) // groups
    if size and (own == np.arange(len(own)) // size).all():  # all of one size
        order = values.reshape(groups, size).argsort(axis=1)
        return (order + size * np.arange(groups)[:, None]).ravel()
    return np.lexsort((values, own))


def placement_counts(
    positive: Bools,
    score: Floats,
    tie_tol: float = TIE_TOL,
    group: Numbers | None = None,
    groups: int = 1,
) -> tuple[Floats, float]:
    """Count the records of the other class that each record is on the right side of.

    Returns
    -------
    counts : numpy.ndarray, shape (n,)
        The number of negative records below a positive one in its group, or of positive
        records above a negative one; a tie counts one half.
    tied : float
        The number of pairs of two classes that tie.
    """
    ranked = RankedRecords.of(score, group, groups, tie_tol)
    by = ranked.classes(positive)
    below, above = map(ranked.of_records, by.beside)
    return np.where(positive, below, above), float(by.ones @ by.zeros)


def precision_on_the_way(
    true: Floats, false: Floats, into: Numbers, count: Floats
) -> Floats:
    """Precision at counts of true positives between points of the curve.

    False positives are interpolated linearly (Davis & Goadrich 2006). `into` holds the
    position of the point that follows each count, which must have more true positives
    than the point before it.
    """
    before = into - 1
    pace = (false[into] - false[before]) / (true[into] - true[before])
    beside = false[before] + (count - true[before]) * pace
    start = count + beside == 0  # the limit at 0: the precision is constant
    return np.asarray((count + start) / (count + beside + start * (1 + pace)))

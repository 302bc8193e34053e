"""Counts of records in intervals of the linear predictor, none of which is small.

The inner edges are common to all sites. A site joins neighbouring bins until each count
is 0 or at least the agreed number, and says which bins it joined. The area under the
ROC curve then lies between two bounds, whatever the order within an interval is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import logit, ndtri

from statcv.errors import MessageError
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.sites.messages import counts

Arrays = dict[str, Array]

# number of rounds of spreading; more would make masses spiky
N_SPREADING_ROUNDS: Final = 2
MIN_RECORDS_PER_BIN: Final = 1e-9  # least number of records that a bin is taken to have


def score_edges(
    total: float, squares: float, n: int, bins: int, decisions: Sequence[float]
) -> Floats:
    """Return rising edges between bins of the linear predictor.

    They are the quantiles of a normal distribution with the mean and the standard
    deviation of the linear predictors, and the logits of the probabilities at which
    decisions are made.

    Parameters
    ----------
    total, squares : float
        Sum of the linear predictors of n records, and of their squares.
    n, bins : int
    decisions : sequence of float

    Examples
    --------
    >>> score_edges(0.0, 100.0, 100, 4, [0.5]).round(2).tolist()
    [-0.67, 0.0, 0.67]
    """
    mean = total / n
    sd = np.sqrt(max(squares / n - mean**2, 0.0))
    inner = mean + sd * ndtri(np.arange(1, bins) / bins)
    edges = np.concatenate([inner, logit(np.asarray(decisions, dtype=float))])
    edges = np.sort(edges)
    far = np.diff(edges) > 1e-9 * max(sd, 1e-12)
    return np.asarray(edges[np.append(True, far)])


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts in intervals, which are runs of neighbouring bins.

    Attributes
    ----------
    cuts : numpy.ndarray of bool, shape (bins - 1,)
        Whether an interval ends at each edge.
    counts : numpy.ndarray of int, shape (intervals,)
    """

    cuts: Bools
    counts: Numbers

    @classmethod
    def of(cls, counts: Numbers, least: int, wanted: Bools | None = None) -> Cells:
        """Cut bins into intervals whose counts are 0 or at least ``least``.

        The range is cut in two again and again, at the edge nearest to its middle that
        leaves no small count, until there is no such edge.

        Parameters
        ----------
        counts : numpy.ndarray of int, shape (bins,)
        least : int
        wanted : numpy.ndarray of bool, shape (bins - 1,), optional
            Edges that come before all others.

        Examples
        --------
        >>> made = Cells.of(np.array([0, 6, 2, 0, 4, 0, 1]), 5)
        >>> made.counts.tolist(), made.cuts.tolist()
        ([0, 8, 0, 5], [True, False, True, True, False, False])
        """
        bins = len(counts)
        below = np.concatenate([[0], np.cumsum(counts)])
        first = np.zeros(bins - 1) if wanted is None else ~wanted * float(bins)
        cuts, ranges = np.zeros(bins - 1, dtype=bool), [(0, bins)]
        while ranges:
            begin, end = ranges.pop()
            edge = np.arange(begin, end - 1)
            left = below[edge + 1] - below[begin]
            right = below[end] - below[edge + 1]
            good = ((left == 0) | (left >= least)) & ((right == 0) | (right >= least))
            edge = edge[good]
            if len(edge):
                away = np.abs(edge + 1 - (begin + end) / 2) + first[edge]
                best = int(edge[away.argmin()])
                cuts[best] = True
                ranges += [(begin, best + 1), (best + 1, end)]
        return cls.cut(counts, cuts)

    @classmethod
    def cut(cls, counts: Numbers, cuts: Bools) -> Cells:
        """Join the counts of bins between cuts."""
        starts = np.append(0, np.flatnonzero(cuts) + 1)
        return cls(cuts, np.add.reduceat(counts, starts))

    @property
    def starts(self) -> Numbers:
        """First bin of each interval, and the number of bins after the last."""
        return np.array([0, *np.flatnonzero(self.cuts) + 1, len(self.cuts) + 1])

    def spread(self, mass: Floats) -> Floats:
        """Return the counts of bins, as if records were spread by a mass.

        Parameters
        ----------
        mass : numpy.ndarray, shape (bins,)
        """
        of_bin = np.append(0, np.cumsum(self.cuts))
        total = np.bincount(of_bin, mass)
        return np.asarray(self.counts[of_bin] * mass / total[of_bin])


def class_mass(cells: Sequence[Cells]) -> Floats:
    """Return how the records of a class are taken to be spread over bins.

    Each count is spread over its interval in proportion to the counts of all sites,
    which are the first steps to the estimate of Turnbull (1976, J. R. Stat. Soc. B
    38:290) for observations that are known to lie in intervals.

    Parameters
    ----------
    cells : sequence of Cells
        Counts of each site.

    Returns
    -------
    numpy.ndarray, shape (bins,)
    """
    mass = np.ones(len(cells[0].cuts) + 1)
    for _ in range(N_SPREADING_ROUNDS):
        mass = np.sum([one.spread(mass) for one in cells], axis=0) + MIN_RECORDS_PER_BIN
    return mass


def counts_below(cells: Sequence[Cells]) -> tuple[Floats, Floats]:
    """Return the least and the largest number of records below each edge.

    >>> least, most = counts_below([Cells(np.array([True, False]), np.array([3, 5]))])
    >>> least.tolist(), most.tolist()
    ([3.0, 3.0], [3.0, 8.0])
    """
    least, most = np.zeros((2, len(cells[0].cuts)))
    for one in cells:
        # the interval that ends at or after the edge
        interval = np.append(0, np.cumsum(one.cuts))[:-1]
        upto = np.cumsum(one.counts)[interval]
        most += upto
        least += np.where(one.cuts, upto, upto - one.counts[interval])
    return least, most


@dataclass(frozen=True)
class Area:
    """The area under the ROC curve, and the bounds between which it must lie.

    Attributes
    ----------
    value, lower, upper : float
    se : float
        Standard deviation of the value if each record falls into a random bin of its
        interval, with chances like the shares of all sites.
    """

    value: float
    lower: float
    upper: float
    se: float

    @property
    def bound(self) -> float:
        """The largest possible error of the value."""
        return max(self.upper - self.value, self.value - self.lower)


def area_of(
    positive: Sequence[Cells], negative: Sequence[Cells], mass: Sequence[Floats]
) -> Area:
    """Return the area from the counts of all sites.

    Parameters
    ----------
    positive, negative : sequence of Cells
        Counts of each site.
    mass : pair of numpy.ndarray, shape (bins,)
        How positive and negative records are taken to be spread over bins.

    Examples
    --------
    >>> high = Cells(np.array([True, True]), np.array([0, 2, 8]))
    >>> low = Cells(np.array([True, True]), np.array([8, 2, 0]))
    >>> area_of([high], [low], [np.ones(3), np.ones(3)])
    Area(value=0.9800000000000001, lower=0.96, upper=1.0, se=0.0)
    """
    ones, zeros = (
        np.sum([cells.spread(own) for cells in one], axis=0)
        for one, own in zip((positive, negative), mass, strict=True)
    )
    n1, n0 = ones.sum(), zeros.sum()
    if not n1 or not n0:
        return Area(*[float("nan")] * 4)
    below = np.cumsum(zeros) - zeros / 2
    value = float(ones @ below / n1 / n0)
    above = n1 - np.cumsum(ones) + ones / 2
    of_ones = sum(_variance_within(cells, mass[0], below / n0) for cells in positive)
    of_zeros = sum(_variance_within(cells, mass[1], above / n1) for cells in negative)
    variance = of_ones / n1**2 + of_zeros / n0**2
    least, most = counts_below(negative)
    surely_below = np.concatenate([[0.0], least])  # negative records before each bin
    maybe_below = np.concatenate([[0.0], most, [n0]])
    lower = sum(one.counts @ surely_below[one.starts[:-1]] for one in positive)
    upper = sum(one.counts @ maybe_below[one.starts[1:]] for one in positive)
    lower, upper = float(lower / n1 / n0), float(upper / n1 / n0)
    return Area(min(max(value, lower), upper), lower, upper, float(np.sqrt(variance)))


def _variance_within(cells: Cells, mass: Floats, share: Floats) -> float:
    """Return the variance of a sum over records of a function of their bins.

    Each falls into a bin of its interval with a chance in proportion to the mass.
    """
    expected = cells.spread(mass)
    starts = cells.starts[:-1]
    total = np.maximum(cells.counts, 1)
    mean = np.add.reduceat(expected * share, starts) / total
    squares = np.add.reduceat(expected * share**2, starts)
    return float((squares - cells.counts * mean**2).clip(min=0).sum())


def delong_variance(ones: Floats, zeros: Floats) -> float:
    """Return DeLong's variance of an area from the counts of bins.

    Parameters
    ----------
    ones, zeros : numpy.ndarray, shape (bins,)
        Counts of positive and of negative records.
    """
    n1, n0 = ones.sum(), zeros.sum()
    if min(n1, n0) < 2:
        return float("nan")
    of_ones = (np.cumsum(zeros) - zeros / 2) / n0
    of_zeros = 1 - (np.cumsum(ones) - ones / 2) / n1
    total = 0.0
    for found, share, n in ((ones, of_ones, n1), (zeros, of_zeros, n0)):
        mean = found @ share / n
        total += float(found @ (share - mean) ** 2 / (n - 1) / n)
    return total


# ---- in messages ----


def packed(cells: Sequence[Cells]) -> Arrays:
    """Return counts in intervals as arrays of a message."""
    return {
        "cell_cuts": np.packbits(np.stack([one.cuts for one in cells]), axis=1),
        "cell_counts": counts(np.concatenate([one.counts for one in cells])),
    }


def unpacked(arrays: Mapping[str, Array], number: int, bins: int) -> list[Cells]:
    """Read counts in intervals.

    Raises
    ------
    MessageError
        If cuts and counts do not belong together.
    """
    shut, cells = arrays.get("cell_cuts"), arrays.get("cell_counts")
    if shut is None or cells is None or shut.dtype != np.uint8:
        raise MessageError("the counts are missing.")
    cuts = np.unpackbits(shut.reshape(number, -1), axis=1)[:, : bins - 1] > 0
    ends = np.cumsum(cuts.sum(axis=1) + 1)
    if cuts.shape != (number, bins - 1) or ends[-1] != len(cells):
        raise MessageError("the counts do not belong to their intervals.")
    parts = np.split(cells.astype(np.intp), ends[:-1])
    return [Cells(own, part) for own, part in zip(cuts, parts, strict=True)]

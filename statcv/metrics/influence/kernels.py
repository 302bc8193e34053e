"""Sums of values weighted by a parabolic kernel, which are smooth functions.

Many points are counted in the cells of a grid, from which the sums at its nodes are
exact. Between nodes they are interpolated by parabolas, as the kernel is one: what this
leaves out comes from the points that are within a cell of the end of the kernel alone.
Where that may matter, as where points are few, sums are computed by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.metrics.discrimination.order import in_rising_order, is_rising
from statcv.metrics.groups import sums_between
from statcv.metrics.inputs import Floats, Ints
from statcv.threads import RECORD, shared

_IN_CACHE = 2**13  # places whose sums stay in the cache
_BLOCK = 2**16  # points or places of several cells, which stay near the processor
_MANY = 2**16  # points, of which sums are interpolated
_NODES = 256  # of the grid in the half-width of a kernel, an even number
_SHARE = 1e-5  # of a sum, by which it may be wrong between nodes
_TAIL = 256  # one in so many places is in either tail, off the grid


def kernel(distance: Floats, width: float) -> Floats:
    """Return the parabolic kernel of a half-width, which integrates to 1."""
    if width <= 0:
        return np.zeros_like(distance)
    scaled = distance / width
    return np.where(np.abs(scaled) < 1, 0.75 * (1 - scaled**2) / width, 0.0)


def kernel_sums(at: Floats, points: Floats, values: Floats, width: float) -> Floats:
    """Return at each place the sum of values, each weighted by its kernel.

    Parameters
    ----------
    at : numpy.ndarray, shape (m,)
    points : numpy.ndarray, shape (k,)
    values : numpy.ndarray, shape (k,) or (r, k)
        The values; each of several rows is summed by itself.
    width : float
        The half-width of the kernel.

    Returns
    -------
    numpy.ndarray, shape (m,) or (r, m)

    Examples
    --------
    >>> kernel_sums(np.array([0.0]), np.array([0.0, 1.0]), np.ones(2), 2.0)
    array([0.65625])
    """
    rows = np.atleast_2d(values)
    found = np.zeros((len(rows), len(at)))
    if width > 0 and len(points) and len(at):
        middle = points.mean()
        order, scaled = _ordered(points, middle, width)
        asked, here = order, scaled
        if at is not points:
            asked, here = _ordered(at, middle, width)
        sums = _summed(rows if order is None else rows[:, order], scaled, here)
        sums *= 0.75 / width
        if asked is None:
            found = sums
        else:
            found[:, asked] = sums
    return found if values.ndim > 1 else found[0]


def _summed(values: Floats, points: Floats, here: Floats) -> Floats:
    """Return Σ v (1 - (t - h)²) over the points t within 1 of each place h.

    Parameters
    ----------
    values : numpy.ndarray, shape (r, k)
        The values v of the points.
    points, here : numpy.ndarray, shape (k,) and (m,)
        The points and the places, in rising order.

    Returns
    -------
    numpy.ndarray, shape (r, m)
    """
    cut, grid = len(here) // _TAIL, None
    if min(len(points), len(here)) >= _MANY:
        grid = Grid.of(points, here[cut:-cut])
    if grid is None:
        return _exact(values, points, here)
    sums = np.empty((len(values), len(here)))
    for tail in (slice(cut), slice(-cut, None)):
        sums[:, tail] = _exact(values, points, here[tail])
    grid.put_sums(sums[:, cut:-cut], values, points, here[cut:-cut])
    return sums


def _exact(values: Floats, points: Floats, here: Floats) -> Floats:
    """Return the sums from those of all points in reach.

    Rising places are found much faster.
    """
    start = np.searchsorted(points, here[0] - 1, side="left")
    stop = np.searchsorted(points, here[-1] + 1, side="right")
    points, values = points[start:stop], values[:, start:stop]
    first = np.searchsorted(points, here - 1, side="left")
    last = np.searchsorted(points, here + 1, side="right")
    totals, sums = np.zeros((3, len(points) + 1)), np.empty((len(values), len(here)))
    for moment, found in zip(values, sums, strict=True):
        for total in totals:
            np.cumsum(moment, out=total[1:])
            moment = moment * points
        for begin in range(0, len(here), _IN_CACHE):
            some = slice(begin, begin + _IN_CACHE)
            found[some] = _between(totals, first[some], last[some], here[some])
    return sums


def _between(totals: Floats, first: Ints, last: Ints, here: Floats) -> Floats:
    """Return Σ 1 - (t - h)² over ranges of points t, from sums of 1, t and t²."""
    sums = np.zeros(len(here))
    for total, factor in zip(totals, (1 - here**2, 2 * here, -1.0), strict=True):
        part = total.take(last)
        part -= total.take(first)
        part *= factor
        sums += part
    return sums


@dataclass(frozen=True, eq=False)
class Grid:
    """Nodes at equal distances, between which sums are interpolated.

    A cell is between two nodes with another one in the middle.

    Attributes
    ----------
    low : int
        The number of the first node of the first cell; node k is at k / _NODES.
    bounds : numpy.ndarray of int, shape (nodes,)
        How many points are before each node that is within 1 of a cell.
    begins : numpy.ndarray of int, shape (cells + 1,)
        How many places are before each cell, and how many there are.
    """

    low: int
    bounds: Ints
    begins: Ints

    @classmethod
    def of(cls, points: Floats, here: Floats) -> Grid | None:
        """Lay a grid over rising places; None if it has too many nodes."""
        span = (here[-1] - here[0]) * _NODES
        if not 4 * (span + 2 * _NODES) < len(points):
            return None
        low = int(np.floor(here[0] * _NODES))
        cells = int(np.floor(here[-1] * _NODES) - low) // 2 + 1
        nodes = np.arange(low - _NODES, low + 2 * cells + _NODES + 1) / _NODES
        edges = nodes[_NODES:-_NODES:2][:-1]
        begins = np.append(np.searchsorted(here, edges), len(here))
        return cls(low, np.searchsorted(points, nodes), begins)

    def put_sums(
        self, found: Floats, values: Floats, points: Floats, here: Floats
    ) -> None:
        """Put the sums of several values of points, (r, k), at the places, (r, m)."""
        often, blocks = np.diff(self.begins), _blocks(self.begins)
        node = np.arange(2 * len(often) + 1.0)
        node += self.low
        # by the number of nodes since the first one of the cell
        far = here * _NODES
        far -= np.repeat(node[:-2:2], often)
        node /= _NODES

        def put(row: int) -> None:
            value, sums = values[row], found[row]
            (*window, squares) = self._windows(value, points)
            at = (1 - node**2) * window[0] + 2 * node * window[1] - window[2]
            start, middle, end = at[:-2:2], at[1::2], at[2::2]
            bend = (start - 2 * middle + end) / 2
            slope = (4 * middle - 3 * start - end) / 2
            for cells in blocks:
                places, times = self._places(cells), often[cells]
                some, away = sums[places], far[places]
                np.multiply(np.repeat(bend[cells], times), away, out=some)
                some += np.repeat(slope[cells], times)
                some *= away
                some += np.repeat(start[cells], times)
            for cells in self._doubtful(squares, middle):
                places = self._places(cells)
                sums[places] = _exact(value[None], points, here[places])[0]

        shared(put, range(len(values)), RECORD * len(here))

    def _places(self, cells: slice) -> slice:
        """Return the places in a range of cells."""
        return slice(self.begins[cells.start], self.begins[cells.stop])

    def _windows(self, values: Floats, points: Floats) -> tuple[Floats, ...]:
        """Return sums of v, vt and vt² within 1 of each node of the cells.

        The last array has those of v² from each node to the next.
        """
        between = np.zeros((4, len(self.bounds) - 1))
        for nodes in _blocks(self.bounds):
            first, after = self.bounds[nodes.start], self.bounds[nodes.stop]
            bounds = self.bounds[nodes.start : nodes.stop + 1] - first
            value, distance = values[first:after], points[first:after]
            moment = value * distance
            powers = (value, moment, moment * distance, value**2)
            for sums, one in zip(between[:, nodes], powers, strict=True):
                sums[:] = sums_between(one, bounds)
        windows = []
        for sums in between[:3]:
            through = np.append(0.0, np.cumsum(sums))
            windows.append(through[2 * _NODES :] - through[: -2 * _NODES])
        return (*windows, between[3])

    def _doubtful(self, squares: Floats, middle: Floats) -> list[slice]:
        """Return ranges of cells whose sums may be wrong between nodes.

        A point at which a kernel ends makes a bend that a parabola misses by less than
        a quarter of the cell. Those of several points are about as often above as
        below the bend of all.

        Parameters
        ----------
        squares : numpy.ndarray, shape (nodes - 1,)
            The sums of squared values of the points from each node to the next.
        middle : numpy.ndarray, shape (cells,)
            The sum at the middle of each cell.
        """
        pairs = squares[:-1] + squares[1:]
        ends = pairs[: -2 * _NODES : 2] + pairs[2 * _NODES :: 2]
        filled = np.diff(self.begins) > 0
        wrong = filled & (np.sqrt(ends) / (2 * _NODES) > _SHARE * np.abs(middle))
        places = np.flatnonzero(wrong)
        apart = np.diff(places) > _NODES  # with points in reach of both otherwise
        first = places[np.append(True, apart)[: len(places)]]
        last = places[np.append(apart, True)[: len(places)]]
        return list(map(slice, first.tolist(), (last + 1).tolist()))


def _blocks(begins: Ints) -> list[slice]:
    """Return ranges of cells, each of about as many points, where there are any.

    Parameters
    ----------
    begins : numpy.ndarray of int, shape (cells + 1,)
        How many points are before each cell, and how many before the end of the last.
    """
    wanted = np.arange(begins[0], begins[-1], _BLOCK)
    first = np.unique(np.searchsorted(begins, wanted, side="right") - 1)
    return list(map(slice, first.tolist(), [*first[1:].tolist(), len(begins) - 1]))


def _ordered(
    values: Floats, middle: Floats, width: float
) -> tuple[Ints | None, Floats]:
    """Return the order of numbers, None if they rise, and in it how far they are."""
    order = None
    if not is_rising(values):
        order, values = in_rising_order(values)
    return order, (values - middle) / width

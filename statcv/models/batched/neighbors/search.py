"""All records within some distance of each of many points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.folds import Ragged
from statcv.models.base import Matrix
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.new_levels import Numbers
from statcv.numeric.threads import shared

# columns up to which a tree finds neighbours faster than products do
MAX_TREE_COLUMNS = 6
MAX_TREE_NEIGHBORS = 64  # neighbours up to which a tree finds them faster
MAX_LEAF_RECORDS = 32  # records at most that the tree does not divide
MIN_TREE_RECORDS = 2000  # records from which a tree finds neighbours faster
MIN_GROUPS_EACH = 8  # groups of records, at least, for each neighbour
# groups of records, quick to search, that are made for few neighbours
QUICK_GROUPS = 2**9
# records at least in each of the groups that are made for few neighbours
MIN_GROUP_RECORDS = 8
IN_CACHE = 2**15  # coordinates that stay in the cache
TOGETHER = 16  # blocks of points that threads share
COMPARED = 10.0  # operations that take as long as to compare a product with others
# times as many candidates as neighbours, where single precision fails
MAX_CANDIDATES = 4


@dataclass(frozen=True, eq=False)
class Nearby:
    """The records near some of the points.

    Attributes
    ----------
    first : int
        The number of the first of these points; they are consecutive.
    lists : Ragged
        The records near each point, the nearest first.
    distances : numpy.ndarray
        Distances of the records, in the order of the lists.
    reach : numpy.ndarray, shape (points,)
        Every record nearer than this is in the list.
    """

    first: int
    lists: Ragged
    distances: Matrix
    reach: Matrix


def nearby(records: Matrix, points: Matrix, least: int) -> Iterator[Nearby]:
    """Yield, for all points in turn, the ``least`` nearest records and maybe more.

    Distances are Euclidean, and exact to rounding. Memory is bounded unless very
    many records are equally near.

    Parameters
    ----------
    records : numpy.ndarray, shape (n, p)
    points : numpy.ndarray, shape (m, p)
    least : int

    Examples
    --------
    >>> records = np.array([[0.0], [1.0], [1.5], [9.0]])
    >>> (near,) = nearby(records, np.array([[1.1]]), least=2)
    >>> near.lists[0][:2], near.distances[:2].round(3)
    (array([1, 2]), array([0.1, 0.4]))
    """
    n, p = records.shape
    few = p <= MAX_TREE_COLUMNS and least <= MAX_TREE_NEIGHBORS and least < n
    if few and is_tall(n):
        find = _tree(records, least)
        step = max(1, CELLS // (8 * least))
    else:
        find = Products.of(records, points).find(least)
        # so many as fit in a cache; a few more take less time for each of many records
        step = max(8, CELLS // n, min(32, 32 * CELLS // n))
    asked: list[Matrix] = []
    pieces: list[Found] = []
    found = first = size = 0
    for some, (owners, near, reach) in _found(find, records, points, step):
        asked.append(some)
        pieces.append((owners + size, near, reach))
        found, size = found + len(near), size + len(some)
        if found >= CELLS // 8:
            yield _sorted(records, asked, first, pieces)
            asked, pieces, found, first, size = [], [], 0, first + size, 0
    if asked:
        yield _sorted(records, asked, first, pieces)


Found = tuple[Numbers, Numbers, Matrix]  # owners, records, reach
Find = Callable[[Matrix], Found]


def _found(
    find: Find, records: Matrix, points: Matrix, step: int
) -> Iterator[tuple[Matrix, Found]]:
    """Yield some points in turn and what is near; threads share some blocks."""
    (n, p), m = records.shape, len(points)
    for start in range(0, m, TOGETHER * step):
        stop = min(start + TOGETHER * step, m)
        some = [points[at : min(at + step, stop)] for at in range(start, stop, step)]
        made = shared(find, some, len(some[0]) * n * (p + COMPARED))
        yield from zip(some, made, strict=True)


def is_tall(n: int) -> bool:
    """Return whether there are enough records for a search to save time."""
    return n >= MIN_TREE_RECORDS


def distances(
    records: Matrix,
    near: Numbers,
    points: Matrix,
    owners: Numbers,
    units: Matrix | None = None,
) -> Matrix:
    """Return how far records are from points, given by number.

    Parameters
    ----------
    records, points : numpy.ndarray, shape (n, p) and (m, p)
    near, owners : numpy.ndarray of int
    units : numpy.ndarray, shape (m, p), optional
        Factors for the coordinates of each point and its records.
    """
    n, p = len(near), records.shape[1]
    found, size = np.empty(n), min(n, max(1, IN_CACHE // max(p, 1)))
    rooms = np.empty((2, size, p))  # new memory is slow
    for start in range(0, n, size or 1):
        some = slice(start, start + size)
        step, other = rooms[:, : len(near[some])]
        np.take(records, near[some], axis=0, out=step, mode="clip")
        step -= np.take(points, owners[some], axis=0, out=other, mode="clip")
        if units is not None:
            step *= np.take(units, owners[some], axis=0, out=other, mode="clip")
        np.einsum("ij,ij->i", step, step, out=found[some])
    return np.sqrt(found, out=found)


def nearest_first(owners: Numbers, distances: Matrix) -> Numbers:
    """Return the order by owner and then by distance, as a lexsort would."""
    # a stable sort by owner keeps the order by distance
    order = np.argsort(distances)
    return order[np.argsort(owners[order], kind="stable")]


def _sorted(
    records: Matrix, asked: list[Matrix], first: int, pieces: list[Found]
) -> Nearby:
    points = np.concatenate(asked)
    owners, near, reach = map(np.concatenate, zip(*pieces, strict=True))
    exact = distances(records, near, points, owners)
    order = nearest_first(owners, exact)
    sizes = np.bincount(owners, minlength=len(points))
    return Nearby(first, Ragged.split(near[order], sizes), exact[order], reach)


def _tree(records: Matrix, least: int) -> Find:
    from scipy.spatial import cKDTree

    # many may have equal values; records that lie together are kept together
    order = cKDTree(records, balanced_tree=False).indices
    tree = cKDTree(records[order], leafsize=MAX_LEAF_RECORDS, balanced_tree=False)
    ranks = np.arange(1, least + 1)

    def find(points: Matrix) -> Found:
        far, near = tree.query(points, k=ranks)
        owners = np.repeat(np.arange(len(points)), least)
        # records as near as the last one may be missing, and lie beyond the reach
        return owners, order[near.ravel()], far[:, -1] * (1 - 1e-9)

    return find


@dataclass(frozen=True, eq=False)
class Products:
    """A search by |x|² − 2 x·q, in single precision if that distinguishes records.

    Attributes
    ----------
    centre : numpy.ndarray, shape (p,)
    unit : float
        Places are differences from the centre, in this unit.
    across : numpy.ndarray, shape (p + 1, n)
        Minus twice the place of each record, and its square.
    """

    centre: Matrix
    unit: float
    across: Matrix

    @classmethod
    def of(cls, records: Matrix, points: Matrix) -> Products:
        """Search among some records for those near points like these."""
        centre = records.mean(axis=0)
        shifted, asked = records - centre, points - centre
        largest = max(np.abs(shifted).max(initial=0), np.abs(asked).max(initial=0))
        # in this unit no square overflows in single precision
        unit = float(largest) or 1.0
        shifted /= unit
        square = np.einsum("ij,ij->i", shifted, shifted)
        return cls(centre, unit, np.vstack([-2 * shifted.T, square]))

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """The same as ``across`` in single precision."""
        return self.across.astype(np.float32)

    def find(self, least: int) -> Find:
        """Return the function that finds the ``least`` nearest and maybe more.

        An upper bound of the distance of the ``least`` nearest comes first: of that
        many groups of records, the nearest in each. All within it are taken, and those
        that rounding may have moved beyond: a squared distance is wrong by some units
        in the last place of (|x| + |q|)², and nobody within d of q has |x| > |q| + d.
        """
        n = self.across.shape[1]

        def find(some: Matrix) -> Found:
            m = len(some)
            if least >= n:
                owners = np.repeat(np.arange(m), n)
                return owners, np.tile(np.arange(n), m), np.full(m, np.inf)
            point = (some - self.centre) / self.unit
            own = np.einsum("ij,ij->i", point, point)
            # |x − q|² − |q|² is the product of (q, 1) with (−2x, |x|²)
            point = np.column_stack([point, np.ones(m)])
            for kind in (np.float32, np.float64):
                columns: Any = self.single if kind is np.float32 else self.across
                gap: Any = point.astype(kind) @ columns
                bound = _bound(gap, least).astype(float) + own
                # a bound on the relative rounding error of a sum of products
                lost = 8 * (len(point.T) + 8) * float(np.finfo(kind).eps)
                tiny = len(point.T) * float(np.finfo(kind).tiny)
                reach = (np.maximum(bound, 0) + lost * own + tiny) / (1 - lost)
                limit = reach + lost * (own + reach) + tiny - own
                # rounding to the precision of the products must not lower the limit
                limit = np.nextafter(limit.astype(kind), kind(np.inf))
                cells = np.flatnonzero(gap <= limit[:, None])
                # more candidates: single precision does not distinguish the records
                if len(cells) <= MAX_CANDIDATES * least * m:
                    break
            owners, near = np.divmod(cells, n)
            return owners, near, np.sqrt(reach) * self.unit

        return find


def _bound(gap: Matrix, least: int) -> Matrix:
    """Return for each row a value that at least ``least`` do not exceed."""
    n = gap.shape[1]
    groups = max(MIN_GROUPS_EACH * least, min(QUICK_GROUPS, n // MIN_GROUP_RECORDS))
    if n >= 2 * groups:
        whole = gap[:, : n // groups * groups]
        # minima of different groups are different records within the bound
        gap = whole.reshape(len(gap), -1, groups).min(axis=1)
    return np.asarray(np.partition(gap, least - 1, axis=1)[:, least - 1])

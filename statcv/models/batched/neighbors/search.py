"""All records within some distance of each of many points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from statcv.folds import Ragged
from statcv.models.batched.blocks import CELLS
from statcv.numeric.arrays import Array, Floats, Numbers
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
NOISE = 8  # units in the last place that each term may add to a sum of products
# records listed for each neighbour above which single precision is too coarse
MAX_SPARE = 8

Found = tuple[Numbers, Numbers, Floats]  # owners, records, reach
Find = Callable[[Floats], Found]


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
    distances: Floats
    reach: Floats


def nearby(records: Floats, points: Floats, least: int) -> Iterator[Nearby]:
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
    (n, p), m = records.shape, len(points)
    few = p <= MAX_TREE_COLUMNS and least <= MAX_TREE_NEIGHBORS and least < n
    if few and is_tall(n):
        find, step = _tree(records, least), max(1, CELLS // (8 * least))
    else:
        # so many as fit in a cache; a few more take less time for each of many records
        step = max(8, CELLS // n, min(32, 32 * CELLS // n))
        find = _products(records, points, least)
    for first in range(0, m, TOGETHER * step):
        stop = min(first + TOGETHER * step, m)
        some = [points[at : min(at + step, stop)] for at in range(first, stop, step)]
        found = shared(find, some, len(some[0]) * n * (p + COMPARED))
        starts = np.cumsum([0, *map(len, some[:-1])])
        owners = np.concatenate(
            [own + start for (own, *_), start in zip(found, starts, strict=True)]
        )
        near = np.concatenate([one[1] for one in found])
        exact = distances(records, near, points[first:stop], owners)
        order = nearest_first(owners, exact)
        sizes = np.bincount(owners, minlength=stop - first)
        lists = Ragged.split(near[order], sizes)
        reach = np.concatenate([one[2] for one in found])
        yield Nearby(first, lists, exact[order], reach)


def is_tall(n: int) -> bool:
    """Return whether there are enough records for a search to save time."""
    return n >= MIN_TREE_RECORDS


def distances(
    records: Floats,
    near: Numbers,
    points: Floats,
    owners: Numbers,
    units: Floats | None = None,
) -> Floats:
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


def nearest_first(owners: Numbers, distances: Floats) -> Numbers:
    """Return the order by owner and then by distance, as a lexsort would."""
    # a stable sort by owner keeps the order by distance
    order = np.argsort(distances)
    return order[np.argsort(owners[order], kind="stable")]


def _tree(records: Floats, least: int) -> Find:
    from scipy.spatial import cKDTree

    # many may have equal values; records that lie together are kept together
    order = cKDTree(records, balanced_tree=False).indices
    tree = cKDTree(records[order], leafsize=MAX_LEAF_RECORDS, balanced_tree=False)
    ranks = np.arange(1, least + 1)

    def find(points: Floats) -> Found:
        far, near = tree.query(points, k=ranks)
        owners = np.repeat(np.arange(len(points)), least)
        # records as near as the last one may be missing, and lie beyond the reach
        return owners, order[near.ravel()], far[:, -1] * (1 - 1e-9)

    return find


def _products(records: Floats, points: Floats, least: int) -> Find:
    """Search by |x|² − 2 x·q, whose rounding the reach takes account of.

    An upper bound of the distance of the ``least`` nearest comes first: of that many
    groups of records, the nearest in each. All within it are taken, and those that
    rounding may have moved beyond: a squared distance is wrong by some units in the
    last place of (|x| + |q|)², and nobody within d of q has |x| > |q| + d. Single
    precision takes half the time, unless rounding moves too many.
    """
    (n, p), centre = records.shape, records.mean(axis=0)
    shifted, asked = records - centre, points - centre
    # in this unit no square overflows
    unit = max(np.abs(shifted).max(initial=0), np.abs(asked).max(initial=0)) or 1.0
    shifted /= unit
    square = np.einsum("ij,ij->i", shifted, shifted)
    double = np.vstack([-2 * shifted.T, square])

    def within(point: Floats, across: Array) -> tuple[Array, Floats]:
        """Return who may be as near as the reach of each point, and its square."""
        kind = np.finfo(across.dtype)
        lost, tiny = NOISE * float(kind.eps) * (p + 9), (p + 1) * float(kind.tiny)
        own = np.einsum("ij,ij->i", point, point)
        # |x − q|² − |q|² is the product of (q, 1) with (−2x, |x|²)
        extended = np.column_stack([point, np.ones(len(point))])
        gap = extended.astype(across.dtype, copy=False) @ across
        bound = np.maximum(_bound(gap, least) + own, 0)
        reach = (bound + lost * own + tiny) / (1 - lost)
        limit = (reach + lost * (own + reach) + tiny - own).astype(across.dtype)
        # rounding to the precision of the products must not lower the limit
        limit = np.nextafter(limit, limit.dtype.type(np.inf))
        return gap <= limit[:, None], reach

    single = double.astype(np.float32)

    def find(some: Floats) -> Found:
        m = len(some)
        if least >= n:
            owners = np.repeat(np.arange(m), n)
            return owners, np.tile(np.arange(n), m), np.full(m, np.inf)
        point = (some - centre) / unit
        near, reach = within(point, single)
        if np.count_nonzero(near) > MAX_SPARE * least * m:
            near, reach = within(point, double)
        owners, number = np.divmod(np.flatnonzero(near), n)
        return owners, number, np.sqrt(reach) * unit

    return find


def _bound(gap: Floats, least: int) -> Floats:
    """Return for each row a value that at least ``least`` do not exceed."""
    n = gap.shape[1]
    groups = max(MIN_GROUPS_EACH * least, min(QUICK_GROUPS, n // MIN_GROUP_RECORDS))
    if n >= 2 * groups:
        whole = gap[:, : n // groups * groups]
        # minima of different groups are different records within the bound
        gap = whole.reshape(len(gap), -1, groups).min(axis=1)
    return np.asarray(np.partition(gap, least - 1, axis=1)[:, least - 1])

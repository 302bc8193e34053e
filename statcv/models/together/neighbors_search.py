"""Who is near: all records within some distance of each of many points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from statcv.folds.ragged import Ragged
from statcv.models.base import Matrix
from statcv.models.together.folds import CELLS, Numbers

LOW = 6  # columns up to which a tree finds neighbours faster than products do
FEW = 64  # neighbours up to which it does
TALL = 2000  # records from which on it does
GROUPS = 8  # times as many groups of records as neighbours
MANY = 4  # times as many candidates as neighbours, where single precision fails


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
        Theirs, in the order of the lists.
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
    if p <= LOW and least <= FEW and least < n and n >= TALL:
        finder: Any = _tree(records, least)
        step = max(1, CELLS // (8 * least))
    else:
        finder = _products(records, points, least)
        step = max(8, CELLS // (4 * n))  # that fits in a fast cache
    pieces: list[Any] = []
    found = first = 0
    for start in range(0, len(points), step):
        stop = min(start + step, len(points))
        owners, near, reach = finder(points[start:stop])
        pieces.append((owners + (start - first), near, reach))
        found += len(near)
        if found >= CELLS // 8 or stop == len(points):
            joined = (np.concatenate(one) for one in zip(*pieces, strict=True))
            yield _sorted(records, points[first:stop], first, *joined)
            pieces, found, first = [], 0, stop


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
        By which the coordinates of each point and its records are multiplied.
    """
    found = np.empty(len(near))
    size = max(1, CELLS // max(records.shape[1], 1))
    for start in range(0, len(near), size):
        some = slice(start, start + size)
        step = records[near[some]]
        step -= points[owners[some]]
        if units is not None:
            step *= units[owners[some]]
        found[some] = np.sqrt(np.einsum("ij,ij->i", step, step))
    return found


def nearest_first(owners: Numbers, distances: Matrix) -> Numbers:
    """Return the order by owner and, of each, by distance: what a lexsort would."""
    order = np.argsort(distances)
    return order[np.argsort(owners[order], kind="stable")]


def _sorted(
    records: Matrix,
    points: Matrix,
    first: int,
    owners: Numbers,
    near: Numbers,
    reach: Matrix,
) -> Nearby:
    exact = distances(records, near, points, owners)
    order = nearest_first(owners, exact)
    sizes = np.bincount(owners, minlength=len(points))
    return Nearby(first, Ragged.split(near[order], sizes), exact[order], reach)


def _tree(records: Matrix, least: int) -> Any:
    from scipy.spatial import cKDTree

    tree = cKDTree(records, balanced_tree=False)  # many may have equal values
    ranks = np.arange(1, least + 1)

    def find(points: Matrix) -> tuple[Numbers, Numbers, Matrix]:
        far, near = tree.query(points, k=ranks)
        owners = np.repeat(np.arange(len(points)), least)
        return owners, near.ravel(), far[:, -1] * (1 - 1e-9)

    return find


def _products(records: Matrix, points: Matrix, least: int) -> Any:
    """Find by |x|² − 2 x·q, in single precision where that tells records apart.

    An upper bound of the distance of the ``least`` nearest comes first: of that many
    groups of records, the nearest in each. All within it are taken, and those that
    rounding may have moved beyond: a squared distance is wrong by some units in the
    last place of (|x| + |q|)², and nobody within d of q has |x| > |q| + d.
    """
    centre = records.mean(axis=0)
    shifted, asked = records - centre, points - centre
    unit = max(np.abs(shifted).max(initial=0), np.abs(asked).max(initial=0)) or 1.0
    shifted /= unit
    square = np.einsum("ij,ij->i", shifted, shifted)
    across = np.vstack([-2 * shifted.T, square])
    ways: Any = [(kind, across.astype(kind)) for kind in (np.float32, np.float64)]
    every = np.arange(len(records))

    def find(some: Matrix) -> tuple[Numbers, Numbers, Matrix]:
        m = len(some)
        if least >= len(records):
            owners = np.repeat(np.arange(m), len(records))
            return owners, np.tile(every, m), np.full(m, np.inf)
        point = (some - centre) / unit
        own = np.einsum("ij,ij->i", point, point)
        point = np.column_stack([point, np.ones(m)])
        for kind, columns in ways:
            gap: Any = point.astype(kind) @ columns
            bound = _bound(gap, least).astype(float) + own
            lost = 8 * (len(point.T) + 8) * float(np.finfo(kind).eps)
            tiny = len(point.T) * float(np.finfo(kind).tiny)
            reach = (np.maximum(bound, 0) + lost * own + tiny) / (1 - lost)
            limit = reach + lost * (own + reach) + tiny - own
            limit = np.nextafter(limit.astype(kind), kind(np.inf))
            cells = np.flatnonzero(gap <= limit[:, None])
            if len(cells) <= MANY * least * m:
                break
        owners, near = np.divmod(cells, len(records))
        return owners, near, np.sqrt(reach) * unit

    return find


def _bound(gap: Matrix, least: int) -> Matrix:
    """Return, of each row, a value that at least so many are not above."""
    n = gap.shape[1]
    groups = GROUPS * least
    if n >= 2 * groups:
        whole = gap[:, : n // groups * groups]
        gap = whole.reshape(len(gap), -1, groups).min(axis=1)
    return np.asarray(np.partition(gap, least - 1, axis=1)[:, least - 1])

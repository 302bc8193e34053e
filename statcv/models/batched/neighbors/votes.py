"""The votes of the nearest records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.folds import Ragged
from statcv.models.base import Matrix
from statcv.models.batched.new_levels import Numbers

TIE = 1e-10  # relative difference of distances that counts as a tie


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes of records for each of several points.

    Attributes
    ----------
    owners : numpy.ndarray of int, shape (m,)
        The point, rising.
    record : numpy.ndarray of int, shape (m,)
    votes : numpy.ndarray, shape (m,)
    sure : numpy.ndarray of bool, shape (points,)
        Whether no other record can be among the neighbours.
    """

    owners: Numbers
    record: Numbers
    votes: Matrix
    sure: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Listed:
    """How often records are listed for fits, by fit × n + record, rising."""

    cells: Numbers
    counts: Numbers

    @classmethod
    def of(cls, lists: Ragged, n: int) -> Listed:
        """Count the records of each list."""
        return cls(*np.unique(lists.owners * n + lists.values, return_counts=True))

    def times(self, cells: Numbers) -> Numbers:
        """Return how often each cell is listed."""
        if not len(self.cells):
            return np.zeros(len(cells), dtype=np.intp)
        place = np.searchsorted(self.cells, cells)
        place[place == len(self.cells)] = 0
        return np.asarray(self.counts[place] * (self.cells[place] == cells))


def places_of(
    owners: Numbers, distance: Matrix, times: Numbers, k: int, points: int
) -> tuple[Matrix, Matrix]:
    """Give k places to the nearest; those tied for the last ones share them.

    Returns the part of records in the places, and the distance of the last place,
    infinite where there are too few records.
    """
    totals = np.bincount(owners, times, points)
    before = np.cumsum(totals) - totals
    rank = np.cumsum(times) - before[owners]
    # the last place is that of the first record with which k or more are counted
    nearer = np.bincount(owners, rank < k, points).astype(np.intp)
    first = np.searchsorted(owners, np.arange(points))
    enough = totals >= k
    furthest: Matrix = np.full(points, np.inf)
    furthest[enough] = distance[(first + nearer)[enough]]
    inside = distance < (furthest * (1 - TIE))[owners]
    tied = ~inside & (distance <= (furthest * (1 + TIE))[owners])
    # places that nearer records leave, in equal parts for those tied for them
    free = k - np.bincount(owners, times * inside, points)
    rivals = np.bincount(owners, times * tied, points)
    part = np.divide(free, rivals, out=np.zeros(points), where=rivals > 0)
    return np.asarray(times * (inside + tied * part[owners])), furthest


def by_distance(
    owners: Numbers, distance: Matrix, votes: Matrix, points: int
) -> Matrix:
    """Weight votes by one over the distance; where some are 0, these alone count."""
    same = votes * (distance == 0)
    some = np.bincount(owners, same, points) > 0
    far = np.divide(votes, distance, out=np.zeros(len(votes)), where=distance > 0)
    return np.where(some[owners], same, far)

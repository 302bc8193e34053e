"""Nearest neighbours in all folds, from one search among all records.

Records that a fold does not train on are passed over in the lists of neighbours.
Where too few are left, or where others might be as near as those that are, longer
lists are made: what is predicted does not depend on how long they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ModelError
from statcv.folds.ragged import Ragged
from statcv.models.base import Matrix, TrainingSet
from statcv.models.together.folds import CELLS, Folds, Numbers
from statcv.models.together.neighbors_scale import Scales
from statcv.models.together.neighbors_search import (
    Nearby,
    distances,
    nearby,
    nearest_first,
)

TIE = 1e-10  # relative difference of distances that counts as none
LONGER = 4  # times, where a list was too short


class Vote(Protocol):
    """How many neighbours vote, and how."""

    @property
    def k(self) -> int:
        """How many."""

    @property
    def weights(self) -> str:
        """``"uniform"``, or ``"distance"`` for the inverse of the distance."""

    @property
    def scale(self) -> bool:
        """Whether columns are scaled in each training set."""


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Where the records are, and on which of them each fit trains.

    Attributes
    ----------
    model : Neighbors
    records : TrainingSet
        All records; ``y`` may have a row for each of several outcomes, then
        ``folds.outcome`` says which.
    folds : Folds
    live : numpy.ndarray of int
        The records of positive weight.
    places : numpy.ndarray, shape (live, p)
        Where these are.
    scales : Scales or None
        The units of the columns, where the model is scaled.
    out, copied : Listed
        What the folds leave out, and what comes once more.
    """

    model: Vote
    records: TrainingSet
    folds: Folds
    live: Numbers
    places: Matrix
    scales: Scales | None
    out: Listed
    copied: Listed

    @classmethod
    def of(cls, model: Vote, records: TrainingSet, folds: Folds) -> Neighborhood:
        """Put the records in their places."""
        n = len(records.X)
        live = np.arange(n)
        if records.weights is not None:
            live = np.flatnonzero(records.weights > 0)
        places, scales = records.without_intercept, None
        if model.scale:
            scales = Scales.of(records, folds)
            places = scales.places(places)
        out, copied = Listed.of(folds.out, n), Listed.of(folds.copied, n)
        return cls(model, records, folds, live, places[live], scales, out, copied)

    @property
    def fewest(self) -> int:
        """How many records the smallest training set has."""
        alive = np.zeros(len(self.records.X))
        alive[self.live] = 1
        sizes = len(self.live) - self.folds.out.sums(alive)
        return int((sizes + self.folds.copied.sums(alive)).min())

    def predict(self, X: Matrix, rows: Numbers, fits: Numbers) -> Matrix:
        """Predict rows of X, given by number, each by the fit of that number.

        ``X`` has no intercept.
        """
        classes = self.records.n_classes if self.records.kind == "multiclass" else 1
        predicted = np.empty((len(rows), classes))
        left = np.argsort(rows, kind="stable")
        least = self._enough()
        while len(left):
            asked, point = np.unique(rows[left], return_inverse=True)
            where = X[asked] if self.scales is None else self.scales.places(X[asked])
            least = min(least, len(self.live))
            short = []
            for near in nearby(self.places, where, least):
                end = near.first + len(near.reach)
                start, stop = np.searchsorted(point, [near.first, end]).tolist()
                sizes = near.lists.sizes[point[start:stop] - near.first]
                for some in _pieces(sizes, start):
                    numbers = fits[left[some]]
                    votes = self._votes(near, point[some], where, numbers)
                    predicted[left[some]] = self._shares(votes, numbers, classes)
                    short.append(left[some][~votes.sure])
            left = np.concatenate(short)
            if len(left) and least == len(self.live):
                raise ModelError(
                    f"k={self.model.k} neighbours are more than a training set has "
                    "records; use a smaller k."
                )
            least *= LONGER
        return predicted if self.records.kind == "multiclass" else predicted[:, 0]

    def _enough(self) -> int:
        """Guess how long lists must be so that the fits leave k in nearly all."""
        share = len(self.folds.out.values) / (len(self.folds) * len(self.records.X))
        spare = 2 * np.sqrt((self.model.k + 2) * share)
        return int(np.ceil((self.model.k + 2 + spare) / (1 - min(share, 0.9))))

    def _votes(
        self, near: Nearby, point: Numbers, where: Matrix, fits: Numbers
    ) -> Votes:
        """Let the neighbours of some points vote, each point in one of the fits."""
        lists = near.lists
        own = point - near.first
        sizes = lists.sizes[own]
        owners = np.repeat(np.arange(len(point)), sizes)
        skipped = np.repeat(lists.starts[own] - np.cumsum(sizes) + sizes, sizes)
        entry = np.arange(len(owners)) + skipped
        neighbor = lists.values[entry].astype(np.intp)
        distance = near.distances[entry]
        reach = near.reach[own]
        if self.scales is not None:
            units = self.scales.own[fits]
            distance = distances(self.places, neighbor, where[point], owners, units)
            order = nearest_first(owners, distance)
            neighbor, distance = neighbor[order], distance[order]
            least = units.min(axis=1, initial=1)
            reach = np.where(np.isinf(reach), np.inf, np.minimum(reach, 1e300) * least)
        record = self.live[neighbor]
        cell = fits[owners] * len(self.records.X) + record
        weights = self._weights(fits, owners, record)
        times = (1 - self.out.times(cell) + self.copied.times(cell)) * (weights > 0)
        votes, furthest = _places(owners, distance, times, self.model.k, len(point))
        if self.model.weights == "distance":
            votes = _by_distance(owners, distance, votes, len(point))
        sure = furthest * (1 + TIE) < reach
        return Votes(owners, record, votes * weights, sure)

    def _weights(self, fits: Numbers, owners: Numbers, record: Numbers) -> Matrix:
        n = len(self.records.X)
        given = np.ones(n) if self.records.weights is None else self.records.weights
        weights = given[record]
        if self.folds.weights is None:
            return weights
        distinct, place = np.unique(fits, return_inverse=True)
        size = max(1, CELLS // n)
        for start in range(0, len(distinct), size):
            planned = self.folds.weights(distinct[start : start + size])
            some = np.flatnonzero(place[owners] // size == start // size)
            weights[some] *= planned[place[owners[some]] - start, record[some]]
        return weights

    def _shares(self, votes: Votes, fits: Numbers, classes: int) -> Matrix:
        """Return the mean outcome of each point's votes, or the shares of classes."""
        y, outcome = self.records.y, self.folds.outcome
        if outcome is not None:
            voted = y[outcome[fits][votes.owners], votes.record]
        else:
            voted = y[votes.record]
        m = len(fits)
        total = np.bincount(votes.owners, votes.votes, m)
        if self.records.kind == "multiclass":
            cell = votes.owners * classes + voted
            sums = np.bincount(cell, votes.votes, m * classes).reshape(m, classes)
        else:
            sums = np.bincount(votes.owners, votes.votes * voted, m)[:, None]
        return np.asarray(sums / np.where(total > 0, total, 1)[:, None])


@dataclass(frozen=True, eq=False)
class Votes:
    """How much which records count, for each of several points.

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


def _pieces(sizes: NDArray[np.int64], start: int) -> Iterator[slice]:
    """Cut consecutive pairs so that their lists do not fill much memory."""
    part = np.cumsum(sizes) // CELLS
    cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(sizes)]
    for first, last in pairwise(cuts):
        yield slice(start + first, start + last)


def _places(
    owners: Numbers, distance: Matrix, times: Numbers, k: int, points: int
) -> tuple[Matrix, Matrix]:
    """Give k places to the nearest; those tied for the last ones share them.

    Returns the part of records in the places, and the distance of the last place,
    infinite where there are too few records.
    """
    totals = np.bincount(owners, times, points)
    before = np.cumsum(totals) - totals
    rank = np.cumsum(times) - before[owners]
    nearer = np.bincount(owners, rank < k, points).astype(np.intp)
    first = np.searchsorted(owners, np.arange(points))
    enough = totals >= k
    furthest: Matrix = np.full(points, np.inf)
    furthest[enough] = distance[(first + nearer)[enough]]
    inside = distance < (furthest * (1 - TIE))[owners]
    tied = ~inside & (distance <= (furthest * (1 + TIE))[owners])
    free = k - np.bincount(owners, times * inside, points)
    rivals = np.bincount(owners, times * tied, points)
    part = np.divide(free, rivals, out=np.zeros(points), where=rivals > 0)
    return np.asarray(times * (inside + tied * part[owners])), furthest


def _by_distance(
    owners: Numbers, distance: Matrix, votes: Matrix, points: int
) -> Matrix:
    """Weight votes by one over the distance; where some are 0, these alone count."""
    same = votes * (distance == 0)
    some = np.bincount(owners, same, points) > 0
    far = np.divide(votes, distance, out=np.zeros(len(votes)), where=distance > 0)
    return np.where(some[owners], same, far)

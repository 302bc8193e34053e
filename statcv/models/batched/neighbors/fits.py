"""Nearest neighbours in all folds, from one search among all records.

Records that a fold does not train on are skipped in the lists of neighbours. If too
few are left, or if others might be equally near, longer lists are made: predictions do
not depend on their length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ModelError
from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.folds import Folds
from statcv.models.batched.neighbors.scales import Scales
from statcv.models.batched.neighbors.search import (
    Nearby,
    distances,
    nearby,
    nearest_first,
)
from statcv.models.batched.neighbors.votes import (
    TIE,
    Listed,
    Votes,
    by_distance,
    places_of,
)
from statcv.models.batched.new_levels import Numbers

LONGER = 4  # the factor by which a list of neighbours that was too short grows


class Vote(Protocol):
    """The number of neighbours, and the weights of their votes."""

    @property
    def k(self) -> int:
        """The number of neighbours."""

    @property
    def weights(self) -> str:
        """``"uniform"``, or ``"distance"`` for the inverse of the distance."""

    @property
    def scale(self) -> bool:
        """Whether columns are scaled in each training set."""


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """The places of the records, and the training records of each fit.

    Attributes
    ----------
    model : Neighbors
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds
    live : numpy.ndarray of int
        The records of positive weight.
    places : numpy.ndarray, shape (live, p)
        Where these are.
    scales : Scales or None
        The units of the columns, where the model is scaled.
    """

    model: Vote
    records: TrainingSet
    folds: Folds
    live: Numbers
    places: Matrix
    scales: Scales | None

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
        return cls(model, records, folds, live, places[live], scales)

    @cached_property
    def out(self) -> Listed:
        """The records that the folds leave out."""
        return Listed.of(self.folds.out, len(self.records.X))

    @cached_property
    def copied(self) -> Listed:
        """The records that are repeated."""
        return Listed.of(self.folds.copied, len(self.records.X))

    @property
    def fewest(self) -> int:
        """The number of records in the smallest training set."""
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
        least = self.enough
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
                    votes = self.votes(near, point[some], where, numbers)
                    predicted[left[some]] = self.shares(votes, numbers, classes)
                    short.append(left[some][~votes.sure])
            left = np.concatenate(short)
            if len(left) and least == len(self.live):
                raise ModelError(
                    f"k={self.model.k} neighbours are more than a training set has "
                    "records; use a smaller k."
                )
            least *= LONGER
        return predicted if self.records.kind == "multiclass" else predicted[:, 0]

    @property
    def enough(self) -> int:
        """Guess how long lists must be so that the fits leave k in nearly all."""
        share = len(self.folds.out.values) / (len(self.folds) * len(self.records.X))
        # two standard deviations of the number of near records that a fit holds out
        spare = 2 * np.sqrt((self.model.k + 2) * share)
        return int(np.ceil((self.model.k + 2 + spare) / (1 - min(share, 0.9))))

    def votes(
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
            # in units of a fit, distances are at least its least unit times as long
            reach = np.where(np.isinf(reach), np.inf, np.minimum(reach, 1e300) * least)
        record = self.live[neighbor]
        weights = self._weights(fits, owners, record)
        cell = fits[owners] * len(self.records.X) + record
        times = 1 - self.out.times(cell) + self.copied.times(cell)
        times *= weights > 0
        votes, furthest = places_of(owners, distance, times, self.model.k, len(point))
        if self.model.weights == "distance":
            votes = by_distance(owners, distance, votes, len(point))
        # no record outside the list is as near as the last place, not even by a tie
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

    def shares(self, votes: Votes, fits: Numbers, classes: int) -> Matrix:
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


def _pieces(sizes: NDArray[np.int64], start: int) -> Iterator[slice]:
    """Cut consecutive pairs so that their lists take little memory."""
    part = np.cumsum(sizes) // CELLS
    cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(sizes)]
    for first, last in pairwise(cuts):
        yield slice(start + first, start + last)

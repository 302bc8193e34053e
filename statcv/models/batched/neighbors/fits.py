"""Nearest neighbours in all folds, from one search among all records.

Records that a fold does not train on are skipped in the lists of neighbours. If too
few are left, or if others might be equally near, longer lists are made: predictions do
not depend on their length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from statcv.errors import ModelError
from statcv.folds import Ragged
from statcv.models.base import TrainingSet
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.folds import Folds
from statcv.models.batched.neighbors.search import (
    Nearby,
    distances,
    nearby,
    nearest_first,
)
from statcv.models.spread import fold_variances, variances
from statcv.numeric.arrays import Bools, Floats, Ints, Numbers

# ---- standard deviations in each training set ----


@dataclass(frozen=True, eq=False)
class Scales:
    """Standard deviations of the columns, of all records and of each training set.

    A column that is constant in a training set has the unit 0 there.

    Attributes
    ----------
    centre : numpy.ndarray, shape (p,)
        The mean of all records.
    unit : numpy.ndarray, shape (p,)
        One over the standard deviation of all records.
    own : numpy.ndarray, shape (fits, p)
        The units of each fit in those of all records.
    """

    centre: Floats
    unit: Floats
    own: Floats

    @classmethod
    def of(cls, records: TrainingSet, folds: Folds) -> Scales:
        """Compute them from the variances in each training set."""
        X, weights = records.without_intercept, records.weights
        centre = np.average(X, axis=0, weights=weights)
        bare = replace(records, X=X, intercept=None)
        whole, each = variances(X, weights, 0.0), fold_variances(bare, folds, 0.0)
        unit = np.divide(1, np.sqrt(whole), out=np.zeros_like(whole), where=whole > 0)
        own = np.sqrt(np.divide(whole, each, out=np.zeros_like(each), where=each > 0))
        # a column that is constant everywhere is 0 in all places, whatever its unit
        own[:, whole == 0] = 1.0
        return cls(centre, unit, own)

    def places(self, X: Floats) -> Floats:
        """Return the covariates in the units of all records."""
        return np.asarray((X - self.centre) * self.unit)


# ---- the votes of the nearest records ----

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
    votes: Floats
    sure: Bools


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
    owners: Numbers, distance: Floats, times: Numbers, k: int, points: int
) -> tuple[Floats, Floats]:
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
    furthest: Floats = np.full(points, np.inf)
    furthest[enough] = distance[(first + nearer)[enough]]
    inside = distance < (furthest * (1 - TIE))[owners]
    tied = ~inside & (distance <= (furthest * (1 + TIE))[owners])
    # places that nearer records leave, in equal parts for those tied for them
    free = k - np.bincount(owners, times * inside, points)
    rivals = np.bincount(owners, times * tied, points)
    part = np.divide(free, rivals, out=np.zeros(points), where=rivals > 0)
    return np.asarray(times * (inside + tied * part[owners])), furthest


def by_distance(
    owners: Numbers, distance: Floats, votes: Floats, points: int
) -> Floats:
    """Weight votes by one over the distance; where some are 0, these alone count."""
    same = votes * (distance == 0)
    some = np.bincount(owners, same, points) > 0
    far = np.divide(votes, distance, out=np.zeros(len(votes)), where=distance > 0)
    return np.where(some[owners], same, far)


# ---- nearest neighbours in all folds, from one search among all records ----

LONGER = 4  # the factor by which a list of neighbours that was too short grows


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

    model: Any
    records: TrainingSet
    folds: Folds
    live: Numbers
    places: Floats
    scales: Scales | None

    @classmethod
    def of(cls, model: Any, records: TrainingSet, folds: Folds) -> Neighborhood:
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

    def predict(self, X: Floats, rows: Numbers, fits: Numbers) -> Floats:
        """Predict rows of X, given by number, each by the fit of that number.

        ``X`` has no intercept.
        """

        def voted(left: Numbers, least: int) -> Iterator[tuple[Numbers, Votes]]:
            left = left[np.argsort(rows[left], kind="stable")]
            asked, point = np.unique(rows[left], return_inverse=True)
            where = X[asked] if self.scales is None else self.scales.places(X[asked])
            for near in nearby(self.places, where, least):
                end = near.first + len(near.reach)
                start, stop = np.searchsorted(point, [near.first, end]).tolist()
                sizes = near.lists.sizes[point[start:stop] - near.first]
                for some in _pieces(sizes, start):
                    own = left[some]
                    yield own, self.votes(near, point[some], where, fits[own])

        return self.decided(fits, voted)

    def decided(
        self,
        fits: Numbers,
        voted: Callable[[Numbers, int], Iterator[tuple[Numbers, Votes]]],
    ) -> Floats:
        """Predict by votes, from lists that are made longer until they are sure.

        Parameters
        ----------
        fits : numpy.ndarray of int, shape (m,)
            The fit that predicts each point.
        voted : callable
            Function of the numbers of points, and of the length of their lists, that
            yields some of the points with their votes.
        """
        several = self.records.kind == "multiclass"
        classes = self.records.n_classes if several else 1
        predicted, left = np.empty((len(fits), classes)), np.arange(len(fits))
        least = self.enough
        while len(left):
            least, short = min(least, len(self.live)), []
            for some, votes in voted(left, least):
                predicted[some] = self.shares(votes, fits[some], classes)
                short.append(some[~votes.sure])
            left = np.concatenate(short)
            if len(left) and least == len(self.live):
                raise ModelError(
                    f"k={self.model.k} neighbours are more than a training set has "
                    "records; use a smaller k."
                )
            least *= LONGER
        return predicted if several else predicted[:, 0]

    @property
    def enough(self) -> int:
        """Guess how long lists must be so that the fits leave k in nearly all."""
        share = len(self.folds.out.values) / (len(self.folds) * len(self.records.X))
        # two standard deviations of the number of near records that a fit holds out
        spare = 2 * np.sqrt((self.model.k + 2) * share)
        return int(np.ceil((self.model.k + 2 + spare) / (1 - min(share, 0.9))))

    def votes(
        self, near: Nearby, point: Numbers, where: Floats, fits: Numbers
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

    def _weights(self, fits: Numbers, owners: Numbers, record: Numbers) -> Floats:
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

    def shares(self, votes: Votes, fits: Numbers, classes: int) -> Floats:
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


def _pieces(sizes: Ints, start: int) -> Iterator[slice]:
    """Cut consecutive pairs so that their lists take little memory."""
    part = np.cumsum(sizes) // CELLS
    cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(sizes)]
    for first, last in pairwise(cuts):
        yield slice(start + first, start + last)

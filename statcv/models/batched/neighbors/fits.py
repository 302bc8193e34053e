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
from statcv.folds import Ragged
from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.folds import Folds
from statcv.models.batched.neighbors.search import (
    Find,
    Nearby,
    Products,
    by_tree,
    distances,
    is_tall,
    nearby,
    nearest_first,
    rows_at_once,
    searched,
)
from statcv.models.batched.new_levels import Numbers
from statcv.threads import shared

SEARCHED = 3e4  # operations that take as long as to search a tree for a point
SURE = 1e-4  # a variance below this share of that of all records is recomputed


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

    centre: Matrix
    unit: Matrix
    own: Matrix

    @classmethod
    def of(cls, records: TrainingSet, folds: Folds) -> Scales:
        """Compute them for each fit, from sums over all records and those left out."""
        X = records.without_intercept
        n, p = X.shape
        weights = np.ones(n) if records.weights is None else records.weights
        centre = np.average(X, axis=0, weights=weights)
        unit = inverse_spread(X, weights)
        Z = (X - centre) * unit
        variance = np.empty((len(folds), p))
        for block in folds.blocks(n, 2 * p + 1):
            sums = block.sums(weights, np.hstack([np.ones((n, 1)), Z, Z**2]))
            means = sums[:, 1:] / sums[:, :1]
            variance[block.fits] = means[:, p:] - means[:, :p] ** 2
        live = unit > 0
        own = np.ones((len(folds), p))
        own[:, live] = 1 / np.sqrt(np.maximum(variance[:, live], SURE))
        doubtful = (variance[:, live] < SURE).any(axis=1)
        for fit in np.flatnonzero(doubtful).tolist():
            training = folds.training_set(records, fit)
            again = inverse_spread(training.without_intercept, training.weights)
            own[fit, live] = again[live] / unit[live]
        return cls(centre, unit, own)

    def places(self, X: Matrix) -> Matrix:
        """Return the covariates in the units of all records."""
        return np.asarray((X - self.centre) * self.unit)


def inverse_spread(X: Matrix, weights: Matrix | None) -> Matrix:
    """Return one over the weighted standard deviation; 0 for a constant column.

    Examples
    --------
    >>> X = np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 9.0]])
    >>> inverse_spread(X, weights=np.array([1, 1, 0]))
    array([2., 0.])
    """
    if weights is not None:
        X, weights = X[weights > 0], weights[weights > 0]
    apart = X - np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average(apart**2, axis=0, weights=weights))
    varies = X.max(axis=0) > X.min(axis=0)
    with np.errstate(divide="ignore"):
        return np.where(varies, 1 / spread, 0.0)


# ---- nearest neighbours in all folds, from one search among all records ----

TIE = 1e-10  # relative difference of distances that counts as a tie
LONGER = 4  # the factor by which a list of neighbours that was too short grows
SEARCHES = 40  # folds up to which each has a search of its own
# the share of records held out above which each fold has a search of its own
SHARE = 0.04


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
        if self._large and self._by_trees:

            def put(part: tuple[int, Numbers]) -> None:
                fit, own = part
                predicted[own] = self._alone(fit, X, rows[own])

            parts = list(_by_fit(fits))
            shared(put, parts, SEARCHED * len(rows) / max(len(parts), 1))
            return predicted if self.records.kind == "multiclass" else predicted[:, 0]
        if self._large and self.scales is None:
            left = self._apart(predicted, X, rows, fits)
        else:
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
    def _large(self) -> bool:
        """Whether a search for each fold is quicker, as it meets no other records."""
        folds, n = self.folds, len(self.records.X)
        if len(folds.copied.values) or folds.weights or folds.outcome is not None:
            return False
        share = len(folds.out.values) / max(len(folds) * n, 1)
        return 1 < len(folds) <= SEARCHES and share > SHARE

    @property
    def _by_trees(self) -> bool:
        """Whether such a search takes a tree of its own, or scales of its own."""
        n, p = self.places.shape
        if self.scales is not None:
            return is_tall(n)
        return by_tree(n, p, self.model.k)

    def _apart(
        self, predicted: Matrix, X: Matrix, rows: Numbers, fits: Numbers
    ) -> Numbers:
        """Predict, in place, by a search among the training records of each fit.

        Returns the predictions for which longer lists are needed.
        """
        every, step = Products.of(self.places, X), rows_at_once(len(self.places))
        asked = list(_by_fit(fits))

        def blocks() -> Iterator[tuple[Matrix, Find]]:
            for fit, own in asked:
                training = self._training(fit)
                find = every.among(training).find(self.model.k, training)
                for start in range(0, len(own), step):
                    yield X[rows[own[start : start + step]]], find

        order = np.argsort(fits, kind="stable")  # as the points are asked for
        short = []
        for near in searched(self.places, blocks()):
            some = order[near.first : near.first + len(near.reach)]
            place = np.arange(len(some)) + near.first
            votes = self.votes(near, place, X[rows[some]], fits[some], trained=True)
            predicted[some] = self.shares(votes, fits[some], predicted.shape[1])
            short.append(some[~votes.sure])
        left = np.concatenate(short) if short else np.empty(0, dtype=np.intp)
        return left[np.argsort(rows[left], kind="stable")]

    def _training(self, fit: int) -> Numbers:
        """Return the places of the records on which a fit trains."""
        trained = np.ones(len(self.records.X), dtype=bool)
        trained[self.folds.out[fit]] = False
        return np.flatnonzero(trained[self.live])

    def _alone(self, fit: int, X: Matrix, rows: Numbers) -> Matrix:
        """Predict by a search among the training records of one fit, (m, classes)."""
        training = self.folds.training_set(self.records, fit)
        own = Neighborhood.of(self.model, training, Folds.leaving_out([[]]))
        made = own.predict(X, rows, np.zeros(len(rows), dtype=np.intp))
        return made.reshape(len(rows), -1)

    @property
    def enough(self) -> int:
        """Guess how long lists must be so that the fits leave k in nearly all."""
        share = len(self.folds.out.values) / (len(self.folds) * len(self.records.X))
        spare = 2 * np.sqrt((self.model.k + 2) * share)
        return int(np.ceil((self.model.k + 2 + spare) / (1 - min(share, 0.9))))

    def votes(
        self,
        near: Nearby,
        point: Numbers,
        where: Matrix,
        fits: Numbers,
        trained: bool = False,
    ) -> Votes:
        """Let the neighbours of some points vote, each point in one of the fits.

        ``trained`` says whether all of them are training records of that fit.
        """
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
        weights = self._weights(fits, owners, record)
        times = (weights > 0).astype(np.intp)
        if not trained:
            cell = fits[owners] * len(self.records.X) + record
            times *= 1 - self.out.times(cell) + self.copied.times(cell)
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


def _by_fit(fits: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Yield each fit with the places where it stands."""
    order = np.argsort(fits, kind="stable")
    cuts = np.flatnonzero(np.diff(fits[order])) + 1
    for some in np.split(order, cuts):
        if len(some):
            yield int(fits[some[0]]), some


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


def _pieces(sizes: NDArray[np.int64], start: int) -> Iterator[slice]:
    """Cut consecutive pairs so that their lists take little memory."""
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

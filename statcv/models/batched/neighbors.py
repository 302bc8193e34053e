"""Nearest neighbours in all folds, from one search among all records.

Records that a fold does not train on are skipped in the lists of neighbours. If too
few are left, or if others might be equally near, longer lists are made: predictions do
not depend on their length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ModelError
from statcv.folds import Ragged
from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.folds import CELLS, Folds, Numbers

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


# ---- neighbours: all records within some distance of each of many points ----

LOW = 6  # columns up to which a tree finds neighbours faster than products do
FEW = 64  # neighbours up to which it does
LEAF = 32  # records that the tree does not divide
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
    if p <= LOW and least <= FEW and least < n and n >= TALL:
        finder: Any = _tree(records, least)
        step = max(1, CELLS // (8 * least))
    else:
        finder = _products(records, points, least)
        step = max(8, CELLS // n)  # that fits in a cache
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
        Factors for the coordinates of each point and its records.
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
    """Return the order by owner and then by distance, as a lexsort would."""
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

    # many may have equal values; records that lie together are kept together
    order = cKDTree(records, balanced_tree=False).indices
    tree = cKDTree(records[order], leafsize=LEAF, balanced_tree=False)
    ranks = np.arange(1, least + 1)

    def find(points: Matrix) -> tuple[Numbers, Numbers, Matrix]:
        far, near = tree.query(points, k=ranks)
        owners = np.repeat(np.arange(len(points)), least)
        return owners, order[near.ravel()], far[:, -1] * (1 - 1e-9)

    return find


def _products(records: Matrix, points: Matrix, least: int) -> Any:
    """Find by |x|² − 2 x·q, in single precision if that distinguishes records.

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
    """Return for each row a value that at least so many do not exceed."""
    n = gap.shape[1]
    groups = GROUPS * least
    if n >= 2 * groups:
        whole = gap[:, : n // groups * groups]
        gap = whole.reshape(len(gap), -1, groups).min(axis=1)
    return np.asarray(np.partition(gap, least - 1, axis=1)[:, least - 1])


# ---- nearest neighbours in all folds, from one search among all records ----

TIE = 1e-10  # relative difference of distances that counts as a tie
LONGER = 4  # times, where a list was too short
SEARCHES = 40  # at most, each for one fold, where it holds out
SHARE = 0.04  # more than this share of the records


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
    out, copied : Listed
        Records that the folds leave out, and records that are repeated.
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
        if self._large:
            for fit, own in _by_fit(fits):
                predicted[own] = self._alone(fit, X, rows[own])
            return predicted if self.records.kind == "multiclass" else predicted[:, 0]
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

    @property
    def _large(self) -> bool:
        """Whether a search for each fold is quicker, as it meets no other records."""
        folds, n = self.folds, len(self.records.X)
        if len(folds.copied.values) or folds.weights or folds.outcome is not None:
            return False
        share = len(folds.out.values) / max(len(folds) * n, 1)
        return 1 < len(folds) <= SEARCHES and share > SHARE and n >= TALL

    def _alone(self, fit: int, X: Matrix, rows: Numbers) -> Matrix:
        """Predict by a search among the training records of one fit, (m, classes)."""
        training = self.folds.training_set(self.records, fit)
        own = Neighborhood.of(self.model, training, Folds.leaving_out([[]]))
        made = own.predict(X, rows, np.zeros(len(rows), dtype=np.intp))
        return made.reshape(len(rows), -1)

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

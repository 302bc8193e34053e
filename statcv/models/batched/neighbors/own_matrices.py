"""Nearest neighbours in all folds, each of which has a matrix of its own.

The distances of all records from a point differ from fold to fold, so that they are
computed for every point in the matrix of its fold, for many points side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from statcv.folds import Ragged
from statcv.formula import Learnt
from statcv.models.base import TrainingSet
from statcv.models.batched.blocks import CELLS, pieces
from statcv.models.batched.fits import FittedFolds
from statcv.models.batched.folds import Folds
from statcv.models.batched.neighbors.fits import Neighborhood, Votes
from statcv.models.batched.neighbors.search import Nearby, is_tall
from statcv.models.spread import variances
from statcv.numeric.arrays import Floats, Numbers

# the relative error by rounding that each term adds to a sum
NOISE = 16 * float(np.finfo(float).eps)


def fit_own_neighbors(
    model: Any, records: TrainingSet, folds: Folds
) -> FittedFolds | None:
    """Fit folds that have matrices of their own; None if they are searched one by one.

    Parameters
    ----------
    model : Neighbors
    records : TrainingSet
        All records, with the matrix in which the terms are learnt on all of them.
    folds : Folds
        Folds with ``matrices``.
    """
    learnt = folds.matrices
    if not isinstance(learnt, Learnt) or is_tall(len(records.X)):
        return None
    votes = Neighborhood.of(replace(model, scale=False), records, folds)
    if votes.fewest < model.k:
        return None
    own = OwnNeighborhood(votes, learnt, model.scale)
    done = np.ones(len(folds), dtype=bool)
    return FittedFolds(None, (), done, ~done, own.predict)


@dataclass(frozen=True, eq=False)
class OwnNeighborhood:
    """The places of the records in each fold.

    Attributes
    ----------
    votes : Neighborhood
        The training records of each fit, and how they vote.
    learnt : Learnt
        The matrices of the fits.
    scale : bool
        Whether columns are scaled in each training set.
    """

    votes: Neighborhood
    learnt: Learnt
    scale: bool

    def predict(self, rows: Numbers, fits: Numbers) -> Floats:
        """Predict records, given by number, each by the fit of that number."""
        order = np.argsort(fits, kind="stable")
        distinct = np.unique(fits)
        n, p = self.votes.records.X.shape
        predicted = [self._predicted(np.empty((0, n)), fits[:0])]
        step = max(1, CELLS // (n * p))
        for some in pieces(distinct, step):
            places, noise = self._places(some)
            ends = np.searchsorted(fits[order], [some[0], some[-1] + 1])
            for points in pieces(order[slice(*ends)], max(1, CELLS // n)):
                own = np.searchsorted(some, fits[points])
                apart = _distances(places, noise, own, rows[points])
                known = apart[:, self.votes.live]
                predicted.append(self._predicted(known, fits[points]))
        made = np.empty((len(rows), *predicted[0].shape[1:]))
        made[order] = np.concatenate(predicted)
        return made

    def _predicted(self, apart: Floats, fits: Numbers) -> Floats:
        """Predict points from their distances."""
        where = self.votes.places[:0]  # is not read, as distances are known

        def voted(left: Numbers, least: int) -> Iterator[tuple[Numbers, Votes]]:
            near, point = _nearest(apart[left], least), np.arange(len(left))
            yield left, self.votes.votes(near, point, where, fits[left])

        return self.votes.decided(fits, voted)

    def _places(self, fits: Numbers) -> tuple[Floats, Floats]:
        """Return the covariates of all records in some fits, shape (p, m, n).

        The second array, (p, m), has differences that may be due to rounding alone.
        """
        records = self.votes.records
        places = self.learnt.matrices(fits).transpose(2, 0, 1)
        if records.intercept is not None:
            places = np.delete(places, records.intercept, axis=0)
        places = np.ascontiguousarray(places)
        noise = NOISE * len(self.learnt.products) * np.abs(places).max(axis=2)
        if self.scale:
            weights = self.votes.folds.weights_in(records, fits)
            spread = np.sqrt(
                [variances(one[..., None], weights, 0.0) for one in places]
            )
            unit = np.divide(1, spread, out=np.zeros_like(spread), where=spread > 0)
            unit = unit[..., 0]
            places *= unit[:, :, None]
            noise *= unit
        return places, noise


def _distances(places: Floats, noise: Floats, own: Numbers, rows: Numbers) -> Floats:
    """Return the distances of all records from some, each in its fit, shape (k, n).

    Records that are equal but for rounding have the distance 0.
    """
    square = np.zeros((len(rows), places.shape[2]))
    for column, least in zip(places, noise, strict=True):
        step = column[own]
        step -= column[own, rows][:, None]
        np.abs(step, out=step)
        # rounding could distinguish equal records, and break their ties
        step[step <= least[own][:, None]] = 0.0
        step *= step
        square += step
    return np.sqrt(square, out=square)


def _nearest(apart: Floats, least: int) -> Nearby:
    """Return the nearest records of each point, of all whose distances are given."""
    reach = np.full(len(apart), np.inf)
    if least < apart.shape[1]:
        some = np.argpartition(apart, least - 1, axis=1)[:, :least]
        apart = np.take_along_axis(apart, some, axis=1)
        order = np.argsort(apart, axis=1, kind="stable")
        near = np.take_along_axis(some, order, axis=1)
        # a record as near as the last one may be missing from the list
        reach = apart.max(axis=1)
    else:
        order = near = np.argsort(apart, axis=1, kind="stable")
    found = np.take_along_axis(apart, order, axis=1)
    sizes = np.full(len(apart), near.shape[1])
    return Nearby(0, Ragged.split(near.ravel(), sizes), found.ravel(), reach)

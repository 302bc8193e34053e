"""Held-out predictions, and those of the model, as functions of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from statcv.inference.scores import Scores
from statcv.sensitivity import Reference

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]
# most draws, which give a standard error to 5 %, and limits to 2.5 % of their distance
DRAWS = 200
CELLS = 2**22  # numbers in the arrays of the draws that are made at once


@dataclass(frozen=True, eq=False)
class MovedPredictions:
    """Held-out predictions, and those of the model, as functions of the weights.

    Attributes
    ----------
    scores : Scores
    """

    scores: Scores

    @cached_property
    def reference(self) -> Reference:
        """The fit to all records."""
        assert self.scores.sensitivity is not None
        return self.scores.sensitivity.reference

    @property
    def step(self) -> int:
        """How many draws are made at a time."""
        cells = max(len(self.scores.left.row), len(self.scores.y))
        return max(1, min(DRAWS, CELLS // (cells * self.reference.classes)))

    @cached_property
    def _linear(self) -> Floats:
        """The linear predictors of ``scores.left``, (k, classes)."""
        left = self.scores.left
        eta = self.reference.likelihood.link(left.predicted)
        return np.asarray(eta.reshape(len(left.row), -1))

    def predictions(self, change: Floats) -> tuple[Floats, Floats]:
        """Return predictions in the order of ``scores``, and in that of its ``left``.

        Parameters
        ----------
        change : numpy.ndarray, shape (m, n)
            The change of the weight of each record.

        Returns
        -------
        numpy.ndarray, shape (m, k) or (m, k, classes)
        """
        left = self.scores.left
        # one Newton step moves the linear predictors of every fit
        shifts = self.reference.shifts(change, left.fit, left.row)
        every = self._read(self._linear + shifts)
        return self._by_split(every), every

    def model(self, change: Floats) -> Floats:
        """Return predictions of the fit to all records, (m, n) or (m, n, classes)."""
        return self._read(self.reference.predictors(change))

    def _read(self, eta: Floats) -> Floats:
        made = self.reference.likelihood.mean(eta)
        return np.asarray(made[..., 0] if self.scores.predicted.ndim == 1 else made)

    def _by_split(self, every: Floats) -> Floats:
        """Average the predictions of the fits of each split."""
        held, place = self._places
        some = every if len(held) == every.shape[1] else every[:, held]
        if place is None:
            return some
        return mean_along(some, place, len(self.scores.row))

    @cached_property
    def _places(self) -> tuple[Numbers, Numbers | None]:
        """The held-out records of ``left``, and where they are in ``scores``."""
        scores, left = self.scores, self.scores.left
        held = np.flatnonzero(left.held)
        if np.array_equal(left.row[held], scores.row):
            return held, None
        assert scores.sensitivity is not None
        split = scores.sensitivity.setup.plan.fits.split_of[left.fit[held]]
        wanted, found = (
            np.unique(one, return_inverse=True)[1] * len(scores.y) + row
            for one, row in ((scores.split, scores.row), (split, left.row[held]))
        )
        known = np.isin(found, wanted)  # a pair of a tournament may be cut
        order = np.argsort(wanted, kind="stable")
        place = order[np.searchsorted(wanted, found[known], sorter=order)]
        return held[known], place


def mean_along(values: Floats, place: Numbers, places: int) -> Floats:
    """Return the means along the second axis of values with the same place."""
    from scipy.sparse import csr_array

    share = 1 / np.bincount(place, minlength=places)[place]
    table = csr_array(
        (share, (place, np.arange(len(place)))), shape=(places, len(place))
    )
    flat = np.moveaxis(values, 1, 0).reshape(len(place), -1)
    made = (table @ flat).reshape(places, len(values), *values.shape[2:])
    return np.asarray(np.moveaxis(made, 0, 1))

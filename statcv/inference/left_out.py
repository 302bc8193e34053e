"""Predictions of each fit for the records on which it was not trained."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.tables import Printed

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class LeftOut(Printed):
    """Predictions of each fit for the records on which it was not trained.

    Attributes
    ----------
    fit, row : numpy.ndarray of int, shape (m,)
        The fit and the record of each prediction, sorted by fit; within a fit,
        held-out records come before dropped ones.
    predicted : numpy.ndarray, shape (m,) or (m, classes)
        The predictions.
    held : numpy.ndarray of bool, shape (m,)
        True for a held-out record, False for one that was dropped for balance.
    repeat : numpy.ndarray of int, shape (n_fits,)
        The repeat to which each fit belongs.
    """

    fit: NDArray[np.intp]
    row: NDArray[np.intp]
    predicted: Floats
    held: NDArray[np.bool_]
    repeat: NDArray[np.intp]

    @classmethod
    def joined(
        cls,
        held: tuple[NDArray[np.intp], NDArray[np.intp], Floats],
        dropped: tuple[NDArray[np.intp], NDArray[np.intp], Floats],
        repeat: NDArray[np.intp],
    ) -> LeftOut:
        """Join the (fit, row, predicted) arrays of held-out and of dropped records."""
        if not len(dropped[0]) and (held[0][1:] >= held[0][:-1]).all():
            return cls(*held, np.ones(len(held[0]), dtype=bool), repeat)
        # a stable order by fit keeps the held-out records of a fit first
        fit = np.concatenate([held[0], dropped[0]])
        order = np.argsort(fit, kind="stable")
        return cls(
            fit=fit[order],
            row=np.concatenate([held[1], dropped[1]])[order],
            predicted=np.concatenate([held[2], dropped[2]])[order],
            held=np.repeat([True, False], [len(held[0]), len(dropped[0])])[order],
            repeat=repeat,
        )

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The position at which each fit's records begin, and one past the last."""
        return np.searchsorted(self.fit, np.arange(len(self.repeat) + 1))

    @cached_property
    def _later(self) -> NDArray[np.intp]:
        """The number of records of the same fit that follow each held-out one."""
        # each held-out record is paired with all that follow it in the same fit
        end = self.starts[self.fit + 1]
        return np.where(self.held, end - np.arange(len(self.fit)) - 1, 0)

    @property
    def most_pairs(self) -> int:
        """The number of pairs, including pairs of the same class."""
        return int(self._later.sum())

    def pairs(self, y: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the positions of the pairs of different classes in the same fit.

        The first record of a pair was held out; the second was held out or dropped.
        """
        # the pairs of a fit: every held-out record with each later one
        first = np.repeat(np.arange(len(self.fit)), self._later)
        begin = np.repeat(np.cumsum(self._later) - self._later, self._later)
        second = first + 1 + np.arange(len(first)) - begin
        differ = y[self.row[first]] != y[self.row[second]]
        return first[differ], second[differ]

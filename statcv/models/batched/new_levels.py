"""The levels of factors that the training sets of many fits lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from statcv.formula import Factors
from statcv.numeric.arrays import Bools, Floats, Ints, Numbers

if TYPE_CHECKING:
    from statcv.models.base import TrainingSet
    from statcv.models.batched.folds import Folds


@dataclass(frozen=True, eq=False)
class NewLevels:
    """The levels that training sets lack, and rows for the records that have them.

    Attributes
    ----------
    records : TrainingSet
    folds : Folds
    codes : dict
        The code of each record by factor, shape (n,), -1 if it is missing; factors that
        a term multiplies count as one of their combinations.
    absent : dict
        For each fit that lacks levels, by factor, whether it lacks the level of each
        code; the last place stands for missing values.
    """

    records: TrainingSet
    folds: Folds
    codes: Mapping[str, Numbers]
    absent: Mapping[int, Mapping[str, Bools]]

    @classmethod
    def of(cls, records: TrainingSet, folds: Folds) -> NewLevels | None:
        """Find the levels that training sets lack; None if none lacks any."""
        factors, lists = records.factors, folds.absent
        assert factors is not None
        codes, absent = {}, dict[int, dict[str, Bools]]()
        for name, (every, labels) in factors.terms.levels.items():
            own, size = every[factors.rows], len(labels)
            used = own >= 0
            if records.weights is not None:
                used &= records.weights > 0
            total = np.bincount(own[used], minlength=size)
            some = np.append((total > 0) & (total <= lists.sizes.max(initial=0)), False)
            place = np.flatnonzero((some[own] & used)[lists.values])
            cell = lists.owners[place] * size + own[lists.values[place]]
            cells, lost = np.unique(cell, return_counts=True)
            # a fit lacks a level if it leaves out as many records as have it
            cells = cells[lost == total[cells % size]]
            # levels without weight
            without = np.unique(own[(own >= 0) & (total[own] == 0)])
            if len(without):
                every_fit = np.arange(len(folds))[:, None] * size
                cells = np.union1d(cells, every_fit + without)
            joint = factors.terms.combined.get(name)
            for fit, level in zip(*np.divmod(cells, size), strict=True):
                lacks = absent.setdefault(int(fit), {})
                if joint and any(
                    factor in lacks and lacks[factor][code]
                    for factor, code in zip(joint[0], joint[1][:, level], strict=True)
                ):
                    continue  # a level of one of the factors is absent itself
                lacks.setdefault(name, np.zeros(size + 1, dtype=bool))[level] = True
                codes[name] = own
        absent = {fit: lacks for fit, lacks in absent.items() if lacks}
        return cls(records, folds, codes, absent) if absent else None

    def pairs(self) -> tuple[Numbers, Numbers]:
        """Return the records that have such a level, and the fit that lacks it."""
        rows = [np.flatnonzero(self._kinds(self.codes, fit)) for fit in self.absent]
        fits = np.repeat([*self.absent], [len(own) for own in rows])
        return np.concatenate(rows), fits

    def rows(self, rows: Numbers, fits: Numbers) -> tuple[Numbers, Floats]:
        """Return which records have such a level, and the rows that predict them.

        Parameters
        ----------
        rows, fits : numpy.ndarray of int, shape (m,)
            Records, and the fit that is to predict each.

        Returns
        -------
        some : numpy.ndarray of int, shape (k,)
            Their positions among the records given.
        X : numpy.ndarray, shape (k, p)
        """
        factors, lacking = self._factors, np.zeros(len(self.folds), dtype=bool)
        lacking[[*self.absent]] = True
        some = np.flatnonzero(lacking[fits])
        order = some[np.argsort(fits[some], kind="stable")]
        found, made = [order[:0]], [self.records.X[:0]]
        for own in np.split(order, np.flatnonzero(np.diff(fits[order])) + 1):
            for fit in fits[own[:1]].tolist():
                codes = {name: every[rows[own]] for name, every in self.codes.items()}
                own = own[self._kinds(codes, fit) > 0]
                frame = factors.terms.frame.iloc[factors.rows[rows[own]]]
                X = self.folds.coded(self.records, fit, rows[own])
                found.append(own)
                made.append(self.replaced(X, frame, fit))
        return np.concatenate(found), np.concatenate(made)

    def replaced(self, X: Floats, frame: pd.DataFrame, fit: int) -> Floats:
        """Return the rows of a frame, with levels that a fit lacks at the mean.

        Parameters
        ----------
        X : numpy.ndarray, shape (m, p)
            The rows as coded.
        frame : pandas.DataFrame
            Their prepared columns.
        fit : int
        """
        if fit not in self.absent or not len(X):
            return X
        levels = self._factors.terms.levels_in(frame)
        kinds = self._kinds({name: levels[name][0] for name in self.codes}, fit)
        if not kinds.any():
            return X
        made, folds = X.copy(), self.folds
        weights = folds.weights_in(self.records, np.array([fit]))[0]
        p = self.records.X.shape[1]  # there may be indicators after these columns
        training = folds.coded(self.records, fit, np.flatnonzero(weights > 0))[:, :p]
        learnt_on = folds.train(fit, len(weights))
        for kind in np.unique(kinds[kinds > 0]).tolist():
            some = np.flatnonzero(kinds == kind)
            new = [name for place, name in enumerate(self.codes) if kind >> place & 1]
            made[some, :p] = self._factors.at_mean(
                frame.iloc[some], new, weights, training, learnt_on
            )
        return made

    @property
    def _factors(self) -> Factors:
        assert self.records.factors is not None
        return self.records.factors

    def _kinds(self, codes: Mapping[str, Numbers], fit: int) -> Ints:
        """Return for each record the factors whose level is new, as binary digits."""
        made = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for place, (name, own) in enumerate(codes.items()):
            lacks = self.absent.get(fit, {}).get(name)
            if lacks is not None:
                made |= lacks[own].astype(np.int64) << place
        return made

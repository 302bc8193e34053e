"""Rows of records whose level of a factor a training set lacks.

Nothing is known of the effect of such a level. The record is predicted with the mean of
the effects of the levels seen: the columns of the factor are replaced by their mean
over the training records, each with the weight that it has in the fit. A level counts
only if the training records determine the linear predictor of the record with that
level, as those of a site with one record do not determine a slope. Of factors that a
term multiplies, a combination that no training record has is treated as a level, so
that ``a * b`` predicts as one factor of all combinations does. The linear predictor
of an unpenalised model is then the same for every coding of the formula.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from statcv.formula.language.terms import Terms
from statcv.numeric.arrays import Floats, Numbers

CELLS = 2**22  # numbers of rows with all levels that are computed at once
DEPENDENT = 1e-10  # share of the largest eigenvalue that is rounding error
UNDETERMINED = 1e-6  # share of a row, along directions without training records


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors of a design, for some of its rows.

    Attributes
    ----------
    terms : Terms
    rows : numpy.ndarray of int, shape (n,)
        The positions of the records in the terms.
    """

    terms: Terms
    rows: Numbers

    @classmethod
    def of(cls, terms: Terms) -> Factors | None:
        """Take all rows; None if no factor is categorical."""
        return cls(terms, np.arange(len(terms.index))) if terms.levels else None

    def taken(self, records: Numbers) -> Factors:
        """Return the factors of some of the records."""
        return replace(self, rows=self.rows[records])

    def at_mean(
        self,
        frame: pd.DataFrame,
        new: list[str],
        weights: Floats,
        training: Floats,
        learnt_on: Numbers,
    ) -> Floats:
        """Return rows with the levels of some factors at the mean of those seen.

        Parameters
        ----------
        frame : pandas.DataFrame
            The columns of the rows.
        new : list of str
            The factors whose level is new, or the joint name of those whose combination
            is; of several factors, combinations count as levels.
        weights, training : numpy.ndarray, shapes (n,) and (k, p)
            The weight of each record in the training set, and the rows of those with a
            weight above 0.
        learnt_on : numpy.ndarray of int
            The training records, repeated as often as terms learn from them.
        """
        learnt = None
        if self.terms.stateful:
            learnt = self.terms.learn(self.rows[learnt_on])
        joint = self.terms.combined
        new = [*dict.fromkeys(f for name in new for f in joint.get(name, ([name],))[0])]
        codes = np.stack([self.terms.levels[code][0] for code in new])[:, self.rows]
        used = np.flatnonzero((weights > 0) & (codes >= 0).all(axis=0))
        if not len(used):
            return self.terms.matrix(frame, learnt)
        cells, cell = np.unique(codes[:, used], axis=1, return_inverse=True)
        share = np.bincount(cell.ravel(), weights[used])
        levels = dict(zip(new, cells, strict=True))
        unit, none = _undetermined(training)
        made = np.empty((len(frame), training.shape[1]))
        step = max(1, CELLS // (len(share) * training.shape[1]))
        for start in range(0, len(frame), step):
            some = slice(start, start + step)
            every = self.terms.at_levels(frame.iloc[some], levels, learnt)
            scaled = np.nan_to_num(every / unit)
            away = np.abs(scaled @ none).max(axis=2, initial=0.0)
            known = away <= UNDETERMINED * np.sqrt((scaled**2).sum(axis=2))
            known |= ~known.any(axis=0)
            part = known * share[:, None]
            mean = np.einsum("cr,crp->rp", part / part.sum(axis=0), every)
            made[some] = np.where((every == every[0]).all(axis=0), every[0], mean)
        return made


def _undetermined(training: Floats) -> tuple[Floats, Floats]:
    """Return units of the columns, and directions in which no training row lies.

    They are not looked for where columns are as many as rows.
    """
    X = np.nan_to_num(training)
    unit = np.linalg.norm(X, axis=0)
    unit[unit == 0] = 1.0
    if len(X) <= X.shape[1]:
        return unit, np.zeros((X.shape[1], 0))
    X = X / unit
    size, directions = np.linalg.eigh(X.T @ X)
    return unit, directions[:, size <= DEPENDENT * size.max(initial=0.0)]

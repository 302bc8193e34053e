"""Records in which a candidate has the values of other records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.folds import FoldPlan
from statcv.stratifiers.candidates import Candidate, numbers_of
from statcv.stratifiers.clamp import commonest_outside, nearest_outside
from statcv.stratifiers.setting import Setting

PERMUTATIONS = 5
Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Alteration:
    """Columns in which every record gets the values of another one.

    Attributes
    ----------
    columns : tuple of str
        Of the formula.
    whose : numpy.ndarray of int, shape (n,)
        The record whose values each gets.
    """

    columns: tuple[str, ...]
    whose: Codes

    def of(self, frame: pd.DataFrame, rows: Codes) -> pd.DataFrame:
        """Return these rows of the frame with the columns altered."""
        index = frame.index[rows]
        changed = {
            name: frame[name].iloc[self.whose[rows]].set_axis(index)
            for name in self.columns
        }
        return frame.iloc[rows].assign(**changed)


def clamping(
    setting: Setting, candidate: Candidate, plan: FoldPlan
) -> list[Alteration]:
    """Return how a candidate's values move out of their own folds.

    Nothing moves where no term uses it; how several columns would is not known, and
    the list is empty.
    """
    used = used_columns(setting, candidate)
    if not used:
        return [Alteration((), np.arange(plan.n))]
    if len(candidate.columns) > 1:
        return []
    (name,) = used
    values = numbers_of(setting.design.terms.columns[name])
    fold = plan.held_out[0].astype(np.intp)
    if values is not None:
        return [Alteration(used, nearest_outside(values, fold))]
    codes = candidate.stratifier.values(setting.kept)
    return [Alteration(used, commonest_outside(codes, fold))]


def permuting(
    setting: Setting, candidate: Candidate, plan: FoldPlan, rng: np.random.Generator
) -> list[Alteration]:
    """Return how a candidate's values are permuted within held-out records."""
    used = used_columns(setting, candidate)
    made = []
    for _ in range(PERMUTATIONS if used else 0):
        whose = np.arange(plan.n)
        for split in range(plan.n_splits):
            rows = plan.test(split).astype(np.intp)
            whose[rows] = rng.permutation(rows)
        made.append(Alteration(used, whose))
    return made


def used_columns(setting: Setting, candidate: Candidate) -> tuple[str, ...]:
    """Return the columns of a candidate that the formula uses."""
    return tuple(c for c in candidate.columns if c in setting.design.terms.columns)

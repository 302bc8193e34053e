"""Held-out predictions when the values of a candidate are moved or permuted.

A fold made of a covariate holds values that its training set lacks. A model then
predicts from the nearest values that it has seen; moving each record there, and
predicting again with models that have seen all, tells what that costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine import FoldFit, Held, Part, plain, read_fits, warn_of_fits
from statcv.folds import FoldPlan
from statcv.inference import Scores
from statcv.results.stratifier_bias.candidates import Candidate, numbers_of
from statcv.results.stratifier_bias.importance import Shares, importances
from statcv.results.stratifier_bias.setting import Setting

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]


def nearest_outside(values: Floats, fold: Codes) -> Codes:
    """Return for each record one of another fold whose value is nearest.

    Of two equally near values the lower one is taken.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
    fold : numpy.ndarray of int, shape (n,)
        Equal values lie in one fold; two folds at least.

    Returns
    -------
    numpy.ndarray of intp, shape (n,)
        Positions of records. A missing value stays where it is.

    Examples
    --------
    >>> values = np.array([1.0, 2.0, 4.0, 5.0])
    >>> values[nearest_outside(values, np.array([0, 0, 1, 1]))]
    array([4., 4., 2., 2.])
    """
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    own = fold[order]
    change = np.flatnonzero(np.diff(own)) + 1  # where runs of one fold begin
    run = np.searchsorted(change, np.arange(len(order)), side="right")
    first, last = np.append(0, change), np.append(change, len(order))
    below, above = first[run] - 1, last[run]
    rising = values[order]
    down = np.where(below >= 0, rising - rising[np.maximum(below, 0)], np.inf)
    inside = np.minimum(above, len(order) - 1)
    up = np.where(above < len(order), rising[inside] - rising, np.inf)
    found = np.where(down <= up, below, inside)
    moved = np.arange(len(values))
    moved[order] = order[found]
    return moved


def commonest_outside(codes: Codes, fold: Codes) -> Codes:
    """Return for each record one of another fold with the commonest value there.

    For values without an order.

    Parameters
    ----------
    codes : numpy.ndarray of int, shape (n,)
        Of the values, from 0; equal ones lie in one fold.
    fold : numpy.ndarray of int, shape (n,)

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 1, 1, 2])
    >>> codes[commonest_outside(codes, np.array([0, 0, 0, 1, 1, 2]))]
    array([1, 1, 1, 0, 0, 0])
    """
    counts = np.bincount(codes)
    _, first = np.unique(codes, return_index=True)
    commonest = first[np.argsort(-counts, kind="stable")]  # a record of each value
    moved = np.empty(len(codes), dtype=np.intp)
    for one in np.unique(fold):
        moved[fold == one] = commonest[fold[commonest] != one][0]
    return moved


# ---- records in which a candidate has the values of other records ----

PERMUTATIONS = 5


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


# ---- held-out predictions by the models of the folds when covariates are others ----


@dataclass(frozen=True, eq=False)
class ReadFold:
    """What a fit predicted for its held-out records, as they are and altered."""

    predicted: Floats
    altered: tuple[Floats, ...]
    importance: dict[str, Shares]
    by_chance: bool
    converged: bool
    separated: bool
    probabilities: bool
    chosen: Mapping[str, Any] | None


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads a fit by predicting its held-out records, as they are and altered.

    Attributes
    ----------
    alterations : tuple of Alteration
    """

    alterations: tuple[Alteration, ...]

    def __call__(self, fold: FoldFit) -> ReadFold:
        """Read one fit."""
        frame, rows, fit = fold.setup.design.terms.frame, fold.held_out, fold.fit
        predicted = fold.predict(frame.iloc[rows])
        return ReadFold(
            predicted=predicted,
            altered=tuple(fold.predict(a.of(frame, rows)) for a in self.alterations),
            importance=importances(fold),
            by_chance=fold.number == 0 and _by_chance(fold, predicted),
            converged=bool(fit.converged),
            separated=bool(fit.separated),
            probabilities=fit.probabilities,
            chosen=None if fit.chosen is None else plain(fit.chosen),
        )


def _by_chance(fold: FoldFit, predicted: Floats) -> bool:
    """Tell whether another seed gives another model."""
    other = replace(fold.training, seed=fold.training.seed + 1)
    again = replace(fold, fit=fold.setup.model.fit(other))
    frame = fold.setup.design.terms.frame.iloc[fold.held_out]
    return not np.array_equal(again.predict(frame), predicted, equal_nan=True)


@dataclass(frozen=True, eq=False)
class AlteredScores:
    """Held-out predictions of one cross-validation, as records are and altered.

    Attributes
    ----------
    scores : Scores
    altered : list of Scores
        For each alteration, in the folds by which it is judged.
    importance : list of dict
        What each fit says of the columns.
    by_chance : bool
        Whether the model itself depends on the seed.
    failed : int
        Fits that did not converge, or were separated.
    """

    scores: Scores
    altered: list[Scores]
    importance: list[dict[str, Shares]]
    by_chance: bool
    failed: int


def predict_altered(
    setting: Setting,
    plan: FoldPlan,
    alterations: Sequence[tuple[Alteration, FoldPlan]],
    n_jobs: int | None,
    bar: Any,
) -> AlteredScores:
    """Fit every fold once, and predict held-out records as they are and altered.

    Parameters
    ----------
    setting : Setting
    plan : FoldPlan
        One fit a split.
    alterations : sequence of (Alteration, FoldPlan)
        And the folds in which its predictions are judged, one repeat.
    n_jobs, bar
        As :func:`statcv.engine.read_fits` takes them.
    """
    setup = setting.setup(plan)
    reader = Reader(tuple(alteration for alteration, _ in alterations))
    read = read_fits(setup, reader, n_jobs, bar)
    parts = [
        Part(
            fits=range(number, number + 1),
            predicted=one.predicted,
            partner_predicted=one.predicted[:0],
            converged=np.array([one.converged]),
            separated=np.array([one.separated]),
            seconds=np.full(1, np.nan),
            probabilities=one.probabilities,
            chosen=None if one.chosen is None else [one.chosen],
        )
        for number, one in enumerate(read)
    ]
    held = Held.joined(parts, setting.design, plan)
    warn_of_fits(held, plan, setting.model)
    y = setting.design.y
    altered = []
    for number, (_, judged) in enumerate(alterations):
        predicted = np.concatenate([one.altered[number] for one in read])
        by_record = np.empty_like(predicted)
        by_record[plan.tests.values] = predicted
        row = judged.tests.values.astype(np.intp)
        fit = judged.tests.owners
        other = replace(held, fit=fit, row=row, predicted=by_record[row], chosen=None)
        altered.append(Scores.of(judged, other, y))
    return AlteredScores(
        scores=Scores.of(plan, held, y),
        altered=altered,
        importance=[one.importance for one in read],
        by_chance=any(one.by_chance for one in read),
        failed=sum(not one.converged or one.separated for one in read),
    )

"""Held-out predictions when the values of a candidate are moved or permuted.

A fold defined by a covariate contains values that its training set lacks. A model must
then predict from the nearest values on which it was trained. The resulting loss is
estimated by moving each record to those values, and predicting it again with models
that were trained on all values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine import FoldFit, Held, Part, plain, read_fits, warn_of_fits
from statcv.folds import FoldPlan
from statcv.inference import Scores
from statcv.results.stratifier_bias.association import Shares, importances
from statcv.results.stratifier_bias.candidates import CandidateStratifier, numbers_of
from statcv.results.stratifier_bias.setting import Setting

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]


def nearest_outside(values: Floats, fold: Codes) -> Codes:
    """Return for each record the record of another fold with the nearest value.

    If two values are equally near, the lower one is used.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
    fold : numpy.ndarray of int, shape (n,)
        The fold of each value. Equal values are in one fold, and there are at least two
        folds.

    Returns
    -------
    numpy.ndarray of intp, shape (n,)
        Positions of records. A record with a missing value keeps its own position.

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
    """Return for each record a record with the commonest value of the other folds.

    This is the counterpart of :func:`nearest_outside` for values without an order.

    Parameters
    ----------
    codes : numpy.ndarray of int, shape (n,)
        Codes of the values, from 0. Equal values are in one fold.
    fold : numpy.ndarray of int, shape (n,)
        The fold of each record.

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
    """Columns in which every record is given the values of another record.

    Attributes
    ----------
    columns : tuple of str
        The altered columns, which the formula uses.
    whose : numpy.ndarray of int, shape (n,)
        The record whose values each record is given.
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
    setting: Setting, candidate: CandidateStratifier, plan: FoldPlan
) -> list[Alteration]:
    """Return the alterations that move a candidate's values out of their own folds.

    Nothing is moved if no term uses the candidate. The list is empty for several
    columns, for which there is no nearest value.
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
    setting: Setting,
    candidate: CandidateStratifier,
    plan: FoldPlan,
    rng: np.random.Generator,
) -> list[Alteration]:
    """Return permutations of a candidate's values within the held-out records."""
    used = used_columns(setting, candidate)
    made = []
    for _ in range(PERMUTATIONS if used else 0):
        whose = np.arange(plan.n)
        for split in range(plan.n_splits):
            rows = plan.test(split).astype(np.intp)
            whose[rows] = rng.permutation(rows)
        made.append(Alteration(used, whose))
    return made


def used_columns(setting: Setting, candidate: CandidateStratifier) -> tuple[str, ...]:
    """Return the columns of a candidate that the formula uses."""
    return tuple(c for c in candidate.columns if c in setting.design.terms.columns)


# ---- held-out predictions with altered covariates ----


@dataclass(frozen=True, eq=False)
class ReadFold:
    """The predictions of a fit for its held-out records, unaltered and altered."""

    part: Part
    altered: tuple[Floats, ...]
    importance: dict[str, Shares]
    by_chance: bool


@dataclass(frozen=True, eq=False)
class Reader:
    """A function of a fit that predicts its held-out records, unaltered and altered.

    Attributes
    ----------
    alterations : tuple of Alteration
        The alterations to be predicted.
    """

    alterations: tuple[Alteration, ...]

    def __call__(self, fold: FoldFit) -> ReadFold:
        """Return the predictions of one fit."""
        frame, rows, fit = fold.setup.design.terms.frame, fold.held_out, fold.fit
        predicted = fold.predict(frame.iloc[rows])
        part = Part(
            fits=range(fold.number, fold.number + 1),
            predicted=predicted,
            partner_predicted=predicted[:0],
            converged=np.array([fit.converged]),
            separated=np.array([fit.separated]),
            seconds=np.full(1, np.nan),
            probabilities=fit.probabilities,
            chosen=None if fit.chosen is None else [plain(fit.chosen)],
        )
        return ReadFold(
            part=part,
            altered=tuple(fold.predict(a.of(frame, rows)) for a in self.alterations),
            importance=importances(fold),
            by_chance=fold.number == 0 and _by_chance(fold, predicted),
        )


def _by_chance(fold: FoldFit, predicted: Floats) -> bool:
    """Return whether the fitted model depends on the seed."""
    other = replace(fold.training, seed=fold.training.seed + 1)
    again = replace(fold, fit=fold.setup.model.fit(other))
    frame = fold.setup.design.terms.frame.iloc[fold.held_out]
    return not np.array_equal(again.predict(frame), predicted, equal_nan=True)


@dataclass(frozen=True, eq=False)
class AlteredScores:
    """The held-out predictions of one cross-validation, unaltered and altered.

    Attributes
    ----------
    scores : Scores
        The predictions for unaltered records.
    altered : list of Scores
        The predictions for each alteration, in the folds in which it is evaluated.
    importance : list of dict
        The importances of the columns in each fit.
    by_chance : bool
        Whether the model itself depends on the seed.
    failed : int
        The number of fits that did not converge, or were separated.
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
    """Fit every fold once, and predict its held-out records, unaltered and altered.

    Parameters
    ----------
    setting : Setting
    plan : FoldPlan
        The folds to be fitted, with one fit per split.
    alterations : sequence of (Alteration, FoldPlan)
        The alterations, each with one repeat of the folds in which its predictions are
        evaluated.
    n_jobs, bar
        Number of processes and progress bar, as in :func:`statcv.engine.read_fits`.
    """
    setup = setting.setup(plan)
    reader = Reader(tuple(alteration for alteration, _ in alterations))
    read = read_fits(setup, reader, n_jobs, bar)
    held = Held.joined([one.part for one in read], setup)
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
        failed=held.failed,
    )

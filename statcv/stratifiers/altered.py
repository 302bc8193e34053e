"""Held-out predictions by the models of the folds when covariates are others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import FoldFit, Held, read_fits
from statcv.engine.messages import warn_of_fits
from statcv.engine.part import Part, plain
from statcv.folds import FoldPlan
from statcv.inference import Scores
from statcv.stratifiers.alterations import Alteration
from statcv.stratifiers.importance import Shares, importances
from statcv.stratifiers.setting import Setting

Floats = NDArray[np.float64]


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
        chosen = getattr(fit, "chosen", None)
        return ReadFold(
            predicted=predicted,
            altered=tuple(fold.predict(a.of(frame, rows)) for a in self.alterations),
            importance=importances(fold),
            by_chance=fold.number == 0 and _by_chance(fold, predicted),
            converged=bool(fit.converged),
            separated=bool(fit.separated),
            probabilities=fit.probabilities,
            chosen=None if chosen is None else plain(chosen),
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

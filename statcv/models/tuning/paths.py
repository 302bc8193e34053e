"""All candidates fitted in all inner folds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from statcv.models import Logit, Model, TrainingSet
from statcv.models.batched.fitted import (
    FittedFolds,
    by_linear_predictor,
    fit_all_folds,
)
from statcv.models.batched.folds import Folds
from statcv.models.batched.logit_path import fit_logit_path
from statcv.models.logit import expit


def fit_candidates(
    models: list[Model], records: TrainingSet, folds: Folds
) -> Iterator[FittedFolds] | None:
    """Fit each model in every fold; None for models that are fitted fold by fold.

    Ridge logistic regressions that differ in ``C`` are fitted as one path.
    """
    ridges = [model for model in models if _is_ridge(model)]
    if records.kind == "binary" and len(ridges) == len(models) > 1:
        return _ridge_path(ridges, records, folds)
    first = fit_all_folds(models[0], records, folds)
    if first is None:
        return None
    return _each(first, models[1:], records, folds)


def _is_ridge(model: Model) -> bool:
    return type(model) is Logit and model == Logit(C=model.C)


def _ridge_path(
    models: list[Model], records: TrainingSet, folds: Folds
) -> Iterator[FittedFolds]:
    given = [getattr(model, "C", None) for model in models]
    Cs = [np.inf if C is None else float(C) for C in given]
    for fits in fit_logit_path(Cs, records, folds):
        yield by_linear_predictor(fits, records, folds, expit)


def _each(
    first: FittedFolds, models: list[Model], records: TrainingSet, folds: Folds
) -> Iterator[FittedFolds]:
    yield first
    for model in models:
        fitted = fit_all_folds(model, records, folds)
        assert fitted is not None  # models of one family are fitted alike
        yield fitted

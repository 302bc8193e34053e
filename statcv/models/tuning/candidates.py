"""The fits of all candidates of a grid, in every fold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from statcv.models import Logit, Model, TrainingSet
from statcv.models.batched.fits import FittedFolds, fit_all_folds, with_new_levels
from statcv.models.batched.folds import Folds
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.batched.row_space import row_space
from statcv.models.elastic_net import elastic_path
from statcv.models.tuning.logit_path import fit_logit_path, is_quicker_by_itself
from statcv.numeric.logistic import expit


def fit_candidates(
    models: list[Model], records: TrainingSet, folds: Folds
) -> Iterator[FittedFolds] | None:
    """Fit each model in every fold; None for models that are fitted fold by fold.

    Ridge logistic regressions that differ in ``C`` are fitted as one path.
    """
    if _are_elastic(models) and folds.matrices is None:
        return _net_path(models, records, folds)
    ridges: list[Any] = [model for model in models if _is_ridge(model)]
    alike = len({getattr(model, "standardize", None) for model in ridges}) == 1
    path = alike and folds.matrices is None and len(ridges) == len(models) > 1
    path = path and not records.offsets
    many = records.X.shape[1] > len(records.X)
    if many and folds.new_levels(records) is not None:
        return None  # rotated rows do not show the factors
    # the Gram matrix is scaled if there are many columns, all scaled
    scaled = many and all(one.standardize and one.penalised for one in ridges)
    if records.kind == "binary" and path and not scaled:
        return _ridge_path(ridges, records, folds)
    first = fit_all_folds(models[0], records, folds)
    if first is None:
        return None
    return _each(first, models[1:], records, folds)


def _is_ridge(model: Model) -> bool:
    return type(model) is Logit and not (model.has_firth or model.selects)


def _are_elastic(models: list[Model]) -> bool:
    """Return whether models are elastic nets that differ in ``C`` alone."""
    nets = [one for one in models if isinstance(one, Logit) and one.selects]
    alike = {(one.l1_ratio, one.standardize) for one in nets}
    return len(nets) == len(models) and len(alike) == 1


def _ridge_path(
    models: list[Logit], records: TrainingSet, folds: Folds
) -> Iterator[FittedFolds]:
    Cs, standardized = [model.strength for model in models], models[0].standardize
    space = None
    if not standardized:
        space = row_space(records, Logit(max(Cs)).ridge(records))
    records = records if space is None else space.rotated
    spread = None
    if standardized:
        spread = Logit(1.0, standardize=True).own_ridges(records, folds)
    elif is_quicker_by_itself(folds, records.X.shape):
        first = fit_all_folds(models[0], records, folds)
        assert first is not None  # as they are fitted together
        yield from _each(first, list(models[1:]), records, folds)
        return
    path = fit_logit_path(Cs, records, folds, spread)
    for C, fits in zip(Cs, path, strict=True):
        # a ridge of 1 / C on scaled columns is one of variance / C as they are
        penalty = Logit(C).ridge(records) if spread is None else spread / C
        fitted = by_linear_predictor(fits, records, folds, expit, penalty)
        yield with_new_levels(fitted, records, folds) or fitted


def _net_path(
    models: list[Any], records: TrainingSet, folds: Folds
) -> Iterator[FittedFolds]:
    Cs, first = [model.strength for model in models], models[0]
    ratio, scaled = first.l1_ratio, first.standardize
    for fitted in elastic_path(Cs, ratio, scaled, records, folds):
        yield with_new_levels(fitted, records, folds) or fitted


def _each(
    first: FittedFolds, models: list[Model], records: TrainingSet, folds: Folds
) -> Iterator[FittedFolds]:
    yield first
    for model in models:
        fitted = fit_all_folds(model, records, folds)
        assert fitted is not None  # models of one family are fitted alike
        yield fitted

"""The fits of a plan cut into tasks: all folds together, or fold by fold.

The cuts depend on the design, the plan and the model, never on the worker or on what
is done already, so the numbers are the same if a run is interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from statcv.engine.fit_messages import naming, where
from statcv.engine.predictions import Part
from statcv.engine.setup import Setup
from statcv.errors import ModelError, PrecisionWarning, gathered_warnings
from statcv.folds import FoldPlan
from statcv.models import Fit, FollowingModel, TrainingSet, decisions_of
from statcv.models.batched import FittedFolds, fit_all_folds
from statcv.models.imputation import Completed, Imputed
from statcv.models.tuning import plain
from statcv.numeric.arrays import Array, Floats


def fit_together(setup: Setup, fits: range) -> Part | None:
    """Fit a range of folds as one problem; None if the model cannot.

    Predictions are those of independent fits, to rounding.
    """
    started = time.perf_counter()
    plan, numbers = setup.plan, np.arange(fits.start, fits.stop)
    every = len(fits) == plan.n_fits
    folds = setup.folds if every else setup.folds.chosen(numbers)
    fitted = fit_all_folds(setup.model, setup.records, folds)
    if fitted is None:
        return None
    tests = plan.fits.tests_by_fit.part(fits.start, fits.stop)
    predicted = fitted.predict_many(tests.values.astype(np.intp), tests.owners)
    partners = predicted[:0]
    if len(plan.dropped.values):
        partners = _partners(fitted, plan, fits)
    seconds = np.full(len(fits), (time.perf_counter() - started) / len(fits))
    went = fitted.converged, fitted.separated, seconds, True
    part = Part(fits, predicted, partners, *went, fitted.names, fitted.coefficients)
    chosen = None if fitted.chosen is None else _by_fit(fitted.chosen, len(fits))
    return replace(part, chosen=chosen, linear=fitted.linear)


def _partners(fitted: FittedFolds, plan: FoldPlan, fits: range) -> Floats:
    """Predict the dropped records that have no equal in the training set of a fit."""
    dropped = plan.dropped.part(fits.start, fits.stop)
    first = plan.dropped.starts[fits.start]
    apart = plan.fits.unseen[first : first + len(dropped.values)]
    left_out = dropped.values[apart].astype(np.intp)
    return fitted.predict_many(left_out, dropped.owners[apart])


def _by_fit(chosen: dict[str, Array], fits: int) -> list[dict[str, Any]]:
    values = {name: array.tolist() for name, array in chosen.items()}
    each = ({name: own[fit] for name, own in values.items()} for fit in range(fits))
    return [plain(one) for one in each]


# ---- fits that are made fold by fold, by any model ----


def fit_one_by_one(setup: Setup, fits: range) -> Part:
    """Fit a range of folds, each by itself."""
    parts = []
    for fit in fits:
        with gathered_warnings(PrecisionWarning) as corrections:
            part = _fit_fold(setup, fit)
        parts.append(replace(part, corrected=np.array([bool(corrections)])))
    return Part.joined(parts)


def fit_imputed(setup: Setup, fits: range) -> Part:
    """Fit a range of folds in every completion, and average what they predict."""
    model = cast(Imputed, setup.model)
    design, numbers = setup.design, np.arange(fits.start, fits.stop)
    counts, seeds = setup.folds.counts_in(design.n, numbers), setup.folds.seeds
    assert seeds is not None
    own = model.imputer, design, counts, seeds(numbers), fits.start
    made = Completed.of_fits(*own)
    records = replace(setup.records, names=made.names(setup.records.names))
    if records.kind == "survival":  # all completions refer to the same row
        X = made.beside(records.X, made.chains.variables.absent)
        records = replace(records, centre=X.mean(axis=0))
    parts = []
    for k in range(model.imputer.m):
        folds = replace(setup.folds, matrices=cast(Any, made.of(k)))
        inner = replace(setup, model=model.model)
        vars(inner).update(records=records, folds=folds)
        parts.append(fit_one_by_one(inner, fits))
    part = parts[0] if len(parts) == 1 else Part.averaged(parts)
    return replace(part, unstable=made.chains.unstable)


def _fit_fold(setup: Setup, number: int) -> Part:
    started = time.perf_counter()
    plan, model = setup.plan, setup.model
    test, partners = plan.fits.held_out_by(number), plan.fits.partners(number)
    others = np.concatenate([test, partners]) if len(partners) else test
    place, size = partial(where, plan, number), partial(_size, plan, number)
    with naming(model, place, size):
        training = setup.folds.training_set(setup.records, number)
        X = setup.folds.matrix(setup.records, number, others)
        fit = _fit(setup, training, test, X[: len(test)])
        predicted = np.asarray(fit.predict(X), dtype=float)
        many = columns_of_predictions(training)
        if predicted.shape != ((len(others), many) if many else (len(others),)):
            raise ModelError(
                f"{model.label} predicted the shape {predicted.shape} for "
                f"{len(others)} records of a {training.kind} outcome."
            )
        decided = decisions_of(fit, X[: len(test)])
    terms = _learnt(fit.coefficients, training)
    values = None if terms is None else np.array([[*terms.values()]], float)
    made = range(number, number + 1), predicted[: len(test)], predicted[len(test) :]
    converged, separated = np.array([[bool(fit.converged)], [bool(fit.separated)]])
    went = converged, separated, np.array([time.perf_counter() - started])
    part = Part(*made, *went, fit.probabilities, tuple(terms or ()), values)
    lists: dict[str, Any] = {"chosen": [plain(fit.chosen or {})]}
    lists["curves"] = [fit.curves or {}]
    return replace(part, linear=fit.linear, decided=decided, **lists)


def _size(plan: FoldPlan, number: int) -> str:
    return f" ({len(plan.train(number))} training rows)"


def columns_of_predictions(training: TrainingSet) -> int:
    """Return how many columns predictions have; 0 if they are a single array."""
    if training.kind == "survival":
        return 1 + len(training.horizons)
    return training.n_classes if training.kind == "multiclass" else 0


def _fit(setup: Setup, training: TrainingSet, test: Any, X: Floats) -> Fit:
    """Fit the training set; show the held-out records to a model that follows them."""
    if not setup.model.capabilities.follows_held_out:
        return setup.model.fit(training)
    y, given = setup.records.y[test], setup.weights
    weights = None if given is None else given[test]
    held_out = replace(training, X=X, y=y, weights=weights, strata=None)
    return cast(FollowingModel, setup.model).fit_following(training, held_out)


def _learnt(
    coefficients: Mapping[str, float] | None, training: TrainingSet
) -> Mapping[str, float] | None:
    """Put NaN for columns without training rows, about which nothing was learnt."""
    if coefficients is None:
        return None
    used = (training.X != 0).any(axis=0)
    if used.all():
        return coefficients
    empty = [n for n, own in zip(training.names, used, strict=True) if not own]
    starts = tuple(f"{name}[" for name in empty)  # terms of one class of several
    return {
        term: np.nan if term in empty or _of_class(term, starts) else value
        for term, value in coefficients.items()
    }


def _of_class(term: str, starts: tuple[str, ...]) -> bool:
    return term.startswith(starts) and term.rpartition("[")[2][:-1].isdigit()


# ---- the fits of a plan cut into tasks, each of which a worker does alone ----

WORK = 2**30  # records × columns × fits of a task: a second or so
MOST = 32  # fits of a task that are made fold by fold
# tasks into which fits made fold by fold are cut, unless each exceeds MOST fits
TASKS = 32


@dataclass(frozen=True)
class Tasks:
    """All fits of a plan in ranges, and what makes them.

    Attributes
    ----------
    fit : callable
        Function of the setup and a range of fits that returns their results, or None if
        the model does not fit them that way.
    ranges : tuple of range
    """

    fit: Callable[[Setup, range], Any]
    ranges: tuple[range, ...]


def ways(setup: Setup) -> Iterator[Tasks]:
    """Yield the ways to make all fits, the quicker first; the last always works."""
    fits = setup.plan.n_fits
    if isinstance(setup.model, Imputed):
        yield Tasks(fit_imputed, cut(fits, setup.model.at_once(setup.design)))
        return
    if setup.fits_together:
        yield Tasks(fit_together, cut(fits, _fits_together(setup)))
    each = setup.model.capabilities.fits_per_training_set
    size = min(max(fits // TASKS, 1), MOST) // max(each, 1)
    yield Tasks(fit_one_by_one, cut(fits, max(size, 1)))


def cut(fits: int, size: int) -> tuple[range, ...]:
    """Cut fits into ranges of a size, the last of which may be smaller.

    Examples
    --------
    >>> cut(7, 3)
    (range(0, 3), range(3, 6), range(6, 7))
    """
    starts = range(0, fits, size)
    return tuple(range(start, min(start + size, fits)) for start in starts)


def _fits_together(setup: Setup) -> int:
    """Return how many fits make a task."""
    n, p = setup.records.X.shape
    work = n * max(min(n, p), 1) * setup.model.capabilities.fits_per_training_set
    return max(1, WORK // work) if work else setup.plan.n_fits

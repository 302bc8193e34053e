"""Fit the model in every fold of the plan and gather what it predicts."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine.held import Held
from statcv.engine.threads import one_thread
from statcv.engine.together import fit_together
from statcv.engine.weights import training_weights
from statcv.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConvergenceWarning,
    FitError,
    ModelError,
    OutcomeError,
    SeparationWarning,
    StatcvError,
    UnseenLevelWarning,
    plural,
    warn,
)
from statcv.folds import FoldPlan
from statcv.formula import Design
from statcv.models import Fit, Model, TrainingSet

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Fold:
    """What one fit gave; small enough to send between processes."""

    fit: int
    test: NDArray[np.intp]
    partners: NDArray[np.intp]
    predicted: Floats
    converged: bool
    separated: bool
    seconds: float
    probabilities: bool
    coefficients: dict[str, float] | None
    absent: list[tuple[str, Any]]


def run(
    design: Design,
    plan: FoldPlan,
    model: Model,
    *,
    seed: int,
    weights: Floats | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Held:
    """Fit every training set of the plan; predict who was left out.

    Parameters
    ----------
    design : Design
    plan : FoldPlan
        For the rows of the design.
    model : Model
    seed : int
        The root of the streams from which each fold's model draws.
    weights : numpy.ndarray, optional
        Weights of the rows in the fits, shape (n,).
    n_jobs : int, optional
        Processes, as joblib takes it; a surrounding ``joblib.parallel_config``
        holds where it is None.
    progress : bool, optional
        Show a bar; where None, after two seconds and at a terminal only.

    Raises
    ------
    OutcomeError
        If a training set lacks a class, or its outcome is constant.
    FitError
        If the model fails; the message names the fold.
    """
    _check_training_sets(design, plan)
    if design.terms.plain is None:
        _ = design.matrix, design.terms.levels  # before they go to the workers
    jobs = _jobs(n_jobs)
    held = _together(design, plan, model, seed, weights, progress)
    if held is None:
        call = (design, plan, model, seed, weights)
        held = _gather(list(_fits(call, plan, jobs, n_jobs, progress)), plan)
    _warn(held, plan, model)
    return held


def _together(
    design: Design,
    plan: FoldPlan,
    model: Model,
    seed: int,
    weights: Floats | None,
    progress: bool | None,
) -> Held | None:
    """Fit all folds as one problem, where the model and the terms allow it."""
    if design.terms.stateful:
        return None
    every = np.arange(design.n)
    records = _training_set(design, design.matrix, every, weights, (seed, 1))
    with one_thread():
        held = fit_together(design, plan, model, records)
    if held is not None:
        with _bar(plan.n_fits, progress) as bar:
            bar.update(plan.n_fits)
    return held


def fit_all(
    design: Design, model: Model, *, seed: int, weights: Floats | None = None
) -> Fit:
    """Fit all rows of the design: the model itself, not cross-validated."""
    every = np.arange(design.n)
    return model.fit(_training_set(design, design.matrix, every, weights, (seed, 2)))


def _fits(
    call: tuple[Any, ...],
    plan: FoldPlan,
    jobs: int,
    n_jobs: int | None,
    progress: bool | None,
) -> Iterator[_Fold]:
    from joblib import Parallel, delayed

    bar = _bar(plan.n_fits, progress)
    if jobs == 1:
        with bar, one_thread():
            for fit in range(plan.n_fits):
                yield _fit_fold(fit, *call)
                bar.update()
        return
    size = max(1, math.ceil(plan.n_fits / (jobs * 8)))
    batches = [
        range(start, min(start + size, plan.n_fits))
        for start in range(0, plan.n_fits, size)
    ]
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    with bar, one_thread():  # here for threads, in each batch for processes
        for folds in parallel(delayed(_fit_batch)(batch, *call) for batch in batches):
            yield from folds
            bar.update(len(folds))


def _jobs(n_jobs: Any) -> int:
    from joblib import effective_n_jobs

    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer))
    ):
        raise ArgumentTypeError(f"n_jobs must be a whole number, not {n_jobs!r}.")
    if n_jobs == 0:
        raise ArgumentError("n_jobs=0 means no process; use 1, or -1 for all cores.")
    return int(effective_n_jobs(n_jobs))


def _bar(total: int, progress: bool | None) -> Any:
    if progress:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    hidden = progress is False or (progress is None and not sys.stderr.isatty())
    delay = 2 if progress is None else 0
    return tqdm(total=total, desc="folds", unit="fold", disable=hidden, delay=delay)


def _fit_batch(fits: Iterable[int], *call: Any) -> list[_Fold]:
    with one_thread():
        return [_fit_fold(fit, *call) for fit in fits]


def _fit_fold(
    number: int,
    design: Design,
    plan: FoldPlan,
    model: Model,
    seed: int,
    weights: Floats | None,
) -> _Fold:
    started = time.perf_counter()
    training, test = plan.train(number), plan.test(int(plan.split_of[number]))
    partners = plan.partners(number)
    try:
        fitted, others = design.fold(training, np.concatenate([test, partners]))
        key = (seed, 1, number)
        given = training_weights(plan, number, training, weights)
        fit = model.fit(_training_set(design, fitted, training, given, key))
        predicted = np.asarray(fit.predict(others), dtype=float)
        if predicted.shape != (len(others), *_columns(design)):
            raise ModelError(
                f"{model.label} predicted the shape {predicted.shape} for "
                f"{len(others)} records of a {design.outcome.kind} outcome."
            )
    except StatcvError as error:
        raise type(error)(f"in {_where(plan, number)}: {error}") from error
    except Exception as error:
        raise FitError(
            f"{model.label} failed in {_where(plan, number)} "
            f"({len(training)} training rows): {type(error).__name__}: {error}"
        ) from error
    return _Fold(
        fit=number,
        test=test,
        partners=partners,
        predicted=predicted,
        converged=fit.converged,
        separated=fit.separated,
        seconds=time.perf_counter() - started,
        probabilities=fit.probabilities,
        coefficients=_learnt(fit.coefficients, design.names, fitted),
        absent=design.absent_levels(training),
    )


def _learnt(
    coefficients: dict[str, float] | None, names: tuple[str, ...], fitted: Floats
) -> dict[str, float] | None:
    """Put NaN for columns that no training row has, of which nothing was learnt."""
    if coefficients is None or (fitted != 0).any(axis=0).all():
        return coefficients
    empty = [n for n, j in zip(names, (fitted != 0).any(axis=0), strict=True) if not j]
    starts = tuple(f"{name}[" for name in empty)  # of one class of several
    return {
        term: np.nan if term in empty or _of_class(term, starts) else value
        for term, value in coefficients.items()
    }


def _of_class(term: str, starts: tuple[str, ...]) -> bool:
    return term.startswith(starts) and term.rpartition("[")[2][:-1].isdigit()


def _columns(design: Design) -> tuple[int, ...]:
    many = design.outcome.kind == "multiclass"
    return (len(design.outcome.levels),) if many else ()


def _training_set(
    design: Design,
    matrix: Floats,
    rows: NDArray[np.intp],
    weights: Floats | None,
    key: tuple[int, ...],
) -> TrainingSet:
    stream = np.random.SeedSequence(key[0], spawn_key=key[1:])
    return TrainingSet(
        X=matrix,
        y=design.y[rows],
        kind=design.outcome.kind,
        n_classes=len(design.outcome.levels),
        names=design.names,
        intercept=design.intercept,
        weights=weights,
        seed=int(stream.generate_state(1)[0] // 2),
    )


def _where(plan: FoldPlan, fit: int) -> str:
    split = int(plan.split_of[fit])
    repeat, fold = plan.name(split)
    named = f"fold {fold} of repeat {repeat}" if plan.repeats > 1 else f"fold {fold}"
    if len(plan.labels[repeat - 1]) == 1:
        named = f"repeat {repeat}"
    several = plan.first_fit[split + 1] - plan.first_fit[split] > 1
    return f"draw {fit - plan.first_fit[split] + 1} of {named}" if several else named


def _check_training_sets(design: Design, plan: FoldPlan) -> None:
    outcome = design.outcome
    if outcome.kind == "continuous":
        _check_not_constant(design, plan)
        return
    training, _ = plan.counts(outcome.y, len(outcome.levels))
    bad = np.argwhere(training == 0)
    if len(bad):
        fit, level = bad[0]
        raise OutcomeError(
            f"the training set of {_where(plan, int(fit))} has no record of class "
            f"{outcome.levels[level]!r} ({len(np.unique(bad[:, 0]))} of "
            f"{plan.n_fits} training sets lack a class); use fewer folds, or a "
            "scheme that spreads the classes."
        )


def _check_not_constant(design: Design, plan: FoldPlan) -> None:
    """Only a value that nearly all rows share can fill a training set."""
    values, counts = np.unique(design.y, return_counts=True)
    common = values[counts.argmax()]
    odd = np.flatnonzero(design.y != common)
    out = plan.n - plan.n_train + plan.copied.sizes
    for fit in np.flatnonzero(out >= len(odd)).tolist():
        if (design.y[plan.train(fit)] == common).all():
            raise OutcomeError(
                f"the outcome is constant ({common:g}) in the training set of "
                f"{_where(plan, fit)}; use more folds, or another model."
            )


def _gather(folds: list[_Fold], plan: FoldPlan) -> Held:
    def owners(sizes: list[int]) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(folds)), sizes)

    heads = [len(fold.test) for fold in folds]
    absent: dict[tuple[str, Any], list[int]] = {}
    for fold in folds:
        for pair in fold.absent:
            absent.setdefault(pair, []).append(fold.fit)
    coefficients = None
    if all(fold.coefficients is not None for fold in folds):
        coefficients = pd.DataFrame([fold.coefficients for fold in folds])
    return Held(
        fit=owners(heads),
        row=np.concatenate([fold.test for fold in folds]),
        predicted=np.concatenate(
            [fold.predicted[:head] for fold, head in zip(folds, heads, strict=True)]
        ),
        partner_fit=owners([len(fold.partners) for fold in folds]),
        partner_row=np.concatenate([fold.partners for fold in folds]),
        partner_predicted=np.concatenate(
            [fold.predicted[head:] for fold, head in zip(folds, heads, strict=True)]
        ),
        converged=np.array([fold.converged for fold in folds]),
        separated=np.array([fold.separated for fold in folds]),
        seconds=np.array([fold.seconds for fold in folds]),
        probabilities=all(fold.probabilities for fold in folds),
        coefficients=coefficients,
        absent=absent,
    )


def _warn(held: Held, plan: FoldPlan, model: Model) -> None:
    plain = plan.n_fits == plan.n_splits and plan.n_splits > plan.repeats
    fits_of = f"of {plan.n_fits} {'folds' if plain else 'fits'}"
    failed = np.flatnonzero(~held.converged)
    if len(failed):
        warn(
            f"{model.label} did not converge in {len(failed)} {fits_of} "
            f"({_listed(plan, failed)}).",
            ConvergenceWarning,
        )
    apart = np.flatnonzero(held.separated)
    if len(apart):
        warn(
            f"fitted probabilities of 0 or 1 in {len(apart)} {fits_of} "
            f"({_listed(plan, apart)}): the classes are separated there and "
            "coefficients have no finite value; consider a ridge, Logit(C=1.0).",
            SeparationWarning,
        )
    for (factor, level), fits in held.absent.items():
        sets = plural(len(fits), "training set")
        warn(
            f"level {level!r} of {factor} is absent from {sets} "
            f"({_listed(plan, fits)}): nothing was learnt of it there.",
            UnseenLevelWarning,
        )


def _listed(plan: FoldPlan, fits: Iterable[int]) -> str:
    chosen = [int(fit) for fit in fits]
    shown = ", ".join(_where(plan, fit) for fit in chosen[:3])
    return shown + (", …" if len(chosen) > 3 else "")

"""Fit the model in every fold of the plan and gather what it predicts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from statcv import errors
from statcv.engine.checkpoint import Checkpoint
from statcv.engine.fit_messages import check_columns, check_training_sets, warn_of_fits
from statcv.engine.parallel import check_jobs, do_tasks, progress_bar
from statcv.engine.predictions import Absent, Held
from statcv.engine.setup import Setup
from statcv.engine.tasks import Tasks, ways
from statcv.folds import FoldPlan
from statcv.formula import Design
from statcv.models import Model
from statcv.numeric.arrays import Floats, Numbers

OF_THE_FITS = (
    errors.ConvergenceWarning,
    errors.PrecisionWarning,
    errors.SeparationWarning,
    errors.UnseenLevelWarning,
)


def run(
    design: Design,
    plan: FoldPlan,
    model: Model,
    *,
    seed: int,
    weights: Floats | None = None,
    n_jobs: int | None = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    numbers: Numbers | None = None,
    omitted: Absent | None = None,
) -> Held:
    """Fit every training set of the plan and predict the held-out records.

    Parameters
    ----------
    design : Design
    plan : FoldPlan
        Plan for the rows of the design.
    model : Model
    seed : int
        Root of the streams of random numbers, one for the model of each fold.
    weights : numpy.ndarray, optional
        Weights of the rows in the fits, shape (n,).
    n_jobs : int, optional
        Number of processes, as in joblib; if None, a surrounding
        ``joblib.parallel_config`` decides.
    checkpoint : path, optional
        Directory where finished fits are kept, and from which the run resumes.
    progress : bool, optional
        Whether to show a bar; by default after two seconds and at a terminal only.
    numbers : numpy.ndarray of int, optional
        Numbers from which the fits get the seeds of their models, shape (n_fits,), by
        default those of the plan; given, for example, when a fit is repeated.
    omitted : dict, optional
        What :func:`omit_new_levels` took out of the plan.

    Raises
    ------
    OutcomeError
        If a training set lacks a class, or its outcome is constant.
    ModelError
        If an unpenalised regression has as many columns as training records.
    FitError
        If the model fails; the message names the fold.
    CheckpointError
        If the directory holds the fits of another call.
    """
    check_jobs(n_jobs)
    check_training_sets(design, plan)
    check_columns(design, plan, model)
    setup = Setup(design, plan, model, seed, weights, numbers)
    kept = None if checkpoint is None else Checkpoint.of(checkpoint, setup)
    with progress_bar(plan.n_fits, progress) as bar:
        for tasks in ways(setup):
            parts = parts_of(setup, tasks, kept, n_jobs, bar)
            if parts is not None:
                break
    held = Held.joined(parts or [], setup, omitted)
    warn_of_fits(held, plan, model)
    return held


@contextmanager
def quiet_fits() -> Iterator[None]:
    """Silence warnings about fits, whose failures the caller counts."""
    with warnings.catch_warnings():
        for category in OF_THE_FITS:
            warnings.simplefilter("ignore", category)
        yield


def run_quietly(
    setup: Setup, plan: FoldPlan, n_jobs: int | None, numbers: Numbers | None = None
) -> Held:
    """Fit the training sets of another plan of the same records without warnings.

    Parameters
    ----------
    setup : Setup
    plan : FoldPlan
    n_jobs : int or None
        Number of processes, as in :func:`run`.
    numbers : numpy.ndarray of int, optional
        Numbers of the fits among those of the whole study, on which seeds depend.
    """
    with quiet_fits():
        what = setup.design, plan, setup.model
        given: dict[str, Any] = {"seed": setup.seed, "weights": setup.weights}
        return run(*what, n_jobs=n_jobs, progress=False, numbers=numbers, **given)


def parts_of(
    setup: Setup, tasks: Tasks, kept: Checkpoint | None, n_jobs: int | None, bar: Any
) -> list[Any] | None:
    """Return what all fits gave; None if the model does not fit them that way."""
    done: dict[range, Any] = {}
    bar = progress_bar(len(tasks.ranges), progress=False) if bar is None else bar
    if kept is not None:
        done.update(kept.read(tasks.ranges))
        bar.initial = sum(map(len, done))  # from where its speed is counted
        bar.update(bar.initial)
    left = [task for task in tasks.ranges if task not in done]
    try:
        with closing(do_tasks(tasks.fit, setup, left, n_jobs)) as doing:
            for task, part in doing:
                if part is None:
                    continue
                if kept is not None:
                    kept.write(part)
                done[task] = part
                bar.update(len(task))
    except KeyboardInterrupt:
        if kept is None:
            raise
        raise KeyboardInterrupt(kept.told(tasks.ranges)) from None
    every = len(done) == len(tasks.ranges)
    return [done[task] for task in tasks.ranges] if every else None

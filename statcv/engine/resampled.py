"""The model fitted to samples of the records; each fit predicts all records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine.fit_messages import naming
from statcv.engine.parallel import check_jobs, progress_bar
from statcv.engine.run import parts_of, quiet_fits
from statcv.engine.setup import Setup, seeds_of
from statcv.engine.tasks import MOST, TASKS, WORK, Tasks, cut
from statcv.models import Fit
from statcv.models.batched import Folds, fit_all_folds
from statcv.models.imputation import Imputed
from statcv.models.thresholds import NAME, threshold_in
from statcv.numeric.arrays import Floats, Numbers


@dataclass(frozen=True, eq=False)
class ResampledFits:
    """What the fits of samples predicted for all records.

    Attributes
    ----------
    predicted : numpy.ndarray, shape (samples, n) or (samples, n, classes)
    thresholds : numpy.ndarray, shape (samples,), or None
        Thresholds that the model chose, if it chooses any; or, with the further axes of
        ``predicted``, thresholds that stand for decisions of the model's ``predict``.
    failed : int
        Number of fits that did not converge, or were separated.
    probabilities : bool
        Whether predictions are probabilities or means, not decision scores.
    """

    predicted: Floats
    thresholds: Floats | None
    failed: int
    probabilities: bool


def run_resampled(
    setup: Setup,
    times: NDArray[np.int32],
    numbers: Numbers,
    n_jobs: int | None = None,
    bar: Any = None,
) -> ResampledFits:
    """Fit the model to each of several samples, and predict every record.

    Parameters
    ----------
    setup : Setup
        Design, model and seed; its plan is not used.
    times : numpy.ndarray of int, shape (samples, n)
        How often each record was drawn into each sample; every class is present.
    numbers : numpy.ndarray of int, shape (samples,)
        Numbers from which the fits get the seeds of their models.
    n_jobs : int, optional
        Number of processes, as in :func:`statcv.engine.run`.
    bar : optional
        A bar to move on.

    Raises
    ------
    FitError
        If the model fails.
    """
    seeds = partial(seeds_of, setup.seed, numbers)
    folds = replace(Folds.of_times(times), seeds=seeds)
    return run_everywhere(setup, setup.with_matrices(folds), n_jobs, bar)


def run_everywhere(
    setup: Setup, folds: Folds, n_jobs: int | None = None, bar: Any = None
) -> ResampledFits:
    """Fit the model to each of several training sets, and predict every record.

    Parameters
    ----------
    setup : Setup
    folds : Folds
        The training sets, such as some of those of the setup.
    n_jobs, bar
        As in :func:`run_resampled`.

    Raises
    ------
    FitError
        If the model fails.
    """
    check_jobs(n_jobs)
    if bar is None:
        bar = progress_bar(len(folds), progress=False)
    with quiet_fits():
        for tasks in _ways(setup, folds):
            parts = parts_of(setup, tasks, None, n_jobs, bar)
            if parts is not None:
                break
    return _joined(parts or [])


def _joined(parts: list[ResampledFits]) -> ResampledFits:
    if len(parts) == 1:
        return parts[0]
    chosen = [part.thresholds for part in parts if part.thresholds is not None]
    return ResampledFits(
        predicted=np.concatenate([part.predicted for part in parts]),
        thresholds=np.concatenate(chosen) if len(chosen) == len(parts) else None,
        failed=sum(part.failed for part in parts),
        probabilities=all(part.probabilities for part in parts),
    )


def _ways(setup: Setup, folds: Folds) -> Iterator[Tasks]:
    """Yield the ways to fit all samples, the quicker first; the last always works."""
    samples = len(folds)
    if setup.fits_together:
        n, p = setup.records.X.shape
        each = n * max(p, 1) * max(setup.model.capabilities.fits_per_training_set, 1)
        yield Tasks(partial(_together, folds), cut(samples, max(1, WORK // each)))
    size = min(max(samples // TASKS, 1), MOST)
    yield Tasks(partial(_one_by_one, folds), cut(samples, size))


def _together(folds: Folds, setup: Setup, fits: range) -> ResampledFits | None:
    chosen = folds
    if len(fits) < len(folds):
        chosen = folds.chosen(np.arange(fits.start, fits.stop))
    fitted = fit_all_folds(setup.model, setup.records, chosen)
    if fitted is None:
        return None
    predicted = fitted.predict_all(setup.design.n)
    cuts = (fitted.chosen or {}).get(NAME)
    failed = int((~fitted.converged | fitted.separated).sum())
    return ResampledFits(predicted, cuts, failed, probabilities=True)


def _one_by_one(folds: Folds, setup: Setup, fits: range) -> ResampledFits:
    every = np.arange(setup.design.n)
    made, cuts = [], []
    for number in fits:
        with naming(setup.model, partial("sample {}".format, number + 1)):
            training = folds.training_set(setup.records, number)
            if isinstance(setup.model, Imputed):
                X = setup.design.matrix  # the fits impute its columns
                counts = folds.counts_in(len(X), np.array([number]))[0]
                fit: Fit = setup.model.fit_all(setup.design, training, counts)
            else:
                X = folds.matrix(setup.records, number, every)
                fit = setup.model.fit(training)
            made.append((fit, np.asarray(fit.predict(X), dtype=float)))
            cuts.append(threshold_in(fit, X))
    known = all(one is not None for one in cuts)
    return ResampledFits(
        predicted=np.stack([predicted for _, predicted in made]),
        thresholds=np.array(cuts, dtype=float) if known else None,
        failed=sum(not fit.converged or fit.separated for fit, _ in made),
        probabilities=all(fit.probabilities for fit, _ in made),
    )

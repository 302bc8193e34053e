"""The model fitted to samples of the records; each fit predicts all records."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import fit_seeds
from statcv.engine.parallel import check_jobs, do_tasks
from statcv.engine.permuted import OF_THE_FITS
from statcv.engine.predictions import Floats, Part
from statcv.engine.setup import Setup
from statcv.engine.tasks import MOST, TASKS, WORK, cut
from statcv.errors import FitError, StatcvError
from statcv.folds import Ragged
from statcv.models.batched import Folds, fit_all_folds
from statcv.models.thresholds import NAME

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ResampledFits:
    """What the fits of samples predicted for all records.

    Attributes
    ----------
    predicted : numpy.ndarray, shape (samples, n) or (samples, n, classes)
    thresholds : numpy.ndarray, shape (samples,), or None
        Thresholds that the model chose, if it chooses any.
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
    samples: Sequence[Rows],
    n_jobs: int | None = None,
    bar: Any = None,
    first: int = 0,
) -> ResampledFits:
    """Fit the model to each of several samples, and predict every record.

    Parameters
    ----------
    setup : Setup
        Design, model and seed; its plan is not used.
    samples : sequence of numpy.ndarray of int
        Records of each sample, as often as they were drawn; every class is present.
    n_jobs : int, optional
        Number of processes, as in :func:`statcv.engine.run`.
    bar : optional
        A bar to move on.
    first : int
        Number of the first sample, from which its model's seed is derived.

    Raises
    ------
    FitError
        If the model fails.
    """
    check_jobs(n_jobs)
    n = setup.design.n
    lists = [np.bincount(rows, minlength=n) for rows in samples]
    again = [np.repeat(np.arange(n), np.maximum(times - 1, 0)) for times in lists]
    folds = Folds(
        Ragged.of(np.flatnonzero(times == 0) for times in lists),
        Ragged.of(again),
        seeds=partial(_seeds, setup.seed, first),
    )
    parts: list[Part] = []
    with warnings.catch_warnings():
        for category in OF_THE_FITS:  # counted below
            warnings.simplefilter("ignore", category)
        for task, ranges in _ways(setup, len(samples)):
            done: dict[range, Part] = {}
            doing = do_tasks(partial(task, folds), setup, ranges, n_jobs)
            with closing(doing):
                for fits, part in doing:
                    if part is None:
                        break
                    done[fits] = part
                    if bar is not None:
                        bar.update(len(fits))
            if len(done) == len(ranges):
                parts = [done[fits] for fits in ranges]
                break
    predicted = np.concatenate([part.predicted for part in parts])
    return ResampledFits(
        predicted=predicted.reshape(len(samples), n, *predicted.shape[1:]),
        thresholds=_chosen(parts),
        failed=sum(int((~part.converged | part.separated).sum()) for part in parts),
        probabilities=all(part.probabilities for part in parts),
    )


def _seeds(seed: int, first: int, fits: Rows) -> NDArray[np.int64]:
    return fit_seeds(seed, fits + first)


def _chosen(parts: list[Part]) -> Floats | None:
    chosen = [one for part in parts for one in part.chosen or []]
    if not chosen or NAME not in chosen[0]:
        return None
    return np.array([one[NAME] for one in chosen], dtype=float)


def _ways(setup: Setup, samples: int) -> list[tuple[Any, tuple[range, ...]]]:
    """Return the ways to fit all samples, the quicker first; the last always works."""
    ways = []
    if setup.fits_together:
        n, p = setup.records.X.shape
        each = n * max(p, 1) * max(setup.model.capabilities.fits_per_training_set, 1)
        ways.append((_together, cut(samples, max(1, WORK // each))))
    ways.append((_one_by_one, cut(samples, min(max(samples // TASKS, 1), MOST))))
    return ways


def _together(folds: Folds, setup: Setup, fits: range) -> Part | None:
    started, n = time.perf_counter(), setup.design.n
    chosen = folds.chosen(np.arange(fits.start, fits.stop))
    fitted = fit_all_folds(setup.model, setup.records, chosen)
    if fitted is None:
        return None
    rows = np.tile(np.arange(n), len(fits))
    values = {} if fitted.chosen is None else fitted.chosen
    return Part(
        fits=fits,
        predicted=fitted.predict_many(rows, np.repeat(np.arange(len(fits)), n)),
        partner_predicted=np.empty(0),
        converged=fitted.converged,
        separated=fitted.separated,
        seconds=np.full(len(fits), (time.perf_counter() - started) / len(fits)),
        probabilities=True,
        chosen=[
            dict(zip(values, of_fit, strict=True))
            for of_fit in zip(*values.values(), strict=True)
        ],
    )


def _one_by_one(folds: Folds, setup: Setup, fits: range) -> Part:
    started, every = time.perf_counter(), np.arange(setup.design.n)
    made = []
    for number in fits:
        try:
            training = folds.training_set(setup.records, number)
            X = setup.records.X
            if setup.design.terms.stateful:
                learnt, X = setup.design.fold(folds.train(number, len(every)), every)
                training = replace(training, X=learnt)
            fit = setup.model.fit(training)
            made.append((fit, np.asarray(fit.predict(X), dtype=float)))
        except StatcvError as error:
            raise type(error)(f"in sample {number + 1}: {error}") from error
        except Exception as error:
            raise FitError(
                f"{setup.model.label} failed in sample {number + 1}: "
                f"{type(error).__name__}: {error}"
            ) from error
    return Part(
        fits=fits,
        predicted=np.concatenate([predicted for _, predicted in made]),
        partner_predicted=np.empty(0),
        converged=np.array([bool(fit.converged) for fit, _ in made]),
        separated=np.array([bool(fit.separated) for fit, _ in made]),
        seconds=np.full(len(fits), (time.perf_counter() - started) / len(fits)),
        probabilities=all(fit.probabilities for fit, _ in made),
        chosen=[fit.chosen or {} for fit, _ in made],
    )

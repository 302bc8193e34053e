"""Predictions of the models of folds, or of bootstrap samples, for all records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Setup, progress_bar, run_everywhere
from statcv.errors import (
    FitError,
    StatcvWarning,
    warn,
)
from statcv.formula import Design
from statcv.inference.refits.resampling import Resampling, ResamplingStudy
from statcv.results.refits import Running

Floats = NDArray[np.float64]


def of_folds(setup: Setup, fits: int, running: Running) -> tuple[Floats, int]:
    """Return what fits of folds predict for all records, and how many failed."""
    chosen = np.linspace(0, len(setup.folds) - 1, fits).round().astype(np.intp)
    with progress_bar(fits, running.progress, "fit") as bar:
        folds = setup.folds.chosen(chosen)
        made = run_everywhere(setup, folds, running.n_jobs, bar)
    return made.predicted, made.failed


def bootstrapped(
    setup: Setup, n_boot: int, running: Running, design: Design | None = None
) -> tuple[Floats, int]:
    """Return what bootstrap models predict for all records, and how many failed.

    With a design that has further rows, these are predicted as well.
    """
    study = ResamplingStudy((), False, None, running.seed, n_boot)
    resampling = Resampling(setup, study)
    times, _ = resampling.samples(range(n_boot))
    with progress_bar(n_boot, running.progress, "fit") as bar:
        numbers, jobs = np.arange(n_boot), running.n_jobs
        fits = resampling.fits(times, numbers, jobs, bar, design)
        made = [one.predicted for _, one in fits]
    missing = n_boot - sum(map(len, made))
    said = f"{missing} of {n_boot} bootstrap samples have too few records of a class."
    if not made:
        raise FitError(said)
    if missing and design is None:  # the same models gave the warning before
        warn(said, StatcvWarning)
    return np.concatenate(made), resampling.failed

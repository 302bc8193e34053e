"""What models of other samples predict for all records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import Setup, progress_bar, run_everywhere
from statcv.errors import FitError, StatcvWarning, warn
from statcv.formula import Design
from statcv.inference.refits.refitting import warn_of_refits
from statcv.inference.refits.resampling import Resampling, ResamplingStudy

Predicted = tuple[NDArray[np.float64], int]  # shape (models, n), and failed fits

MOST_FOLDS = 1000  # fits of folds that are made, evenly chosen among them


def bootstrap_predictions(
    setup: Setup,
    n_boot: int,
    seed: int,
    design: Design | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Predicted:
    """Fit the model to bootstrap samples; return predictions, and how many fits failed.

    Parameters
    ----------
    setup : Setup
        Design, model and weights, and the clusters of its plan, which are drawn whole.
    n_boot, seed, n_jobs, progress
        As :func:`statcv.inference.refits.optimism.optimism_corrected` takes them.
    design : Design, optional
        A design with further rows, which are predicted as well.

    Raises
    ------
    FitError
        If no sample has a model.

    Warns
    -----
    StatcvWarning, ConvergenceWarning
        If samples have no model, or fits failed; not with ``design``, whose models gave
        the warnings before.
    """
    resampling = Resampling(setup, ResamplingStudy((), False, None, seed, n_boot))
    times, _ = resampling.samples(range(n_boot))
    with progress_bar(n_boot, progress, "fit") as bar:
        fits = resampling.fits(times, np.arange(n_boot), n_jobs, bar, design)
        made = [one.predicted for _, one in fits]
    missing = n_boot - sum(map(len, made))
    if not made:
        raise FitError(lacking(missing, n_boot))
    if design is None:
        if missing:
            warn(lacking(missing, n_boot), StatcvWarning)
        warn_of_refits(resampling.failed, n_boot - missing)
    return np.concatenate(made), resampling.failed


def lacking(missing: int, n_boot: int) -> str:
    """Return how many bootstrap samples have no model, as a sentence."""
    return (
        f"{missing} of {n_boot} bootstrap samples have too few records of a class, and "
        "no model."
    )


def fold_predictions(setup: Setup, **processes: Any) -> Predicted:
    """Fit the model to training sets of folds; return as `bootstrap_predictions`.

    Parameters
    ----------
    setup : Setup
    **processes
        Number of processes, ``n_jobs``, and ``progress``.
    """
    folds = setup.folds
    if len(folds) > MOST_FOLDS:
        chosen = np.linspace(0, len(folds) - 1, MOST_FOLDS).round().astype(np.intp)
        folds = folds.chosen(chosen)
    with progress_bar(len(folds), processes["progress"], "fit") as bar:
        made = run_everywhere(setup, folds, processes["n_jobs"], bar)
    warn_of_refits(made.failed, len(folds))
    return made.predicted, made.failed

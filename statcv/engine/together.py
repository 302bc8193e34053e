"""Fits that are made together, by models that know how."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine.part import Part, plain
from statcv.engine.setup import Setup
from statcv.models.together.fitted import fit_all_folds


def fit_together(setup: Setup, fits: range) -> Part | None:
    """Fit a range of folds as one problem; None if the model does not know how.

    No term may learn from the data. Predictions are those of independent fits, to
    rounding.
    """
    started = time.perf_counter()
    plan, numbers = setup.plan, np.arange(fits.start, fits.stop)
    every = len(fits) == plan.n_fits
    folds = setup.folds if every else setup.folds.chosen(numbers)
    fitted = fit_all_folds(setup.model, setup.records, folds)
    if fitted is None:
        return None
    tests = plan.tests_by_fit.part(fits.start, fits.stop)
    dropped = plan.dropped.part(fits.start, fits.stop)
    first = plan.dropped.starts[fits.start]
    apart = plan.apart[first : first + len(dropped.values)]
    predicted = fitted.predict_many(tests.values.astype(np.intp), tests.owners)
    left_out = dropped.values[apart].astype(np.intp)
    partners = fitted.predict_many(left_out, dropped.owners[apart])
    seconds = (time.perf_counter() - started) / len(fits)
    return Part(
        fits=fits,
        predicted=predicted,
        partner_predicted=partners,
        converged=fitted.converged,
        separated=fitted.separated,
        seconds=np.full(len(fits), seconds),
        probabilities=True,
        names=fitted.names,
        coefficients=fitted.coefficients,
        chosen=None if fitted.chosen is None else _by_fit(fitted.chosen, len(fits)),
    )


def _by_fit(chosen: dict[str, NDArray[Any]], fits: int) -> list[dict[str, Any]]:
    values = {name: array.tolist() for name, array in chosen.items()}
    return [
        plain({name: of_fits[fit] for name, of_fits in values.items()})
        for fit in range(fits)
    ]

"""The fits of a plan for many permuted outcomes of the same records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine.parallel import one_thread, own_threads
from statcv.engine.predictions import Held, Part
from statcv.engine.run import run_quietly
from statcv.engine.setup import Setup, with_matrices
from statcv.errors import FitError, MetricError, OutcomeError, SchemeError, WorkerError
from statcv.models.batched import fit_all_folds, permuted_folds
from statcv.models.thresholds import NAME
from statcv.models.tuning import chosen_table
from statcv.numeric.arrays import Floats, Numbers

OF_THE_OUTCOME = (OutcomeError, SchemeError, FitError, MetricError)


@dataclass(frozen=True, eq=False)
class OutcomePermutations:
    """OutcomePermutations of the outcome among the records.

    Attributes
    ----------
    places : numpy.ndarray of int, shape (times, n)
        Record that takes the place, and so the outcome, of each record.
    with_plan : bool
        Whether the folds go with the outcome, as they do if they were made for it;
        otherwise they stay with the records.
    """

    places: Numbers
    with_plan: bool

    def __len__(self) -> int:
        return len(self.places)

    def outcomes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the outcomes by record, shape (times, n)."""
        permuted = np.empty(self.places.shape, dtype=y.dtype)
        np.put_along_axis(permuted, self.places, y[None, :], axis=1)
        return permuted


def run_permuted(
    setup: Setup, permutations: OutcomePermutations, n_jobs: int | None = None
) -> list[Held | str]:
    """Fit every training set of the plan for each of the outcomes.

    A permuted outcome only adds folds of the same matrix: a model that fits folds
    together fits those of all outcomes together.

    Parameters
    ----------
    setup : Setup
        Setup of the fits to the outcome as observed.
    permutations : OutcomePermutations
    n_jobs : int, optional
        Number of processes, as in :func:`run`.

    Returns
    -------
    list of Held or str
        What the fits predicted for each outcome, or why it cannot be fitted.
    """
    try:
        with one_thread(), own_threads(n_jobs):
            together = _together(setup, permutations)
    except OF_THE_OUTCOME:  # some of the outcomes cannot be fitted
        together = None
    return _one_by_one(setup, permutations, n_jobs) if together is None else together


def _together(
    setup: Setup, permutations: OutcomePermutations
) -> list[Held | str] | None:
    design, plan, times = setup.design, setup.plan, len(permutations)
    scaled = setup.weights is not None and plan.rebalance is not None
    if scaled or design.offsets:  # an exposure goes with the outcome
        return None
    places = permutations.places if permutations.with_plan else None
    folds = permuted_folds(setup.folds, times, places)
    if folds.matrices is None:
        folds = with_matrices(folds, design)
    records = replace(setup.records, y=permutations.outcomes(design.y))
    fitted = fit_all_folds(setup.model, records, folds)
    if fitted is None:
        return None

    def predict(rows: Numbers, fits: Numbers) -> Floats:
        number = np.repeat(np.arange(times), len(rows))
        many = np.tile(rows, times)
        if places is not None:
            many = places[number, many]
        made = fitted.predict(many, np.tile(fits, times) + number * plan.n_fits)
        return made.reshape(times, len(rows), *made.shape[1:])

    tests, partner = plan.fits.tests_by_fit, np.flatnonzero(plan.fits.unseen)
    dropped = plan.dropped.values[partner].astype(np.intp)
    predicted = predict(tests.values.astype(np.intp), tests.owners)
    partner_predicted = predict(dropped, plan.dropped.owners[partner])
    cuts = (fitted.chosen or {}).get(NAME)
    own = slice(plan.n_fits)
    went = fitted.converged[own], fitted.separated[own], np.zeros(plan.n_fits), True
    part = Part(range(plan.n_fits), predicted[0], partner_predicted[0], *went)
    first, made = Held.joined([part], setup), list[Held | str]()
    for number in range(times):
        own = slice(number * plan.n_fits, (number + 1) * plan.n_fits)
        chosen = None if cuts is None else chosen_table([{NAME: c} for c in cuts[own]])
        held = replace(
            first,
            predicted=predicted[number],
            partner_predicted=partner_predicted[number],
            converged=fitted.converged[own],
            separated=fitted.separated[own],
            chosen=chosen,
        )
        made.append(held)
    return made


def _one_by_one(
    setup: Setup, permutations: OutcomePermutations, n_jobs: int | None
) -> list[Held | str]:
    made: list[Held | str] = []
    for places in permutations.places:
        design, weights = setup.design, setup.weights
        if permutations.with_plan:
            design = design.taken(places)
            weights = None if weights is None else weights[places]
        else:
            design = design.with_outcomes(np.argsort(places))
        made.append(run_if_able(replace(setup, design=design, weights=weights), n_jobs))
    return made


def run_if_able(setup: Setup, n_jobs: int | None) -> Held | str:
    """Return what the fits predict, or why the outcome cannot be fitted."""
    try:
        return run_quietly(setup, setup.plan, n_jobs)
    except WorkerError:  # it is not for the outcome that the process ended
        raise
    except OF_THE_OUTCOME as error:
        return str(error)

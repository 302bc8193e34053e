"""The fits of a plan for many permuted outcomes of the same records."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine.parallel import one_thread, own_threads
from statcv.engine.predictions import Floats, Held
from statcv.engine.run import run
from statcv.engine.setup import Setup, with_matrices
from statcv.errors import (
    ConvergenceWarning,
    FitError,
    MetricError,
    OutcomeError,
    SchemeError,
    SeparationWarning,
    UnseenLevelWarning,
)
from statcv.models.batched import fit_all_folds, permuted_folds
from statcv.models.thresholds import NAME

OF_THE_FITS = (ConvergenceWarning, SeparationWarning, UnseenLevelWarning)
OF_THE_OUTCOME = (OutcomeError, SchemeError, FitError, MetricError)


@dataclass(frozen=True, eq=False)
class Permutations:
    """Permutations of the outcome among the records.

    Attributes
    ----------
    places : numpy.ndarray of int, shape (times, n)
        Record that takes the place, and so the outcome, of each record.
    with_plan : bool
        Whether the folds go with the outcome, as they do if they were made for it;
        otherwise they stay with the records.
    """

    places: NDArray[np.intp]
    with_plan: bool

    def __len__(self) -> int:
        return len(self.places)

    def outcomes(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the outcomes by record, shape (times, n)."""
        dealt = np.empty(self.places.shape, dtype=y.dtype)
        np.put_along_axis(dealt, self.places, y[None, :], axis=1)
        return dealt


@dataclass(frozen=True, eq=False)
class PermutedFits:
    """What the fits of a plan predicted for each of several outcomes.

    Attributes
    ----------
    fitted : numpy.ndarray of bool, shape (outcomes,)
        Which outcomes the model could be fitted to, ``times`` in number.
    predicted : numpy.ndarray, shape (times, m) or (times, m, classes)
        Predictions at held-out records, in the order of ``plan.fits.tests_by_fit``.
    partner_predicted : numpy.ndarray
        Predictions at the records dropped for balance, in the order of
        ``Held.partner_row``.
    failed : int
        Number of fits that did not converge, or were separated.
    why : str
        Why the first of the other outcomes could not be fitted.
    thresholds : numpy.ndarray, shape (times, n_fits), or None
        Thresholds that the model chose on its training sets, if it chooses any.
    decided : numpy.ndarray in the shape of ``predicted``, or None
        As in ``Held``.
    """

    fitted: NDArray[np.bool_]
    predicted: Floats
    partner_predicted: Floats
    failed: int
    why: str = ""
    thresholds: Floats | None = None
    decided: Floats | None = None


def run_permuted(
    setup: Setup, permutations: Permutations, n_jobs: int | None = None
) -> PermutedFits:
    """Fit every training set of the plan for each of the outcomes.

    A permuted outcome only adds folds of the same matrix: a model that fits folds
    together fits those of all outcomes together. An outcome to which it cannot be
    fitted is omitted.

    Parameters
    ----------
    setup : Setup
        Setup of the fits to the outcome as observed.
    permutations : Permutations
    n_jobs : int, optional
        Number of processes, as in :func:`run`.
    """
    try:
        with one_thread(), own_threads(n_jobs):
            together = _together(setup, permutations)
    except OF_THE_OUTCOME:  # some of the outcomes cannot be fitted
        together = None
    return _one_by_one(setup, permutations, n_jobs) if together is None else together


def _together(setup: Setup, permutations: Permutations) -> PermutedFits | None:
    design, plan, times = setup.design, setup.plan, len(permutations)
    scaled = setup.weights is not None and plan.rebalance is not None
    if scaled:
        return None
    places = permutations.places if permutations.with_plan else None
    folds = permuted_folds(setup.folds, times, places)
    if folds.matrices is None:
        folds = with_matrices(folds, design)
    records = replace(setup.records, y=permutations.outcomes(design.y))
    fitted = fit_all_folds(setup.model, records, folds)
    if fitted is None:
        return None

    def predict(rows: NDArray[np.intp], fits: NDArray[np.intp]) -> Floats:
        number = np.repeat(np.arange(times), len(rows))
        many = np.tile(rows, times)
        if places is not None:
            many = places[number, many]
        made = fitted.predict(many, np.tile(fits, times) + number * plan.n_fits)
        return made.reshape(times, len(rows), *made.shape[1:])

    tests, partner = plan.fits.tests_by_fit, np.flatnonzero(plan.fits.unseen)
    dropped = plan.dropped.values[partner].astype(np.intp)
    cuts = (fitted.chosen or {}).get(NAME)
    if cuts is not None:
        cuts = cuts.reshape(times, plan.n_fits).astype(float)
    return PermutedFits(
        fitted=np.ones(times, dtype=bool),
        predicted=predict(tests.values.astype(np.intp), tests.owners),
        partner_predicted=predict(dropped, plan.dropped.owners[partner]),
        failed=int((~fitted.converged | fitted.separated).sum()),
        thresholds=cuts,
    )


def _one_by_one(
    setup: Setup, permutations: Permutations, n_jobs: int | None
) -> PermutedFits:
    outcomes = permutations.outcomes(setup.design.y)
    made, fitted, why = [], np.zeros(len(permutations), dtype=bool), ""
    for number, (places, y) in enumerate(
        zip(permutations.places, outcomes, strict=True)
    ):
        design, weights = setup.design, setup.weights
        if permutations.with_plan:
            design = design.taken(places)
            weights = None if weights is None else weights[places]
        else:
            design = replace(design, outcome=replace(design.outcome, y=y))
        try:
            with warnings.catch_warnings():
                for category in OF_THE_FITS:  # counted below
                    warnings.simplefilter("ignore", category)
                held = run(
                    design,
                    setup.plan,
                    setup.model,
                    seed=setup.seed,
                    weights=weights,
                    n_jobs=n_jobs,
                    progress=False,
                )
        except OF_THE_OUTCOME as error:
            why = why or str(error)
            continue
        made.append(held)
        fitted[number] = True
    chosen = [held.chosen for held in made if held.chosen is not None]
    cuts = None
    if chosen and NAME in chosen[0]:
        cuts = np.array([table[NAME].to_numpy(dtype=float) for table in chosen])
    return PermutedFits(
        fitted=fitted,
        predicted=np.array([held.predicted for held in made]),
        partner_predicted=np.array([held.partner_predicted for held in made]),
        failed=sum(int((~held.converged | held.separated).sum()) for held in made),
        why=why,
        thresholds=cuts,
        decided=_decided(made),
    )


def _decided(made: list[Held]) -> Floats | None:
    if all(held.decided is None for held in made):
        return None
    each = [held.by_half if held.decided is None else held.decided for held in made]
    return np.array(each)

"""Further fits: of permuted outcomes, of samples of the records, and one by one.

The fits of a plan are made again for many permuted outcomes of the same records; the
model is fitted to samples of the records, and each fit predicts all records; or every
fit of a plan is summarised as it is made, and then released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine.fit_messages import check_training_sets, naming, where
from statcv.engine.parallel import check_jobs, one_thread, own_threads
from statcv.engine.predictions import Held, Part
from statcv.engine.run import parts_of, quiet_fits, run_quietly
from statcv.engine.setup import Setup, seeds_of, with_matrices
from statcv.engine.tasks import MOST, TASKS, WORK, Tasks, cut
from statcv.errors import FitError, MetricError, OutcomeError, SchemeError, WorkerError
from statcv.models import Fit, TrainingSet
from statcv.models.batched import Folds, fit_all_folds, permuted_folds
from statcv.models.imputation import Imputed
from statcv.models.thresholds import NAME, threshold_in
from statcv.models.tuning import chosen_table
from statcv.numeric.arrays import Array, Floats, Numbers

# ---- permuted outcomes ----

OF_THE_OUTCOME = (OutcomeError, SchemeError, FitError, MetricError)


@dataclass(frozen=True, eq=False)
class OutcomePermutations:
    """Permutations of the outcome among the records.

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

    def outcomes(self, y: Array) -> Array:
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
            together = _outcomes_together(setup, permutations)
    except OF_THE_OUTCOME:  # some of the outcomes cannot be fitted
        together = None
    return (
        _outcomes_one_by_one(setup, permutations, n_jobs)
        if together is None
        else together
    )


def _outcomes_together(
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


def _outcomes_one_by_one(
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


# ---- samples of the records ----


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
        yield Tasks(
            partial(_samples_together, folds), cut(samples, max(1, WORK // each))
        )
    size = min(max(samples // TASKS, 1), MOST)
    yield Tasks(partial(_samples_one_by_one, folds), cut(samples, size))


def _samples_together(folds: Folds, setup: Setup, fits: range) -> ResampledFits | None:
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


def _samples_one_by_one(folds: Folds, setup: Setup, fits: range) -> ResampledFits:
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


# ---- fits that are summarised as they are made ----

Read = TypeVar("Read")


@dataclass(frozen=True, eq=False)
class FoldFit:
    """A model fitted to the training set of a fold.

    Attributes
    ----------
    setup : Setup
    number : int
        Number of the fit in the plan.
    fit : Fit
    training : TrainingSet
    """

    setup: Setup
    number: int
    fit: Fit
    training: TrainingSet

    @property
    def held_out(self) -> Numbers:
        """The records that its split holds out."""
        return self.setup.plan.fits.held_out_by(self.number)

    @cached_property
    def _learnt(self) -> Any:
        """What stateful terms learnt there; None without stateful terms."""
        terms = self.setup.design.terms
        if not terms.stateful:
            return None
        return terms.learn(self.setup.plan.train(self.number))

    def predict(self, frame: pd.DataFrame) -> Floats:
        """Return predictions for rows of prepared columns, such as ``terms.frame``."""
        X = self.setup.design.terms.matrix(frame, self._learnt)
        new = self.setup.folds.new_levels(self.setup.records)
        if new is not None:
            X = new.replaced(X, frame, self.number)
        return np.asarray(self.fit.predict(X), dtype=float)


Reader = Callable[[FoldFit], Read]  # function that returns what is kept of a fit


def read_fits(
    setup: Setup, read: Reader[Read], n_jobs: int | None = None, bar: Any = None
) -> list[Read]:
    """Fit every training set by itself, and return a summary of each fit.

    Parameters
    ----------
    setup : Setup
    read : callable
        Function of a fit that returns what is kept of it, not None. It is called where
        the fit is made, so that only what it returns is sent between processes.
    n_jobs : int, optional
        As :func:`statcv.engine.run` takes it.
    bar : optional
        A bar to move on.

    Returns
    -------
    list
        What ``read`` returned, in the order of the plan's fits.

    Raises
    ------
    OutcomeError
        If a training set lacks a class, or its outcome is constant.
    FitError
        If the model fails; the message names the fold.
    """
    check_jobs(n_jobs)
    check_training_sets(setup.design, setup.plan)
    tasks = Tasks(partial(_read, read), cut(setup.plan.n_fits, 1))
    return parts_of(setup, tasks, None, n_jobs, bar) or []


def _read(read: Reader[Read], setup: Setup, fits: range) -> Read:
    number = fits.start
    with naming(setup.model, partial(where, setup.plan, number)):
        training = setup.folds.training_set(setup.records, number)
        return read(FoldFit(setup, number, setup.model.fit(training), training))

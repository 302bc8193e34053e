"""Every fit of a plan, summarised as it is made and then released."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.engine.fit_messages import check_training_sets, where
from statcv.engine.parallel import check_jobs, do_tasks
from statcv.engine.predictions import Floats
from statcv.engine.setup import Setup
from statcv.errors import FitError, StatcvError
from statcv.models import Fit, TrainingSet
from statcv.models.batched import CELLS, FittedFolds, fit_all_folds
from statcv.models.thresholds import training_weights

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
    def held_out(self) -> NDArray[np.intp]:
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


def read_fits(
    setup: Setup,
    read: Callable[[FoldFit], Read],
    n_jobs: int | None = None,
    bar: Any = None,
) -> list[Read]:
    """Fit every training set by itself, and return a summary of each fit.

    Parameters
    ----------
    setup : Setup
    read : callable
        Function of a fit that returns what is kept of it. It is called where the fit is
        made, so that only what it returns is sent between processes.
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
    ranges = [range(fit, fit + 1) for fit in range(setup.plan.n_fits)]
    made: dict[int, Read] = {}
    with closing(do_tasks(partial(_read, read), setup, ranges, n_jobs)) as doing:
        for task, found in doing:
            made[task.start] = found
            if bar is not None:
                bar.update(1)
    return [made[fit] for fit in range(len(ranges))]


def _read(read: Callable[[FoldFit], Read], setup: Setup, fits: range) -> Read:
    number = fits.start
    try:
        training = setup.folds.training_set(setup.records, number)
        return read(FoldFit(setup, number, setup.model.fit(training), training))
    except StatcvError as error:
        raise type(error)(f"in {where(setup.plan, number)}: {error}") from error
    except Exception as error:
        raise FitError(
            f"{setup.model.label} failed in {where(setup.plan, number)}: "
            f"{type(error).__name__}: {error}"
        ) from error


# ---- mean and standard deviation of what each fit predicts ----

ROUNDING = 1e-12  # relative, as for ranks


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and sd of what each fit predicts for many rows.

    Attributes
    ----------
    mean, sd : numpy.ndarray, shape (n_fits,)
        The sd divides by the number of rows; it is 0 where all predictions are
        equal but for rounding.
    """

    mean: Floats
    sd: Floats


def prediction_moments(
    setup: Setup, *, training: bool, n_jobs: int | None = None
) -> Moments:
    """Fit every training set again, and return the moments of its predictions.

    Parameters
    ----------
    setup : Setup
        Setup whose model predicts one number for each record.
    training : bool
        Whether the moments are over the training set of each fit, with its duplicates
        and weights, or over all rows, held-out ones included.
    n_jobs : int, optional
        Number of processes where fits are made one by one, as in
        :func:`statcv.engine.run`.
    """
    fitted = fit_all_folds(setup.model, setup.records, setup.folds)
    if fitted is not None:
        return _of_all(setup, fitted, training)
    found = read_fits(setup, partial(_of_one, training=training), n_jobs)
    mean, sd = np.array(found).T
    return Moments(mean, sd)


def _of_all(setup: Setup, fitted: FittedFolds, training: bool) -> Moments:
    n, fits = setup.plan.n, setup.plan.n_fits
    mean, sd = np.empty(fits), np.empty(fits)
    step = max(1, CELLS // n)
    for start in range(0, fits, step):
        block = np.arange(start, min(start + step, fits))
        rows = np.tile(np.arange(n), len(block))
        predicted = fitted.predict_many(rows, np.repeat(block, n)).reshape(-1, n)
        weights = np.ones_like(predicted)
        if training:
            weights = training_weights(setup.records, setup.folds, block)
        mean[block], sd[block] = _moments(predicted, weights)
    return Moments(mean, sd)


def _of_one(fold: FoldFit, training: bool) -> tuple[float, float]:
    design, weights = fold.setup.design, None
    if training:
        predicted, weights = fold.fit.predict(fold.training.X), fold.training.weights
    else:
        every = np.arange(design.n)
        X = fold.setup.folds.matrix(fold.setup.records, fold.number, every)
        predicted = fold.fit.predict(X)
    values = np.asarray(predicted, dtype=float)[None]
    given = np.ones_like(values) if weights is None else weights[None]
    mean, sd = _moments(values, given)
    return float(mean[0]), float(sd[0])


def _moments(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return weighted mean and sd of each row of values."""
    counted = weights > 0
    total = weights.sum(axis=1)
    mean = (weights * values).sum(axis=1) / total
    sd = np.sqrt((weights * (values - mean[:, None]) ** 2).sum(axis=1) / total)
    return mean, np.where(_equal(values, counted), 0.0, sd)


def _equal(values: Floats, counted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return in which rows all values that count are equal but for rounding."""
    low = np.where(counted, values, np.inf).min(axis=1)
    high = np.where(counted, values, -np.inf).max(axis=1)
    return np.asarray(high - low <= ROUNDING * np.maximum(np.abs(low), np.abs(high)))

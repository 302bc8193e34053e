"""The mean and the standard deviation of what each fit of a plan predicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statcv.engine import FoldFit, Setup, read_fits
from statcv.models.batched import CELLS, FittedFolds, fit_all_folds

Floats = NDArray[np.float64]
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
            weights = setup.folds.weights_in(setup.records, block)
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

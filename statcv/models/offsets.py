"""Offsets: columns of the matrix whose coefficient is 1, in fits of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from statcv.models.base import PlainFit, TrainingSet, means_at
from statcv.models.batched.fits import FittedFolds, FoldFits, only_fit
from statcv.models.batched.folds import Folds
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.likelihood import Gaussian, LogLinear
from statcv.numeric.arrays import Floats, Numbers

WHOLE = Folds.leaving_out([[]])  # a fit to all records


def total(records: TrainingSet) -> Floats:
    """Return the sum of the offsets of each record."""
    made = records.X[:, list(records.offsets)].sum(axis=1)
    return np.asarray(made if records.offset is None else made + records.offset)


def others(records: TrainingSet) -> Numbers:
    """Return the columns other than offsets."""
    return np.setdiff1d(np.arange(records.X.shape[1]), records.offsets)


def without_offsets(records: TrainingSet, start: float) -> TrainingSet:
    """Return records whose offset, and ``start``, is not in the matrix."""
    inner = records.of_columns(others(records))
    return replace(inner, offsets=(), offset=total(records) + start)


def with_offsets(beta: Floats, records: TrainingSet, start: float) -> Floats:
    """Return the coefficients of all columns, shape (fits, p): 1 for an offset."""
    made = np.ones((len(beta), records.X.shape[1]))
    made[:, others(records)] = beta
    if records.intercept is not None:
        made[:, records.intercept] += start
    return made


def fixed(ridge: Floats, records: TrainingSet) -> Floats:
    """Make the penalty of offsets infinite, in place."""
    ridge[..., list(records.offsets)] = np.inf
    return ridge


def apart(model: Any, records: TrainingSet) -> tuple[TrainingSet, float]:
    """Return records with the offset about its mean, and minus the mean.

    The intercept takes it, or the baseline hazard. A normal outcome is that minus its
    offset. For counts the mean is that at which the intercept is the mean rate, so that
    Newton's method starts at that rate and not at 1.
    """
    start, centre = 0.0, records.centre
    if isinstance(model.capabilities.likelihood, LogLinear):
        start = 0.0 if records.intercept is None else _log_rate(records)
    elif records.kind == "survival" and centre is not None:
        start = -float(centre[list(records.offsets)].sum())
    elif records.kind == "survival" or records.intercept is not None:
        start = -float(total(records).mean())
    inner = without_offsets(records, start)
    if isinstance(model.capabilities.likelihood, Gaussian):
        inner = replace(inner, y=records.y - inner.offset, offset=None)
    return inner, start


def _log_rate(records: TrainingSet) -> float:
    """Return the logarithm of the mean rate of counts; 0 if there are none."""
    offset, y = total(records), records.y
    weights, top = records.each_weight, float(offset.max(initial=-np.inf))
    events = float(weights @ (y if y.ndim == 1 else y.mean(axis=0)))
    if not events > 0:
        return 0.0
    return float(np.log(events / (weights @ np.exp(offset - top)))) - top


def zeroed(model: Any, records: TrainingSet) -> tuple[TrainingSet, float]:
    """Return what `apart` does, with columns of 0 in the place of offsets."""
    counts = isinstance(model.capabilities.likelihood, LogLinear)
    if not (records.offsets or counts):
        return records, 0.0
    (inner, start), X = apart(model, records), records.X.copy()
    X[:, list(records.offsets)] = 0.0
    y, offset = inner.y, inner.offset
    return replace(records, X=X, y=y, offset=offset, offsets=()), start


def alone(fitted: FittedFolds | None, mean: Callable[[Floats], Floats]) -> PlainFit:
    """Return the only fit of a plan, which predicts by means of linear predictors."""
    assert fitted is not None and fitted.linear is not None
    found = np.nan_to_num(np.asarray(fitted.coefficients)[0], posinf=np.inf).tolist()
    predict = partial(means_at, mean, fitted.linear.coefficients[0])
    return only_fit(fitted, predict, found)


def fit_folds_beside(
    model: Any,
    records: TrainingSet,
    folds: Folds,
    mean: Callable[[Floats], Floats],
    own: Floats | None = None,
) -> FittedFolds | None:
    """Fit a regression beside the offset in all folds, by the ridge or each fold's."""
    inner, start = apart(model, records)
    fitted = None if folds.matrices is not None else model.fit_folds(inner, folds)
    if fitted is None:
        return None
    found = np.nan_to_num(np.asarray(fitted.coefficients))
    beta, done = with_offsets(found, records, start), fitted.converged
    fits = FoldFits(beta, done, fitted.separated, ~done)
    penalty = model.ridge(records) if own is None else own
    return by_linear_predictor(fits, records, folds, mean, penalty)

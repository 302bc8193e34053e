"""Predictions of folds by the linear predictors of their fits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from statcv.models.base import TrainingSet
from statcv.models.batched.fits import Computed, FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.families import class_names, free_classes, width_of
from statcv.models.linear_fits import LinearFits
from statcv.numeric.arrays import Floats, Numbers

MIN_CELLS_EACH = 2**13  # values of the rows of a fit from which they are read apart


def learnt_coefficients(beta: Floats, X: Floats, folds: Folds) -> Floats:
    """Return coefficients with NaN for columns without training rows.

    Parameters
    ----------
    beta : numpy.ndarray, shape (fits, k p)
        Coefficients of each column, for one class after the other if there are several.
    X : numpy.ndarray, shape (n, p)
    folds : Folds
    """
    empty = folds.empty_columns(X, None)
    if empty is None:
        return beta
    every = np.tile(empty, beta.shape[1] // max(X.shape[1], 1))
    return np.where(every, np.nan, beta)


def names_of(records: TrainingSet, ridge: Floats) -> tuple[str, ...]:
    """Return the names of the coefficients, of each class that has some."""
    if width_of(records) == 1:
        return records.names
    return class_names(records.names, free_classes(ridge, width_of(records)))


def every_class(coefficients: Floats, records: TrainingSet, ridge: Floats) -> Floats:
    """Return the coefficients of all linear predictors, shape (fits, K, p).

    Parameters
    ----------
    coefficients : numpy.ndarray, shape (fits, free × p)
        Those that are free, class by class.
    records : TrainingSet
    ridge : numpy.ndarray, shape (p,) or (fits, p)
    """
    free = free_classes(ridge, width_of(records))
    p = coefficients.shape[1] // len(free)
    by_class = coefficients.reshape(len(coefficients), len(free), p)
    made = np.zeros((len(by_class), width_of(records), by_class.shape[2]))
    # without a penalty the first class is the reference, with coefficients of 0
    made[:, free] = by_class
    return made


def by_linear_predictor(
    fits: FoldFits,
    records: TrainingSet,
    folds: Folds,
    mean: Callable[[Floats], Floats],
    penalty: Floats,
    beta: Floats | None = None,
) -> FittedFolds:
    """Predict by a function of the linear predictors.

    Parameters
    ----------
    fits : FoldFits
    records : TrainingSet
    folds : Folds
    mean : callable
        Function from linear predictors, (m,) or (m, classes) for more than two, to
        predictions.
    penalty : numpy.ndarray, shape (p,) or (fits, p)
        Strength of the ridge on each column.
    beta : numpy.ndarray, shape (fits, classes, p), optional
        Coefficients of all linear predictors, if these are not one for each class.
    """
    X = records.X
    if beta is None:
        beta = every_class(fits.coefficients, records, penalty)
    fitted, classes, p = beta.shape

    def linear(eta: Floats) -> Floats:
        return mean(eta[..., 0] if classes == 1 else eta)

    def predict(rows: Numbers, numbers: Numbers) -> Floats:
        eta = [predictors(beta[:, k], X, rows, numbers) for k in range(classes)]
        return mean(eta[0] if classes == 1 else np.stack(eta, axis=1))

    def at(X: Floats, numbers: Numbers) -> Floats:
        return linear(np.einsum("mp,mkp->mk", X, beta[numbers]))

    def everywhere() -> Floats:
        eta = (beta.reshape(-1, p) @ X.T).reshape(fitted, classes, -1)
        if classes == 1:
            return mean(eta[:, 0])
        made = mean(eta.swapaxes(1, 2).reshape(-1, classes))
        return made.reshape(fitted, len(X), -1)

    columns = beta[:, 0] if classes == 1 else beta.transpose(0, 2, 1)
    return FittedFolds(
        Computed(fitted, partial(learnt_coefficients, fits.coefficients, X, folds)),
        names_of(records, penalty),
        fits.converged,
        fits.separated,
        predict,
        linear=LinearFits(columns, np.broadcast_to(penalty, columns.shape[:2])),
        everywhere=everywhere,
        at=at,
    )


def predictors(beta: Floats, X: Floats, rows: Numbers, numbers: Numbers) -> Floats:
    """Return the linear predictor of each of some rows in a fit of its own.

    Parameters
    ----------
    beta : numpy.ndarray, shape (fits, p)
        Coefficients.
    X : numpy.ndarray, shape (n, p)
    rows, numbers : numpy.ndarray of int, shape (m,)
        The row, and the fit, of each.
    """
    ends = np.flatnonzero(np.diff(numbers)) + 1
    if len(rows) * X.shape[1] < MIN_CELLS_EACH * (len(ends) + 1):
        return np.asarray(np.einsum("ij,ij->i", X[rows], beta[numbers]))
    # each fit's coefficients are read once, where it predicts many rows in succession
    made = [
        np.einsum("ij,j->i", X[rows[start:end]], beta[numbers[start]])
        for start, end in pairwise([0, *ends.tolist(), len(rows)])
    ]
    return np.concatenate(made)

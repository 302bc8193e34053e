"""FLIC: the intercept of Firth's fits corrected for the right mean of probabilities."""

from __future__ import annotations

import numpy as np

from statcv.errors import ModelError
from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.folds import Folds

MOVED = 1e-12  # a change of an intercept that is negligible
MAX_ITERATIONS = 60  # steps at most of the correction of intercepts


def intercept_shifts(eta: Matrix, y: Matrix, counts: Matrix) -> Matrix:
    """Return what to add to linear predictors for the right mean of probabilities.

    Parameters
    ----------
    eta : numpy.ndarray, shape (fits, n)
    y : numpy.ndarray, shape (n,) or (fits, n)
        Outcomes, 0 or 1.
    counts : numpy.ndarray, shape (fits, n)
        Weights of the records in each fit.

    References
    ----------
    Puhr, Heinze, Nold, Lusa & Geroldinger (2017), Statistics in Medicine 36, 2302:
    FLIC.

    Examples
    --------
    >>> eta, y = np.array([[-1.0, 0.0, 1.0]]), np.array([0.0, 0.0, 1.0])
    >>> shift = intercept_shifts(eta, y, np.ones((1, 3)))
    >>> round(float((1 / (1 + np.exp(-eta - shift[:, None]))).sum()), 9)
    1.0
    """
    shift, events = np.zeros(len(eta)), (counts * y).sum(axis=1)
    total = np.maximum(counts.sum(axis=1), 1e-300)
    for _ in range(MAX_ITERATIONS):
        tanh = np.tanh((eta + shift[:, None]) / 2)
        # Newton's step: events that predictions lack, over their variance
        short = events - (counts * (1 + tanh)).sum(axis=1) / 2
        variance = (counts * (1 - tanh**2)).sum(axis=1) / 4
        # far out on the logistic curve a Newton step would overshoot, or divide by 0
        step = np.clip(short / np.maximum(variance, 1e-12 * total), -1.0, 1.0)
        shift += step
        if (np.abs(step) <= MOVED).all():
            break
    return shift


def correct_intercepts(
    coefficients: Matrix, records: TrainingSet, folds: Folds
) -> Matrix:
    """Return the coefficients of all folds with their intercepts corrected.

    Parameters
    ----------
    coefficients : numpy.ndarray, shape (fits, p)
    records, folds
        As in :func:`fit_firth_folds`.

    Raises
    ------
    ModelError
        If the design has no intercept.
    """
    if records.intercept is None:
        raise ModelError(
            "the formula has no intercept that flic=True could correct; keep it, or "
            "use Logit(firth=True)."
        )
    X, y = records.X, records.y.astype(float)
    weights = np.ones(len(X)) if records.weights is None else records.weights
    made = coefficients.copy()
    for block in folds.blocks(len(X), X.shape[1], each=len(X)):
        counts = np.tile(weights, (len(block), 1))
        block.multiply(counts)
        own = y if block.outcome is None else y[block.outcome]
        eta = made[block.fits] @ X.T + (
            0.0 if records.offset is None else records.offset
        )
        made[block.fits, records.intercept] += intercept_shifts(eta, own, counts)
    return made

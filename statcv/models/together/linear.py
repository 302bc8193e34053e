"""Least squares in all folds together, from one decomposition of all records.

Of the orthogonal factor Q of all records, a fold's Gram matrix is the identity less
the rows that it leaves out, and their residuals say where its coefficients go.
"""

from __future__ import annotations

import numpy as np

from statcv.models.base import Matrix, Model, TrainingSet, refuse_missing
from statcv.models.newton import column_units
from statcv.models.together.downdate import Inverse, by_counts, by_lists
from statcv.models.together.folds import FoldFits, Folds

CONDITION = 1e6  # of all records
GROWTH = 1e4  # of the inverse, where a fold is left to its own decomposition


def fit_linear_folds(model: Model, records: TrainingSet, folds: Folds) -> FoldFits:
    """Fit every fold, as :class:`~statcv.models.Linear` would.

    Parameters
    ----------
    model : Linear
    records : TrainingSet
        All records; ``y`` may have a row for each of several outcomes, then
        ``folds.outcome`` says which.
    folds : Folds

    Returns
    -------
    FoldFits

    Examples
    --------
    >>> from statcv.models import Linear
    >>> X = np.column_stack([np.ones(4), [0.0, 1, 2, 4]])
    >>> y = np.array([1.0, 2, 3, 9])
    >>> records = TrainingSet(X, y, "continuous", 0, ("one", "x"), 0, None, seed=0)
    >>> fit_linear_folds(Linear(), records, Folds.leaving_out([[3]])).coefficients
    array([[1., 1.]])
    """
    refuse_missing(records, model.label)
    fits = FoldFits.empty(len(folds), records.X.shape[1])
    weights = np.ones(len(records.X)) if records.weights is None else records.weights
    live = np.flatnonzero((records.X[weights > 0] != 0).any(axis=0))
    root = np.sqrt(weights)
    X = records.X[:, live] * root[:, None]
    unit = column_units(X)
    Q, R = np.linalg.qr(X / unit)
    if _determined(X, R):
        y = records.y * root
        theta = y @ Q
        residuals = y - theta @ Q.T
        n, p = Q.shape
        for block in folds.blocks(n, p):
            own = slice(None) if block.outcome is None else block.outcome
            gradient = block.sums(residuals[own], Q)
            many = block.counts is not None
            inverse: Inverse = by_counts(Q, block) if many else by_lists(Q, block)
            with np.errstate(invalid="ignore"):
                moved = theta[own] + inverse.times(gradient)
            sure = inverse.norm <= GROWTH
            beta = np.linalg.solve(R, moved[sure].T).T / unit
            fits.coefficients[np.ix_(block.fits[sure], live)] = beta
            fits.converged[block.fits] = sure
    return fits.refit(model, records, folds)


def _determined(X: Matrix, R: Matrix) -> bool:
    """Tell whether all records determine the coefficients well."""
    if not X.shape[1] or len(X) < X.shape[1]:
        return False
    return bool(np.linalg.cond(R) <= CONDITION)

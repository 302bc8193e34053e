"""Standard deviations of the columns in each training set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.folds import Folds

SURE = 1e-4  # a variance below this share of that of all records is recomputed


@dataclass(frozen=True, eq=False)
class Scales:
    """Standard deviations of the columns, of all records and of each training set.

    A column that is constant in a training set has the unit 0 there.

    Attributes
    ----------
    centre : numpy.ndarray, shape (p,)
        The mean of all records.
    unit : numpy.ndarray, shape (p,)
        One over the standard deviation of all records.
    own : numpy.ndarray, shape (fits, p)
        The units of each fit in those of all records.
    """

    centre: Matrix
    unit: Matrix
    own: Matrix

    @classmethod
    def of(cls, records: TrainingSet, folds: Folds) -> Scales:
        """Compute them for each fit, from sums over all records and those left out."""
        X = records.without_intercept
        n, p = X.shape
        weights = np.ones(n) if records.weights is None else records.weights
        centre = np.average(X, axis=0, weights=weights)
        unit = inverse_spread(X, weights)
        Z = (X - centre) * unit
        variance = np.empty((len(folds), p))
        for block in folds.blocks(n, 2 * p + 1):
            sums = block.sums(weights, np.hstack([np.ones((n, 1)), Z, Z**2]))
            means = sums[:, 1:] / sums[:, :1]
            variance[block.fits] = means[:, p:] - means[:, :p] ** 2
        live = unit > 0
        own = np.ones((len(folds), p))
        own[:, live] = 1 / np.sqrt(np.maximum(variance[:, live], SURE))
        doubtful = (variance[:, live] < SURE).any(axis=1)
        for fit in np.flatnonzero(doubtful).tolist():
            training = folds.training_set(records, fit)
            again = inverse_spread(training.without_intercept, training.weights)
            own[fit, live] = again[live] / unit[live]
        return cls(centre, unit, own)

    def places(self, X: Matrix) -> Matrix:
        """Return the covariates in the units of all records."""
        return np.asarray((X - self.centre) * self.unit)


def inverse_spread(X: Matrix, weights: Matrix | None) -> Matrix:
    """Return one over the weighted standard deviation; 0 for a constant column.

    Examples
    --------
    >>> X = np.array([[1.0, 7.0], [2.0, 7.0], [3.0, 9.0]])
    >>> inverse_spread(X, weights=np.array([1, 1, 0]))
    array([2., 0.])
    """
    if weights is not None:
        X, weights = X[weights > 0], weights[weights > 0]
    apart = X - np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average(apart**2, axis=0, weights=weights))
    varies = X.max(axis=0) > X.min(axis=0)
    with np.errstate(divide="ignore"):
        return np.where(varies, 1 / spread, 0.0)

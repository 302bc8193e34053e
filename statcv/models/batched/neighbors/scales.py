"""Standard deviations of the columns in each training set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.folds import Folds
from statcv.models.spread import fold_variances, variances


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
        """Compute them from the variances in each training set."""
        X, weights = records.without_intercept, records.weights
        centre = np.average(X, axis=0, weights=weights)
        bare = replace(records, X=X, intercept=None)
        whole, each = variances(X, weights, 0.0), fold_variances(bare, folds, 0.0)
        unit = np.divide(1, np.sqrt(whole), out=np.zeros_like(whole), where=whole > 0)
        own = np.sqrt(np.divide(whole, each, out=np.zeros_like(each), where=each > 0))
        # a column that is constant everywhere is 0 in all places, whatever its unit
        own[:, whole == 0] = 1.0
        return cls(centre, unit, own)

    def places(self, X: Matrix) -> Matrix:
        """Return the covariates in the units of all records."""
        return np.asarray((X - self.centre) * self.unit)

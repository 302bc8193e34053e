"""Linear regression by least squares."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from statcv.models.base import (
    Capabilities,
    Matrix,
    PlainFit,
    TrainingSet,
    refuse_kind,
    refuse_missing,
)
from statcv.models.batched.fitted import FittedFolds, by_linear_predictor
from statcv.models.batched.folds import Folds
from statcv.models.batched.linear import fit_linear_folds
from statcv.models.newton import column_units


@dataclass(frozen=True)
class Linear:
    """Least squares, as R's ``lm``; for a 0/1 outcome the linear probability model.

    Where columns of a training set are linearly dependent, the solution of least
    norm is taken (in columns scaled to about the same size).

    Examples
    --------
    >>> Linear().label
    'linear regression'
    """

    label: str = "linear regression"
    capabilities = Capabilities(fits_together=True, needs_full_rank=True)

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome of more than two classes."""
        refuse_kind("linear regression", kind, ("continuous", "binary"))

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        refuse_missing(training, "linear regression")
        X, y = training.X, training.y.astype(float)
        if training.weights is not None:
            root = np.sqrt(training.weights)
            X, y = X * root[:, None], y * root
        unit = column_units(X)
        beta = np.linalg.lstsq(X / unit, y, rcond=None)[0] / unit
        coefficients = dict(zip(training.names, beta.tolist(), strict=True))
        return PlainFit(partial(_linear, beta), coefficients)

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds:
        """Fit the training sets of all folds together."""
        fits = fit_linear_folds(self, records, folds)
        return by_linear_predictor(fits, records, folds, np.asarray)


def _linear(beta: Matrix, X: Matrix) -> Matrix:
    return np.asarray(X @ beta)

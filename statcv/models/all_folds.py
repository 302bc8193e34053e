"""Which models fit all folds of a plan together, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, Model, TrainingSet
from statcv.models.dummy import Mean, NegMean
from statcv.models.dummy_folds import fold_means
from statcv.models.folds import FoldFits, Folds, Numbers
from statcv.models.linear import Linear
from statcv.models.linear_folds import fit_linear_folds
from statcv.models.logit import Logit, expit
from statcv.models.logit_folds import fit_logit_folds


@dataclass(frozen=True, eq=False)
class FittedFolds:
    """The fits of a plan, all made together.

    Attributes
    ----------
    coefficients : numpy.ndarray, shape (fits, p), or None
    converged, separated : numpy.ndarray of bool, shape (fits,)
    predict : callable
        From a matrix of m records, and the fit that is to predict each, to
        predictions, shape (m,) or (m, classes).
    """

    coefficients: Matrix | None
    converged: NDArray[np.bool_]
    separated: NDArray[np.bool_]
    predict: Callable[[Matrix, Numbers], Matrix]


def fit_all_folds(
    model: Model, records: TrainingSet, folds: Folds
) -> FittedFolds | None:
    """Fit every fold together; None for a model that is fitted fold by fold.

    Parameters
    ----------
    model : Model
        Binary :class:`~statcv.models.Logit`, :class:`~statcv.models.Linear`, and the
        two without predictors know how.
    records : TrainingSet
        All records.
    folds : Folds

    Examples
    --------
    >>> y = np.array([0, 1, 1, 1])
    >>> records = TrainingSet(np.ones((4, 1)), y, "binary", 2, ("one",), 0, None, 0)
    >>> fitted = fit_all_folds(Mean(), records, Folds.leaving_out([[0], [3]]))
    >>> fitted.predict(records.X[:2], np.array([0, 1]))
    array([1.        , 0.66666667])
    """
    if type(model) is Logit and records.kind == "binary":
        return _linear_predictor(fit_logit_folds(model, records, folds), expit)
    if type(model) is Linear:
        return _linear_predictor(fit_linear_folds(model, records, folds), np.asarray)
    if type(model) in (Mean, NegMean):
        means = fold_means(records, folds)
        values = means if type(model) is Mean else -means
        done = np.ones(len(folds), dtype=bool)
        return FittedFolds(None, done, ~done, lambda X, fits: values[fits])
    return None


def _linear_predictor(fits: FoldFits, mean: Callable[[Matrix], Matrix]) -> FittedFolds:
    beta = fits.coefficients

    def predict(X: Matrix, numbers: Numbers) -> Matrix:
        return mean(np.einsum("ij,ij->i", X, beta[numbers]))

    return FittedFolds(beta, fits.converged, fits.separated, predict)

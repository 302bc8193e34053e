"""Logistic regression, unpenalised or ridge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ModelError
from statcv.models.all_folds import FittedFolds, by_linear_predictor
from statcv.models.base import (
    Matrix,
    PlainFit,
    TrainingSet,
    refuse_kind,
    refuse_missing,
)
from statcv.models.folds import Folds
from statcv.models.logit_folds import fit_logit_folds
from statcv.models.multinomial import fit_classes
from statcv.models.newton import (
    EXTREME,
    Optimum,
    column_units,
    minimise,
    positive_weights,
)


@dataclass(frozen=True)
class Logit:
    """Logistic regression; multinomial where there are more than two classes.

    Parameters
    ----------
    C : float, optional
        Inverse strength of a ridge penalty in scikit-learn's convention: the
        objective is ``C × negative log-likelihood + ½ Σ β²``, intercept free.
        None, the default, is no penalty, as R's ``glm``.

    Examples
    --------
    >>> Logit().label
    'logistic regression, unpenalised'
    >>> Logit(C=0.5).label
    'ridge logistic regression, C = 0.5'
    """

    C: float | None = None

    def __post_init__(self) -> None:
        number = isinstance(self.C, (int, float, np.integer, np.floating))
        if self.C is not None and not (number and self.C > 0):
            raise ModelError(f"C must be a positive number or None, not {self.C!r}.")

    @property
    def label(self) -> str:
        """How print and summary call it."""
        if self.C is None or np.isinf(self.C):
            return "logistic regression, unpenalised"
        return f"ridge logistic regression, C = {self.C:g}"

    def check(self, kind: str) -> None:
        """Raise ModelError for a continuous outcome."""
        refuse_kind("logistic regression", kind, ("binary", "multiclass"))

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        refuse_missing(training, "logistic regression")
        ridge = np.full(training.X.shape[1], 0.0 if self.C is None else 1 / self.C)
        if training.intercept is not None:
            ridge[training.intercept] = 0.0
        if training.kind == "multiclass":
            return fit_classes(training, ridge)
        unit = column_units(training.X)
        solved = _newton(training.X / unit, training.y, ridge / unit**2, training)
        beta = solved.beta / unit
        coefficients = dict(zip(training.names, beta.tolist(), strict=True))
        predict = partial(_probability, beta)
        return PlainFit(predict, coefficients, solved.converged, solved.separated)

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        if records.kind == "multiclass":
            return None
        fits = fit_logit_folds(self, records, folds)
        return by_linear_predictor(fits, records, folds, expit)


def expit(eta: Matrix) -> Matrix:
    """Return 1 / (1 + exp(−eta)) without overflow."""
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1.0 + small)


def _probability(beta: Matrix, X: Matrix) -> Matrix:
    return expit(X @ beta)


def _newton(
    X: Matrix, y: NDArray[np.intp], ridge: Matrix, training: TrainingSet
) -> Optimum:
    """Minimise the objective by weighted least squares steps.

    Each step is solved through an orthogonal decomposition of the weighted rows,
    with the penalty as further rows, rather than through the normal equations.
    """
    used, weights = positive_weights(training)
    X, y = X[used], y[used]
    penalty = np.diag(np.sqrt(ridge))[ridge > 0]
    sign = np.where(y == 1, -1.0, 1.0)

    def loss(eta: Matrix, beta: Matrix) -> float:
        fit = weights @ np.logaddexp(0.0, sign * eta)
        return float(fit + 0.5 * (ridge * beta**2).sum())

    def direction(eta: Matrix, beta: Matrix) -> Matrix:
        mu = expit(eta)
        root = np.sqrt(weights * np.maximum(mu * (1 - mu), 1e-300))
        rows = np.vstack([X * root[:, None], penalty])
        working = np.concatenate([weights * (y - mu) / root, -penalty @ beta])
        return np.asarray(np.linalg.lstsq(rows, working, rcond=None)[0])

    def extreme(eta: Matrix) -> bool:
        return bool(expit(-np.abs(eta)).min() < EXTREME)

    return minimise(np.zeros(X.shape[1]), X, loss, direction, extreme)

"""Fits of one linear predictor, of two classes or of a continuous outcome."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from statcv.models.base import Matrix, PlainFit, TrainingSet, positive_weights
from statcv.models.linear import Linear
from statcv.models.logit import Logit
from statcv.numeric.logistic import expit


def intercept_beside(kind: str, y: Matrix, eta: Matrix, weights: Matrix) -> float:
    """Return the intercept of the maximum likelihood, with the rest as an offset."""
    if kind == "continuous":
        return float(np.average(y - eta, weights=weights))
    from scipy.optimize import brentq

    def excess(intercept: float) -> float:
        return float(weights @ (expit(intercept + eta) - y))

    far = float(np.abs(eta).max()) + 40.0  # where all probabilities are 0, or 1
    return float(brentq(excess, -far, far, xtol=1e-14))


def has_one_class(training: TrainingSet) -> bool:
    """Return whether all records that count are of one class."""
    used = positive_weights(training)[0]
    return training.kind == "binary" and len(np.unique(training.y[used])) < 2


def fitted_values(training: TrainingSet) -> tuple[Matrix, bool]:
    """Return the coefficients by maximum likelihood, and whether they are infinite."""
    model = Logit() if training.kind == "binary" else Linear()
    fit = model.fit(training)
    assert fit.coefficients is not None
    return np.array([*fit.coefficients.values()]), bool(fit.separated)


def fit_with(
    training: TrainingSet,
    beta: Matrix,
    separated: bool,
    chosen: dict[str, Any] | None,
) -> PlainFit:
    """Return the fit that has given coefficients."""
    named = dict(zip(training.names, beta.tolist(), strict=True))
    predict = partial(_predicted, training.kind, beta)
    return PlainFit(predict, named, separated=separated, chosen=chosen)


def _predicted(kind: str, beta: Matrix, X: Matrix) -> Matrix:
    return mean_of(kind, X @ beta)


def mean_of(kind: str, eta: Matrix) -> Matrix:
    """Return the means of linear predictors."""
    return expit(eta) if kind == "binary" else eta


def loss_of(training: TrainingSet, eta: Matrix, weights: Matrix) -> float:
    """Return minus the log-likelihood; half the sum of squares of numbers."""
    y = training.y
    if training.kind == "continuous":
        return float(weights @ (y - eta) ** 2) / 2
    return float(weights @ (np.logaddexp(0.0, eta) - y * eta))

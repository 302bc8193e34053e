"""Logistic regression by Newton's method, unpenalised or ridge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ModelError
from statcv.models.base import (
    Matrix,
    PlainFit,
    TrainingSet,
    refuse_kind,
    refuse_missing,
)

MAX_ITERATIONS = 100
TOLERANCE = 1e-13  # of the relative change of the objective, and again of the step
EXTREME = 1e-9  # fitted probabilities this near 0 or 1 mean separation


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
        weights = training.weights
        if weights is None:
            weights = np.ones(len(training.y))
        if training.kind == "multiclass":
            return _fit_classes(training, ridge, weights)
        beta, converged = _newton(training.X, training.y, ridge, weights)
        fitted = expit(training.X @ beta)
        separated = bool((np.minimum(fitted, 1 - fitted) < EXTREME).any())
        coefficients = dict(zip(training.names, beta.tolist(), strict=True))
        predict = partial(_probability, beta)
        return PlainFit(predict, coefficients, converged, separated)


def expit(eta: Matrix) -> Matrix:
    """Return 1 / (1 + exp(−eta)) without overflow."""
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1.0 + small)


def _probability(beta: Matrix, X: Matrix) -> Matrix:
    return expit(X @ beta)


def _objective(
    eta: Matrix, y: NDArray[np.intp], weights: Matrix, beta: Matrix, ridge: Matrix
) -> float:
    loss = np.logaddexp(0.0, np.where(y == 1, -eta, eta))
    return float(weights @ loss + 0.5 * (ridge * beta**2).sum())


def _newton(
    X: Matrix, y: NDArray[np.intp], ridge: Matrix, weights: Matrix
) -> tuple[Matrix, bool]:
    """Minimise the objective by weighted least squares steps, halved as needed.

    Each step is solved through an orthogonal decomposition of the weighted rows,
    with the penalty as further rows, rather than through the normal equations.
    """
    beta = np.zeros(X.shape[1])
    eta = X @ beta
    penalty = np.diag(np.sqrt(ridge))[ridge > 0]
    now = _objective(eta, y, weights, beta, ridge)
    for _ in range(MAX_ITERATIONS):
        mu = expit(eta)
        root = np.sqrt(weights * np.maximum(mu * (1 - mu), 1e-300))
        rows = np.vstack([X * root[:, None], penalty])
        working = np.concatenate([weights * (y - mu) / root, -penalty @ beta])
        step = np.linalg.lstsq(rows, working, rcond=None)[0]
        for _ in range(30):
            after = _objective(X @ (beta + step), y, weights, beta + step, ridge)
            if after <= now * (1 + 1e-14):
                break
            step = step / 2
        beta = beta + step
        eta = X @ beta
        gain, now = now - after, after
        if gain <= TOLERANCE * abs(now) + 1e-300:
            return beta, True
    return beta, False


def _fit_classes(training: TrainingSet, ridge: Matrix, weights: Matrix) -> PlainFit:
    """Multinomial logit: class 0 is the reference, or all penalised symmetrically."""
    X, classes = training.X, training.n_classes
    indicator = np.eye(classes)[training.y]
    symmetric = bool((ridge > 0).any())
    free = np.arange(classes) if symmetric else np.arange(1, classes)
    beta = np.zeros((X.shape[1], classes))

    def objective(beta: Matrix) -> float:
        eta = X @ beta
        top = eta.max(axis=1)
        logsum = top + np.log(np.exp(eta - top[:, None]).sum(axis=1))
        loss = weights @ (logsum - eta[np.arange(len(eta)), training.y])
        return float(loss + 0.5 * (ridge[:, None] * beta**2).sum())

    now, converged = objective(beta), False
    for _ in range(MAX_ITERATIONS):
        probability = softmax(X @ beta)
        residual = (indicator - probability) * weights[:, None]
        gradient = (X.T @ residual - ridge[:, None] * beta)[:, free]
        hessian = _hessian(X, probability[:, free], weights, ridge)
        solved = np.linalg.lstsq(hessian, gradient.T.ravel(), rcond=None)[0]
        step = np.zeros_like(beta)
        step[:, free] = solved.reshape(len(free), -1).T
        for _ in range(30):
            after = objective(beta + step)
            if after <= now * (1 + 1e-14):
                break
            step = step / 2
        beta = beta + step
        gain, now = now - after, after
        if gain <= TOLERANCE * abs(now) + 1e-300:
            converged = True
            break
    fitted = softmax(X @ beta)
    coefficients = {
        f"{name}[{k}]": float(beta[j, k])
        for k in free
        for j, name in enumerate(training.names)
    }
    separated = bool((fitted.max(axis=1) > 1 - EXTREME).any())
    predict = partial(_probabilities, beta)
    return PlainFit(predict, coefficients, converged, separated)


def _probabilities(beta: Matrix, X: Matrix) -> Matrix:
    return softmax(X @ beta)


def _hessian(X: Matrix, probability: Matrix, weights: Matrix, ridge: Matrix) -> Matrix:
    p, k = X.shape[1], probability.shape[1]
    hessian = np.empty((k, p, k, p))
    for a in range(k):
        for b in range(k):
            share = probability[:, a] * ((a == b) - probability[:, b]) * weights
            hessian[a, :, b, :] = X.T @ (X * share[:, None])
    flat = hessian.reshape(k * p, k * p)
    return flat + np.diag(np.tile(ridge, k))


def softmax(eta: Matrix) -> Matrix:
    """Return the class probabilities of linear predictors, row by row."""
    raised = np.exp(eta - eta.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))

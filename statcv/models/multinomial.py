"""Multinomial logistic regression, unpenalised or ridge."""

from __future__ import annotations

from functools import partial

import numpy as np

from statcv.models.base import Matrix, PlainFit, TrainingSet
from statcv.models.newton import EXTREME, column_units, minimise, positive_weights


def fit_classes(training: TrainingSet, ridge: Matrix) -> PlainFit:
    """Fit more than two classes.

    Without a penalty class 0 is the reference; a penalty treats all classes alike,
    as scikit-learn does.

    Parameters
    ----------
    training : TrainingSet
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on the coefficients of each column.
    """
    used, weights = positive_weights(training)
    unit = column_units(training.X)
    X, ridge = training.X[used] / unit, ridge / unit**2
    y, classes = training.y[used], training.n_classes
    indicator = np.eye(classes)[y]
    free = np.arange(classes) if (ridge > 0).any() else np.arange(1, classes)

    def loss(eta: Matrix, beta: Matrix) -> float:
        top = eta.max(axis=1)
        logsum = top + np.log(np.exp(eta - top[:, None]).sum(axis=1))
        fit = weights @ (logsum - eta[np.arange(len(eta)), y])
        return float(fit + 0.5 * (ridge[:, None] * beta**2).sum())

    def direction(eta: Matrix, beta: Matrix) -> Matrix:
        probability = softmax(eta)
        residual = (indicator - probability) * weights[:, None]
        gradient = (X.T @ residual - ridge[:, None] * beta)[:, free]
        hessian = _hessian(X, probability[:, free], weights, ridge)
        solved = np.linalg.lstsq(hessian, gradient.T.ravel(), rcond=None)[0]
        step = np.zeros_like(beta)
        step[:, free] = solved.reshape(len(free), -1).T
        return step

    def extreme(eta: Matrix) -> bool:
        return bool(softmax(eta).min() < EXTREME)

    start = np.zeros((X.shape[1], classes))
    solved = minimise(start, X, loss, direction, extreme)
    beta = solved.beta / unit[:, None]
    coefficients = {
        f"{name}[{k}]": float(beta[j, k])
        for k in free
        for j, name in enumerate(training.names)
    }
    predict = partial(_probabilities, beta)
    return PlainFit(predict, coefficients, solved.converged, solved.separated)


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

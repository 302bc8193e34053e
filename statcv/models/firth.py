"""Firth's penalised likelihood of logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.newton import Optimum, column_units, minimise, positive_weights

CONVEX = 1e-3  # the least eigenvalue of a Hessian, beside the information, to be used


def fit_firth(training: TrainingSet) -> Optimum:
    """Maximise the log-likelihood plus half the log-determinant of the information.

    Parameters
    ----------
    training : TrainingSet
        Training set with two classes; weights are case weights: 2 stands for a record
        that occurs twice.

    Returns
    -------
    Optimum

    References
    ----------
    Firth (1993), Biometrika 80, 27; Heinze & Schemper (2002), Statistics in
    Medicine 21, 2409.
    """
    used, weights = positive_weights(training)
    X, y = training.X[used], training.y[used]
    basis = orthonormal(X, weights)
    theta, converged = maximise(X @ basis, y.astype(float), weights)
    return Optimum(basis @ theta, converged, separated=False)


def orthonormal(X: Matrix, weights: Matrix) -> Matrix:
    """Return B, shape (p, q), such that the weighted rows of X @ B are orthonormal.

    Firth's estimate does not depend on the coordinates: theta in these, B @ theta in
    those of X. If columns are dependent, B omits the directions that they do not
    determine.
    """
    unit = column_units(X)
    rows = X / unit * np.sqrt(weights)[:, None]
    R = np.linalg.qr(rows, mode="r")
    _, size, turn = np.linalg.svd(R, full_matrices=False)
    kept = size > np.finfo(float).eps * max(rows.shape) * size.max(initial=0.0)
    return np.asarray(turn[kept].T / size[kept] / unit[:, None])


def maximise(Z: Matrix, y: Matrix, weights: Matrix) -> tuple[Matrix, bool]:
    """Return the maximum of the penalised likelihood, and whether it was found.

    Parameters
    ----------
    Z : numpy.ndarray, shape (n, q)
        Rows of full rank.
    y : numpy.ndarray, shape (n,)
        Outcomes from 0 to 1.
    weights : numpy.ndarray, shape (n,)
        Weights above 0.
    """
    objective = _Firth(Z, y, weights)
    found = minimise(np.zeros(Z.shape[1]), Z, objective)
    return found.beta, found.converged


def excess(Z: Matrix, theta: Matrix, weights: Matrix) -> Matrix:
    """Return the information minus the Hessian of the penalised likelihood, (q, q)."""
    place = _Place.at(Z, Z @ theta, weights)
    return np.asarray(place.R.T @ place.excess @ place.R)


@dataclass(frozen=True, eq=False)
class _Firth:
    """Minus the penalised log-likelihood."""

    Z: Matrix
    y: Matrix
    weights: Matrix

    def at(self, eta: Matrix) -> _Place:
        return _Place.at(self.Z, eta, self.weights)

    def loss(self, eta: Matrix, beta: Matrix) -> float:
        positive, negative = np.logaddexp(0.0, -eta), np.logaddexp(0.0, eta)
        fit = self.weights @ (self.y * positive + (1 - self.y) * negative)
        with np.errstate(divide="ignore"):
            half = np.log(np.abs(self.at(eta).R.diagonal())).sum()
        return float(fit - half)

    def gradient(self, eta: Matrix, beta: Matrix) -> Matrix:
        place = self.at(eta)
        short = self.y * np.exp(-np.logaddexp(0.0, eta))
        beyond = (1 - self.y) * np.exp(-np.logaddexp(0.0, -eta))
        pull = place.leverages * place.tanh / 2
        return np.asarray((self.weights * (short - beyond) - pull) @ self.Z)

    def newton(self, eta: Matrix, beta: Matrix) -> Matrix:
        place = self.at(eta)
        hessian = np.eye(len(beta)) - place.excess
        values, turn = np.linalg.eigh(hessian)
        if not (values > CONVEX).all():
            return self.cautious(eta, beta)
        gradient = place.whitened(self.gradient(eta, beta))
        return place.back(turn @ (turn.T @ gradient / values))

    def cautious(self, eta: Matrix, beta: Matrix) -> Matrix:
        """Fisher's scoring."""
        place = self.at(eta)
        return place.back(place.whitened(self.gradient(eta, beta)))

    def extreme(self, eta: Matrix) -> bool:
        return False  # the penalty keeps all coefficients finite


@dataclass(frozen=True, eq=False)
class _Place:
    """The information at linear predictors: RᵀR, of weighted rows Q R.

    Attributes
    ----------
    Z, Q : numpy.ndarray, shape (n, q)
    R : numpy.ndarray, shape (q, q)
    tanh : numpy.ndarray, shape (n,)
        Twice the probability, minus 1.
    variance : numpy.ndarray, shape (n,)
        Variance of an outcome of weight 1.
    """

    Z: Matrix
    Q: Matrix
    R: Matrix
    tanh: Matrix
    variance: Matrix

    @classmethod
    def at(cls, Z: Matrix, eta: Matrix, weights: Matrix) -> _Place:
        small = np.exp(-np.abs(eta))
        variance = small / (1 + small) ** 2
        Q, R = np.linalg.qr(Z * np.sqrt(weights * variance)[:, None])
        return cls(Z, Q, R, np.tanh(eta / 2), variance)

    @property
    def leverages(self) -> Matrix:
        return np.asarray(np.einsum("ij,ij->i", self.Q, self.Q))

    @property
    def excess(self) -> Matrix:
        """Second derivatives of the penalty, where the information is the identity."""
        rows = np.linalg.solve(self.R.T, self.Z.T).T
        share = self.leverages * (self.tanh**2 - 2 * self.variance)
        made = (rows.T * share) @ rows
        for column in self.Q.T:
            third = (rows.T * (self.tanh * column)) @ self.Q
            made -= third @ third.T
        return np.asarray(made / 2)

    def whitened(self, gradient: Matrix) -> Matrix:
        return np.asarray(np.linalg.solve(self.R.T, gradient))

    def back(self, step: Matrix) -> Matrix:
        return np.asarray(np.linalg.solve(self.R, step))

"""Multinomial logistic regression, unpenalised or ridge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, PlainFit, TrainingSet
from statcv.models.batched.gram import of_all_classes
from statcv.models.batched.row_space import row_space
from statcv.models.likelihood import LinearFits
from statcv.models.newton import (
    EXTREME,
    Optimum,
    column_units,
    inverse_gram,
    minimise,
    positive_weights,
    solve_well,
)

CHUNK = 256  # records whose rows are decomposed at once


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
    indicator = np.eye(training.n_classes)[training.y]
    space = row_space(training, ridge)
    if space is None:
        solved = solve_classes(training, indicator, ridge)
    else:
        rotated = space.rotated
        turned = space.rotated_ridge(ridge)
        solved = space.original(solve_classes(rotated, indicator, turned))
    free = free_classes(ridge, training.n_classes)
    values = solved.beta[:, free].T.ravel().tolist()
    names = class_names(training.names, free)
    coefficients = dict(zip(names, values, strict=True))
    predict = partial(_probabilities, solved.beta)
    return PlainFit(
        predict,
        coefficients,
        solved.converged,
        solved.separated,
        linear=LinearFits.of_one(solved.beta, ridge),
    )


def solve_classes(training: TrainingSet, indicator: Matrix, ridge: Matrix) -> Optimum:
    """Return the optimum where each class is observed in part of each record.

    Parameters
    ----------
    training : TrainingSet
        Training set, of which the outcome is ignored.
    indicator : numpy.ndarray, shape (n, classes)
        Shares of the classes, which sum to 1.
    ridge : numpy.ndarray, shape (p,)
    """
    used, weights = positive_weights(training)
    unit = column_units(training.X)
    X, classes = training.X[used] / unit, indicator.shape[1]
    objective = _Classes(
        X, indicator[used], weights, ridge / unit**2, contrasts(ridge, classes)
    )
    solved = minimise(np.zeros((X.shape[1], classes)), X, objective)
    beta = solved.beta / unit[:, None]
    return Optimum(beta, solved.converged, solved.separated)


def free_classes(ridge: Matrix, classes: int) -> NDArray[np.intp]:
    """Return which classes have coefficients of their own."""
    return np.arange(0 if (ridge > 0).any() else 1, classes)


def contrasts(ridge: Matrix, classes: int) -> Matrix:
    """Return a basis of the coefficients that classes may have, (classes, c).

    Class 0 has no coefficients without a penalty; with one, those of all classes sum
    to zero.
    """
    identity = np.eye(classes)[:, 1:]
    if len(free_classes(ridge, classes)) < classes:
        return identity
    columns = np.column_stack([np.ones(classes), identity])
    return np.asarray(np.linalg.qr(columns)[0][:, 1:], dtype=float)


def class_names(names: tuple[str, ...], free: NDArray[np.intp]) -> tuple[str, ...]:
    """Return the names of the coefficients, class by class."""
    return tuple(f"{name}[{k}]" for k in free for name in names)


def softmax(eta: Matrix) -> Matrix:
    """Return the class probabilities of linear predictors, row by row."""
    raised = np.exp(eta - eta.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _probabilities(beta: Matrix, X: Matrix) -> Matrix:
    return softmax(X @ beta)


@dataclass(frozen=True, eq=False)
class _Classes:
    """Minus the log-likelihood, with the penalty."""

    X: Matrix
    indicator: Matrix
    weights: Matrix
    ridge: Matrix
    basis: Matrix

    def loss(self, eta: Matrix, beta: Matrix) -> float:
        top = eta.max(axis=1)
        logsum = top + np.log(np.exp(eta - top[:, None]).sum(axis=1))
        fit = self.weights @ (logsum - (self.indicator * eta).sum(axis=1))
        return float(fit + 0.5 * (self.ridge[:, None] * beta**2).sum())

    def gradient(self, eta: Matrix, beta: Matrix) -> Matrix:
        probability, others = with_others(eta)
        residual = self.indicator * others - (1 - self.indicator) * probability
        gradient = self.X.T @ (residual * self.weights[:, None])
        gradient -= self.ridge[:, None] * beta
        return np.asarray(gradient)

    def newton(self, eta: Matrix, beta: Matrix) -> Matrix:
        probability, others = with_others(eta)
        return self._step(probability, others, self.weights, eta, beta)

    def cautious(self, eta: Matrix, beta: Matrix) -> Matrix:
        """Bound the Hessian of records on the wrong side as Böhning (1992)."""
        probability, others = with_others(eta)
        classes = eta.shape[1]
        wrong = (self.indicator * probability).sum(axis=1) < 0.5
        probability[wrong], others[wrong] = 1 / classes, 1 - 1 / classes
        weights = np.where(wrong, classes / 2, 1.0) * self.weights
        return self._step(probability, others, weights, eta, beta)

    def extreme(self, eta: Matrix) -> bool:
        return bool(softmax(eta).min(initial=1.0) < EXTREME)

    def _step(
        self,
        probability: Matrix,
        others: Matrix,
        weights: Matrix,
        eta: Matrix,
        beta: Matrix,
    ) -> Matrix:
        basis = self.basis
        gradient = (self.gradient(eta, beta) @ basis).T.ravel()
        ridge = np.tile(self.ridge, basis.shape[1])
        hessian = class_hessian(self.X, probability, others, weights, basis)
        hessian += np.diag(ridge)
        solved = solve_well(hessian, gradient)
        if solved is None:
            penalty = np.diag(np.sqrt(ridge))[ridge > 0]
            apart = class_roots(probability, others, weights) @ basis
            solved = inverse_gram(_triangle(self.X, apart, penalty), gradient)
        return np.asarray((basis @ solved.reshape(basis.shape[1], -1)).T)


def _triangle(X: Matrix, apart: Matrix, penalty: Matrix) -> Matrix:
    """Return rows with the Gram matrix of all, no more than there are columns."""
    made = penalty
    for start in range(0, len(X), CHUNK):
        some = slice(start, start + CHUNK)
        rows = apart[some, :, :, None] * X[some, None, None, :]
        rows = rows.reshape(-1, apart.shape[2] * X.shape[1])
        made = np.asarray(np.linalg.qr(np.vstack([made, rows]), mode="r"))
    return made


def with_others(eta: Matrix) -> tuple[Matrix, Matrix]:
    """Return class probabilities, and 1 minus these, with all digits."""
    probability = softmax(eta)
    return probability, probability @ (1 - np.eye(eta.shape[1]))


def class_roots(probability: Matrix, others: Matrix, weights: Matrix) -> Matrix:
    """Return roots of each record's covariance of classes, (n, classes, classes).

    Each is R with RᵀR the covariance of the indicators of the classes.
    """
    classes = np.arange(probability.shape[1])
    apart = np.repeat(-probability[:, None, :], len(classes), axis=1)
    apart[:, classes, classes] = others
    apart *= np.sqrt(weights[:, None] * probability)[:, :, None]
    return np.asarray(apart)


def class_hessian(
    X: Matrix, probability: Matrix, others: Matrix, weights: Matrix, basis: Matrix
) -> Matrix:
    """Return minus the second derivatives of a log-likelihood, (c × p, c × p).

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
    probability, others : numpy.ndarray, shape (n, classes)
        Probabilities of the classes, and 1 minus these.
    weights : numpy.ndarray, shape (n,)
    basis : numpy.ndarray, shape (classes, c)
        Coefficients of the classes are this times the c that are free.
    """
    c = basis.shape[1]
    covariance = -probability[:, :, None] * probability[:, None, :]
    np.einsum("ikk->ik", covariance)[:] = probability * others
    curved = (basis.T @ covariance @ basis) * weights[:, None, None]
    pairs = zip(*np.triu_indices(c), strict=True)
    return of_all_classes([(X.T * curved[:, a, b]) @ X for a, b in pairs], c)

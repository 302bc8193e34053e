"""Logistic regression on a few columns by maximum likelihood (Newton's method)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.metrics._inputs import Bools, Floats, Ints
from statcv.metrics._records import sum_of_squares

SEPARATED = "the classes are separated, so the likelihood has no maximum"
COLLINEAR = "p has too few distinct values"

_ITERATIONS = 200
_HALVINGS = 60
_LARGEST_STEP = 20.0  # of a linear predictor, in one iteration
_DECREMENT = 1e-12  # a step that promises less is the last, and squares the error
_RIDGE = 1e-14  # keeps a step finite where all weights vanish
_FLAT = 1e-10  # a mean weight π(1 - π) below this is that of a diverging direction
_NOTHING = 1e-20  # a variance below this share of that of records is rounding
_RANK = 1e-10  # share of a column's length that the others must leave


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """A fitted logistic regression.

    Attributes
    ----------
    beta, covariance : ndarray of shape (k,) and (k, k)
        Coefficients and the inverse of their information.
    linear : ndarray of shape (n,)
        Linear predictors, the offset included.
    loss : float
        Minus the log-likelihood.
    reason : str
        Why there is no fit, where all but the loss reached is NaN; empty where
        there is one.
    """

    beta: Floats
    covariance: Floats
    linear: Floats
    loss: float
    reason: str = ""


def fit_logistic(positive: Bools, columns: Floats, offset: Floats) -> LogisticFit:
    """Fit a logistic regression with an offset to a binary outcome.

    The columns, of shape (n, k), are made orthonormal first, so that the weights
    of a direction in which the fit diverges are seen by themselves.
    """
    from scipy.special import expit

    basis, back = np.linalg.qr(columns)
    if (np.abs(np.diag(back)) <= _RANK * np.linalg.norm(columns, axis=0)).any():
        return _no_fit(columns, COLLINEAR)
    gamma = np.zeros(columns.shape[1])
    eta, loss = offset, _loss(positive, offset)
    for _ in range(_ITERATIONS):
        fitted = expit(eta)
        gradient = basis.T @ (positive - fitted)
        information = basis.T @ (basis * (fitted * (1 - fitted))[:, None])
        step = np.linalg.solve(information + _RIDGE * np.eye(len(gamma)), gradient)
        gain = float(gradient @ step)
        move = basis @ step
        scale = min(1.0, _LARGEST_STEP / max(float(np.abs(move).max()), 1e-300))
        for _ in range(_HALVINGS):
            new = _loss(positive, eta + scale * move)
            if new <= loss + 1e-13 * max(loss, 1):
                break
            scale /= 2
        gamma, eta, loss = gamma + scale * step, eta + scale * move, new
        if gain <= _DECREMENT:
            break
    else:
        return _no_fit(columns, f"no maximum in {_ITERATIONS} iterations", loss)
    weight = expit(eta) * expit(-eta)
    information = basis.T @ (basis * weight[:, None])
    if np.linalg.eigvalsh(information)[0] < _FLAT:
        return _no_fit(columns, SEPARATED, loss)
    unmix = np.linalg.inv(back)
    covariance = unmix @ np.linalg.inv(information) @ unmix.T
    return LogisticFit(unmix @ gamma, covariance, eta, loss)


def sandwich(
    fit: LogisticFit, positive: Bools, columns: Floats, codes: Ints
) -> tuple[Floats, str]:
    """Return the covariance that clusters of records make, and why there is none.

    Scores are summed within clusters and G / (G - 1) corrects for their number, as
    `vcovCL` of R's sandwich does by default for a glm.
    """
    from scipy.special import expit

    n_clusters = int(codes.max(initial=-1)) + 1
    if n_clusters <= columns.shape[1]:
        few = f"{n_clusters} clusters are too few for {columns.shape[1]} coefficients"
        return np.full_like(fit.covariance, np.nan), few
    scores = columns * (positive - expit(fit.linear))[:, None]
    covariance = fit.covariance @ sum_of_squares(scores, codes) @ fit.covariance
    if (np.diag(covariance) <= _NOTHING * np.diag(fit.covariance)).any():
        return np.full_like(covariance, np.nan), "clusters do not vary"
    return covariance, ""


def _loss(positive: Bools, eta: Floats) -> float:
    return float(np.logaddexp(0, np.where(positive, -eta, eta)).sum())


def _no_fit(columns: Floats, reason: str, loss: float = np.nan) -> LogisticFit:
    n, k = columns.shape
    nan = np.full(k, np.nan)
    return LogisticFit(nan, np.full((k, k), np.nan), np.full(n, np.nan), loss, reason)

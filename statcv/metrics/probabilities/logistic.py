"""Logistic regression of a binary outcome on a few columns, with an offset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.metrics.inputs import Bools, Floats, Ints
from statcv.metrics.records import sum_of_squares

SEPARATED = "the classes are separated, so the likelihood has no maximum"
COLLINEAR = "p has too few distinct values"

_ITERATIONS = 200
_HALVINGS = 60
_LARGEST_STEP = 20.0  # largest change of a linear predictor in one iteration
DECREMENT = 1e-12  # a step with a smaller expected gain is the last
_RIDGE = 1e-14  # keeps a step finite if all weights vanish
FLAT = 1e-10  # a mean weight π(1 - π) below this shows that the fit diverges
_NOTHING = 1e-20  # a variance below this share of the model-based one is rounding
IN_CACHE = 2**14  # records, of which several arrays stay in the cache
RANK = 1e-10  # least share of a column's length orthogonal to the other columns


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """A fitted logistic regression.

    Attributes
    ----------
    beta, covariance : ndarray of shape (k,) and (k, k)
        Coefficients, and the inverse of their information matrix.
    linear : ndarray of shape (n,)
        Linear predictors, including the offset.
    loss : float
        Negative log-likelihood.
    reason : str
        Why there is no fit; empty if there is one. Without a fit all values except the
        loss are NaN.
    """

    beta: Floats
    covariance: Floats
    linear: Floats
    loss: float
    reason: str = ""


def fit_logistic(positive: Bools, columns: Floats, offset: Floats) -> LogisticFit:
    """Fit a logistic regression with an offset to a binary outcome.

    The columns, of shape (n, k), are first made orthonormal, so that a direction in
    which the fit diverges can be recognised by its weights.
    """
    n, k = columns.shape
    rows, back = np.linalg.qr(columns)
    basis = np.ascontiguousarray(rows.T)
    if (np.abs(np.diag(back)) <= RANK * np.linalg.norm(columns, axis=0)).any():
        return no_fit(n, k, COLLINEAR)
    gamma = np.zeros(k)
    eta, sign = offset, np.where(positive, 1.0, -1.0)
    loss, residual, weight = _likelihood(sign, eta)
    for _ in range(_ITERATIONS):
        gradient = basis @ residual
        information = (basis * weight) @ basis.T
        step = np.linalg.solve(information + _RIDGE * np.eye(len(gamma)), gradient)
        gain = float(gradient @ step)
        move = step @ basis
        scale = min(1.0, _LARGEST_STEP / max(float(np.abs(move).max()), 1e-300))
        for _ in range(_HALVINGS):
            new, residual, weight = _likelihood(sign, eta + scale * move)
            if new <= loss + 1e-13 * max(loss, 1):
                break
            scale /= 2
        gamma, eta, loss = gamma + scale * step, eta + scale * move, new
        if gain <= DECREMENT:
            break
    else:
        reason = f"the likelihood has no maximum in {_ITERATIONS} iterations"
        return no_fit(n, k, reason, loss)
    information = (basis * weight) @ basis.T
    if np.linalg.eigvalsh(information)[0] < FLAT:
        return no_fit(n, k, SEPARATED, loss)
    unmix = np.linalg.inv(back)
    covariance = unmix @ np.linalg.inv(information) @ unmix.T
    return LogisticFit(unmix @ gamma, covariance, eta, loss)


def sandwich(
    fit: LogisticFit, positive: Bools, columns: Floats, codes: Ints
) -> tuple[Floats, str]:
    """Return the cluster-robust covariance, or NaN and the reason.

    Scores are summed within the G clusters, with the correction G / (G - 1), which is
    the default of `vcovCL` in R's sandwich for a glm.
    """
    from scipy.special import expit

    n_clusters = int(codes.max(initial=-1)) + 1
    if n_clusters <= columns.shape[1]:
        few = f"{n_clusters} clusters are too few for {columns.shape[1]} coefficients"
        return np.full_like(fit.covariance, np.nan), few
    scores = columns * (positive - expit(fit.linear))[:, None]
    covariance = fit.covariance @ sum_of_squares(scores, codes) @ fit.covariance
    if (np.diag(covariance) <= _NOTHING * np.diag(fit.covariance)).any():
        return np.full_like(covariance, np.nan), "the clusters do not differ"
    return covariance, ""


def _likelihood(sign: Floats, eta: Floats) -> tuple[float, Floats, Floats]:
    """Return the negative log-likelihood, its residuals, and the weights π(1 - π).

    Parameters
    ----------
    sign, eta : numpy.ndarray, shape (n,)
        1 for a positive record and -1 for another one, and its linear predictor.
    """
    loss, residual, weight = 0.0, np.empty(len(eta)), np.empty(len(eta))
    for start in range(0, len(eta), IN_CACHE):
        some = slice(start, start + IN_CACHE)
        along = sign[some] * eta[some]
        odds = np.exp(-np.abs(along))
        loss += float((np.log1p(odds) - np.minimum(along, 0.0)).sum())
        larger = 1 / (1 + odds)
        smaller = odds * larger
        residual[some] = sign[some] * np.where(along > 0, smaller, larger)
        weight[some] = larger * smaller
    return loss, residual, weight


def no_fit(n: int, k: int, reason: str, loss: float = np.nan) -> LogisticFit:
    """Return a fit of k coefficients to n records that does not exist."""
    nan = np.full(k, np.nan)
    return LogisticFit(nan, np.full((k, k), np.nan), np.full(n, np.nan), loss, reason)

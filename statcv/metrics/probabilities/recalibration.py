"""Calibration slope, calibration intercept, and ratio of observed to expected events.

The outcome is regressed on the logit of the probabilities (Cox 1958). Probabilities are
not clipped: if one is exactly 0 or 1, its logit is infinite, and there is neither a
slope nor an intercept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.metrics.inputs import improper, sum_of_squares
from statcv.numeric.arrays import Bools, Floats, Numbers
from statcv.numeric.logistic import expit

SEPARATED = "the classes are separated, so the likelihood has no maximum"
COLLINEAR = "p has too few distinct values"

_ITERATIONS = 200
_HALVINGS = 60
_LARGEST_STEP = 20.0  # largest change of a linear predictor in one iteration
_DECREMENT = 1e-12  # a step with a smaller expected gain is the last
_SAME = 1e-12  # logits nearer than this, relative to the largest, are equal
_RIDGE = 1e-14  # keeps a step finite if all weights vanish
_FLAT = 1e-10  # a mean weight π(1 - π) below this shows that the fit diverges
_NOTHING = 1e-20  # a variance below this share of the model-based one is rounding
_RANK = 1e-10  # least share of a column's length orthogonal to the other columns


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
    if (np.abs(np.diag(back)) <= _RANK * np.linalg.norm(columns, axis=0)).any():
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
        if gain <= _DECREMENT:
            break
    else:
        reason = f"the likelihood has no maximum in {_ITERATIONS} iterations"
        return no_fit(n, k, reason, loss)
    information = (basis * weight) @ basis.T
    if np.linalg.eigvalsh(information)[0] < _FLAT:
        return no_fit(n, k, SEPARATED, loss)
    unmix = np.linalg.inv(back)
    covariance = unmix @ np.linalg.inv(information) @ unmix.T
    return LogisticFit(unmix @ gamma, covariance, eta, loss)


def sandwich(
    fit: LogisticFit, positive: Bools, columns: Floats, codes: Numbers
) -> tuple[Floats, str]:
    """Return the cluster-robust covariance, or NaN and the reason.

    Scores are summed within the G clusters, with the correction G / (G - 1), which is
    the default of `vcovCL` in R's sandwich for a glm.
    """
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
    along = sign * eta
    odds = np.exp(-np.abs(along))
    loss = float((np.log1p(odds) - np.minimum(along, 0.0)).sum())
    larger = 1 / (1 + odds)
    smaller = odds * larger
    return loss, sign * np.where(along > 0, smaller, larger), larger * smaller


def no_fit(n: int, k: int, reason: str, loss: float = np.nan) -> LogisticFit:
    """Return a fit of k coefficients to n records that does not exist."""
    nan = np.full(k, np.nan)
    return LogisticFit(nan, np.full((k, k), np.nan), np.full(n, np.nan), loss, reason)


# ---- regressions on the logit of probabilities ----


def undefined(positive: Bools, p: Floats) -> str:
    """Return why there is no logistic recalibration; empty if there is one."""
    if odd := improper(p):
        return odd
    certain = int(((p == 0) | (p == 1)).sum())
    if certain:
        return (
            f"{certain} of the {p.size} values of p are exactly 0 or 1, so their logit "
            "is infinite"
        )
    if positive.all() or not positive.any():
        return f"all records are {'positive' if positive.any() else 'negative'}"
    return ""


def intercept_fit(positive: Bools, p: Floats) -> LogisticFit:
    """Fit the intercept alone, with the logit of p as an offset."""
    if reason := undefined(positive, p):
        return no_fit(p.size, 1, reason)
    return fit_logistic(positive, ones_of(p), logit_of(p))


def separated(positive: Bools, p: Floats) -> str:
    """Return why the regression on the logit of p has no slope; empty if it has one.

    With one covariate the classes are separated if their ranges do not overlap (Albert
    & Anderson 1984), which is checked on the logits themselves.
    """
    logit = logit_of(p)
    same = _SAME * max(1.0, float(np.abs(logit).max()))
    if np.ptp(logit) <= same:
        return "all values of p are equal, so there is no slope"
    ones, zeros = logit[positive], logit[~positive]
    if ones.min() < zeros.max() - same and zeros.min() < ones.max() - same:
        return ""
    return "p separates the classes, so the slope is infinite"


def slope_fit(positive: Bools, p: Floats) -> LogisticFit:
    """Fit the intercept and the slope."""
    if reason := undefined(positive, p) or separated(positive, p):
        return no_fit(p.size, 2, reason)
    fit = fit_logistic(positive, columns_of(p), np.zeros(p.size))
    if fit.reason in (SEPARATED, COLLINEAR):
        return no_fit(p.size, 2, f"{fit.reason}, up to rounding")
    return fit


def recalibration(positive: Bools, p: Floats, *, slope: bool) -> tuple[float, float]:
    """Fit the intercept with the slope fixed at 1, or both, and return both.

    The intercept, and a slope that is estimated, are NaN if there is no fit, for the
    reasons that :class:`LogisticFit` gives.
    """
    if slope:
        intercept, turn = slope_fit(positive, p).beta
        return float(intercept), float(turn)
    return float(intercept_fit(positive, p).beta[0]), 1.0


def logit_of(p: Floats) -> Floats:
    """Return the logits of probabilities."""
    from scipy.special import logit

    return np.asarray(logit(p))


def ones_of(p: Floats) -> Floats:
    """Return the design matrix of the intercept alone."""
    return np.ones((p.size, 1))


def columns_of(p: Floats) -> Floats:
    """Return the design matrix of the intercept and the logit."""
    return np.stack([np.ones(p.size), logit_of(p)], axis=1)

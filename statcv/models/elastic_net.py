"""Logistic regression with an elastic net, fold after fold.

Where signs are known, the optimum is that of a smooth function of few coefficients,
which Newton's method finds exactly; columns whose gradient exceeds its bound enter, a
few at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.models.base import TrainingSet
from statcv.models.batched.fits import FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.spread import fold_variances
from statcv.numeric.arrays import Bools, Floats, Numbers
from statcv.numeric.logistic import expit

EXACT = 1e-12  # a negligible mean derivative of the log-likelihood of a record
MAX_STEPS = 100  # Newton steps of a fit at most
MAX_HALVINGS = 40  # times that such a step is halved at most
MIN_NEW = 10  # columns that may enter a fit in one step
SMALLEST = 1e-12  # the share of the information by which it becomes invertible


def fit_net_folds(
    C: float, l1_ratio: float, standardize: bool, records: TrainingSet, folds: Folds
) -> FittedFolds:
    """Fit two classes in every fold with an elastic net.

    The objective is ``C × negative log-likelihood + Σ (l1_ratio |β| + (1 - l1_ratio)
    β² / 2)``, without the intercept (Zou & Hastie 2005).

    Parameters
    ----------
    C : float
        Inverse strength of the penalty.
    l1_ratio : float
        The part of the penalty on absolute values, above 0.
    standardize : bool
        Whether the penalty is on coefficients of columns over their standard deviation
        in the training set of each fit; those returned are of the columns as they are.
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds

    Returns
    -------
    FittedFolds

    Examples
    --------
    >>> X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5], [1.0, 0, 1, 1, 0, 1]])
    >>> y = np.array([0, 1, 0, 0, 1, 1])
    >>> records = TrainingSet(X, y, "binary", 2, ("one", "x", "z"), 0, None, seed=0)
    >>> folds = Folds.leaving_out([[0], [5]])
    >>> fitted = fit_net_folds(1.0, 0.5, False, records, folds)
    >>> np.asarray(fitted.coefficients).round(3)
    array([[ 0.049,  0.212, -0.449],
           [-0.121,  0.105, -0.859]])
    """
    p, place = records.X.shape[1], records.intercept
    fits, variances = FoldFits.empty(len(folds), p), np.ones((1, p))
    if standardize:
        variances = fold_variances(records, folds)
    free = np.full(p, 1 / C)
    scales = np.broadcast_to(np.sqrt(variances), (len(folds), p)).copy()
    if place is not None:
        scales[:, place], free[place] = 1.0, 0.0
    l1, l2 = l1_ratio * free, (1 - l1_ratio) * free
    for fit, scale in enumerate(scales):
        y = records.y if folds.outcome is None else records.y[folds.outcome[fit]]
        weights = folds.weights_in(records, np.array([fit]))[0]
        beta = np.zeros(p)
        if place is not None:
            # steps begin at the model without predictors
            share = np.clip(weights @ y / weights.sum(), 1e-9, 1)
            beta[place] = np.log(share / max(1 - share, 1e-9))
        net = _Net(records.X, scale, y.astype(float), weights, l1, l2)
        beta, fits.converged[fit] = net.optimum(beta)
        fits.coefficients[fit] = beta / scale
    # near its optimum, a fit is that of a ridge on the columns that are kept
    unit = variances if l1_ratio < 1 else 1.0
    ridge = np.where(fits.coefficients == 0, np.inf, l2 * unit)
    return by_linear_predictor(fits, records, folds, expit, ridge)


@dataclass(frozen=True, eq=False)
class _Net:
    """The penalised log-likelihood of one fit.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
    scale : numpy.ndarray, shape (p,)
        The units of the columns in which coefficients are penalised.
    y, weights : numpy.ndarray, shape (n,)
    l1, l2 : numpy.ndarray, shape (p,)
        Strengths of the penalty on absolute values, and on half the squares.
    """

    X: Floats
    scale: Floats
    y: Floats
    weights: Floats
    l1: Floats
    l2: Floats

    def linear(self, beta: Floats) -> Floats:
        """Return the linear predictors, from coefficients other than 0."""
        used = np.flatnonzero(beta)
        return np.asarray(self.X[:, used] @ (beta[used] / self.scale[used]))

    def optimum(self, beta: Floats) -> tuple[Floats, bool]:
        """Return the optimum, and whether it was reached from some coefficients."""
        value, enough = self.value(beta), EXACT * self.weights.sum()
        for _ in range(MAX_STEPS):
            used = beta != 0
            p = expit(self.linear(beta))
            slope = (self.weights * (self.y - p)) @ self.X / self.scale - self.l2 * beta
            free = used | (self.l1 == 0)
            # a coefficient of 0 stays there while its slope is within the bounds
            over = np.abs(slope) - self.l1
            over[free] = np.abs(slope[free] - self.l1[free] * np.sign(beta[free]))
            if over.max(initial=0.0) <= enough:
                return beta, True
            # the columns farthest beyond their bounds enter together, at most as many
            # as are in the fit already
            new = np.flatnonzero(~free & (over > enough))
            most = max(MIN_NEW, int(np.count_nonzero(used)))
            free[new[np.argsort(-over[new], kind="stable")[:most]]] = True
            some = np.flatnonzero(free)
            sign = np.sign(np.where(beta != 0, beta, slope))[some]
            # while no sign changes, the penalty is smooth, and the step that of a ridge
            Z, v = self.X[:, some] / self.scale[some], self.weights * p * (1 - p)
            H = (Z.T * v) @ Z
            H.flat[:: len(some) + 1] += self.l2[some] + SMALLEST * v.sum()
            bound = self.l1[some] > 0
            rise = slope[some] - self.l1[some] * sign
            move = _signed_step(H, rise, beta[some], sign, bound)
            ahead, moved = self._shortened(beta, some, move, value)
            if ahead is None:
                return beta, False
            beta, value = ahead, moved
        return beta, False

    def value(self, beta: Floats) -> float:
        """Return the penalised log-likelihood."""
        eta = self.linear(beta)
        likelihood = self.weights @ (self.y * eta - np.logaddexp(0.0, eta))
        penalty = self.l1 @ np.abs(beta) + self.l2 @ beta**2 / 2
        return float(likelihood - penalty)

    def _shortened(
        self, beta: Floats, some: Numbers, move: Floats, value: float
    ) -> tuple[Floats | None, float]:
        """Return the end of a step along which the function does not fall."""
        ahead = beta.copy()
        for _ in range(MAX_HALVINGS):
            ahead[some] = beta[some] + move
            reached = self.value(ahead)
            if reached >= value - 1e-13 * abs(value):
                return ahead, reached
            move = move / 2
        return None, value


def _signed_step(
    H: Floats, rise: Floats, beta: Floats, sign: Floats, bound: Bools
) -> Floats:
    """Return the step to the top of a parabola that changes no sign.

    A coefficient that meets 0 on the way stays there.

    Parameters
    ----------
    H : numpy.ndarray, shape (m, m)
        Minus the second derivatives.
    rise : numpy.ndarray, shape (m,)
        The first derivatives.
    beta, sign : numpy.ndarray, shape (m,)
        Where the step begins, and the signs that coefficients may have.
    bound : numpy.ndarray of bool, shape (m,)
        Which coefficients have a sign to keep.
    """
    from scipy.linalg.lapack import dposv

    move, free = np.zeros(len(beta)), np.ones(len(beta), dtype=bool)
    for _ in range(2 * len(beta)):
        some = np.flatnonzero(free)
        _, step, _ = dposv(H[np.ix_(some, some)], (rise - H @ move)[some])
        here, own = (beta + move)[some], sign[some]
        crosses = bound[some] & ((here + step) * own < 0)
        if not crosses.any():
            move[some] += step
            break
        share = np.where(crosses, -here / np.where(crosses, step, 1.0), np.inf)
        first = max(float(share.min()), 0.0)
        move[some] += first * step
        at_zero = some[share <= first]
        move[at_zero] = -beta[at_zero]
        free[at_zero] = False
    return move

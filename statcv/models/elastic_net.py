"""Logistic regression with an elastic net, in all folds together and along a path.

Strengths of the penalty fall, so that each fit starts from the one before. Where signs
are known, the optimum is that of a smooth function of few coefficients, which Newton's
method finds exactly; columns whose gradient exceeds its bound enter, a few at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

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


def elastic_path(
    Cs: Sequence[float],
    l1_ratio: float,
    standardize: bool,
    records: TrainingSet,
    folds: Folds,
) -> Iterator[FittedFolds]:
    """Fit two classes in every fold with every strength of an elastic net.

    The objective is ``C × negative log-likelihood + Σ (l1_ratio |β| + (1 - l1_ratio)
    β² / 2)``, without the intercept (Zou & Hastie 2005).

    Parameters
    ----------
    Cs : sequence of float
        Inverse strengths of the penalty, in any order.
    l1_ratio : float
        The part of the penalty on absolute values, above 0.
    standardize : bool
        Whether the penalty is on coefficients of columns over their standard deviation
        in the training set of each fit; those returned are of the columns as they are.
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds

    Yields
    ------
    FittedFolds
        Those of each strength.

    Examples
    --------
    >>> X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5], [1.0, 0, 1, 1, 0, 1]])
    >>> y = np.array([0, 1, 0, 0, 1, 1])
    >>> records = TrainingSet(X, y, "binary", 2, ("one", "x", "z"), 0, None, seed=0)
    >>> folds = Folds.leaving_out([[0], [5]])
    >>> (fitted,) = elastic_path([1.0], 0.5, False, records, folds)
    >>> np.asarray(fitted.coefficients).round(3)
    array([[ 0.049,  0.212, -0.449],
           [-0.121,  0.105, -0.859]])
    """
    p, place = records.X.shape[1], records.intercept
    made = [FoldFits.empty(len(folds), p) for _ in Cs]
    variances = np.ones((1, p))
    if standardize:
        variances = fold_variances(records, folds)
    scales = np.broadcast_to(np.sqrt(variances), (len(folds), p)).copy()
    if place is not None:
        scales[:, place] = 1.0
    for fit, scale in enumerate(scales):
        own = np.array([fit])
        y = records.y if folds.outcome is None else records.y[folds.outcome[fit]]
        weights = folds.weights_in(records, own)[0]
        net, beta = _Net(records.X, scale, y.astype(float), weights, place), np.zeros(p)
        if place is not None:
            share = np.clip(weights @ y / weights.sum(), 1e-9, 1)
            beta[place] = np.log(share / max(1 - share, 1e-9))
        # each fit starts from that of the next stronger penalty
        for number in np.argsort(Cs, kind="stable").tolist():
            beta, sure = net.penalised(1 / Cs[number], l1_ratio).optimum(beta)
            made[number].coefficients[fit] = beta / scale
            made[number].converged[fit] = sure
    unit = variances if l1_ratio < 1 else 1.0
    for C, fits in zip(Cs, made, strict=True):
        # near its optimum, a fit is that of a ridge on the columns that are kept
        ridge = np.where(fits.coefficients == 0, np.inf, (1 - l1_ratio) / C * unit)
        if place is not None:
            ridge[:, place] = 0.0
        yield by_linear_predictor(fits, records, folds, expit, ridge)


@dataclass(frozen=True, eq=False)
class _Net:
    """The penalised log-likelihood of one fit.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
    scale : numpy.ndarray, shape (p,)
        The units of the columns in which coefficients are penalised.
    y, weights : numpy.ndarray, shape (n,)
    place : int or None
        The column of the intercept, which is not penalised.
    l1, l2 : numpy.ndarray, shape (p,)
        Strengths of the penalty on absolute values, and on half the squares.
    """

    X: Floats
    scale: Floats
    y: Floats
    weights: Floats
    place: int | None
    l1: Floats = field(default_factory=lambda: np.zeros(0))
    l2: Floats = field(default_factory=lambda: np.zeros(0))

    def penalised(self, strength: float, l1_ratio: float) -> _Net:
        """Return the likelihood with a penalty of some strength."""
        free = np.full(self.X.shape[1], strength)
        if self.place is not None:
            free[self.place] = 0.0
        return replace(self, l1=l1_ratio * free, l2=(1 - l1_ratio) * free)

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
            new = np.flatnonzero(~free & (over > enough))
            most = max(MIN_NEW, int(np.count_nonzero(used)))
            free[new[np.argsort(-over[new], kind="stable")[:most]]] = True
            some = np.flatnonzero(free)
            sign = np.sign(np.where(beta != 0, beta, slope))[some]
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

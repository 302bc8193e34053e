"""Logistic regression with an elastic net, in all folds together and along a path.

Strengths of the penalty fall, so that each fit starts from the one before, and only
columns near the bound of their gradient are looked at (Tibshirani et al. 2012). The
gradients of all columns, which tell whether one was overlooked, are one product of
matrices for all folds. Where signs are known, the optimum is that of a smooth function
of few coefficients, which Newton's method finds exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from statcv.models.base import TrainingSet
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.fits import FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.spread import fold_variances
from statcv.numeric.arrays import Bools, Floats, Numbers
from statcv.numeric.logistic import expit

EXACT = 1e-10  # a negligible mean derivative of the log-likelihood of a record
ROUGH = 1e-5  # a derivative that is negligible on the way between two strengths
MIN_RATIO = 0.7  # the least ratio of a strength to the one before
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
    n, p = records.X.shape
    made = [FoldFits.empty(len(folds), p) for _ in Cs]
    step = max(1, 4 * CELLS // max(n, p))
    for start in range(0, len(folds), step):
        some = np.arange(start, min(start + step, len(folds)))
        path = _Path.of(records, folds, some, l1_ratio, standardize)
        for number, beta, sure in path.along(1 / np.asarray(Cs, dtype=float)):
            made[number].coefficients[some] = beta
            made[number].converged[some] = sure
    unit = np.ones((1, records.X.shape[1]))
    if standardize and l1_ratio < 1:
        unit = fold_variances(records, folds)
    for C, fits in zip(Cs, made, strict=True):
        # near its optimum, a fit is that of a ridge on the columns that are kept
        ridge = np.where(fits.coefficients == 0, np.inf, (1 - l1_ratio) / C * unit)
        if records.intercept is not None:
            ridge[:, records.intercept] = 0.0
        yield by_linear_predictor(fits, records, folds, expit, ridge)


@dataclass(frozen=True, eq=False)
class _Path:
    """Some fits on their way from a strong penalty to weaker ones.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
    place : int or None
        Which column is the intercept.
    y, weights : numpy.ndarray, shape (fits, n)
    scale : numpy.ndarray, shape (fits, p)
        What columns are divided by.
    l1_ratio : float
    beta : numpy.ndarray, shape (fits, p)
        Coefficients of the divided columns, which are updated in place.
    """

    X: Floats
    place: int | None
    y: Floats
    weights: Floats
    scale: Floats
    l1_ratio: float
    beta: Floats

    @classmethod
    def of(
        cls,
        records: TrainingSet,
        folds: Folds,
        some: Numbers,
        l1_ratio: float,
        standardize: bool,
    ) -> _Path:
        n, p = records.X.shape
        weights = folds.weights_in(records, some)
        y = records.y[folds.outcome[some]] if folds.outcome is not None else records.y
        y = np.broadcast_to(y, (len(some), n)).astype(float)
        scale = np.ones((len(some), p))
        if standardize:
            scale = np.sqrt(fold_variances(records, folds.chosen(some)))
        beta = np.zeros((len(some), p))
        if records.intercept is not None:
            scale[:, records.intercept] = 1.0
            share = np.clip((weights * y).sum(axis=1) / weights.sum(axis=1), 1e-9, 1)
            beta[:, records.intercept] = np.log(share / np.maximum(1 - share, 1e-9))
        return cls(records.X, records.intercept, y, weights, scale, l1_ratio, beta)

    def along(self, strengths: Floats) -> Iterator[tuple[int, Floats, Bools]]:
        """Yield the number of each strength, coefficients, and whether they are sure.

        Strengths between two that lie apart are passed as well, roughly.
        """
        gradient = self.gradients()
        penalised = np.delete(
            gradient, [] if self.place is None else self.place, axis=1
        )
        first = float(np.abs(penalised).max(initial=0) / self.l1_ratio)
        before = max(first, float(strengths.max()))
        for number in np.argsort(-strengths, kind="stable").tolist():
            aim = float(strengths[number])
            between = int(np.ceil(np.log(aim / before) / np.log(MIN_RATIO)))
            for strength in np.geomspace(before, aim, between + 1)[1:-1].tolist():
                gradient, _ = self._move(strength, before, gradient, ROUGH)
                before = strength
            gradient, sure = self._move(aim, before, gradient, EXACT)
            before = aim
            yield number, self.beta / self.scale, sure

    def gradients(self) -> Floats:
        """Return derivatives of the log-likelihood by the coefficients, (fits, p)."""
        used = np.flatnonzero(self.beta.any(axis=0))
        eta = (self.beta / self.scale)[:, used] @ self.X[:, used].T
        return ((self.weights * (self.y - expit(eta))) @ self.X) / self.scale

    def _move(
        self, strength: float, before: float, gradient: Floats, exact: float
    ) -> tuple[Floats, Bools]:
        """Move to the optima of a strength; return the gradients and what is sure."""
        l1 = self.l1_ratio * strength
        # a gradient seldom changes by more than the strength does
        seen = np.abs(gradient) >= self.l1_ratio * (2 * strength - before)
        seen |= self.beta != 0
        if self.place is not None:
            seen[:, self.place] = True
        enough = exact * self.weights.sum(axis=1)
        sure = np.zeros(len(self.beta), dtype=bool)
        left = np.arange(len(self.beta))
        while len(left):
            for fit in left.tolist():
                columns = np.flatnonzero(seen[fit])
                sure[fit] = self._fit(fit, columns, strength, float(enough[fit]))
            gradient = self.gradients()
            ridge = (strength - l1) * self.beta
            missed = ~seen & (np.abs(gradient - ridge) > l1 + enough[:, None])
            seen |= missed
            left = np.flatnonzero(missed.any(axis=1))
        return gradient, sure

    def _fit(self, fit: int, columns: Numbers, strength: float, enough: float) -> bool:
        """Find the optimum among some columns, in place; return whether it was."""
        penalised = columns != (-1 if self.place is None else self.place)
        problem = _NetProblem(
            self.X[:, columns] / self.scale[fit, columns],
            self.y[fit],
            self.weights[fit],
            np.where(penalised, self.l1_ratio * strength, 0.0),
            np.where(penalised, (1 - self.l1_ratio) * strength, 0.0),
        )
        found, done = problem.optimum(self.beta[fit, columns], enough)
        self.beta[fit, columns] = found
        return done


@dataclass(frozen=True, eq=False)
class _NetProblem:
    """The penalised log-likelihood of one fit, of some columns.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, m)
    y, weights : numpy.ndarray, shape (n,)
    l1, l2 : numpy.ndarray, shape (m,)
        Strengths of the penalties on absolute values and on halves of squares.
    """

    X: Floats
    y: Floats
    weights: Floats
    l1: Floats
    l2: Floats

    def optimum(self, beta: Floats, enough: float) -> tuple[Floats, bool]:
        """Return the optimum from a start near it, and whether it was reached."""
        value = self.value(beta)
        for _ in range(MAX_STEPS):
            used = beta != 0
            p = expit(self.X[:, used] @ beta[used])
            slope = (self.weights * (self.y - p)) @ self.X - self.l2 * beta
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
            Z, v = self.X[:, some], self.weights * p * (1 - p)
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
        used = beta != 0
        eta = self.X[:, used] @ beta[used]
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

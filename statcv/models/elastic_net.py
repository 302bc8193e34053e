"""Logistic regression with an elastic net, in all folds together.

Where signs are known, the optimum is that of a smooth function of few coefficients,
which Newton's method finds exactly; columns whose derivative exceeds its bound enter, a
few at a time. Fits of one strength start near those of the strengths before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from statcv.models.base import TrainingSet
from statcv.models.batched.blocks import CELLS, pieces
from statcv.models.batched.fits import FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.spread import fold_variances
from statcv.numeric.arrays import Array, Bools, Floats
from statcv.numeric.logistic import expit

EXACT = 1e-12  # a negligible mean derivative of the log-likelihood of a record
ROUGH = 1e-4  # error, in bounds of the penalty, at which all columns are first examined
MAX_STEPS = 100  # Newton steps of a fit at most
MAX_HALVINGS = 40  # times that such a step is halved at most
MIN_NEW = 10  # columns that may enter a fit in one step
SMALLEST = 1e-12  # the share of the information by which it becomes invertible


def fit_net_folds(
    C: float,
    l1_ratio: float,
    standardize: bool,
    records: TrainingSet,
    folds: Folds,
    paths: Paths | None = None,
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
    paths : dict, optional
        Fits of other strengths to the same records in the same folds, by ``l1_ratio``
        and ``standardize``; those of this strength start near them, and are added.

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
    paths, kind = {} if paths is None else paths, (l1_ratio, standardize)
    if kind not in paths:
        scales = np.ones((len(folds), p))
        if standardize:
            scales = np.sqrt(fold_variances(records, folds))
        made = next(iter(paths.values()), None)
        columns, means = (made.columns, made.means) if made else _centred(records)
        longest = (np.linalg.norm(columns, axis=1) / scales).max(axis=1, initial=0.0)
        paths[kind] = NetPath(columns, means, scales, longest)
    path, free = paths[kind], np.full(p, 1 / C)
    if place is not None:
        free[place] = 0.0
    l1, l2 = l1_ratio * free, (1 - l1_ratio) * free
    fits, at = FoldFits.empty(len(folds), p), path.expected(1 / C)
    beta, slope = at
    for some in pieces(np.arange(len(folds)), max(1, CELLS // len(records.X))):
        nets, weights = [], folds.weights_in(records, some)
        for fit, own in zip(some, weights, strict=True):
            y = records.y if folds.outcome is None else records.y[folds.outcome[fit]]
            if place is not None and not path.last:
                # steps begin at the model without predictors
                share = np.clip(own @ y / own.sum(), 1e-9, 1 - 1e-9)
                beta[fit, place] = np.log(share / (1 - share))
            units = path.columns, path.scales[fit], path.longest[fit]
            nets.append(_Net(*units, y, own, l1, l2, beta[fit], slope[fit]))
        fits.converged[some] = _climb_together(nets)
    path.last = (*path.last[-1:], (1 / C, at))
    fits.coefficients[:] = beta / path.scales
    if place is not None:
        fits.coefficients[:, place] -= fits.coefficients @ path.means
    # near its optimum, a fit is that of a ridge on the columns that are kept
    ridge = np.where((beta == 0) & (l1 > 0), np.inf, l2 * path.scales**2)
    return by_linear_predictor(fits, records, folds, expit, ridge)


def _centred(records: TrainingSet) -> tuple[Floats, Floats]:
    """Return columns as rows, which lose no digits to their means, and these means."""
    means = np.zeros(records.X.shape[1])
    if records.intercept is not None:
        means = records.X.mean(axis=0)
        means[records.intercept] = 0.0
    return np.ascontiguousarray((records.X - means).T), means


@dataclass(eq=False)
class NetPath:
    """The fits of several strengths in the same folds.

    Attributes
    ----------
    columns : numpy.ndarray, shape (p, n)
        The columns of the matrix, as rows, minus their means.
    means : numpy.ndarray, shape (p,)
        0 for the intercept, and without one.
    scales : numpy.ndarray, shape (fits, p)
        The units of the columns in which coefficients are penalised.
    longest : numpy.ndarray, shape (fits,)
        The largest length of a column in these units.
    last : tuple
        The inverse of each of the last two strengths, and coefficients and derivatives
        of the log-likelihood in these units, shape (2, fits, p).
    """

    columns: Floats
    means: Floats
    scales: Floats
    longest: Floats
    last: tuple[tuple[float, Floats], ...] = ()

    def expected(self, penalty: float) -> Floats:
        """Return coefficients and derivatives on the line through the last ones."""
        if not self.last:
            return np.zeros((2, *self.scales.shape))
        (before, start), (last, end) = self.last[0], self.last[-1]
        share = 0.0 if before == last else (penalty - last) / (last - before)
        # the line is not followed farther than the last strengths are apart
        at = np.asarray(end + min(max(share, 0.0), 1.0) * (end - start))
        at[0][at[0] * end[0] <= 0] = 0.0
        return at


Paths = dict[tuple[float, bool], NetPath]


def _climb_together(nets: list[_Net]) -> list[bool]:
    """Move to the optima of several fits, and return which were reached."""
    todo = nets
    for _ in range(MAX_STEPS):
        for net in todo:
            net.climb()
        far = [net for net in todo if net.is_far]
        if far:
            slopes = np.array([net.residuals for net in far]) @ far[0].columns.T
            for net, slope in zip(far, slopes, strict=True):
                net.look(slope / net.scale)
        todo = [net for net in todo if not (net.is_there or net.is_lost)]
        if not todo:
            break
    return [net.is_there for net in nets]


@dataclass(eq=False)
class _Net:
    """The penalised log-likelihood of one fit, and where it is.

    Attributes
    ----------
    columns : numpy.ndarray, shape (p, n)
    scale : numpy.ndarray, shape (p,)
        The units of the columns in which coefficients are penalised.
    longest : float
        The largest length of a column in these units.
    y, weights : numpy.ndarray, shape (n,)
    l1, l2 : numpy.ndarray, shape (p,)
        Strengths of the penalty on absolute values, and on half the squares.
    beta, slope : numpy.ndarray, shape (p,)
        Coefficients, which steps replace, and derivatives of the log-likelihood by all
        columns, which looks replace.
    """

    columns: Floats
    scale: Floats
    longest: float
    y: Array
    weights: Floats
    l1: Floats
    l2: Floats
    beta: Floats
    slope: Floats

    def __post_init__(self) -> None:
        self.enough = EXACT * float(self.weights.sum())
        self.residuals = self.weights
        self.look(self.slope)
        # those derivatives are expected, so that no distance from the bounds is known
        self.tolerance, self.gap = max(self.enough, ROUGH * self.l1.max()), -1.0

    def look(self, slope: Floats) -> None:
        """Let columns enter whose derivatives are farthest beyond their bounds."""
        self.slope[:], self.seen = slope, self.residuals
        over = np.abs(slope) - self.l1 - self.enough
        inside = (self.beta != 0) | (self.l1 == 0)
        over[inside] = -np.inf
        self.gap = -float(over.max(initial=-np.inf))
        # one step is enough while columns are to enter
        self.tolerance = self.enough if self.gap >= 0 else np.inf
        new = np.flatnonzero(over > 0)
        # at most as many enter as are in the fit already
        most = max(MIN_NEW, int(np.count_nonzero(inside)))
        inside[new[np.argsort(-over[new], kind="stable")[:most]]] = True
        self.some = np.flatnonzero(inside)

    @property
    def is_there(self) -> bool:
        """Whether the optimum is reached."""
        return self.off <= self.enough and self.gap >= 0

    def climb(self) -> None:
        """Move within the columns at hand, one step or to a tolerance."""
        some, limit = self.some, self.enough
        Z = self.columns[some] / self.scale[some, None]
        b, l1, l2 = self.beta[some], self.l1[some], self.l2[some]
        eta = b @ Z
        value = self._value(b, eta, l1, l2)
        for _ in range(MAX_STEPS):
            p = expit(eta)
            self.residuals = self.weights * (self.y - p)
            rise = Z @ self.residuals - l2 * b
            sign = np.sign(np.where(b != 0, b, rise))
            rise -= l1 * sign
            free = (b != 0) | (rise * sign > 0)
            self.off = float(np.abs(rise[free]).max(initial=0.0))
            if self.off <= limit:
                break
            # while no sign changes, the penalty is smooth, and the step that of a ridge
            v = self.weights * p * (1 - p)
            A = Z * np.sqrt(v)
            H = A @ A.T
            H.flat[:: len(b) + 1] += l2 + SMALLEST * v.sum()
            move = _signed_step(H, rise, b, sign, free, l1 > 0)
            for _ in range(MAX_HALVINGS):
                ahead, far = b + move, eta + move @ Z
                reached = self._value(ahead, far, l1, l2)
                if reached >= value - 1e-13 * abs(value):
                    break
                move = move / 2
            else:
                break
            b, eta, value = ahead, far, reached
            limit = self.tolerance
        self.beta[some], self.is_lost = b, self.off > limit
        # no derivative has changed by more than this since all were computed
        change = np.linalg.norm(self.residuals - self.seen) * self.longest
        self.is_far = not change <= self.gap

    def _value(self, b: Floats, eta: Floats, l1: Floats, l2: Floats) -> float:
        """Return the penalised log-likelihood."""
        likelihood = self.weights @ (self.y * eta - np.logaddexp(0.0, eta))
        return float(likelihood - l1 @ np.abs(b) - l2 @ b**2 / 2)


def _signed_step(
    H: Floats, rise: Floats, beta: Floats, sign: Floats, free: Bools, bound: Bools
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
    free, bound : numpy.ndarray of bool, shape (m,)
        Which coefficients move, and which have a sign to keep.
    """
    from scipy.linalg.lapack import dposv

    move = np.zeros(len(beta))
    while free.any():
        some, step = np.flatnonzero(free), np.zeros(len(beta))
        inside = H if len(some) == len(H) else H[np.ix_(some, some)]
        _, step[some], _ = dposv(inside, rise[some])
        here = beta + move
        crosses = bound & ((here + step) * sign < 0)
        if not crosses.any():
            return move + step
        share = np.where(crosses, -here / np.where(crosses, step, 1.0), np.inf)
        first = max(float(share.min()), 0.0)
        at_zero = share <= first
        move = np.where(at_zero, -beta, move + first * step)
        # the derivatives of a parabola fall in proportion along the step to its top
        free, rise = free & ~at_zero, rise * (1 - first)
    return move

"""Bounds of the criterion without a term, which tell what need not be fitted."""

from __future__ import annotations

import numpy as np

from statcv.models.base import Matrix
from statcv.models.batched.blocks import CELLS
from statcv.models.selection.training import Numbers, Sets
from statcv.numeric.logistic import expit

ROUNDING = 1e-5  # more than the error of a deviance, and of its bound
LOWEST = -1e99  # in place of minus infinity, whose product with 0 is undefined

Pairs = list[tuple[int, int]]  # a training set and a set of terms each


def least_criteria(sets: Sets, pairs: Pairs, found: list[int], start: Matrix) -> Matrix:
    """Return what the criterion of each pair is at least, minus infinity if unknown.

    Without a term the deviance of no fit is below twice the entropy of any means whose
    residuals are orthogonal to the other columns (Fenchel's duality). Such means are
    linear in the step from the fit with the term to the optimum of its quadratic.

    Parameters
    ----------
    sets : Sets
    pairs : list of tuple of int
        Sets of terms by training set, of one term more or less than it has.
    found : list of int
        The set of terms of each training set.
    start : numpy.ndarray, shape (folds, p + 1)
        The coefficients of its fit.
    """
    bounds = np.full(len(pairs), -np.inf)
    dropped = [found[fold] & ~to for fold, to in pairs]
    if sets.free > 1 or sets.is_gaussian or sets.is_survival or not any(dropped):
        return bounds
    if sets.records.offset is not None:
        return bounds
    folds = np.array([fold for fold, _ in pairs])
    known = np.array(dropped) > 0
    known &= [fold not in sets.lacking for fold in folds.tolist()]
    live = np.unique(folds[known])
    step = max(1, CELLS // sets.records.X.size)
    for begin in range(0, len(live), step):
        some = live[begin : begin + step]
        own = np.flatnonzero(known & np.isin(folds, some))
        terms = [sets.rule.terms[dropped[i].bit_length() - 1] for i in own.tolist()]
        lost = [sorted(term.columns) for term in terms]
        entropy = _entropies(sets, some, found, start, folds[own], lost)
        sizes = [sets.size(pairs[i][1], pairs[i][0]) for i in own.tolist()]
        bounds[own] = 2 * entropy + sets.price[folds[own]] * sizes
    return bounds


def _entropies(
    sets: Sets,
    folds: Numbers,
    found: list[int],
    start: Matrix,
    of: Numbers,
    lost: list[list[int]],
) -> Matrix:
    """Return the entropy without some columns, each in the fit of a fold.

    It is minus infinity if the fit has not converged, and very low where means are not
    probabilities.
    """
    from scipy.special import entr

    columns = [sets.columns(found[fold]) for fold in folds.tolist()]
    rows, beta, idle = sets.side_by_side(folds, columns, start)
    weights, one = sets.weights[folds], np.eye(rows.shape[1])
    mean = expit(np.matmul(beta[:, None], rows)[:, 0])
    variance = mean * (1 - mean)
    hessian = np.matmul(rows * (weights * variance)[:, None], rows.swapaxes(1, 2))
    hessian += idle[:, :, None] * one
    residuals = weights * (sets.outcome(folds) - mean)
    gradient = np.matmul(rows, residuals[:, :, None])[:, :, 0]
    try:
        inverse = np.linalg.inv(hessian)
    except np.linalg.LinAlgError:  # a fit is separated
        return np.full(len(lost), -np.inf)
    move = np.matmul(inverse, gradient[:, :, None])[:, :, 0]
    wrong = np.abs(np.matmul(hessian, inverse) - one).max(axis=(1, 2))
    wrong += (np.abs(gradient) * (np.abs(beta) + np.abs(move))).sum(axis=1)
    made, fit = np.empty(len(lost)), np.searchsorted(folds, of)
    steps, sizes = np.empty((len(lost), rows.shape[1])), np.array([*map(len, lost)])
    for size in np.unique(sizes).tolist():
        part = np.flatnonzero(sizes == size)
        at = [np.searchsorted(columns[fit[i]], lost[i]) for i in part.tolist()]
        f, place = fit[part][:, None], np.array(at)
        V = inverse[f[:, :, None], place[:, :, None], place[:, None]]
        pull = np.linalg.solve(V, beta[f, place][:, :, None])
        steps[part] = (inverse[f, place] * pull).sum(axis=1)
    for number in range(len(folds)):
        mine = slice(*np.searchsorted(fit, (number, number + 1)).tolist())
        means = mean[number] - variance[number] * (steps[mine] @ rows[number])
        entropy = np.maximum(entr(means) + entr(1 - means), LOWEST)
        made[mine] = entropy @ weights[number]
    return np.where(wrong[fit] < ROUNDING / 4, made, -np.inf)

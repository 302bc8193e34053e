"""The choice of terms in all training sets together.

In every round each training set asks for the criteria of the sets that differ from its
own by one term. The fits of those that may be the best are made side by side, from the
fit without the step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.fits import FoldFits
from statcv.models.selection.training import (
    Numbers,
    Sets,
    droppable,
    members,
    partial_information,
    partial_newton,
)
from statcv.numeric.gram import information_of
from statcv.numeric.logistic import expit

STEPS = 12  # largest number of Newton's steps from a fit to one term more or less
SETTLED = 1e-7  # gain in log-likelihood of a step after which there is none to speak of
FARTHEST = 15.0  # log-odds beyond which a step of a separated fit gains less than that


def chosen_sets(sets: Sets) -> tuple[list[int], Matrix]:
    """Return the set of terms that each training set chooses, and coefficients near."""
    sets.check_size()
    direction = sets.rule.direction
    start = np.zeros((len(sets), sets.records.X.shape[1] + 1))
    if not direction:
        return sets.upper, start
    if sets.rule.by == "p":
        return eliminated(sets), start
    forward = direction == "forward"
    found = [sets.forced] * len(sets) if forward else [*sets.upper]
    live = list(range(len(found)))
    least, betas = _criteria(sets, list(zip(live, found, strict=True)), start)
    for fold in live:
        start[fold, sets.columns(found[fold])] = betas[fold]
    while live:
        pairs = [(f, to) for f in live for to in sets.moves(f, found[f])]
        values, betas = _best(sets, pairs, found, start, least)
        moves = defaultdict[int, list[int]](list)
        for number, (fold, _) in enumerate(pairs):
            moves[fold].append(number)
        moved = []
        for fold, own in moves.items():
            # terms without a parameter, as of an empty level, go first
            idle = [
                i for i in own if fold in sets.lacking and pairs[i][1] < found[fold]
            ]
            size = sets.size(found[fold], fold)
            idle = [i for i in idle if sets.size(pairs[i][1], fold) == size]
            best = idle[-1] if idle else min(own, key=values.__getitem__)
            if idle or values[best] < least[fold]:
                found[fold], least[fold] = pairs[best][1], values[best]
                start[fold] = 0.0
                start[fold, sets.columns(found[fold])] = betas[best]
                moved.append(fold)
        live = moved
    return found, start


def fitted_sets(sets: Sets) -> Iterator[tuple[Numbers, Numbers, FoldFits]]:
    """Yield the fits of what is chosen: the folds, their columns, and the fits."""
    chosen, start = chosen_sets(sets)
    pairs, sure = list(enumerate(chosen)), np.full(len(chosen), np.nan)
    # the second time, steps begin so near that they end at the optimum
    for _ in range(2 if sets.free == 1 else 0):
        sure[:] = np.nan
        betas = [np.zeros(len(sets.columns(one))) for one in chosen]
        _side_by_side(sets, pairs, start, sure, betas)
        for fold, beta in enumerate(betas):
            start[fold, sets.columns(chosen[fold])] = beta
    for one in dict.fromkeys(chosen):
        some = np.flatnonzero([other == one for other in chosen])
        columns, alone = sets.columns(one), some[np.isnan(sure[some])]
        if len(alone):
            yield alone, columns, sets.fit(columns, alone)
        done = some[~np.isnan(sure[some])]
        if len(done):
            yes = np.ones(len(done), dtype=bool)
            beta = start[np.ix_(done, columns)]
            yield done, columns, FoldFits(beta, yes, ~yes, ~yes)


def _best(
    sets: Sets, pairs: Pairs, found: list[int], start: Matrix, least: Matrix
) -> tuple[Matrix, list[Matrix]]:
    """Return criterion and coefficients of pairs, infinite for what is not the best."""
    folds = np.array([fold for fold, _ in pairs], dtype=np.intp)
    bounds = least_criteria(sets, pairs, found, start)
    values, betas = np.full(len(pairs), np.inf), [np.zeros(0)] * len(pairs)
    limit = least.copy()
    likely = np.full(len(limit), np.inf)
    np.minimum.at(likely, folds, bounds)
    wanted = bounds <= likely[folds]
    for _ in range(2):  # what is likely the best, and what may be better than that
        below = np.isneginf(bounds) | (bounds < limit[folds])
        some = np.flatnonzero(wanted & below)
        values[some], made = _criteria(sets, [pairs[i] for i in some], start)
        for i, beta in zip(some.tolist(), made, strict=True):
            betas[i] = beta
        np.minimum.at(limit, folds, values + ROUNDING)
        wanted = np.isinf(values)
    return values, betas


def _criteria(sets: Sets, pairs: Pairs, start: Matrix) -> tuple[Matrix, list[Matrix]]:
    """Return the criterion, and coefficients to start from, of each pair."""
    deviance = np.full(len(pairs), np.nan)
    betas = [np.zeros(len(sets.columns(one))) for _, one in pairs]
    if sets.free == 1:
        _side_by_side(sets, pairs, start, deviance, betas)
    alone = defaultdict[int, list[int]](list)
    for number in np.flatnonzero(np.isnan(deviance)).tolist():
        alone[pairs[number][1]].append(number)
    for one, numbers in alone.items():
        columns, some = sets.columns(one), np.array([pairs[i][0] for i in numbers])
        made = sets.fit(columns, some).coefficients
        deviance[numbers] = sets.deviance(sets.linear(columns, some, made), some)
        for i, beta in zip(numbers, made, strict=True):
            betas[i] = beta[: len(columns)]  # unused for several classes
    sizes = np.array([sets.size(one, fold) for fold, one in pairs])
    folds = np.array([fold for fold, _ in pairs], dtype=np.intp)
    return deviance + sets.price[folds] * sizes, betas


def _side_by_side(
    sets: Sets, pairs: Pairs, start: Matrix, deviance: Matrix, betas: list[Matrix]
) -> None:
    """Fit all pairs together, in place, by Newton's steps.

    Those that do not settle, as under separation, are left.
    """
    left = [i for i, (fold, _) in enumerate(pairs) if fold not in sets.lacking]
    left.sort(key=lambda i: len(betas[i]))
    n = len(sets.records.X)
    step = max(1, CELLS // (n * max(map(len, betas), default=1)))
    for begin in range(0, len(left), step):
        some = left[begin : begin + step]
        folds = np.array([pairs[i][0] for i in some])
        columns = [sets.columns(pairs[i][1]) for i in some]
        rows, begun, idle = sets.side_by_side(folds, columns, start)
        with np.errstate(over="ignore", invalid="ignore"):
            if sets.is_survival:
                found, done = partial_newton(sets, rows, begun, folds, idle, SETTLED)
            else:
                eta, done = _newton(sets, rows, begun, folds, idle)
                found = sets.deviance(eta[..., None], folds)
                # fits of separated classes settle as well, where all records are as
                # predicted
                done &= sets.is_gaussian | (np.abs(eta).max(axis=1) < FARTHEST)
        for row in np.flatnonzero(done).tolist():
            deviance[some[row]] = found[row]
            betas[some[row]] = begun[row, : len(betas[some[row]])]


def _newton(
    sets: Sets, rows: Matrix, beta: Matrix, folds: Numbers, idle: NDArray[np.bool_]
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Move coefficients in place; return linear predictors, and which have settled."""
    y = np.broadcast_to(sets.outcome(folds), (len(rows), rows.shape[2]))
    weights, gaussian = sets.weights[folds], sets.is_gaussian
    eta = np.matmul(beta[:, None], rows)[:, 0]
    if sets.records.offset is not None:
        eta += sets.records.offset
    live, some, done = np.arange(len(rows)), rows, np.zeros(len(rows), dtype=bool)
    for step in range(STEPS):
        own = weights[live]
        mean = eta[live] if gaussian else expit(eta[live])
        variance = own if gaussian else own * mean * (1 - mean)
        gradient = np.matmul(some, (own * (y[live] - mean))[:, :, None])
        hessian = np.matmul(some * variance[:, None], some.swapaxes(1, 2))
        hessian += idle[live][:, :, None] * np.eye(rows.shape[1])
        try:
            move = np.linalg.solve(hessian, gradient)[:, :, 0]
        except np.linalg.LinAlgError:  # a fit is separated
            break
        beta[live] += move
        eta[live] += np.matmul(move[:, None], some)[:, 0]
        # Newton's steps square the error; least squares need one, and one for rounding
        gain = (move * gradient[:, :, 0]).sum(axis=1)
        size = (own * (y[live] - mean) ** 2).sum(axis=1) * step if gaussian else 1.0
        settled = gain < SETTLED * size
        done[live[settled]] = True
        if settled.all():
            break
        live = live[~settled]
        some = rows[live]
    return eta, done


# ---- bounds of the criterion without a term, which tell what need not be fitted ----


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
        try:
            entropy = _entropies(sets, some, found, start, folds[own], lost)
        except np.linalg.LinAlgError:  # a fit is separated
            continue
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
    inverse = np.linalg.inv(hessian)
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


# ---- terms dropped by Wald tests of the model of all terms, as by rms::fastbw ----


def eliminated(sets: Sets) -> list[int]:
    """Drop the least significant term of each set while its p exceeds the level.

    The fits without terms are those of the quadratic that the log-likelihood of the
    model of all terms is near its optimum (Lawless & Singhal 1978).
    """
    found = [*sets.upper]
    for one in dict.fromkeys(sets.upper):
        some = np.flatnonzero([other == one for other in sets.upper])
        for fold, kept in zip(some.tolist(), _without(sets, one, some), strict=True):
            found[fold] = kept
    return found


def _without(sets: Sets, start: int, some: Numbers) -> list[int]:
    from scipy.special import chdtrc

    columns, terms = sets.columns(start), sets.rule.terms
    beta = sets.fit(columns, some).coefficients
    information = _information(sets, columns, some, beta)
    pull = np.einsum("mij,mj->mi", information, beta)
    places = {i: np.searchsorted(columns, terms[i].columns) for i in members(start)}
    found, live = [start] * len(some), np.arange(len(some))
    while len(live):
        inside = np.array([np.isin(columns, sets.columns(found[i])) for i in live])
        both = inside[:, :, None] & inside[:, None, :]
        own = np.where(both, information[live], np.eye(len(columns)))
        covariance = np.linalg.inv(own)
        at = np.einsum("mij,mj->mi", covariance, np.where(inside, pull[live], 0.0))
        p = np.full((len(live), len(terms)), np.nan)
        for i, place in places.items():
            b, V = at[:, place], covariance[:, place[:, None], place]
            solved = np.linalg.solve(V, b[:, :, None])[..., 0]
            p[:, i] = chdtrc(len(place), (b * solved).sum(axis=1))
        going = []
        for row, fold in enumerate(live.tolist()):
            may = np.array(droppable(found[fold], sets.forced, terms), dtype=np.intp)
            worst = int(may[p[row, may].argmax()]) if len(may) else -1
            if worst >= 0 and p[row, worst] > sets.rule.level:
                found[fold] ^= 1 << worst
                going.append(fold)
        live = np.array(going, dtype=np.intp)
    return found


def _information(sets: Sets, columns: Numbers, some: Numbers, beta: Matrix) -> Matrix:
    if sets.is_survival:
        every = sets.records.X if sets.matrices is None else sets.matrices[some]
        return partial_information(sets, every[..., columns], beta, some, columns)
    eta, weights = sets.linear(columns, some, beta)[..., 0], sets.weights[some]
    if sets.is_gaussian:
        squares = (weights * (sets.outcome(some) - eta) ** 2).sum(axis=1)
        weights = weights * ((sets.count[some] - len(columns)) / squares)[:, None]
    else:
        small = np.exp(-np.abs(eta))
        weights = weights * small / (1 + small) ** 2
    if sets.matrices is None:
        return information_of(sets.records.X[:, columns], weights)
    X = sets.matrices[some][:, :, columns]
    return np.asarray(np.matmul((X * weights[:, :, None]).swapaxes(1, 2), X))

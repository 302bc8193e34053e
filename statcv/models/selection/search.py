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
from statcv.models.selection.bounds import ROUNDING, Pairs, least_criteria
from statcv.models.selection.hazards import partial_newton
from statcv.models.selection.training import Numbers, Sets
from statcv.models.selection.wald import eliminated
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

"""The choice of terms in all training sets together.

In every round each training set asks for the criteria of the sets that differ from its
own by one term. The fits of those that may be the best are made side by side, from the
fit without the step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from statcv.models.batched.blocks import CELLS, pieces
from statcv.models.families import TwoClasses
from statcv.models.selection.terms import droppable, members
from statcv.models.selection.training import Sets
from statcv.numeric.arrays import Bools, Floats, Numbers
from statcv.numeric.logistic import expit
from statcv.numeric.newton import Optimum, minimise

EXACT = 1e-300  # gain below which a least-squares step ends: only rounding
PERFECT = 1e-12  # size of residuals, as a share of the outcome, that is rounding
SETTLED = 1e-7  # gain in log-likelihood of a step after which no other is made
TIED = 1e-6  # difference of criteria that rounding makes

Pairs = list[tuple[int, int]]  # a training set and a set of terms each
Near = tuple[Numbers, Floats]  # places of coefficients, and their values
NOWHERE: Near = np.zeros(0, dtype=np.intp), np.zeros(0)


def chosen_sets(sets: Sets) -> tuple[list[int], Floats]:
    """Return the set of terms that each training set chooses, and coefficients near."""
    sets.check_size()
    direction, start = sets.rule.direction, sets.zeros()
    if not direction:
        return sets.upper, start
    if sets.rule.by == "p":
        return eliminated(sets), start
    forward = direction == "forward"
    found = [sets.forced] * len(sets) if forward else [*sets.upper]
    live = list(range(len(found)))
    least = np.empty(len(found))
    for part in live[:1], live[1:]:  # others are near the first
        start[part] = start[0]
        least[part], betas = _criteria(sets, [(f, found[f]) for f in part], start)
        start[part] = 0.0
        for fold, (place, beta) in zip(part, betas, strict=True):
            start[fold, place] = beta
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
            # where all sets separate, their criteria differ by rounding alone: of terms
            # that tie, the one named first stays, or enters
            enough = min(values[i] for i in own) + TIED
            tied = idle or [i for i in own if values[i] <= enough]
            best = tied[-1] if pairs[tied[-1]][1] < found[fold] else tied[0]
            if idle or values[best] < least[fold]:
                found[fold], least[fold] = pairs[best][1], values[best]
                place, beta = betas[best]
                start[fold] = 0.0
                start[fold, place] = beta
                moved.append(fold)
        live = moved
    return found, start


def fit_chosen(sets: Sets, chosen: list[int], near: Floats) -> Bools:
    """Move coefficients to the optima of sets of terms; return which are beyond doubt.

    Neither classes that are separated nor columns that are dependent leave doubt there.
    """
    sure = np.zeros(len(chosen), dtype=bool)
    pairs = [(f, one) for f, one in enumerate(chosen) if f not in sets.lacking]
    if not sets.is_ordered:
        for _, folds, place, solved, problem in _solutions(
            sets, pairs, near, exact=True
        ):
            near[folds[:, None], place] = solved.beta
            sure[folds] = solved.converged & sets.moderate(problem, solved.beta)
    return sure


def _best(
    sets: Sets, pairs: Pairs, found: list[int], start: Floats, least: Floats
) -> tuple[Floats, list[Near]]:
    """Return criterion and coefficients of pairs, infinite for what is not the best."""
    folds = np.array([fold for fold, _ in pairs], dtype=np.intp)
    bounds, near = least_criteria(sets, pairs, found, start)
    values, betas = np.full(len(pairs), np.inf), [NOWHERE] * len(pairs)
    limit = least.copy()
    likely = np.full(len(limit), np.inf)
    np.minimum.at(likely, folds, bounds)
    wanted = bounds <= likely[folds]
    near[np.isneginf(likely)] = start[np.isneginf(likely)]
    # what is likely the best, and what may be better than that
    for begin in (near, start):
        below = np.isneginf(bounds) | (bounds < limit[folds])
        some = np.flatnonzero(wanted & below)
        values[some], made = _criteria(sets, [pairs[i] for i in some], begin)
        for i, beta in zip(some.tolist(), made, strict=True):
            betas[i] = beta
        np.minimum.at(limit, folds, values + ROUNDING)
        wanted = np.isinf(values)
    return values, betas


def _criteria(sets: Sets, pairs: Pairs, start: Floats) -> tuple[Floats, list[Near]]:
    """Return the criterion, and coefficients to start from, of each pair."""
    made, betas = np.empty(len(pairs)), [NOWHERE] * len(pairs)
    for some, folds, place, solved, _ in _solutions(sets, pairs, start):
        sizes = sets.sizes([pairs[i] for i in some.tolist()])
        made[some] = sets.deviance(solved.loss, folds) + sets.price[folds] * sizes
        for i, at, beta in zip(some.tolist(), place, solved.beta, strict=True):
            betas[i] = at, beta
    return made, betas


def _solutions(
    sets: Sets, pairs: Pairs, start: Floats, exact: bool = False
) -> Iterator[tuple[Numbers, Numbers, Numbers, Optimum, Any]]:
    """Fit pairs side by side, from coefficients near and else from 0.

    Yields
    ------
    some, folds : numpy.ndarray of int, shape (m,)
        The pairs, and their training sets.
    place : numpy.ndarray, shape (m, q)
        Where their coefficients are in ``start``.
    solved : Optimum
        The coefficients, up to a gain in log-likelihood that is negligible.
    problem : Objective
    """
    # steps end under separation too, where the likelihood gains nothing more; for least
    # squares the first one is exact
    settled = EXACT if sets.is_gaussian else SETTLED
    sizes = np.array([len(sets.columns(one)) for _, one in pairs], dtype=np.intp)
    order = np.argsort(sizes, kind="stable")
    step = max(1, CELLS // (len(sets.records.X) * int(sizes.max(initial=1))))
    for some in pieces(order, step):
        folds = np.array([pairs[i][0] for i in some])
        columns = [sets.columns(pairs[i][1]) for i in some]
        rows, place, idle = sets.side_by_side(folds, columns)
        for own, problem in sets.objectives(rows, folds, idle):
            # coefficients start without the cut points of classes that are lacking
            at, own_folds = place[own, -problem.size[1] :], folds[own]
            solved = minimise(
                problem, 0.0 if exact else settled, start[own_folds[:, None], at]
            )
            yield some[own], own_folds, at, solved, problem


# ---- bounds of criteria near a fit, which tell what need not be fitted ----


ROUNDING = 1e-5  # more than the error of a deviance, and of its bound
LONGEST = 1.5  # largest change of linear predictors on the way to means of a bound
LOWEST = -1e99  # in place of minus infinity, whose product with 0 is undefined


def least_criteria(
    sets: Sets, pairs: Pairs, found: list[int], start: Floats
) -> tuple[Floats, Floats]:
    """Return what the criterion of each pair is at least, minus infinity if unknown.

    With it are coefficients, for each training set, near the fit of least bound.

    Parameters
    ----------
    sets : Sets
    pairs : list of tuple of int
        Sets of terms, by training set in order.
    found : list of int
        The set of terms of each training set, of one term more or less.
    start : numpy.ndarray, shape (folds, p + 1)
        The coefficients of its fit.
    """
    bounds, near = np.full(len(pairs), -np.inf), start.copy()
    known = sets.is_gaussian or isinstance(sets.family, TwoClasses)
    if sets.is_survival or sets.records.offset is not None or not known:
        return bounds, near
    folds = np.array([fold for fold, _ in pairs], dtype=np.intp)
    every = [*found]
    for fold, to in pairs:
        every[fold] |= to
    live = [fold for fold in np.unique(folds).tolist() if fold not in sets.lacking]
    most = max((len(sets.columns(every[fold])) for fold in live), default=1)
    each = most * max(len(sets.records.X), most**2)
    for some in pieces(np.array(live, dtype=np.intp), max(1, CELLS // each)):
        columns = [sets.columns(every[fold]) for fold in some.tolist()]
        rows, place, _ = sets.side_by_side(some, columns)
        own = np.flatnonzero(np.isin(folds, some))
        used = np.zeros((len(own), start.shape[1]), dtype=bool)
        for row, i in zip(used, own.tolist(), strict=True):
            row[sets.columns(pairs[i][1])] = True
        # sets stand in a row for each training set
        fit = np.searchsorted(some, folds[own])
        slot = np.arange(len(fit)) - np.searchsorted(fit, fit)
        inside = np.zeros((len(some), slot.max() + 1, rows.shape[1]), dtype=bool)
        inside[fit, slot] = np.take_along_axis(used, place[fit], axis=1)
        beta = start[some[:, None], place]
        try:
            losses, beta = _least_losses(sets, some, rows, beta, inside)
        except np.linalg.LinAlgError:  # a fit is separated
            continue
        sizes = sets.sizes([pairs[i] for i in own.tolist()])
        least = sets.deviance(losses[fit, slot], folds[own])
        bounds[own] = least + sets.price[folds[own]] * sizes
        first = np.searchsorted(fit, np.arange(len(some)))
        best = np.lexsort((bounds[own], fit))[first]
        near[some[:, None], place] = beta[fit, slot][best]
    return bounds, near


def _least_losses(
    sets: Sets, folds: Numbers, rows: Floats, beta: Floats, inside: Bools
) -> tuple[Floats, Floats]:
    """Return what minus a log-likelihood is at least, and coefficients near its fit.

    It is not below the entropy of any means whose residuals are orthogonal to its
    columns (Fenchel's duality). Means are made so by a step, with the information of a
    fit to other columns, from about the optimum of the quadratic of that fit.

    Parameters
    ----------
    sets : Sets
    folds : numpy.ndarray of int, shape (m,)
    rows : numpy.ndarray, shape (m, q, n)
        Columns as rows.
    beta : numpy.ndarray, shape (m, q)
        The coefficients of a fit.
    inside : numpy.ndarray of bool, shape (m, sets, q)
        The columns of each set.
    """
    weights, beta, columns = sets.weights[folds], beta[:, None], rows.swapaxes(1, 2)
    y = np.broadcast_to(sets.outcome(folds), weights.shape)[:, None]
    weights = weights[:, None]
    eta = np.matmul(beta, rows)
    mean = eta if sets.is_gaussian else expit(eta)
    variance = np.ones_like(mean) if sets.is_gaussian else mean * (1 - mean)
    hessian = np.matmul(rows * (weights * variance), columns)
    pull = np.matmul(beta, hessian) + np.matmul(weights * (y - mean), columns)
    both = inside[..., None] & inside[..., None, :]
    inverse = np.linalg.inv(np.where(both, hessian[:, None], np.eye(rows.shape[1])))
    inverse *= both
    step = np.matmul(inverse, pull[..., None])[..., 0] - beta
    along = np.matmul(step, rows)
    if not sets.is_gaussian:
        longest = np.abs(along).max(axis=2, keepdims=True)
        length = LONGEST / np.maximum(longest, LONGEST)
        along, step = along * length, step * length
    means = eta + along if sets.is_gaussian else expit(eta + along)
    gradient = np.matmul(weights * (y - means), columns)
    move = np.matmul(inverse, gradient[..., None])[..., 0]
    means += variance * np.matmul(move, rows)
    if sets.is_gaussian:
        losses = (y - means) ** 2 / 2
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = -means * np.log(means) - (1 - means) * np.log1p(-means)
        losses = np.fmax(losses, LOWEST)  # also where means are not probabilities
    beta = beta + step + move
    # what residuals gain that are orthogonal but for rounding
    left = np.matmul(weights * (y - means), columns) * inside
    least = np.matmul(losses, weights.swapaxes(1, 2))[..., 0]
    least -= np.abs(left * beta).sum(axis=2)
    return np.where(np.isfinite(least), least, -np.inf), beta


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

    beta, information = _quadratics(sets, start, some)
    pull, terms = np.einsum("mij,mj->mi", information, beta), sets.rule.terms
    # the column of each coefficient; cut points are intercepts
    columns = np.tile(sets.columns(start), sets.free)
    columns = np.append(np.full(sets.cuts, sets.intercept), columns)
    places = {
        i: np.flatnonzero(np.isin(columns, terms[i].columns)) for i in members(start)
    }
    found, live = [start] * len(some), np.arange(len(some))
    while len(live):
        inside = np.array(
            [np.isin(columns, sets.determined(found[i], some[i])) for i in live]
        )
        both = inside[:, :, None] & inside[:, None, :]
        own = np.where(both, information[live], np.eye(len(columns)))
        covariance = np.linalg.inv(own)
        at = np.einsum("mij,mj->mi", covariance, np.where(inside, pull[live], 0.0))
        p = np.full((len(live), len(terms)), np.nan)
        for i, place in places.items():
            b, V = at[:, place], covariance[:, place[:, None], place]
            solved = np.linalg.solve(V, b[:, :, None])[..., 0]
            df = inside[:, place].sum(axis=1)
            # terms without a parameter, as of an empty level, go first
            found_p = chdtrc(np.maximum(df, 1), (b * solved).sum(axis=1))
            p[:, i] = np.where(df > 0, found_p, 2.0)
        going = []
        for row, fold in enumerate(live.tolist()):
            may = np.array(droppable(found[fold], sets.forced, terms), dtype=np.intp)
            worst = int(may[p[row, may].argmax()]) if len(may) else -1
            if worst >= 0 and p[row, worst] > sets.rule.dropped_above:
                found[fold] ^= 1 << worst
                going.append(fold)
        live = np.array(going, dtype=np.intp)
    return found


def _quadratics(sets: Sets, chosen: int, some: Numbers) -> tuple[Floats, Floats]:
    """Return the coefficients of a set in some training sets, and their information.

    That on coefficients that a training set lacks is 1. Training sets that the set
    separates are noted: their Wald tests say nothing (Hauck & Donner 1977).
    """
    size = sets.cuts + sets.free * len(sets.columns(chosen))
    beta, made = np.zeros((len(some), size)), np.tile(np.eye(size), (len(some), 1, 1))
    near = sets.zeros()
    for part in np.split(np.arange(len(some)), [1]):  # others are near the first
        pairs = [(fold, chosen) for fold in some[part].tolist()]
        for own, _, place, solved, problem in _solutions(sets, pairs, near):
            found = solved.beta
            information = problem.hessian(problem.linear(found))
            if sets.is_gaussian:
                folds = some[part[own]]
                squares = (sets.weights[folds] * sets.outcome(folds) ** 2).sum(axis=1)
                residual = np.maximum(2 * solved.loss, PERFECT**2 * squares)
                rest = sets.count[folds] - size
                information *= (rest / residual)[:, None, None]
            own, last = part[own], size - found.shape[1]
            beta[own, last:], made[own, last:, last:] = found, information
            near[:, place[0]] = found[0]
            far = some[own[~sets.moderate(problem, found)]]
            if len(far):
                sets.apart[far] = sets.fit(sets.columns(chosen), far).separated
    return beta, made

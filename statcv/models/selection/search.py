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
    least, betas = _criteria(sets, list(zip(live, found, strict=True)), start)
    for fold, (place, beta) in enumerate(betas):
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
    bounds = least_criteria(sets, pairs, found, start)
    values, betas = np.full(len(pairs), np.inf), [NOWHERE] * len(pairs)
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


def _criteria(sets: Sets, pairs: Pairs, start: Floats) -> tuple[Floats, list[Near]]:
    """Return the criterion, and coefficients to start from, of each pair."""
    made, betas = np.empty(len(pairs)), [NOWHERE] * len(pairs)
    for some, folds, place, solved, _ in _solutions(sets, pairs, start):
        sizes = [sets.size(pairs[i][1], pairs[i][0]) for i in some]
        made[some] = sets.deviance(solved.loss, folds) + sets.price[folds] * sizes
        for i, *near in zip(some.tolist(), place, solved.beta, strict=True):
            betas[i] = near[0], near[1]
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


# ---- bounds of the criterion without a term, which tell what need not be fitted ----


ROUNDING = 1e-5  # more than the error of a deviance, and of its bound
LOWEST = -1e99  # in place of minus infinity, whose product with 0 is undefined


def least_criteria(sets: Sets, pairs: Pairs, found: list[int], start: Floats) -> Floats:
    """Return what the criterion of each pair is at least, minus infinity if unknown.

    Without a term the deviance of no fit is below twice the entropy of any means whose
    residuals are orthogonal to the other columns (Fenchel's duality). Such means are
    linear in the step from the fit with the term to the optimum of its quadratic. For
    least squares that is the fit without the term.

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
    known = sets.is_gaussian or isinstance(sets.family, TwoClasses)
    if sets.is_survival or sets.records.offset is not None or not known:
        return bounds
    if not any(dropped):
        return bounds
    folds = np.array([fold for fold, _ in pairs])
    less = np.array(dropped) > 0
    less &= [fold not in sets.lacking for fold in folds.tolist()]
    live = np.unique(folds[less])
    step = max(1, CELLS // sets.records.X.size)
    for begin in range(0, len(live), step):
        some = live[begin : begin + step]
        own = np.flatnonzero(less & np.isin(folds, some))
        terms = [sets.rule.terms[dropped[i].bit_length() - 1] for i in own.tolist()]
        lost = [sorted(term.columns) for term in terms]
        try:
            losses = _least_losses(sets, some, found, start, folds[own], lost)
        except np.linalg.LinAlgError:  # a fit is separated
            continue
        sizes = [sets.size(pairs[i][1], pairs[i][0]) for i in own.tolist()]
        bounds[own] = losses + sets.price[folds[own]] * sizes
    return bounds


def _least_losses(
    sets: Sets,
    folds: Numbers,
    found: list[int],
    start: Floats,
    of: Numbers,
    lost: list[list[int]],
) -> Floats:
    """Return the least deviance without some columns, each in the fit of a fold.

    It is minus infinity if the fit has not converged, and very low where means are not
    probabilities.
    """
    from scipy.special import entr

    columns = [sets.columns(found[fold]) for fold in folds.tolist()]
    rows, place, idle = sets.side_by_side(folds, columns)
    beta = start[folds[:, None], place]
    weights, one = sets.weights[folds], np.eye(rows.shape[1])
    mean, y = np.matmul(beta[:, None], rows)[:, 0], sets.outcome(folds)
    mean = mean if sets.is_gaussian else expit(mean)
    variance = np.ones_like(mean) if sets.is_gaussian else mean * (1 - mean)
    hessian = np.matmul(rows * (weights * variance)[:, None], rows.swapaxes(1, 2))
    hessian += idle[:, :, None] * one
    residuals = weights * (y - mean)
    gradient = np.matmul(rows, residuals[:, :, None])[:, :, 0]
    inverse = np.linalg.inv(hessian)
    move = np.matmul(inverse, gradient[:, :, None])[:, :, 0]
    wrong = np.abs(np.matmul(hessian, inverse) - one).max(axis=(1, 2))
    short = (np.abs(gradient) * (np.abs(beta) + np.abs(move))).sum(axis=1)
    if sets.is_gaussian:  # whose deviance is n log(squares)
        short *= sets.count[folds] / (residuals * (y - mean)).sum(axis=1)
    wrong += short
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
        if sets.is_gaussian:
            own = np.broadcast_to(y, mean.shape)[number]
            made[mine] = (own - means) ** 2 @ weights[number] / 2
        else:
            entropy = np.maximum(entr(means) + entr(1 - means), LOWEST)
            made[mine] = entropy @ weights[number]
    return np.where(wrong[fit] < ROUNDING / 4, sets.deviance(made, of), -np.inf)


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
            if worst >= 0 and p[row, worst] > sets.rule.level:
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
                rest = sets.count[some[part[own]]] - size
                information *= (rest / (2 * solved.loss))[:, None, None]
            own, last = part[own], size - found.shape[1]
            beta[own, last:], made[own, last:, last:] = found, information
            near[:, place[0]] = found[0]
            far = some[own[~sets.moderate(problem, found)]]
            if len(far):
                sets.apart[far] = sets.fit(sets.columns(chosen), far).separated
    return beta, made

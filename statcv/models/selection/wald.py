"""Terms dropped by Wald tests of the model of all terms, as by ``rms::fastbw``."""

from __future__ import annotations

import numpy as np

from statcv.models.base import Matrix
from statcv.models.selection.hazards import partial_information
from statcv.models.selection.terms import droppable, members
from statcv.models.selection.training import Numbers, Sets
from statcv.numeric.gram import information_of


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

"""Partial likelihoods of the training sets in which terms are chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.partial_likelihood import PartialLikelihoods
from statcv.models.batched.risk_sets import RiskSets, Tied

if TYPE_CHECKING:
    from statcv.models.selection.training import Sets

Numbers = NDArray[np.intp]
STEPS = 8  # largest number of Newton's steps from a fit to one term more or less


def partial_likelihoods(
    sets: Sets, some: Numbers, X: Matrix
) -> Iterator[tuple[Numbers, PartialLikelihoods]]:
    """Yield training sets of one outcome, as places in ``some``, and their likelihoods.

    Parameters
    ----------
    sets : Sets
    some : numpy.ndarray of int, shape (m,)
        Some of the training sets.
    X : numpy.ndarray, shape (n, q), or (m, n, q)
        The covariates of all records, or as each training set has them.
    """
    model: Any = sets.rule.model
    outcomes, which = np.atleast_2d(sets.records.y), sets.folds.outcome
    which = np.zeros(len(some), dtype=np.intp) if which is None else which[some]
    for outcome in np.unique(which).tolist():
        places = np.flatnonzero(which == outcome)
        at, own = RiskSets.of(outcomes[outcome]), some[places]
        weights = sets.weights[own][:, at.order]
        counts = sets.folds.counts_in(X.shape[-2], own)[:, at.order]
        tied = Tied.of(at, counts, weights) if model.ties == "efron" else None
        rows = X[at.order] if X.ndim == 2 else X[places][:, at.order]
        none = np.zeros((len(own), X.shape[-1]))
        offset = sets.records.offset
        offset = None if offset is None else offset[at.order]
        yield places, PartialLikelihoods(rows, at, weights, tied, none, offset)


def partial_deviance(sets: Sets, eta: Matrix, some: Numbers) -> Matrix:
    """Return minus twice the log partial likelihoods, by predictors (m, n, 1)."""
    made = np.empty(len(some))
    for own, problem in partial_likelihoods(sets, some, eta):
        one = np.ones((len(own), 1))
        made[own] = 2 * problem.loss(problem.linear(one), one)
    return made


def partial_newton(
    sets: Sets,
    rows: Matrix,
    beta: Matrix,
    folds: Numbers,
    idle: NDArray[np.bool_],
    settled: float,
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Move coefficients in place until a step gains less than ``settled``.

    Returns
    -------
    deviance : numpy.ndarray, shape (m,)
    done : numpy.ndarray of bool, shape (m,)
        Which have settled where hazards do not differ by orders of magnitude.
    """
    deviance, done = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=bool)
    for own, every in partial_likelihoods(sets, folds, rows.swapaxes(1, 2)):
        live, problem = own, replace(every, ridge=idle[own].astype(float))
        for _ in range(STEPS):
            eta = problem.linear(beta[live])
            gradient = problem.gradient(eta, beta[live])
            try:
                move = np.linalg.solve(problem.hessian(eta), gradient[:, :, None])
            except np.linalg.LinAlgError:  # hazards are monotone
                break
            beta[live] += move[:, :, 0]
            near = (move[:, :, 0] * gradient).sum(axis=1) < settled
            done[live[near]] = True
            live, problem = live[~near], problem.part(~near)
            if not len(live):
                break
        eta = every.linear(beta[own])
        done[own] &= ~every.extreme(eta)
        deviance[own] = 2 * every.loss(eta, beta[own])
    return deviance, done


def partial_information(
    sets: Sets, X: Matrix, beta: Matrix, some: Numbers, intercept: int
) -> Matrix:
    """Return the information on columns; that on the unused intercept is 1."""
    made = np.empty((len(some), X.shape[-1], X.shape[-1]))
    centred = X - X.mean(axis=-2, keepdims=True)
    for own, problem in partial_likelihoods(sets, some, centred):
        made[own] = problem.hessian(problem.linear(beta[own]))
    made[:, intercept, intercept] = 1.0
    return made


def martingale_residuals(sets: Sets) -> Matrix:
    """Return those of the model without covariates, (folds, n).

    Their products with a covariate sum to its score, as residuals of a mean do.
    """
    every, n = np.arange(len(sets)), len(sets.records.X)
    made = np.empty((len(sets), n))
    for own, problem in partial_likelihoods(sets, every, np.zeros((n, 1))):
        weights, at = problem.weights, problem.sets
        residual = -problem.expected(problem.jumps(np.zeros_like(weights)))
        residual[:, at.dead] += weights[:, at.dead]
        made[own[:, None], at.order] = residual / np.where(weights > 0, weights, 1.0)
    return made


def baselines(sets: Sets, beta: Matrix) -> tuple[Matrix, Matrix]:
    """Return the constants and baselines of `CoxFits`, of coefficients (folds, p)."""
    every, centre = np.arange(len(sets)), sets.records.centre
    eta = sets.linear(np.arange(beta.shape[1]), every, beta)
    constant = -eta.mean(axis=1)[:, 0] if centre is None else -beta @ centre
    horizons = sets.records.horizons
    baseline = np.empty((len(sets), len(horizons)))
    for own, problem in partial_likelihoods(sets, every, eta):
        known = problem.linear(np.ones((len(own), 1))) + constant[own, None, None]
        baseline[own] = problem.log_baseline(known, horizons)
    return constant, baseline

"""Cox regressions of all training sets of a plan, in blocks of fits.

Fits start from that of all records. Outcomes that are permuted keep their risk sets, in
which only the rows of the matrix change places.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from statcv.formula import Design, Learnt, is_strata
from statcv.models.base import TrainingSet
from statcv.models.batched.blocks import CELLS, pieces
from statcv.models.batched.cox_firth import firth_optimum
from statcv.models.batched.downdate import Inverse, OneInverse, Whole
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.partial_likelihood import (
    PartialLikelihoods,
    partial_likelihood,
)
from statcv.models.batched.quasi_newton import ACCURACY, Until, climb
from statcv.models.batched.risk_sets import count_strata, risk_order, strata_shares
from statcv.numeric.arrays import Array, Floats, Numbers
from statcv.numeric.gram import column_units
from statcv.numeric.newton import Optimum, minimise

BLOCK = 4 * CELLS  # values of an array of a block of fits
# the share of the information up to which fits without it have its inverse in common
FEW_LOST = 0.5
NOISE = 1e-14  # the length of steps that rounding makes
RANK = 1e-12  # the least singular value of the covariates, relative to the largest


@dataclass(frozen=True, eq=False)
class CoxFits:
    """Cox regressions of several training sets.

    Attributes
    ----------
    fits : FoldFits
        With a coefficient of 0 for the intercept of the design, and for its strata.
    constant : numpy.ndarray, shape (fits,)
        What makes linear predictors 0 at the mean of all records.
    baseline : numpy.ndarray, shape (fits, strata, horizons)
        The logarithm of the cumulative hazard there at each horizon.
    """

    fits: FoldFits
    constant: Floats
    baseline: Floats


def fit_cox_folds(
    records: TrainingSet, folds: Folds, ridge: Floats, efron: bool, firth: bool = False
) -> CoxFits:
    """Fit every fold.

    Parameters
    ----------
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds
        Folds without matrices of their own, or with matrices learnt together.
    ridge : numpy.ndarray, shape (fits, p)
        Strength of the penalty on each column.
    efron : bool
        Whether ties are treated as Efron does, or as Breslow.
    firth : bool, default False
        Whether Firth's penalty takes the place of the ridge.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1], [0], [1], [2]]), np.array([1.0, 2, -3, 4, 5])
    >>> records = TrainingSet(X, y, "survival", 0, ("x",), None, None, 0)
    >>> folds = Folds.leaving_out([[0], [4]])
    >>> fit_cox_folds(records, folds, np.zeros((2, 1)), True).fits.coefficients.round(3)
    array([[-0.693],
           [-0.347]])
    """
    n, p = records.X.shape
    columns, strata = free_columns(records), count_strata(records.names)
    fits, constant = FoldFits.empty(len(folds), p), np.zeros(len(folds))
    baseline = np.empty((len(folds), strata, len(records.horizons)))
    wide = len(columns) > n
    for some, X in _matrices(
        records, folds, wide and bool(np.ptp(ridge[:, columns]) > 0)
    ):
        centre = X.mean(axis=-2) if records.centre is None else records.centre
        rows, own = _centred(X, centre)[..., columns], ridge[np.ix_(some, columns)]
        if wide and rows.ndim == 2:
            rows, own, turn = _turned(rows, own)
        else:
            # powers of two, by which division is exact
            turn = 1 / column_units(rows if rows.ndim == 2 else np.concatenate(rows))
            rows, own = rows * turn, own * turn**2
        for places, problem, start in problems(rows, records, folds, some, own, efron):
            numbers = some[places]
            solved = firth_optimum(problem) if firth else _optimum(problem, start)
            eta, made = problem.linear(solved.beta), np.zeros((len(numbers), p))
            baseline[numbers] = problem.log_baseline(eta, records.horizons)
            made[:, columns] = (
                solved.beta * turn if turn.ndim == 1 else solved.beta @ turn
            )
            at = centre if centre.ndim == 1 else centre[places]
            constant[numbers] = -(made * at).sum(axis=1)
            fits.coefficients[numbers] = made
            fits.separated[numbers] = solved.separated
            fits.converged[numbers] = solved.converged & problem.have_events
    return CoxFits(fits, constant, baseline)


def free_columns(data: TrainingSet | Design) -> Numbers:
    """Return the columns that have a coefficient: neither the intercept nor strata."""
    names = enumerate(data.names)
    free = [j for j, name in names if j != data.intercept and not is_strata(name)]
    return np.array(free, dtype=np.intp)


def _matrices(
    records: TrainingSet, folds: Folds, apart: bool
) -> Iterator[tuple[Numbers, Floats]]:
    """Yield fits with their matrix, (n, p), or the matrix of each, (m, n, p).

    Fits are taken ``apart`` if they are to be rotated differently.
    """
    every, (n, p) = np.arange(len(folds)), records.X.shape
    if isinstance(folds.matrices, Learnt):
        step = max(1, BLOCK // max(n * p, 1))
        for some in pieces(every, step):
            yield some, folds.matrices.matrices(some)
    else:
        for some in np.split(every, every[1:]) if apart else [every]:
            yield some, records.X


def _centred(X: Floats, centre: Floats) -> Floats:
    """Return the columns minus their centre; those that are constant are 0."""
    away = X - np.expand_dims(centre, -2)
    # rounding of the mean alone moves a constant column by this much
    least = X.shape[-2] * np.finfo(float).eps * np.abs(centre)
    return np.asarray(away * (np.abs(away).max(axis=-2) > least)[..., None, :])


def _turned(X: Floats, ridge: Floats) -> tuple[Floats, Floats, Floats]:
    """Rotate records into the space that they span (Hastie & Tibshirani 2004).

    Returns
    -------
    rows, ridge : numpy.ndarray, shapes (n, rank), and (fits, rank)
    turn : numpy.ndarray, shape (rank, q)
        What turns coefficients of these into those of the columns.
    """
    # columns over the root of their penalty have a common one
    scale = np.sqrt(np.where(ridge[0] > 0, ridge[0], 1.0))
    left, size, turn = np.linalg.svd(X / scale, full_matrices=False)
    kept = size > RANK * size.max(initial=0.0)
    own = np.full((len(ridge), np.count_nonzero(kept)), float(ridge[0, 0] > 0))
    return (left * size)[:, kept], own, turn[kept] / scale


def problems(
    X: Floats,
    records: TrainingSet,
    folds: Folds,
    some: Numbers,
    ridge: Floats,
    efron: bool,
) -> Iterator[tuple[Numbers, PartialLikelihoods, _Whole | None]]:
    """Yield blocks of fits, as places in ``some``, their likelihoods and their start.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, q), or (m, n, q)
        The covariates of all records, or as each fit has them.
    records, folds, efron
        As in :func:`fit_cox_folds`.
    some : numpy.ndarray of int, shape (m,)
        Some of the fits.
    ridge : numpy.ndarray, shape (m, q)
    """
    outcomes, (n, q) = np.atleast_2d(records.y), X.shape[-2:]
    shares = strata_shares(records.X, records.names)
    which = group = np.zeros(len(some), dtype=np.intp)
    if folds.outcome is not None:
        which = folds.outcome[some]
        # permuted outcomes have the same times, and risk sets but for their order
        order = risk_order(outcomes, shares.argmax(axis=1))
        times = np.take_along_axis(outcomes, order, axis=1)
        times = np.unique(times, axis=0, return_inverse=True)[1]
        group = np.ravel(times)[which]
    for number in np.unique(group):
        members = np.flatnonzero(group == number)
        alike, start = np.ptp(which[members]) == 0, None
        if alike and X.ndim == 2 and len(members) > 1:
            y, penalty = outcomes[which[members[0]]], ridge[members].mean(axis=0)
            start = _whole(
                partial_likelihood(
                    X, y, efron, records.weights, penalty, shares, offset=records.offset
                )
            )
        step = max(1, BLOCK // max(n * (1 if alike and X.ndim == 2 else q), 1))
        for places in pieces(members, step):
            rows = X if X.ndim == 2 else X[places]
            y = outcomes[which[places[0]] if alike else which[places]]
            weights = folds.weights_in(records, some[places])
            given = weights, ridge[places], shares, folds.counts_in(n, some[places])
            problem = partial_likelihood(rows, y, efron, *given, records.offset)
            yield places, problem, start


@dataclass(frozen=True, eq=False)
class _Whole:
    """The fit to all records, from which others start.

    Attributes
    ----------
    beta : numpy.ndarray, shape (q,)
    inverse : numpy.ndarray, shape (q, q)
        The inverse information.
    weights : numpy.ndarray, shape (n,)
        The weights of the records.
    share : numpy.ndarray, shape (n,)
        A bound on what each adds to the information, relative to it.
    """

    beta: Floats
    inverse: Floats
    weights: Floats
    share: Floats

    def inverses(self, problem: PartialLikelihoods) -> Inverse:
        """Return inverses of the information of fits at the coefficients."""
        m = len(problem.weights)
        away = problem.weights - self.weights
        rate = np.divide(away, self.weights, out=away, where=self.weights > 0)
        if (np.abs(rate) @ self.share).max(initial=0.0) < FEW_LOST:
            return OneInverse(self.inverse)
        eta = problem.linear(np.tile(self.beta, (m, 1)))
        return Whole.of(problem.hessian(eta))


def _whole(problem: PartialLikelihoods) -> _Whole | None:
    """Return the fit to all records, if others may start from there."""
    solved, rows, weights = minimise(problem), problem.X, problem.weights[0]
    eta = problem.linear(solved.beta)
    inverse = Whole.of(problem.hessian(eta))
    if problem.extreme(eta)[0] or not inverse.usable[0]:
        return None
    # a record counts by its expected events, and by its own
    events, dead = problem.expected(problem.jumps(eta[:, 0]))[0], problem.sets.dead
    events[dead] += weights[dead]
    square = ((rows @ inverse.matrices[0]) * rows).sum(axis=1)
    return _Whole(solved.beta[0], inverse.matrices[0], weights, events * square)


def _optimum(problem: PartialLikelihoods, start: _Whole | None) -> Optimum:
    """Return the optima; those that are separated by steps from 0, as fits alone."""
    if start is None or not problem.size[1]:
        return _from_zero(problem)
    beta = np.tile(start.beta, (len(problem.weights), 1))
    reach = float(np.abs(problem.X).sum(axis=-1).max()) or 1.0
    until, inverse = Until(ACCURACY / reach, NOISE), start.inverses(problem)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        beta, sure = climb(_Steps(problem), beta, inverse, until)
    sure &= ~problem.extreme(problem.linear(np.where(sure[:, None], beta, 0.0)))
    solved = Optimum(beta, sure, np.zeros_like(sure))
    again = np.flatnonzero(~sure)
    if len(again):
        other = _from_zero(problem.part(again))
        solved.beta[again] = other.beta
        solved.separated[again] = other.separated
        solved.converged[again] = other.converged
    return solved


def _from_zero(problem: PartialLikelihoods) -> Optimum:
    solved = minimise(problem)
    separated = problem.separated(problem.linear(solved.beta))
    return Optimum(solved.beta, solved.converged | separated, separated)


@dataclass(frozen=True, eq=False)
class _Steps:
    """Partial likelihoods as functions of coefficients alone."""

    problem: PartialLikelihoods

    def gradient(self, theta: Floats) -> Floats:
        """Return the direction of steepest ascent of each fit."""
        return self.problem.gradient(self.problem.linear(theta), theta)

    def part(self, chosen: Array) -> _Steps:
        """Return some of the fits."""
        return _Steps(self.problem.part(chosen))

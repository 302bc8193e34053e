"""Fits by themselves: Newton's method from 0, for one training set or several.

A fit alone is a batch of one, so that a fold that is fitted again has the same fit as
its training set by itself, under separation too, where it depends on where steps end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statcv.models.base import RidgeModel, TrainingSet, positive_weights
from statcv.models.batched.blocks import Block
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.problem import Problem
from statcv.models.families import EXTREME, family_of, free_classes, width_of
from statcv.numeric.arrays import Array, Bools, Floats
from statcv.numeric.gram import column_units
from statcv.numeric.inverses import solve_well
from statcv.numeric.newton import Optimum, minimise

BLOCK = 4  # values of the rows of a block of fits, in units of CELLS
CHUNK = 256  # records whose rows are decomposed at once


@dataclass(frozen=True, eq=False)
class Penalised:
    """Minus the log-likelihoods of some fits, with the penalty.

    Where a Hessian is ill-conditioned, steps are solved by an orthogonal decomposition
    of the weighted rows, with the penalty as further rows.
    """

    problem: Problem

    @property
    def size(self) -> tuple[int, int]:
        """The number of fits, and of coefficients."""
        free = int(self.problem.family.basis.shape[1])
        return len(self.problem), free * self.problem.X.shape[-1]

    def part(self, chosen: Array) -> Penalised:
        """Return some of the fits."""
        return Penalised(self.problem.part(chosen))

    def linear(self, beta: Floats) -> Floats:
        """Return the linear predictors, shape (m, width, n)."""
        return self.problem.linear(beta)

    def loss(self, eta: Floats, beta: Floats) -> Floats:
        """Return the value of each, shape (m,)."""
        problem, ridge = self.problem, self.problem.ridge
        fit = np.einsum("mn,mn->m", problem.trained(), problem.family.loss(eta))
        pull = 0.0
        if ridge is not None:
            strengths = ridge if ridge.ndim == 1 else ridge[:, 0]
            pull = 0.5 * (strengths * beta**2).sum(axis=1)
        return np.asarray(fit + pull)

    def gradient(self, eta: Floats, beta: Floats) -> Floats:
        """Return the direction of steepest descent of each."""
        return self.problem.gradient_of(eta.copy(), beta)

    def hessian(self, eta: Floats) -> Floats:
        """Return the information of each fit with the penalty, (m, q, q)."""
        return self.problem.hessian(self.problem.family.variances(eta))

    def newton(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse Hessian."""
        return self._solved(self.problem.family.variances(eta), gradient)

    def cautious(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse of a matrix above the Hessian."""
        return self._solved(self.problem.family.cautious(eta), gradient)

    def _solved(self, variances: Floats, gradient: Floats) -> Floats:
        hessian = self.problem.hessian(variances)
        step, well = solve_well(hessian, gradient)
        for fit in np.flatnonzero(~well).tolist():
            # an ill-conditioned Hessian: half its digits are kept by its root
            rows = self._triangle(fit, variances[:, fit])
            step[fit] = inverse_gram(rows, gradient[fit])
        return step

    def _triangle(self, fit: int, variances: Floats) -> Floats:
        """Return rows whose Gram matrix is a Hessian, as many as there are columns."""
        X, family, ridge = self.problem.X, self.problem.family, self.problem.ridge
        assert ridge is not None
        X = X if X.ndim == 2 else X[fit]
        ridge = ridge if ridge.ndim == 1 else ridge[fit, 0]
        # a ridge is the information of pseudo-records, one for each column
        made = np.diag(np.sqrt(ridge))[ridge > 0]
        for start in range(0, len(X), CHUNK):
            some = slice(start, start + CHUNK)
            root = np.sqrt(variances[:, some])
            rows = np.einsum("rn,rc,np->rncp", root, family.directions, X[some])
            # rows enter a few at a time; the triangle keeps their Gram matrix
            stacked = np.vstack([made, rows.reshape(-1, made.shape[1])])
            made = np.asarray(np.linalg.qr(stacked, mode="r"))
        return made

    def furthest(self, eta: Floats) -> Floats:
        """Return the largest absolute linear predictor of a training record, (m,)."""
        most = np.abs(eta).max(axis=1)
        trained = np.where(self.problem.trained() > 0, most, 0.0)
        return np.asarray(trained.max(axis=1, initial=0.0))

    def extreme(self, eta: Floats) -> Bools:
        """Return whether fitted probabilities come near 0 or 1, shape (m,)."""
        family = self.problem.family
        if family.width == 1:
            # the least probability of a class, by the record with the largest predictor
            small = np.exp(-self.furthest(eta))
            return np.asarray(small / (1 + small) < EXTREME)
        used = (self.problem.trained() > 0)[:, None]
        least = np.where(used, family.mean(eta), 1.0).min(axis=(1, 2), initial=1.0)
        return np.asarray(least < EXTREME)


def inverse_gram(rows: Floats, vector: Floats) -> Floats:
    """Multiply a vector by the inverse of ``rows.T @ rows``.

    It uses an orthogonal decomposition of the rows or, if columns are dependent, the
    inverse on the span of the rows.
    """
    R = np.linalg.qr(rows, mode="r")
    _, size, turn = np.linalg.svd(R, full_matrices=False)
    # directions that rounding alone has made are not determined
    kept = size > np.finfo(float).eps * max(rows.shape) * size.max(initial=0.0)
    turn = turn[kept]
    return np.asarray(turn.T @ (turn @ vector / size[kept] ** 2))


def fit_alone(training: TrainingSet, ridge: Floats) -> Optimum:
    """Fit two or more classes of one training set.

    Parameters
    ----------
    training : TrainingSet
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.

    Returns
    -------
    Optimum
        With coefficients of shape (p,), or (p, classes) for more than two.
    """
    used, weights = positive_weights(training)
    # powers of two, by which division is exact
    unit = column_units(training.X)
    offset = None if training.offset is None else training.offset[used]
    some = replace(
        training, X=training.X[used] / unit, y=training.y[used], offset=offset
    )
    solved = _solve(some, ridge / unit**2, Block.of_counts(weights[None]))
    beta = solved.beta[0].T / unit[:, None]
    if width_of(training) == 1:
        beta = beta[:, 0]
    return Optimum(beta, bool(solved.converged[0]), bool(solved.separated[0]))


def refit(
    fits: FoldFits, model: RidgeModel, records: TrainingSet, folds: Folds
) -> FoldFits:
    """Make from 0, in place, the fits that have not converged.

    Parameters
    ----------
    fits : FoldFits
    model : Logit
    records : TrainingSet
        All records, with one outcome of classes or several.
    folds : Folds
    """
    left = np.flatnonzero(~fits.converged)
    if not len(left):
        return fits
    n, p = records.X.shape
    unit = column_units(records.X)
    given = np.ones(n) if records.weights is None else records.weights
    ridge, scaled = model.ridge(records), replace(records, X=records.X / unit)
    free = free_classes(ridge, width_of(records))
    again, q = folds.chosen(left), p * len(free)
    for block in again.blocks(n, p, each=(n + q) * q, larger=BLOCK):
        weights = np.tile(given, (len(block), 1))
        block.multiply(weights)
        whole = replace(Block.of_counts(weights), outcome=block.outcome)
        solved = _solve(scaled, ridge / unit**2, whole)
        numbers = left[block.fits]
        beta = solved.beta[:, free] / unit
        fits.coefficients[numbers] = beta.reshape(len(numbers), -1)
        fits.converged[numbers] = solved.converged
        fits.separated[numbers] = solved.separated
        fits.refitted[numbers] = True
    return fits


def _solve(records: TrainingSet, ridge: Floats, block: Block) -> Optimum:
    """Return the optima of some fits, with coefficients of shape (m, K, p)."""
    family = family_of(records, ridge)
    if block.outcome is not None:
        family = family.chosen(block.outcome)
    basis = family.basis
    every = np.tile(ridge, basis.shape[1])
    problem = Problem(records.X, None, family, block, None, every)
    solved = minimise(Penalised(problem))
    free = solved.beta.reshape(len(block), basis.shape[1], records.X.shape[1])
    return replace(solved, beta=np.matmul(basis, free))

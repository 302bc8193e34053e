"""Firth's logistic regression in all folds together.

The penalty's score needs the leverages of every fold, and so its information; a
step uses the information minus the curvature of the penalty in the fit to all records
as the Hessian. Folds that do not converge are fitted by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, Model, TrainingSet, refuse_missing
from statcv.models.batched.chord import ACCURACY, SINGULAR, STEPS
from statcv.models.batched.downdate import Whole, inverted
from statcv.models.batched.folds import CELLS, Block, FoldFits, Folds
from statcv.models.firth import excess, maximise, orthonormal


def fit_firth_folds(model: Model, records: TrainingSet, folds: Folds) -> FoldFits:
    """Fit a binary outcome in every fold, as ``Logit(firth=True)`` would.

    Parameters
    ----------
    model : Logit
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds

    Examples
    --------
    >>> from statcv.models import Logit
    >>> X = np.column_stack([np.ones(4), [0.0, 1, 2, 3]])
    >>> y = np.array([0, 0, 1, 1])
    >>> records = TrainingSet(X, y, "binary", 2, ("one", "x"), 0, None, seed=0)
    >>> folds = Folds.leaving_out([[0], [3]])
    >>> fit_firth_folds(Logit(firth=True), records, folds).coefficients.round(3)
    array([[-2.204,  1.398],
           [-1.99 ,  1.398]])
    """
    refuse_missing(records, "logistic regression")
    X, y = records.X, records.y.astype(float)
    fits = FoldFits.empty(len(folds), X.shape[1])
    weights = np.ones(len(X)) if records.weights is None else records.weights
    used = weights > 0
    basis = orthonormal(X[used], weights[used])
    Z = X @ basis
    mean = y if y.ndim == 1 else y.mean(axis=0)
    theta, converged = maximise(Z[used], mean[used], weights[used])
    if converged and len(theta):
        curved = excess(Z[used], theta, weights[used])
        each = max(len(Z), len(theta) ** 2)
        for block in folds.blocks(len(Z), len(theta), each=each):
            problem = _Problem(Z, y, weights, curved, block)
            found, done = _iterate(problem, np.tile(theta, (len(block), 1)))
            fits.coefficients[block.fits] = found @ basis.T
            fits.converged[block.fits] = done
    fits.coefficients[folds.empty_columns(X, records.weights)] = 0.0
    return fits.refit(model, records, folds)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The optimisation problem of some fits.

    Attributes
    ----------
    Z : numpy.ndarray, shape (n, q)
    y : numpy.ndarray, shape (n,) or (outcomes, n)
    weights : numpy.ndarray, shape (n,)
    curved : numpy.ndarray, shape (q, q)
        The information of all records minus the Hessian.
    block : Block
    """

    Z: Matrix
    y: Matrix
    weights: Matrix
    curved: Matrix
    block: Block

    def part(self, chosen: NDArray[np.bool_]) -> _Problem:
        """Return the problem of some of the fits."""
        return replace(self, block=self.block.part(chosen))

    def step(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Return a step of each fit, and a bound on its inverse information."""
        y = self.y if self.block.outcome is None else self.y[self.block.outcome]
        tanh = np.tanh(theta @ self.Z.T / 2)
        counts = np.tile(self.weights, (len(theta), 1))
        self.block.multiply(counts)
        variance = counts * (1 - tanh**2) / 4
        information = self._information(variance)
        inverse = Whole(inverted(information))
        leverages = variance * self._squares(inverse.matrices)
        score = (counts * (2 * y - 1 - tanh) - leverages * tanh) @ self.Z / 2
        hessian = Whole(inverted(information - self.curved))
        return hessian.times(score), inverse.norm

    def _information(self, variance: Matrix) -> Matrix:
        q = self.Z.shape[1]
        made = np.zeros((len(variance), q * (q + 1) // 2))
        for some, products in self._products():
            made += variance[:, some] @ products
        whole = np.empty((len(variance), q, q))
        above, beside = np.triu_indices(q)
        whole[:, above, beside] = made
        whole[:, beside, above] = made
        return whole

    def _squares(self, matrices: Matrix) -> Matrix:
        """Return zᵀ A z for every row z and each matrix A, shape (m, n)."""
        above, beside = np.triu_indices(self.Z.shape[1])
        twice = matrices[:, above, beside] * np.where(above == beside, 1.0, 2.0)
        made = np.empty((len(matrices), len(self.Z)))
        for some, products in self._products():
            made[:, some] = twice @ products.T
        return made

    def _products(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield products of two columns of some rows, in memory that is bounded."""
        above, beside = np.triu_indices(self.Z.shape[1])
        size = max(1, CELLS // len(above))
        for start in range(0, len(self.Z), size):
            rows = self.Z[start : start + size]
            yield slice(start, start + size), rows[:, above] * rows[:, beside]


def _iterate(problem: _Problem, theta: Matrix) -> tuple[Matrix, NDArray[np.bool_]]:
    """Step until the score vanishes; return coefficients and which fits converged."""
    found, done = theta.copy(), np.zeros(len(theta), dtype=bool)
    which = np.arange(len(theta))
    reach = np.sqrt(np.einsum("ij,ij->i", problem.Z, problem.Z).max())
    before = np.full(len(theta), np.inf)
    for _ in range(STEPS):
        with np.errstate(invalid="ignore", over="ignore"):  # without an inverse
            step, norm = problem.step(theta)
            size = np.sqrt(np.einsum("bp,bp->b", step, step)) * reach
            rate = np.where(before < np.inf, size / before, 1.0)
        close = (size * rate <= ACCURACY) & (rate <= 1) & (norm <= SINGULAR)
        go = ~close & (rate <= 1) & (norm <= SINGULAR)
        theta = theta + step
        found[which[close]] = theta[close]
        done[which[close]] = True
        if not go.any():
            break
        problem, theta = problem.part(go), theta[go]
        which, before = which[go], size[go]
    return found, done

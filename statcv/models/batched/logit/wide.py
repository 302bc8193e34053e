"""Few ridge fits of few records and many columns, by one number for each record.

At the optimum the coefficients are a sum of multiples of the training records, which
are their residuals over the penalty. Newton's method for these multiples takes a matrix
of the records in place of one of the columns (Zhu & Hastie 2005; Rasmussen & Williams
2006, section 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.chord import ACCURACY
from statcv.models.batched.folds import Folds
from statcv.models.newton import is_steep

FITS = 10  # at most; steps from the fit to all records are quicker for more fits,
RECORDS = 4  # for more training records for each column,
WORK = 4e7  # and if fits times records to the fourth, over columns, is more
STEPS = 30
FAR = 1.0  # a step that moves a linear predictor by more is shortened or extended,
SECTIONS = 4  # by so many steps along it, until
SETTLED = 0.1  # its length changes by less
CLOSE = 1e-2  # a step that moves no linear predictor by more may be the last
ROUNDING = 1e-9  # of linear predictors, at most
NOTHING = 1e-30  # in place of a weight of 0


def fit_wide(
    records: TrainingSet, folds: Folds, ridge: Matrix
) -> tuple[Matrix, NDArray[np.bool_]] | None:
    """Fit a binary outcome in every fold, if these are few, of few records.

    Parameters
    ----------
    records : TrainingSet
    folds : Folds
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.

    Returns
    -------
    coefficients : numpy.ndarray, shape (fits, p)
    converged : numpy.ndarray of bool, shape (fits,)
        Whether these are the optimum beyond doubt.

    None if folds or their records are many, or columns are few; if folds have outcomes
    of their own; or if another column than the intercept is not penalised.

    Examples
    --------
    >>> X = np.array([[1.0, 3, 0, 4, 1], [1, 0, 1, 2, 0], [1, 1, 5, 0, 2]])
    >>> y, names = np.array([0, 1, 1]), ("one", "a", "b", "c", "d")
    >>> records = TrainingSet(X, y, "binary", 2, names, 0, None, seed=0)
    >>> ridge = np.array([0.0, 1, 1, 1, 1])
    >>> beta, converged = fit_wide(records, Folds.leaving_out([[1], [2]]), ridge)
    >>> beta.round(3)
    array([[-0.194, -0.194,  0.485, -0.388,  0.097],
           [ 2.014, -0.575,  0.192, -0.384, -0.192]])
    """
    n, p = records.X.shape
    most = n - int(folds.out.sizes.min(initial=n))
    few = len(folds) <= FITS and most <= RECORDS * p
    if folds.outcome is not None or not few or len(folds) * most**4 > WORK * p:
        return None
    free = np.flatnonzero(ridge == 0).tolist()
    if free not in ([], [records.intercept]):
        return None
    penalised = np.ones(p, dtype=bool)
    penalised[free] = False
    rows = records.X[:, penalised] / np.sqrt(ridge[penalised])
    products = rows @ rows.T
    weights = np.ones(n) if records.weights is None else records.weights
    beta, converged = np.zeros((len(folds), p)), np.zeros(len(folds), dtype=bool)
    for block in folds.blocks(n, p):
        often = np.tile(weights, (len(block), 1))
        block.multiply(often)
        problem = Wide.of(products, often, records.y, bool(free))
        multiples, intercept, converged[block.fits] = problem.solve()
        made = np.zeros((len(block), p))
        made[:, penalised] = multiples @ rows / np.sqrt(ridge[penalised])
        made[:, free] = intercept[:, None]
        beta[block.fits] = made
    return beta, converged


@dataclass(frozen=True, eq=False)
class Wide:
    """The optimisation problem of some fits.

    Attributes
    ----------
    rows : numpy.ndarray of int, shape (m, k)
        The training records of each fit; shorter lists are filled up.
    weights : numpy.ndarray, shape (m, k)
        Their weights; 0 where a list was filled up.
    sign : numpy.ndarray, shape (m, k)
        1 for the positive class and -1 for the other.
    products : numpy.ndarray, shape (m, k, k)
        Products of the records, over the penalty.
    longest : float
        The largest product of a record with itself, held-out records included.
    n : int
        Number of all records.
    intercept : bool
        Whether there is one, which is not penalised.
    """

    rows: NDArray[np.intp]
    weights: Matrix
    sign: Matrix
    products: Matrix
    longest: float
    n: int
    intercept: bool

    @classmethod
    def of(
        cls, products: Matrix, weights: Matrix, y: NDArray[Any], intercept: bool
    ) -> Wide:
        """Take the records that have weights in some fits, shape (m, n)."""
        most = int(np.count_nonzero(weights, axis=1).max())
        rows = np.argsort(weights == 0, axis=1, kind="stable")[:, :most]
        own = np.empty((len(weights), most, most))
        for place, some in enumerate(rows):
            own[place] = products.take(some, axis=0).take(some, axis=1)
        used = np.take_along_axis(weights, rows, axis=1)
        longest, n = float(products.diagonal().max(initial=0.0)), weights.shape[1]
        return cls(rows, used, 2.0 * y[rows] - 1, own, longest, n, intercept)

    def solve(self) -> tuple[Matrix, Matrix, NDArray[np.bool_]]:
        """Search for the optima by Newton's method.

        Returns
        -------
        multiples : numpy.ndarray, shape (m, n)
        intercept : numpy.ndarray, shape (m,)
        sure : numpy.ndarray of bool, shape (m,)
            Whether each optimum is found, and far from separation.
        """
        multiples, intercept = np.zeros_like(self.weights), np.zeros(len(self.weights))
        used, near = self.weights > 0, np.zeros(len(self.weights), dtype=bool)
        furthest = np.full(len(self.weights), np.inf)
        with np.errstate(all="ignore"):
            for _ in range(STEPS):
                eta = self._across(multiples) + intercept[:, None]
                share = 1 / (1 + np.exp(self.sign * eta))
                against = self.weights * share
                residual = against * self.sign - multiples
                variance = against * (1 - share) + NOTHING
                if furthest.min() <= CLOSE:
                    left = self._left(multiples, residual, variance)
                    near = (left <= ACCURACY) | (furthest <= ACCURACY) & (left < np.inf)
                if near.all():
                    break
                change, risen = self._step(multiples, residual, variance)
                moved = self._across(change) + risen[:, None]
                furthest = np.abs(moved * used).max(axis=1)
                if furthest.max() > FAR:
                    length = self._length(multiples, eta, change, risen, moved)
                    change, risen = change * length, risen * length[:, 0]
                multiples, intercept = multiples + change, intercept + risen
            reach = self._reach(variance)
        every = np.zeros((len(eta), self.n))
        np.put_along_axis(every, self.rows, multiples * used, axis=1)
        return every, intercept, near & is_steep(self.weights.sum(axis=1), reach**2)

    def _step(
        self, multiples: Matrix, residual: Matrix, variance: Matrix
    ) -> tuple[Matrix, Matrix]:
        """Return Newton's step of the multiples and the intercept."""
        from scipy.linalg import lapack

        fits, records = residual.shape
        solved = np.ones((fits, 2, records))
        np.divide(residual, variance, out=solved[:, 0])
        matrices = self.products.copy()
        matrices.reshape(fits, -1)[:, :: records + 1] += 1 / variance
        for place, one in enumerate(matrices):  # each is its own transpose
            made = lapack.dposv(one.T, solved[place].T, overwrite_a=True)
            solved[place] = np.nan if made[2] else made[1].T
        change, by_intercept = solved[:, 0], solved[:, 1]
        if not self.intercept:
            return change, np.zeros(fits)
        # the multiples add up to 0
        risen = (change + multiples).sum(axis=1) / by_intercept.sum(axis=1)
        return change - risen[:, None] * by_intercept, risen

    def _across(self, multiples: Matrix) -> Matrix:
        """Return the linear predictors that multiples make, but for the intercept."""
        return np.asarray(np.matmul(self.products, multiples[:, :, None])[:, :, 0])

    def _length(
        self,
        multiples: Matrix,
        eta: Matrix,
        change: Matrix,
        risen: Matrix,
        moved: Matrix,
    ) -> Matrix:
        """Return how often to take each step, (m, 1).

        By Newton's method along it, between lengths known to be too short and too long.
        """
        across = moved - risen[:, None]
        curved = np.einsum("bk,bk->b", across, change)
        slope = np.einsum("bk,bk->b", across, multiples)
        ahead, start = self.sign * moved, self.sign * eta
        weighted = self.weights * ahead
        bending = weighted * ahead
        length = np.ones(len(eta))
        short, long = np.zeros(len(eta)), np.full(len(eta), np.inf)
        for _ in range(SECTIONS):
            share = 1 / (1 + np.exp(start + length[:, None] * ahead))
            rise = np.einsum("bk,bk->b", weighted, share) - slope - length * curved
            bend = np.einsum("bk,bk->b", bending, share * (1 - share)) + curved
            short, long = np.where(rise > 0, (length, long), (short, length))
            step = np.minimum(rise / bend, length)  # at most twice as far
            inside = (length + step > short) & (length + step < long)
            step = np.where(inside, step, (short + long) / 2 - length)
            length = length + step
            if np.abs(step).max() < SETTLED:
                break
        return length[:, None]

    def _reach(self, variance: Matrix) -> Matrix:
        """Bound the root of x H⁻¹ x for each record x and the Hessian H, shape (m,).

        A step of length 1 by H moves the predictor without intercept by the root of
        ``longest`` at most, and the intercept by as much and what ``variance`` allows.
        """
        return np.asarray(2 * np.sqrt(self.longest) + 1 / np.sqrt(variance.sum(axis=1)))

    def _left(self, multiples: Matrix, residual: Matrix, variance: Matrix) -> Matrix:
        """Bound the distance of each linear predictor from the optimum, shape (m,).

        To first order it is what a step by the Hessian makes of the gradient, in which
        residuals are multiples of the records, and their sum that of the intercept. It
        is infinite where rounding of large products costs more digits than it may.
        """
        reach = self._reach(variance)
        left = np.sqrt(np.einsum("bk,bk->b", residual, residual / variance))
        if self.intercept:
            left += reach * np.abs(multiples.sum(axis=1))
        rounding = np.finfo(float).eps * self.longest * np.abs(multiples).sum(axis=1)
        return np.where(rounding <= ROUNDING, reach * left, np.inf)

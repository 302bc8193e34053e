"""Few ridge fits of few records and many columns, by one number for each record.

At the optimum the coefficients are a sum of multiples of the training records, which
are their residuals over the penalty. Newton's method for these multiples takes a matrix
of the records in place of one of the columns (Zhu & Hastie 2005; Rasmussen & Williams
2006, section 3.4).

Records with many times as many columns are about at right angles, and the linear
predictor of each is mostly what its own multiple makes of it. The equations that say
which linear predictor belongs to a multiple, those of the dual problem (Jaakkola &
Haussler 1999), are nearly linear then, and Newton's method for them takes half the
steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.chord import ACCURACY
from statcv.models.batched.folds import Block, Folds
from statcv.models.newton import is_steep

Solved = tuple[Matrix, Matrix, NDArray[np.bool_]]

FITS = 10  # at most; steps from the fit to all records are quicker for more fits,
RECORDS = 4  # for more training records for each column,
WORK = 4e7  # and if fits times records to the fourth, over columns, is more
STEPS = 30
FAR = 1.0  # a step that moves a linear predictor by more is shortened or extended,
SECTIONS = 4  # by so many steps along it, until
SETTLED = 0.1  # its length changes by less
CLOSE = 1e6  # a step may be the last if its square is not more times what is enough
ROUNDING = 1e-9  # of linear predictors, at most
NOTHING = 1e-30  # in place of a weight of 0
APART = 1.15  # squares of all products over those of records with themselves, at most


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
    if not are_few_and_small(folds, *records.X.shape):
        return None
    spanned = Spanned.of(records, ridge)
    if spanned is None:
        return None

    def solve(block: Block) -> Solved:
        often = np.tile(spanned.weights, (len(block), 1))
        block.multiply(often)
        return Wide.of(spanned, often).solve(ACCURACY)

    return spanned.fitted(folds, solve)


def are_few_and_small(folds: Folds, n: int, p: int) -> bool:
    """Return whether Newton's method takes less time than steps by gradients."""
    most = folds.largest(n)
    few = len(folds) <= FITS and most <= RECORDS * p
    return folds.outcome is None and few and len(folds) * most**4 <= WORK * p


@dataclass(frozen=True, eq=False)
class Spanned:
    """Records whose multiples make the coefficients.

    Attributes
    ----------
    records : TrainingSet
    penalised : numpy.ndarray of bool, shape (p,)
        All columns, but for the intercept if there is one.
    scale : numpy.ndarray
        The root of the strength of the penalty on each of these.
    rows : numpy.ndarray
        The records in these columns, over the scale.
    """

    records: TrainingSet
    penalised: NDArray[np.bool_]
    scale: Matrix
    rows: Matrix

    @classmethod
    def of(cls, records: TrainingSet, ridge: Matrix) -> Spanned | None:
        """Return the records; None if a column besides the intercept is unpenalised."""
        penalised = ridge > 0
        if np.flatnonzero(~penalised).tolist() not in ([], [records.intercept]):
            return None
        scale = np.sqrt(ridge[penalised])
        return cls(records, penalised, scale, records.X[:, penalised] / scale)

    @property
    def intercept(self) -> bool:
        """Whether there is an intercept, which is not penalised."""
        return not self.penalised.all()

    @cached_property
    def weights(self) -> Matrix:
        """The weights of the records, shape (n,)."""
        given = self.records.weights
        return np.ones(len(self.rows)) if given is None else given

    @cached_property
    def products(self) -> Matrix:
        """The products of the records, over the penalty, shape (n, n)."""
        return np.asarray(self.rows @ self.rows.T)

    def fitted(
        self, folds: Folds, solve: Callable[[Block], Solved], each: int = 0
    ) -> tuple[Matrix, NDArray[np.bool_]]:
        """Return the coefficients of all fits, (fits, p), and which are sure.

        Parameters
        ----------
        folds : Folds
        solve : callable
            Function of some fits that returns their multiples, shape (m, n), their
            intercepts, and which of them are optima beyond doubt.
        each : int
            Number of values that this function keeps of each fit.
        """
        n, p = self.records.X.shape
        beta, sure = np.zeros((len(folds), p)), np.zeros(len(folds), dtype=bool)
        for block in folds.blocks(n, p, each):
            multiples, intercept, sure[block.fits] = solve(block)
            made = np.zeros((len(block), p))
            made[:, self.penalised] = multiples @ self.rows / self.scale
            made[:, ~self.penalised] = intercept[:, None]
            beta[block.fits] = made
        return beta, sure


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
    def of(cls, spanned: Spanned, weights: Matrix) -> Wide:
        """Take the records that have weights in some fits, shape (m, n)."""
        products, y, n = spanned.products, spanned.records.y, weights.shape[1]
        longest = float(products.diagonal().max(initial=0.0))
        if weights.all():
            rows, used = np.tile(np.arange(n), (len(weights), 1)), weights
            own = np.broadcast_to(products, (len(weights), n, n))
        else:
            most = int(np.count_nonzero(weights, axis=1).max())
            rows = np.argsort(weights == 0, axis=1, kind="stable")[:, :most]
            used = np.take_along_axis(weights, rows, axis=1)
            own = np.empty((len(weights), most, most))
            for place, some in enumerate(rows):
                own[place] = products.take(some, axis=0).take(some, axis=1)
        sign = 2.0 * y[rows] - 1
        return cls(rows, used, sign, own, longest, n, spanned.intercept)

    def solve(self, enough: float) -> Solved:
        """Search for the optima by Newton's method.

        Parameters
        ----------
        enough : float
            How near linear predictors have to come to those of the optimum.

        Returns
        -------
        multiples : numpy.ndarray, shape (m, n)
        intercept : numpy.ndarray, shape (m,)
        sure : numpy.ndarray of bool, shape (m,)
            Whether each optimum is found, and far from separation.
        """
        multiples, intercept = self._start, np.zeros(len(self.weights))
        used, near = self.used, np.zeros(len(self.weights), dtype=bool)
        furthest, dual = np.full(len(self.weights), np.inf), self.are_apart
        with np.errstate(all="ignore"):
            for _ in range(STEPS):
                eta = self._across(multiples) + intercept[:, None]
                short, variance = (self.by_multiples if dual else self._by_predictors)(
                    multiples, eta
                )
                if furthest.min() ** 2 <= CLOSE * enough:
                    left = self.left(multiples, short, variance)
                    near = (left <= enough) | (furthest <= enough) & (left < np.inf)
                if near.all():
                    break
                change, risen = self._step(multiples, short, variance)
                if dual and not (self.are_inside(multiples + change) | ~used).all():
                    dual, multiples, intercept = False, 0 * multiples, 0 * intercept
                    continue
                moved = self._across(change) + risen[:, None]
                furthest = np.abs(moved * used).max(axis=1)
                if furthest.max() > FAR and not dual:
                    length = self._length(multiples, eta, change, risen, moved)
                    change, risen = change * length, risen * length[:, 0]
                multiples, intercept = multiples + change, intercept + risen
            reach = self.reach(variance)
        every = np.zeros((len(eta), self.n))
        np.put_along_axis(every, self.rows, multiples * used, axis=1)
        return every, intercept, near & is_steep(self.weights.sum(axis=1), reach**2)

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Where lists of records were not filled up, shape (m, k)."""
        return self.weights > 0

    @cached_property
    def _full(self) -> bool:
        return bool(self.used.all())

    @cached_property
    def are_apart(self) -> bool:
        """Whether records of both classes are about at right angles, in every fit."""
        if not min(one.min() for one in self._class_weights) > 0:
            return False
        every = np.einsum("bij,bij,bi->b", self.products, self.products, self.used)
        own = np.einsum("bii,bii,bi->b", self.products, self.products, self.used)
        return bool((every <= APART * own).all())

    @cached_property
    def _class_weights(self) -> tuple[Matrix, Matrix]:
        """The sum of the weights of either class, shape (m,)."""
        ones = np.einsum("bk,bk->b", self.weights, self.sign > 0)
        return ones, self.weights.sum(axis=1) - ones

    @property
    def _start(self) -> Matrix:
        """The multiples with which to start: 0, or those of records at right angles.

        The latter are alike in each class. With a length t of their sum in each class
        that makes linear predictors q t, where q is that of length 1, the equation is
        q t = 2 log(w/t - 1) if both classes have the weight w; without the 1, its
        solution is Lambert's function.
        """
        if not self.are_apart:
            return np.zeros_like(self.weights)
        from scipy.special import lambertw

        ones, others = self._class_weights
        shares = np.where(self.sign > 0, 1 / ones[:, None], -1 / others[:, None])
        shares *= self.weights
        across = np.einsum("bk,bk->b", self._across(shares), shares) / 2
        mean = np.sqrt(ones * others)
        far = across * mean
        share = np.divide(lambertw(far).real, far, out=np.ones_like(far), where=far > 0)
        length = mean * share
        length = np.minimum(length, np.minimum(ones, others) / 2)
        return np.asarray(shares * length[:, None])

    def _by_predictors(self, multiples: Matrix, eta: Matrix) -> tuple[Matrix, Matrix]:
        """Return what the linear predictors lack to have residuals for multiples.

        To first order: it is the gradient over the variance of each record, which is
        returned as well.
        """
        share = 1 / (1 + np.exp(self.sign * eta))
        against = self.weights * share
        variance = against * (1 - share) + NOTHING
        return (against * self.sign - multiples) / variance, variance

    def by_multiples(self, multiples: Matrix, eta: Matrix) -> tuple[Matrix, Matrix]:
        """Return the same from the multiples, with the variance that they stand for."""
        against = self.sign * multiples
        share = against / self.weights
        short = -self.sign * np.log(share / (1 - share)) - eta
        variance = against * (1 - share)
        if self._full:
            return short, variance
        return np.where(self.used, short, 0.0), np.where(self.used, variance, NOTHING)

    def are_inside(self, multiples: Matrix) -> NDArray[np.bool_]:
        """Return which multiples could be residuals, shape (m, k)."""
        against = self.sign * multiples
        return np.asarray((against > 0) & (against < self.weights))

    def _step(
        self, multiples: Matrix, short: Matrix, variance: Matrix
    ) -> tuple[Matrix, Matrix]:
        """Return Newton's step of the multiples and the intercept."""
        from scipy.linalg import lapack

        fits, records = short.shape
        solved = np.ones((fits, 2, records))
        solved[:, 0] = short
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

    def reach(self, variance: Matrix) -> Matrix:
        """Bound the root of x H⁻¹ x for each record x and the Hessian H, shape (m,).

        A step of length 1 by H moves the predictor without intercept by the root of
        ``longest`` at most, and the intercept by as much and what ``variance`` allows.
        """
        return np.asarray(2 * np.sqrt(self.longest) + 1 / np.sqrt(variance.sum(axis=1)))

    def left(self, multiples: Matrix, short: Matrix, variance: Matrix) -> Matrix:
        """Bound the distance of each linear predictor from the optimum, shape (m,).

        To first order it is what a step by the Hessian makes of the gradient, in which
        residuals are multiples of the records, and their sum that of the intercept. It
        is infinite where rounding of large products costs more digits than it may.
        """
        reach = self.reach(variance)
        left = np.sqrt(np.einsum("bk,bk->b", short, short * variance))
        if self.intercept:
            left += reach * np.abs(multiples.sum(axis=1))
        rounding = np.finfo(float).eps * self.longest * np.abs(multiples).sum(axis=1)
        return np.where(rounding <= ROUNDING, reach * left, np.inf)

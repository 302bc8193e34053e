"""Ridge fits that leave out few of few records, which are about at right angles.

The multiples of the records that make the coefficients are almost those of the fit to
all records then, but for the records that are left out, whose multiples are 0. Steps by
the matrix of that fit, with these held at 0, take one matrix product for all fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.chord import ACCURACY
from statcv.models.batched.folds import Block, Folds
from statcv.models.batched.logit.wide import APART, Solved, Spanned, Wide
from statcv.models.newton import is_steep

MOST = 4  # records that a fit leaves out
NEARLY = 1e-3  # how near to its optimum the fit to all records needs to be
STEPS = 40
LACKING = 1e-11  # of linear predictors, at the end
SLOW = 0.05  # the share of what a step leaves, from which the next is accelerated


def fit_left_out(
    records: TrainingSet, folds: Folds, ridge: Matrix
) -> tuple[Matrix, NDArray[np.bool_]] | None:
    """Fit a binary outcome in every fold from the fit to all records.

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

    None if fits leave out many records, or have weights or outcomes of their own; if
    another column than the intercept is not penalised; or if records are alike.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(6, 200))
    >>> y, names = np.array([0, 1, 1, 0, 1, 0]), tuple(map(str, range(200)))
    >>> records = TrainingSet(X, y, "binary", 2, names, None, None, seed=0)
    >>> folds = Folds.leaving_out([[0], [1], [2, 3]])
    >>> beta, converged = fit_left_out(records, folds, np.ones(200))
    >>> (X @ beta.T).round(2)[:3]
    array([[-0.27, -3.84, -3.89],
           [ 3.93,  0.29,  4.06],
           [ 4.01,  3.91,  0.02]])
    """
    n, p = records.X.shape
    if not 0 < n <= APART * p:  # so many are not at right angles
        return None
    most = int(folds.out.sizes.max(initial=0))
    own = folds.outcome is not None or folds.weights is not None
    if own or folds.changed[1] is not None or most > MOST:
        return None
    spanned = Spanned.of(records, ridge)
    if spanned is None or not (spanned.weights > 0).all():
        return None
    every = Every.of(spanned)
    if every is None:
        return None
    return spanned.fitted(folds, every.without, each=n * max(most, 1))


@dataclass(frozen=True, eq=False)
class Every:
    """The fit to all records.

    Attributes
    ----------
    problem : Wide
        Its optimisation problem.
    multiples : numpy.ndarray, shape (n,)
    intercept : float
    variance : numpy.ndarray, shape (n,)
        The variances that belong to the multiples.
    inverse : numpy.ndarray, shape (n, n)
        The inverse of the matrix of Newton's method for the multiples.
    """

    problem: Wide
    multiples: Matrix
    intercept: float
    variance: Matrix
    inverse: Matrix

    @classmethod
    def of(cls, spanned: Spanned) -> Every | None:
        """Fit all records; None if that is not simple, or records are alike."""
        problem = Wide.of(spanned, spanned.weights[None])
        if not problem.are_apart:
            return None
        multiples, intercept, sure = problem.solve(NEARLY)
        if not (sure.all() and problem.are_inside(multiples).all()):
            return None
        _, (variance,) = problem.by_multiples(multiples, np.zeros_like(multiples))
        matrix = problem.products[0].copy()
        matrix.flat[:: len(matrix) + 1] += 1 / variance
        inverse = np.linalg.inv(matrix)
        return cls(problem, multiples[0], float(intercept[0]), variance, inverse)

    def without(self, block: Block) -> Solved:
        """Search for the optima of fits without some records.

        A step changes linear predictors by what they lacked, less what it changes
        their own part: no product is taken until they lack next to nothing. Steps that
        would leave the multiples of residuals are not accelerated.

        Returns
        -------
        multiples : numpy.ndarray, shape (m, n)
        intercept : numpy.ndarray, shape (m,)
        sure : numpy.ndarray of bool, shape (m,)
            Whether each optimum is found, and far from separation.
        """
        problem, held = self.problem, Held.of(self, block)
        multiples = self.multiples * held.trained
        intercept = np.full(len(block), self.intercept)
        left = np.full(len(block), np.inf)

        def across() -> Matrix:
            return np.asarray(multiples @ problem.products[0] + intercept[:, None])

        def lacking(eta: Matrix) -> tuple[Matrix, Matrix]:
            short, variance = problem.by_multiples(multiples, eta)
            return np.where(held.trained, short, 0.0), variance

        eta, most, steps = across(), np.inf, None
        with np.errstate(all="ignore"):
            for _ in range(STEPS):
                short, variance = lacking(eta)
                before, most = most, float(np.abs(short).max())
                if most <= LACKING:
                    eta = across()
                    short, variance = lacking(eta)
                    left = problem.left(multiples, short, variance)
                    if (left <= ACCURACY).all():
                        break
                change, risen = held.step(multiples, short)
                plain: Step = change, risen[:, None], short - change / self.variance
                step = plain
                if steps is not None and not most < SLOW * before:
                    step = _accelerated(plain, *steps)
                    inside = problem.are_inside(multiples + step[0]) | ~held.trained
                    sound = inside.all(axis=1, keepdims=True)
                    pairs = zip(step, plain, strict=True)
                    step = tuple(np.where(sound, *pair) for pair in pairs)
                multiples, intercept = multiples + step[0], intercept + step[1][:, 0]
                eta, steps = eta + step[2], (plain, step)
            reach = problem.reach(variance)
        sure = is_steep(held.trained @ problem.weights[0], reach**2)
        return multiples, intercept, sure & (left <= ACCURACY)


Step = tuple[Matrix, ...]  # of some arrays, with a row for each fit


def _accelerated(step: Step, before: Step, taken: Step) -> Step:
    """Return steps that heed how much of the latest ones was left to do.

    As if what is left depended linearly on where one is (Anderson 1965, with one
    earlier step), as the first array measures it.

    Parameters
    ----------
    step, before : tuple of numpy.ndarray
        The plain steps from here, and from the place before.
    taken : tuple of numpy.ndarray
        The steps that were taken from there.
    """
    less = step[0] - before[0]
    size = np.einsum("ij,ij->i", less, less)
    share = (np.einsum("ij,ij->i", less, step[0]) / size)[:, None]
    return tuple(
        now - share * (was + now - plain)
        for now, plain, was in zip(step, before, taken, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Held:
    """The constraints of some fits: multiples that are 0, and their sum if it is.

    Attributes
    ----------
    every : Every
    trained : numpy.ndarray of bool, shape (m, n)
        Whether a fit has a record.
    place : numpy.ndarray of int, shape (m, width)
        Where ``trained`` says that a fit is without a record; shorter lists are filled
        up.
    listed : numpy.ndarray of bool, shape (m, width)
        Whether a list was not filled up there.
    across : numpy.ndarray, shape (m, c, n)
        What each of c constraints takes from the multiples.
    """

    every: Every
    trained: NDArray[np.bool_]
    place: NDArray[np.intp]
    listed: NDArray[np.bool_]
    across: Matrix

    @classmethod
    def of(cls, every: Every, block: Block) -> Held:
        """Set up the constraints of some fits."""
        trained, listed = np.ones((len(block), block.n)), block.less > 0
        block.multiply(trained)
        across = every.inverse[block.rows] * listed[:, :, None]
        if every.problem.intercept:
            total = np.broadcast_to(every.inverse.sum(axis=0), (len(block), 1, block.n))
            across = np.concatenate([across, total], axis=1)
        place = block.rows + block.n * np.arange(len(block))[:, None]
        return cls(every, trained > 0, place, listed, across)

    @cached_property
    def _solved(self) -> Matrix:
        """From what is wrong in the constraints to how much of each is taken."""
        wrong = [self._wrong(one) for one in self.across.swapaxes(0, 1)]
        matrices = np.stack(wrong, axis=1)
        filled = np.arange(self.listed.shape[1])
        matrices[:, filled, filled] += ~self.listed
        return np.asarray(np.linalg.inv(matrices), dtype=float)

    def _wrong(self, multiples: Matrix) -> Matrix:
        """Return by how much multiples, (m, n), miss the constraints, (m, c)."""
        wrong = multiples.take(self.place) * self.listed
        if not self.every.problem.intercept:
            return np.asarray(wrong)
        return np.concatenate([wrong, multiples.sum(axis=1, keepdims=True)], axis=1)

    def step(self, multiples: Matrix, short: Matrix) -> tuple[Matrix, Matrix]:
        """Return the step of the multiples that meets the constraints, and intercept.

        Parameters
        ----------
        multiples, short : numpy.ndarray, shape (m, n)
            The multiples, and what the linear predictors lack.
        """
        change = short @ self.every.inverse
        wrong = self._wrong(multiples + change)
        much = np.matmul(wrong[:, None], self._solved)
        change -= np.matmul(much, self.across)[:, 0]
        risen = much[:, 0, -1] if self.every.problem.intercept else np.zeros(len(much))
        return np.where(self.trained, change, 0.0), risen

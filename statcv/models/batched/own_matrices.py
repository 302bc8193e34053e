"""Regressions of all folds together, where each fold has a matrix of its own.

The matrix of a fold is a basis times coefficients. If many folds share a basis, and
these coefficients have an inverse, they are fitted in the basis like folds of one
matrix, each with the penalty that is the ridge on its own columns. The other folds are
fitted side by side, from the fit to all records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.formula import Learnt
from statcv.models.base import Matrix, Model, RidgeModel, TrainingSet, refuse_missing
from statcv.models.batched.chord import ACCURACY, SINGULAR, approach
from statcv.models.batched.downdate import Whole, inverted, symmetric_inverse
from statcv.models.batched.folds import (
    CELLS,
    FittedFolds,
    FoldFits,
    Folds,
    Numbers,
)
from statcv.models.batched.logit import Penalties
from statcv.models.likelihood import LinearFits
from statcv.models.newton import LARGE, is_steep

SHARED = 16  # folds from which a fit to all records in their basis is worth its time
COLUMNS = 200  # columns from which models are fitted fold by fold
HESSIANS = 8  # own Hessians at most of a fold without a ridge, under separation too
BOUNDED = 40  # own Hessians at most of a fold with a ridge, which has an optimum
# the growth of the inverse Hessian of least squares above which a fold is fitted alone
GROWTH = 1e4


# ---- what the regressions have in common, and in what they differ ----


class Family(Protocol):
    """The likelihood of a record as a function of its linear predictors."""

    def residuals(self, y: NDArray[Any], eta: Matrix) -> Matrix:
        """Return its derivatives, shaped as ``eta``, (m, k, n)."""

    def curvature(self, eta: Matrix, first: int, second: int) -> Matrix | float:
        """Return minus its second derivative by two linear predictors, (m, n)."""

    def sure(self, problem: Problem, theta: Matrix, bound: Matrix) -> NDArray[Any]:
        """Return which optima are beyond doubt, shape (m,)."""


@dataclass(frozen=True, eq=False)
class Start:
    """The fit to all records, in coordinates where its Hessian is about the identity.

    Attributes
    ----------
    back : numpy.ndarray, shape (q, k, p)
        From coordinates to the coefficients of k linear predictors.
    theta : numpy.ndarray, shape (q,)
    ridge : numpy.ndarray, shape (q, q), or None
    scale : float
        The size of what is negligible, in units of linear predictors.
    """

    back: Matrix
    theta: Matrix
    ridge: Matrix | None
    scale: float = 1.0

    @cached_property
    def flat(self) -> Matrix:
        """``back`` with all coefficients in a row, shape (q, k × p)."""
        return np.ascontiguousarray(self.back.reshape(len(self.back), -1))


@dataclass(frozen=True, eq=False)
class Regression:
    """How a model is fitted to folds that have matrices of their own.

    Attributes
    ----------
    family : Family
    start : callable
        Function of all records that returns their fit, or None without one.
    in_basis : callable
        Function of records, folds and penalties that fits the folds together in one
        matrix, and leaves those that are not beyond doubt.
    ridge : numpy.ndarray, shape (p,) or (fits, p)
        Strength of the ridge on each column, in each fit if fits have their own.
    linear : callable
        Function of coefficients, shape (fits, k × p) without those of classes that have
        none, that returns them as (fits, p, classes) or (fits, p).
    mean : callable
        Function from linear predictors, (m,) or (m, classes), to predictions.
    names : tuple of str
        Names of the coefficients.
    free : numpy.ndarray of int
        The linear predictors that have coefficients.
    """

    family: Family
    start: Callable[[TrainingSet], Start | None]
    in_basis: Callable[[TrainingSet, Folds, Penalties | None], FoldFits]
    ridge: Matrix
    linear: Callable[[Matrix], Matrix]
    mean: Callable[[Matrix], Matrix]
    names: tuple[str, ...]
    free: Numbers


def fit_own_folds(
    model: Model, regression: Regression, records: TrainingSet, folds: Folds
) -> FittedFolds | None:
    """Fit folds that have matrices of their own; None if they are fitted one by one.

    Parameters
    ----------
    model : Model
    regression : Regression
        How it is fitted.
    records : TrainingSet
        All records, with the matrix in which the terms are learnt on all of them.
    folds : Folds
        Folds with ``matrices``.
    """
    learnt, (n, p) = folds.matrices, records.X.shape
    if not isinstance(learnt, Learnt) or not 0 < p < min(n, COLUMNS):
        return None
    refuse_missing(records, model.label)
    fits = FoldFits.empty(len(folds), len(regression.names))
    empty = np.zeros((len(folds), p), dtype=bool)
    alone = np.ones(len(folds), dtype=bool)
    if len(learnt.products) == p:
        most = 16 * CELLS // p**2  # folds whose coefficients are kept at once
        for group in np.flatnonzero(np.bincount(learnt.group) >= SHARED).tolist():
            members = np.flatnonzero(learnt.group == group)
            for part in range(0, len(members), most):
                some = members[part : part + most]
                if _in_basis(regression, records, folds, some, fits, empty):
                    alone[some] = False
    rest = np.flatnonzero(alone)
    start = regression.start(records) if len(rest) else None
    for some in _blocks(rest, n, p):
        matrices = learnt.matrices(some)
        weights = folds.weights_in(records, some)
        absent = matrices != 0
        absent &= (weights > 0)[:, :, None]
        empty[some] = ~absent.any(axis=1)
        if start is not None:
            y = records.y if folds.outcome is None else records.y[folds.outcome[some]]
            own = None if regression.ridge.ndim == 1 else regression.ridge[some]
            problem = Problem.of(matrices, weights, y, start, regression.family, own)
            theta, sure = problem.settle()
            every = (theta @ start.flat).reshape(len(some), -1, p)
            found = every[:, regression.free].reshape(len(some), -1)
            fits.coefficients[some] = np.where(sure[:, None], found, 0.0)
            fits.converged[some] = sure
    fits.coefficients[np.tile(empty, len(regression.free))] = 0.0
    fits = fits.refit(model, records, folds)
    return _fitted(regression, fits, empty, learnt)


def _blocks(fits: Numbers, n: int, p: int) -> Iterator[Numbers]:
    step = max(1, 4 * CELLS // (n * p))
    for start in range(0, len(fits), step):
        yield fits[start : start + step]


def _in_basis(
    regression: Regression,
    records: TrainingSet,
    folds: Folds,
    some: Numbers,
    fits: FoldFits,
    empty: NDArray[np.bool_],
) -> bool:
    """Fit in their basis, in place, folds of a group; return whether they were."""
    learnt = folds.matrices
    assert isinstance(learnt, Learnt)
    own, p = learnt.coefficients(some), records.X.shape[1]
    inverse = _inverses(own)
    if not np.isfinite(inverse).all():
        return False
    basis = replace(records, X=learnt.basis(int(learnt.group[some[0]])), intercept=None)
    chosen = replace(folds, matrices=None).chosen(some)
    penalties: Penalties | None = None
    if regression.ridge.any():
        ridge = np.broadcast_to(regression.ridge, (len(folds), p))[some]
        turned = inverse.transpose(0, 2, 1) * ridge[:, None] @ inverse

        def penalties(numbers: Numbers) -> Matrix:
            return np.asarray(turned[numbers])

    made = regression.in_basis(basis, chosen, penalties)
    within = made.coefficients.reshape(len(some), -1, p)
    back = np.matmul(within, inverse.transpose(0, 2, 1))
    fits.coefficients[some] = back.reshape(len(some), -1)
    fits.converged[some] = made.converged
    lost = chosen.empty_columns(basis.X, records.weights)
    if lost is not None:
        empty[some] = ~((own != 0) & ~lost[:, :, None]).any(axis=1)
    return True


def _inverses(matrices: Matrix) -> Matrix:
    """Return the inverses of matrices, most often triangular; NaN without one."""
    m, p, _ = matrices.shape
    if np.tril(matrices, -1).any():
        return inverted(matrices)
    made = np.zeros((m, p, p))
    with np.errstate(all="ignore"):
        for j in range(p):
            pivot = 1 / matrices[:, j, j]
            above = np.einsum("mik,mk->mi", made[:, :j, :j], matrices[:, :j, j])
            made[:, :j, j] = -above * pivot[:, None]
            made[:, j, j] = pivot
    return made


# ---- predictions ----


def _fitted(
    regression: Regression, fits: FoldFits, empty: NDArray[np.bool_], learnt: Learnt
) -> FittedFolds:
    columns = regression.linear(fits.coefficients)
    penalty = np.broadcast_to(regression.ridge, columns.shape[:2])
    several = columns.ndim == 3
    along = _along(learnt, columns if several else columns[:, :, None])

    def linear(eta: Matrix) -> Matrix:
        return regression.mean(eta if several else eta[..., 0])

    def predict(rows: Numbers, numbers: Numbers) -> Matrix:
        eta = np.empty((len(rows), along.shape[2]))
        group = learnt.group[numbers]
        order = np.argsort(group, kind="stable")
        for groups, bases in _bases(learnt, np.unique(group)):
            ends = np.searchsorted(group[order], [groups[0], groups[-1] + 1])
            some = order[ends[0] : ends[1]]
            place = np.searchsorted(groups, group[some])
            values = bases[place, rows[some]]
            eta[some] = np.einsum("mr,mrk->mk", values, along[numbers[some]])
        return linear(eta)

    def everywhere() -> Matrix:
        eta = np.empty((len(along), learnt.n, along.shape[2]))
        order = np.argsort(learnt.group, kind="stable")
        for groups, bases in _bases(learnt, np.unique(learnt.group)):
            ends = np.searchsorted(learnt.group[order], [groups[0], groups[-1] + 1])
            some = order[ends[0] : ends[1]]
            if len(groups) == 1:
                eta[some] = bases[0] @ along[some]
            else:
                place = np.searchsorted(groups, learnt.group[some])
                eta[some] = np.matmul(bases[place], along[some])
        flat = linear(eta.reshape(-1, along.shape[2]))
        return flat.reshape(len(along), learnt.n, *flat.shape[1:])

    def at(X: Matrix, fits: Numbers) -> Matrix:
        return linear(np.einsum("mp,mpk->mk", X, np.atleast_3d(columns)[fits]))

    return FittedFolds(
        np.where(np.tile(empty, len(regression.free)), np.nan, fits.coefficients),
        regression.names,
        fits.converged,
        fits.separated,
        predict,
        linear=LinearFits(columns, penalty),
        everywhere=everywhere,
        at=at,
    )


def _along(learnt: Learnt, columns: Matrix) -> Matrix:
    """Return coefficients of the bases, shape (fits, columns of a basis, k)."""
    made = np.empty((len(columns), len(learnt.products), columns.shape[2]))
    step = max(1, CELLS // max(columns.shape[1] * len(learnt.products), 1))
    for start in range(0, len(columns), step):
        some = np.arange(start, min(start + step, len(columns)))
        made[some] = np.matmul(learnt.coefficients(some), columns[some])
    return made


def _bases(learnt: Learnt, groups: Numbers) -> Iterator[tuple[Numbers, Matrix]]:
    step = max(1, 4 * CELLS // max(learnt.n * len(learnt.products), 1))
    for start in range(0, len(groups), step):
        some = groups[start : start + step]
        if len(some) == 1:
            yield some, learnt.basis(int(some[0]))[None]
        else:
            yield some, learnt.bases(some)


# ---- fits side by side, from the fit to all records ----


@dataclass(frozen=True, eq=False)
class Problem:
    """The optimisation problems of some fits.

    Attributes
    ----------
    X : numpy.ndarray, shape (m, n, p)
        Their matrices.
    weights : numpy.ndarray, shape (m, n)
    y : numpy.ndarray, shape (n,) or (m, n)
    start : Start
    family : Family
    ridge : numpy.ndarray, shape (q, q) or (m, q, q), or None
        The penalty, of each fit if fits have their own.
    reach : float
        The most that a step of length 1 moves a linear predictor.
    noise : float
        The length of steps that rounding makes.
    """

    X: Matrix
    weights: Matrix
    y: NDArray[Any]
    start: Start
    family: Family
    ridge: Matrix | None
    reach: float
    noise: float

    @classmethod
    def of(
        cls,
        X: Matrix,
        weights: Matrix,
        y: NDArray[Any],
        start: Start,
        family: Family,
        own: Matrix | None,
    ) -> Problem:
        """Set up fits with the given matrices, and ridges (m, p) of their own."""
        ridge = start.ridge
        if own is not None:
            every = np.tile(own, start.back.shape[1])[:, None]
            ridge = (start.flat * every) @ start.flat.T
        longest = 0.0
        for k in range(start.back.shape[1]):
            rows = X @ start.back[:, k].T
            longest = max(longest, np.einsum("mnq,mnq->mn", rows, rows).max())
        reach = float(np.sqrt(longest))
        noise = 1e-15 * np.sqrt(X.shape[1] * len(start.theta)) * start.scale
        return cls(X, weights, y, start, family, ridge, reach, float(noise))

    def __len__(self) -> int:
        return len(self.X)

    def part(self, chosen: NDArray[Any]) -> Problem:
        """Return the problems of some of the fits."""
        ridge = self.ridge
        if ridge is not None and ridge.ndim == 3:
            ridge = ridge[chosen]
        return replace(
            self,
            X=self.X[chosen],
            weights=self.weights[chosen],
            y=self.y if self.y.ndim == 1 else self.y[chosen],
            ridge=ridge,
        )

    def linear(self, theta: Matrix) -> Matrix:
        """Return the linear predictors of all records, shape (m, k, n)."""
        beta = (theta @ self.start.flat).reshape(len(theta), -1, self.X.shape[2])
        return np.asarray(np.matmul(beta, self.X.transpose(0, 2, 1)))

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each log-likelihood, less the penalty's."""
        return self._gradient(theta, self.linear(theta))

    def _gradient(self, theta: Matrix, eta: Matrix) -> Matrix:
        residuals = self.family.residuals(self.y, eta)
        residuals *= self.weights[:, None]
        sums = np.matmul(residuals, self.X).reshape(len(theta), -1)
        made = sums @ self.start.flat.T
        if self.ridge is not None:
            made -= np.matmul(theta[:, None], self.ridge)[:, 0]
        return np.asarray(made)

    def furthest(self, step: Matrix) -> Matrix:
        """Return by how much a step moves some linear predictor at most, (m,)."""
        return np.asarray(np.abs(self.linear(step)).max(axis=(1, 2), initial=0.0))

    def own_hessian(self, theta: Matrix) -> tuple[Matrix, Whole]:
        """Return the gradient and the inverse Hessian of each fit at theta."""
        eta, p = self.linear(theta), self.X.shape[2]
        m, k, _ = eta.shape
        made = np.empty((m, k, p, k, p))
        for a in range(k):
            for b in range(a, k):
                curved = self.weights * self.family.curvature(eta, a, b)
                part = np.matmul(
                    (self.X * curved[:, :, None]).transpose(0, 2, 1), self.X
                )
                made[:, a, :, b] = part
                made[:, b, :, a] = part
        flat = self.start.flat
        hessian = flat @ made.reshape(m, k * p, k * p) @ flat.T
        if self.ridge is not None:
            hessian += self.ridge
        with np.errstate(invalid="ignore", over="ignore"):
            inverse = Whole(symmetric_inverse(hessian))
        return self._gradient(theta, eta), inverse

    def settle(self) -> tuple[Matrix, NDArray[np.bool_]]:
        """Return the optima, and which of them are beyond doubt."""
        theta = np.tile(self.start.theta, (len(self), 1))
        done, bound = np.zeros(len(self), dtype=bool), np.full(len(self), np.inf)
        enough = ACCURACY * self.start.scale / self.reach
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for _ in range(HESSIANS if self.ridge is None else BOUNDED):
                left = np.flatnonzero(~done)
                if not len(left):
                    break
                rest = self if len(left) == len(self) else self.part(left)
                gradient, inverse = rest.own_hessian(theta[left])
                bound[left] = inverse.norm
                theta[left], done[left], _ = approach(
                    rest, theta[left], gradient, inverse, enough, self.noise
                )
            sure = done & (bound <= SINGULAR)
            sure &= self.family.sure(self, theta, bound)
        return theta, sure


# ---- the likelihoods ----


class LeastSquares:
    """A continuous outcome with one linear predictor."""

    def residuals(self, y: NDArray[Any], eta: Matrix) -> Matrix:
        """Return the outcome minus its mean."""
        return np.asarray(y.reshape(-1, 1, y.shape[-1]) - eta)

    def curvature(self, eta: Matrix, first: int, second: int) -> float:
        """Return 1."""
        return 1.0

    def sure(self, problem: Problem, theta: Matrix, bound: Matrix) -> NDArray[Any]:
        """Return where the training set determines the coefficients well."""
        return np.asarray(bound <= GROWTH)


class Classes:
    """Two classes with one linear predictor, or several with one each."""

    def residuals(self, y: NDArray[Any], eta: Matrix) -> Matrix:
        """Return indicators minus probabilities, which keep their digits near 0."""
        own = y.reshape(-1, 1, y.shape[-1])
        if eta.shape[1] == 1:
            sign = 2.0 * own - 1
            return np.asarray(sign / (1 + np.exp(sign * eta)))
        shares = _shares(eta)
        indicator = own == np.arange(eta.shape[1])[:, None]
        others = shares.sum(axis=1, keepdims=True, where=~indicator)
        return np.asarray(np.where(indicator, others, -shares))

    def curvature(self, eta: Matrix, first: int, second: int) -> Matrix:
        """Return the covariance of the indicators of two classes."""
        if eta.shape[1] == 1:
            small = np.exp(-np.abs(eta[:, 0]))
            return np.asarray(small / (1 + small) ** 2)
        shares = _shares(eta)
        if first != second:
            return np.asarray(-shares[:, first] * shares[:, second])
        others = np.delete(shares, first, axis=1).sum(axis=1)
        return np.asarray(shares[:, first] * others)

    def sure(self, problem: Problem, theta: Matrix, bound: Matrix) -> NDArray[Any]:
        """Return which fits cannot be separated.

        If all linear predictors are moderate, they are not. Otherwise a fit of its own
        would call a fold separated only if a step with negligible gain could still move
        them, and the Hessian shows whether it could.
        """
        eta = problem.linear(theta)
        wide = np.abs(eta).max(axis=1)
        if eta.shape[1] > 1:
            wide = eta.max(axis=1) - eta.min(axis=1)
        sure = np.asarray(wide.max(axis=1) < LARGE)
        rest = np.flatnonzero(~sure)
        if not len(rest):
            return sure
        some = problem.part(rest)
        inverse = some.own_hessian(theta[rest])[1]
        furthest = np.zeros(len(rest))
        for k in range(eta.shape[1]):
            rows = some.X @ problem.start.back[:, k].T
            squares = ((rows @ inverse.matrices) * rows).sum(axis=2)
            squares = np.where(some.weights > 0, squares, 0.0)
            furthest = np.maximum(furthest, squares.max(axis=1))
        classes = max(eta.shape[1], 2)
        steep = is_steep(some.weights.sum(axis=1), furthest, classes)
        sure[rest] = steep & (inverse.norm <= SINGULAR)
        return sure


def _shares(eta: Matrix) -> Matrix:
    raised = np.exp(eta - eta.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


# ---- a ridge in another basis ----


@dataclass(frozen=True)
class InBasis:
    """A model with about the penalty that fits have in a basis.

    Attributes
    ----------
    model : RidgeModel
    strength : numpy.ndarray, shape (p,)
    """

    model: RidgeModel
    strength: Matrix

    def ridge(self, training: TrainingSet) -> Matrix:
        """Return the strength of the penalty on each column of the basis."""
        return self.strength

    def fit(self, training: TrainingSet) -> Any:
        """Fit the training set as the model does."""
        return self.model.fit(training)

    @classmethod
    def of(
        cls, model: RidgeModel, p: int, fits: int, penalties: Penalties | None
    ) -> RidgeModel:
        """Take the mean penalty of the fits, or the model without a penalty."""
        if penalties is None:
            return cls(model, np.zeros(p))  # type: ignore[return-value]
        some = np.arange(0, fits, max(1, fits // 8))
        mean = np.einsum("mpp->p", penalties(some)) / len(some)
        return cls(model, mean)  # type: ignore[return-value]

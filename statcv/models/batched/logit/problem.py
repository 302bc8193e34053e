"""The likelihoods of several logistic fits, around the fit to all records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, RidgeModel, TrainingSet
from statcv.models.batched.downdate import (
    Inverse,
    Whole,
    by_counts,
    by_lists,
    symmetric_inverse,
)
from statcv.models.batched.folds import CELLS, Block
from statcv.models.batched.gram import grams, kept_products_of
from statcv.models.batched.row_space import spares_the_intercept_only
from statcv.models.newton import column_units

NEWTON_STEPS = 30
CLOSE = 1e-3  # the decrement of the last step, which leaves about its square
CONDITION = 1e10  # the largest condition number of the Hessian
GOOD = 1e4  # the largest condition number that costs no relevant digits


@dataclass(frozen=True, eq=False)
class Centre:
    """The fit to all records, in coordinates where its Hessian is the identity.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, q)
    back : numpy.ndarray, shape (q, p)
        ``theta @ back`` are coefficients.
    theta : numpy.ndarray, shape (q,)
    ridge : numpy.ndarray, shape (q, q), or None
    y : numpy.ndarray, shape (n,) or (outcomes, n)
    weights : numpy.ndarray, shape (n,)
    bounded : bool
        Whether fits to both classes have an optimum, by a ridge on all columns but the
        intercept.
    """

    X: Matrix
    back: Matrix
    theta: Matrix
    ridge: Matrix | None
    y: Matrix
    weights: Matrix
    bounded: bool

    @cached_property
    def reach(self) -> float:
        """The most that a step of length 1 moves a linear predictor."""
        return float(np.sqrt(np.einsum("ij,ij->i", self.X, self.X).max()))

    @cached_property
    def sign(self) -> Matrix:
        """1 for the positive class and -1 for the other, shaped as ``y``."""
        return np.asarray(2 * self.y - 1)

    @cached_property
    def across(self) -> Matrix:
        """Map from coefficients to linear predictors, shape (q, n).

        Those for the class observed, if all fits have the same outcome.
        """
        if self.y.ndim > 1:
            return np.ascontiguousarray(self.X.T)
        return np.ascontiguousarray(self.X.T * self.sign)

    @cached_property
    def rows(self) -> Matrix:
        """From probabilities against the class observed to gradients, (n, q).

        From residuals, if fits have outcomes of their own.
        """
        rows = self.X * self.weights[:, None]
        return np.asarray(rows if self.y.ndim > 1 else rows * self.sign[:, None])

    @cached_property
    def residuals(self) -> Matrix:
        """What goes with ``rows`` to gradients at the centre, shaped as ``y``."""
        eta = self.theta @ self.across
        several = self.y.ndim > 1
        against = logistic(-self.sign * eta if several else -eta)
        return against * self.sign if several else against

    @cached_property
    def variance(self) -> Matrix:
        """Variances of the outcomes at the centre, weights aside, shape (n,)."""
        eta = self.theta @ self.across
        return logistic(eta) * logistic(-eta)

    @cached_property
    def roots(self) -> Matrix:
        """Rows whose Gram matrix is the Hessian, but for the penalty, (n, q)."""
        return np.asarray(self.X * np.sqrt(self.weights * self.variance)[:, None])

    @cached_property
    def products(self) -> Matrix | None:
        """Products of each record's entries, of which Hessians are sums."""
        return kept_products_of(self.X)

    @cached_property
    def largest(self) -> float:
        """The largest linear predictor, in absolute value."""
        return float(np.abs(self.X @ self.theta).max())


def logistic(eta: Matrix) -> Matrix:
    """Return 1 / (1 + exp(−eta)), with all digits where it is near 0."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-eta)))


def find_centre(
    model: RidgeModel, records: TrainingSet, near: Centre | None = None
) -> Centre | None:
    """Fit all records; None if they do not determine the coefficients well.

    ``near`` is that of a penalty not far away, if known.
    """
    n, columns = records.X.shape
    weights, X = records.weights, records.X
    used = X if weights is None else X[weights > 0]
    weights = np.ones(n) if weights is None else weights
    live = np.flatnonzero((used != 0).any(axis=0))
    if not len(live):
        return None
    X = X if len(live) == columns else X[:, live]
    unit = column_units(X)
    X = X / unit
    ridge = model.ridge(records)[live] / unit**2
    y = records.y.astype(float)
    mean = y if y.ndim == 1 else y.mean(axis=0)
    found = None
    if near is not None:
        found = _newton(X, mean, weights, ridge, (near.theta @ near.back)[live] * unit)
    if found is None:
        found = _newton(X, mean, weights, ridge, np.zeros(len(live)))
    if found is None and y.ndim == 1:
        alone = model.fit(records)
        if alone.converged and not alone.separated and alone.coefficients is not None:
            beta = np.array(list(alone.coefficients.values()))[live] * unit
            found = _newton(X, mean, weights, ridge, beta)
    if found is None:
        return None
    beta, variance = found
    whiten = _whitening(X, variance, ridge)
    if whiten is None:
        return None
    back = np.zeros((len(live), columns))
    back[:, live] = whiten.T / unit
    penalties = np.sqrt(ridge)[:, None] * whiten
    curved = X.T @ (variance * (X @ beta)) + ridge * beta  # the Hessian times beta
    return Centre(
        X=X @ whiten,
        back=back,
        theta=whiten.T @ curved,
        ridge=penalties.T @ penalties if ridge.any() else None,
        y=y,
        weights=weights,
        bounded=spares_the_intercept_only(records, model.ridge(records)),
    )


def _whitening(X: Matrix, variance: Matrix, ridge: Matrix) -> Matrix | None:
    """Return W such that X @ W has the identity for a Hessian; None without one.

    Where columns are close to dependent, once more for the digits lost at first.
    """
    roots, whiten = X * np.sqrt(variance)[:, None], np.eye(X.shape[1])
    hessian = roots.T @ roots + np.diag(ridge)
    for condition in (CONDITION, GOOD):
        size = np.sqrt(hessian.diagonal())
        if not (size > 0).all():  # probabilities of 0 and 1 wherever a column is not 0
            return None
        root = _inverse_root(hessian / np.outer(size, size))
        if root is not None:
            return whiten @ (root / size[:, None])
        values, vectors = np.linalg.eigh(hessian / np.outer(size, size))
        if not values[0] * condition > values[-1]:
            return None
        whiten = whiten @ (vectors / np.sqrt(values) / size[:, None])
        if values[0] * GOOD > values[-1]:
            break
        rows = roots @ whiten
        hessian = rows.T @ rows + (whiten.T * ridge) @ whiten
    return whiten


def _inverse_root(matrix: Matrix) -> Matrix | None:
    """Return W with W Wᵀ the inverse, by a Cholesky factor; None if that loses digits.

    It takes a tenth of the time of eigenvalues.
    """
    from scipy.linalg import lapack

    factor, failed = lapack.dpotrf(matrix)
    if failed:
        return None
    norm = float(np.abs(matrix).sum(axis=0).max())
    closeness, _ = lapack.dpocon(factor, norm)
    if not closeness * GOOD > 1:
        return None
    return np.asarray(lapack.dtrtri(factor)[0])


def _newton(
    X: Matrix, y: Matrix, weights: Matrix, ridge: Matrix, beta: Matrix
) -> tuple[Matrix, Matrix] | None:
    """Return coefficients near the optimum, and the weighted variances there.

    None if the coefficients run away.
    """
    from scipy.linalg import lapack

    before = np.inf
    for _ in range(NEWTON_STEPS):
        tanh = np.tanh(X @ beta / 2)
        gradient = X.T @ (weights * (y - 0.5 - tanh / 2)) - ridge * beta
        roots = X * np.sqrt(weights * (1 - tanh**2) / 4)[:, None]
        hessian = roots.T @ roots  # a matrix and its transpose: half the work
        hessian.flat[:: len(beta) + 1] += ridge
        _, step, failed = lapack.dposv(hessian, gradient)
        if failed:  # not definite, but for rounding
            try:
                step = np.linalg.solve(hessian, gradient)
            except np.linalg.LinAlgError:
                return None
        decrement = float(step @ gradient)
        if not 0 <= decrement < np.inf:
            return None
        beta = beta + step
        if decrement <= CLOSE and decrement <= before / 20:  # not under separation
            return beta, weights * (1 - np.tanh(X @ beta / 2) ** 2) / 4
        before = decrement
    return None


Penalties = Callable[[NDArray[np.intp]], Matrix]  # from fits to matrices, (m, p, p)


def beyond(centre: Centre, block: Block, penalties: Penalties | None) -> Matrix | None:
    """Return what the penalties of fits have beyond that of the centre, (m, q, q)."""
    if penalties is None:
        return None
    made = centre.back @ penalties(block.fits) @ centre.back.T
    return made if centre.ridge is None else made - centre.ridge


# ---- the likelihoods of several fits: their gradients and Hessians, side by side ----

ALONE = 8  # fits up to which Hessians are made one by one


@dataclass(frozen=True, eq=False)
class Problem:
    """The optimisation problem of some fits.

    Attributes
    ----------
    centre : Centre
    block : Block
    room : numpy.ndarray, shape (m, n)
        Where residuals are written.
    sign : numpy.ndarray, shape (m, n), or None
        1 or -1 by class, where each fit has its own outcome.
    ridge : numpy.ndarray, shape (m, q, q), or None
        What the penalty of each fit has beyond that of the centre, where fits have
        their own.
    """

    centre: Centre
    block: Block
    room: Matrix
    sign: Matrix | None
    ridge: Matrix | None = None

    @classmethod
    def of(
        cls, centre: Centre, block: Block, penalties: Penalties | None = None
    ) -> Problem:
        """Set up the fits of a block."""
        sign = None if block.outcome is None else centre.sign[block.outcome]
        room = np.empty((len(block), block.n))
        return cls(centre, block, room, sign, beyond(centre, block, penalties))

    def __len__(self) -> int:
        return len(self.block)

    @property
    def reach(self) -> float:
        """The most that a step of length 1 moves a linear predictor."""
        return self.centre.reach

    def part(self, chosen: NDArray[Any]) -> Problem:
        """Return the problem of some of the fits."""
        sign = None if self.sign is None else self.sign[chosen]
        ridge = None if self.ridge is None else self.ridge[chosen]
        return replace(self, block=self.block.part(chosen), sign=sign, ridge=ridge)

    def batches(
        self, chosen: NDArray[np.bool_], each: int = 0
    ) -> list[NDArray[np.intp]]:
        """Cut some of the fits into batches of bounded memory.

        That is four times a block's for their Hessians, and a block's for as many
        numbers of each as are given.
        """
        places = np.flatnonzero(chosen)
        size = 4 * CELLS // max(len(self.centre.theta) ** 2, 4 * each, 1)
        size = max(size, 1)
        return [places[i : i + size] for i in range(0, len(places), size)]

    def start(self) -> tuple[Matrix, Matrix]:
        """Return the centre for each fit, and the gradient there."""
        theta = np.tile(self.centre.theta, (len(self), 1))
        residuals = self.centre.residuals
        if self.block.outcome is not None:
            residuals = residuals[self.block.outcome]
        gradient = self.block.sums(residuals, self.centre.rows)
        return theta, gradient - self._penalty(theta)

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, less the penalty's."""
        return self._gradient(theta, self._against(theta))

    def furthest(self, step: Matrix) -> Matrix:
        """Return by how much a step moves some linear predictor at most, (m,)."""
        return np.asarray(np.abs(step @ self.centre.across).max(axis=1, initial=0.0))

    def _against(self, theta: Matrix) -> Matrix:
        """Return the probabilities of the classes that were not observed.

        They keep their digits near 0, where probabilities near 1 would lose them.
        """
        eta = np.matmul(theta, self.centre.across, out=self.room[: len(theta)])
        if self.sign is not None:
            eta *= self.sign
        with np.errstate(over="ignore"):
            np.exp(eta, out=eta)
        eta += 1
        return np.reciprocal(eta, out=eta)

    def _gradient(self, theta: Matrix, against: Matrix) -> Matrix:
        if self.sign is not None:
            against *= self.sign
        self.block.multiply(against)
        return np.asarray(against @ self.centre.rows - self._penalty(theta))

    def _penalty(self, theta: Matrix) -> Matrix | float:
        common = 0.0 if self.centre.ridge is None else theta @ self.centre.ridge
        if self.ridge is None:
            return common
        return np.asarray(common + np.einsum("bp,bpq->bq", theta, self.ridge))

    def common_hessian(self) -> Inverse:
        """Return the inverse Hessian of each fit at the centre.

        Where few records change, their weights in the fit are left aside: these are
        near 1 in most plans, and cost only steps.
        """
        few = self.block.few(len(self.centre.theta))
        made: Inverse = (by_lists if few else by_counts)(self.centre.roots, self.block)
        return made

    def own_hessian(self, theta: Matrix) -> tuple[Matrix, Whole]:
        """Return the gradient and the inverse Hessian of each fit at theta."""
        centre, q = self.centre, theta.shape[1]
        against = self._against(theta)
        variance = against * (1 - against)
        variance *= centre.weights
        self.block.multiply(variance)
        products = None if len(theta) <= ALONE else centre.products
        if products is None:
            made = np.empty((len(theta), q, q))
            for place, one in enumerate(np.sqrt(variance)):
                roots = centre.X * one[:, None]
                np.matmul(roots.T, roots, out=made[place])
        else:
            made = grams(variance, products, q)
        if centre.ridge is not None:
            made += centre.ridge
        if self.ridge is not None:
            made += self.ridge
        with np.errstate(invalid="ignore", over="ignore"):
            return self._gradient(theta, against), Whole(symmetric_inverse(made))

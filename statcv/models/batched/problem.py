"""Several fits of K linear predictors as one optimisation problem.

K is 1 for two classes and for a number, and the number of classes otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from statcv.models.batched.blocks import CELLS, Block, pieces
from statcv.models.batched.downdate import ByClass, Dual, Factored, Inverse, Whole
from statcv.models.families import EVERY, Family, Numeric, curvature
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.numeric.gram import information_of, of_all_classes, quadratic_of
from statcv.numeric.threads import WORTH, rows_times, shared

MAX_FREE_CLASSES = 2  # combinations of classes of which Hessians are worth their time
MIN_FACTORED = 100  # coordinates beyond which Hessians are factored, not inverted
CACHED = 2**19  # values of a block of rows that stay in the cache of the processor
LEAST_RIDGE = 1e-4  # ridge on a coordinate of unit curvature that costs few digits
MAX_VARIANCES = 2**24  # variances of records, at most, that are held for own Hessians

Made = TypeVar("Made")


def _no_fit(block: Block, theta: Floats) -> Bools:
    return np.zeros(len(theta), dtype=bool)


@dataclass(frozen=True, eq=False)
class Problem:
    """The log-likelihoods of some fits, minus the penalty.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p), or (m, n, p)
        The records; of each fit, if fits have matrices of their own.
    turn : numpy.ndarray, shape (q, free, p) or (q,), or None
        From q coordinates to the coefficients that are free, or what multiplies each
        to become one of them; None if these are the coordinates.
    family : Family
        The outcomes.
    block : Block
        How often each fit trains on each record.
    weights : numpy.ndarray, shape (n,), or None
        Weights of the records in every fit; None if all are 1.
    ridge : numpy.ndarray, or None
        The penalty on the coordinates: its strengths, shape (q,), or its matrix, shape
        (q, q); with shape (m, 1, q), or (m, q, q), if fits have their own.
    surely : callable
        Function of fits and of coordinates that returns, without reading the records,
        which fits are not separated; none unless given.
    """

    X: Floats
    turn: Floats | None
    family: Family
    block: Block
    weights: Floats | None
    ridge: Floats | None
    surely: Callable[[Block, Floats], Bools] = _no_fit

    def __len__(self) -> int:
        return len(self.block)

    def part(self, chosen: Array) -> Problem:
        """Return the problem of some of the fits."""
        ridge = self.ridge
        return replace(
            self,
            X=self.X if self.X.ndim == 2 else self.X[chosen],
            family=self.family.chosen(chosen),
            block=self.block.part(chosen),
            ridge=ridge[chosen] if ridge is not None and ridge.ndim == 3 else ridge,
        )

    def batches(self, chosen: Bools) -> Iterator[tuple[Numbers, Problem]]:
        """Yield some of the fits in batches whose Hessians have bounded memory."""
        places = np.flatnonzero(chosen)
        width, free = self.family.basis.shape
        p, records = self.X.shape[-1], self.block.n * len(self.family.directions)
        each = width * p**2 if self.by_class else (free * p) ** 2
        limit = max(4 * CELLS, min(8 * each, MAX_VARIANCES))
        most = min(limit // max(each, 1), MAX_VARIANCES // max(records, 1))
        size = max(1, most)
        for some in pieces(places, size):
            yield some, self if len(some) == len(self) else self.part(some)

    def coefficients(self, theta: Floats) -> Floats:
        """Return the coefficients of each linear predictor, shape (m, K, p)."""
        basis, free = self.family.basis, theta
        if self.turn is not None and self.turn.ndim == 1:
            free = theta * self.turn
        elif self.turn is not None:
            free = theta @ self.turn.reshape(len(self.turn), -1)
        beta = free.reshape(len(theta), basis.shape[1], self.X.shape[-1])
        made = beta if basis.shape == (1, 1) else np.matmul(basis, beta)
        return np.ascontiguousarray(made)

    def linear(self, theta: Floats) -> Floats:
        """Return the linear predictors of all records, shape (m, K, n)."""
        beta = self.coefficients(theta)
        if self.X.ndim == 3:
            return np.asarray(np.matmul(beta, self.X.swapaxes(1, 2)))
        flat = beta.reshape(beta.shape[0] * beta.shape[1], self.X.shape[1])
        flat = flat.astype(self.X.dtype, copy=False)
        return (flat @ self.X.T).reshape(*beta.shape[:2], len(self.X))

    def gradient(self, theta: Floats) -> Floats:
        """Return the gradient of each log-likelihood, minus the penalty's, (m, q).

        Where fits change many records, it is summed over rows that stay in the cache.
        """
        if self.X.ndim == 3 or self.block.counts is None:
            return self.gradient_of(self.linear(theta), theta)
        beta = self.coefficients(theta)
        flat = beta.reshape(-1, self.X.shape[1]).astype(self.X.dtype, copy=False)

        def sums(rows: slice) -> Floats:
            X = self.X[rows]
            eta = rows_times(flat, X.T).reshape(*beta.shape[:2], len(X))
            self._pull(eta, rows)
            return rows_times(eta.reshape(-1, len(X)), X)

        made = reduce(np.add, by_blocks(sums, self.X.shape, len(flat)))
        return self.turned(made.reshape(beta.shape)) - self.penalty(theta)

    def gradient_of(self, eta: Floats, theta: Floats) -> Floats:
        """Return the gradients at linear predictors, in whose place residuals are put.

        They are sums of residuals times records, in the coordinates.
        """
        self._pull(eta, EVERY)
        if self.X.ndim == 3:
            return self.turned(np.matmul(eta, self.X)) - self.penalty(theta)
        sums = eta.reshape(-1, eta.shape[2]) @ self.X
        sums = sums.reshape(*eta.shape[:2], self.X.shape[1])
        return self.turned(sums) - self.penalty(theta)

    def _pull(self, eta: Floats, rows: slice) -> None:
        """Put the weighted residuals of some rows in the place of linear predictors."""
        # a residual near 0 keeps its digits, as exp overflows to 0 at worst
        with np.errstate(over="ignore", invalid="ignore"):
            self.family.pull(eta, rows)
        self._weigh(eta, rows)

    def turned(self, sums: Floats) -> Floats:
        """Return derivatives by coefficients, shape (m, K, p), by coordinates."""
        basis = self.family.basis
        if basis.shape != (1, 1):
            sums = np.matmul(basis.T, sums)
        # the chain rule: the transpose of the map from coordinates to coefficients
        free = sums.reshape(len(sums), sums.shape[1] * sums.shape[2])
        if self.turn is None:
            return free
        if self.turn.ndim == 1:
            return np.asarray(free * self.turn)
        return np.asarray(free @ self.turn.reshape(len(self.turn), -1).T)

    def _weigh(self, values: Floats, rows: slice = EVERY) -> None:
        """Multiply values of some records, shape (m, K, rows), by their weights."""
        if self.weights is not None:
            values *= self.weights[rows]
        if self.block.counts is not None:
            values *= self.block.counts[:, None, rows]
            return
        for k in range(values.shape[1]):
            self.block.multiply(values[:, k])

    def penalty(self, theta: Floats) -> Floats | float:
        """Return the gradient of the penalty, shape (m, q)."""
        if self.ridge is None:
            return 0.0
        if self.ridge.ndim == 1:
            return theta * self.ridge
        if self.ridge.ndim == 2:
            return theta @ self.ridge
        if self.ridge.shape[1] < self.ridge.shape[2]:
            return theta * self.ridge[:, 0]
        return np.asarray(np.matmul(theta[:, None], self.ridge)[:, 0])

    def hessian(
        self, variances: Floats, precision: type[np.floating[Any]] = np.float64
    ) -> Floats:
        """Return the Hessians by variances of the records, with the penalty, (m, q, q).

        Parameters
        ----------
        variances : numpy.ndarray, shape (directions, m, n)
            Those of the family, which are multiplied by the weights in place.
        precision : type, default numpy.float64
            That of the products of many columns that fits have in common.
        """
        self._weigh(variances.swapaxes(0, 1))
        curved = curvature(self.family, variances)
        if self.X.ndim == 3:
            rows = self.X.swapaxes(1, 2)
            each = [np.matmul(rows * own[:, None], self.X) for own in curved]
        else:
            # X'WX for each two predictors, with the weights of each fit
            each = [information_of(self.X, own, precision) for own in curved]
        made = of_all_classes(each, int(self.family.basis.shape[1]))
        if self.turn is not None and self.turn.ndim == 1:
            made *= self.turn
            made *= self.turn[:, None]
        elif self.turn is not None:
            flat = self.turn.reshape(len(self.turn), -1)
            made = flat @ made @ flat.T
        ridge = self.ridge
        if ridge is not None and (ridge.ndim == 1 or ridge.shape[-2] < ridge.shape[-1]):
            strengths = ridge if ridge.ndim == 1 else ridge[:, 0]
            np.einsum("...qq->...q", made)[:] += strengths
        elif ridge is not None:
            made = made + ridge
        return np.asarray(made)

    def own_hessian(self, theta: Floats) -> tuple[Floats, Inverse]:
        """Return the gradient and the inverse Hessian of each fit at theta."""
        eta = self.linear(theta)
        each, variances = self.split(eta)
        inverse = each._dual(variances) or each.rough_inverse(variances)
        return self.gradient_of(eta, theta), self.joined(inverse)

    @property
    def by_class(self) -> bool:
        """Whether Hessians of classes are computed as if these were independent.

        The Hessian of all of many classes takes more time than the steps that it saves.
        """
        free, turn = self.family.basis.shape[1], self.turn
        flat = self.ridge is not None and turn is not None and turn.ndim == 1
        return bool(flat and free > MAX_FREE_CLASSES)

    def split(self, eta: Floats) -> tuple[Problem, Floats]:
        """Return the problem whose Hessians are computed, and its variances.

        It has a fit for each class of each fit, if classes are treated one by one.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            if self.turn is None or self.ridge is None or not self.by_class:
                return self, self.family.variances(eta)
            shares, p = self.family.mean(eta), self.X.shape[1]
        (m, classes, n), ridge = shares.shape, self.ridge[..., :p]
        place = np.repeat(np.arange(m), classes)
        each = replace(
            self,
            family=Numeric(np.zeros(n)),
            block=self.block.part(place),
            turn=self.turn[:p],
            ridge=ridge[place] if ridge.ndim == 3 else ridge,
        )
        # a class against the others: the diagonal of the information of a record
        return each, (shares * (1 - shares)).reshape(1, m * classes, n)

    def joined(self, inverse: Inverse) -> Inverse:
        """Return inverse Hessians of what is split as those of the fits."""
        return ByClass(inverse, self.family.basis) if self.by_class else inverse

    def rough_inverse(self, variances: Floats) -> Whole | Factored:
        """Return inverse Hessians with few digits if they are large, but for bad ones.

        Gradients show the steps that they lead to the rest; single precision takes half
        the time of double precision.

        Parameters
        ----------
        variances : numpy.ndarray, shape (directions, m, n)
            As in :meth:`hessian`.
        """
        if self.X.shape[-1] * self.family.basis.shape[1] <= MIN_FACTORED:
            return self.inverse_hessian(variances)
        with np.errstate(invalid="ignore", over="ignore"):
            made = Factored.of(self.hessian(variances.copy(), np.float32), np.float32)
            if made.usable.all():
                return made
            return Factored.of(self.hessian(variances), np.float64)

    def _dual(self, variances: Floats) -> Dual | None:
        """Return inverse Hessians by a row for each record; None unless these are few.

        They exist if nearly all columns have a ridge, and have few digits.
        """
        n, p = self.X.shape[-2:]
        if self.ridge is None or self.turn is None or self.turn.ndim > 1:
            return None
        if 3 * p <= 2 * n or p <= MIN_FACTORED:
            return None
        # classes that are as frequent as each other at 0 have columns of one scale
        ridge = self.ridge.reshape(-1, p).mean(axis=0)
        if np.count_nonzero(ridge < LEAST_RIDGE) > 1:
            return None
        variances = variances.copy()
        self._weigh(variances.swapaxes(0, 1))
        # a small ridge on the intercept changes a single direction, which steps correct
        ridge = np.maximum(ridge, LEAST_RIDGE)
        roots = roots_of(self.family, variances)
        made = Dual.of(self.X * self.turn[:p], ridge, roots)
        return made if made.inner.usable.all() else None

    def inverse_hessian(self, variances: Floats) -> Whole:
        """Return the inverses of what :meth:`hessian` returns."""
        with np.errstate(invalid="ignore", over="ignore"):
            return Whole.of(self.hessian(variances))

    def trained(self) -> Floats:
        """Return the weight of each record in each fit, shape (m, n)."""
        if self.weights is None and self.block.counts is not None:
            return self.block.counts
        made = np.ones((len(self), self.block.n))
        self._weigh(made[:, None])
        return made

    # ---- what the judge of separation asks ----

    def spread(self, theta: Floats) -> Floats:
        """Return the largest spread of the predictors of a training record, (m,)."""
        spread = self.family.spread(self.linear(theta))
        most = np.where(self.trained() > 0, spread, 0.0).max(axis=1, initial=0.0)
        return np.asarray(most)

    def steepness(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return total weights, and the most that x H⁻¹ x is for a record x, (m,).

        It is infinite for a Hessian H that has no inverse to speak of.
        """
        weights = self.trained()
        inverse = self.inverse_hessian(self.family.variances(self.linear(theta)))
        furthest = np.zeros(len(self))
        basis, p = self.family.basis, self.X.shape[-1]
        turn = np.eye(theta.shape[1]) if self.turn is None else self.turn
        turn = np.diag(turn) if turn.ndim == 1 else turn
        turn = turn.reshape(theta.shape[1], -1, p)
        for along in basis:
            # x H⁻¹ x: by how much a step of unit decrement can move a predictor
            to = np.einsum("c,qcp->qp", along, turn)
            within = to.T @ inverse.matrices @ to
            if self.X.ndim == 2:
                squares = quadratic_of(self.X, within)
            else:
                squares = ((self.X @ within) * self.X).sum(axis=2)
            squares = np.where(weights > 0, squares, 0.0).max(axis=1)
            furthest = np.maximum(furthest, squares)
        furthest = np.where(inverse.usable, furthest, np.inf)
        return weights.sum(axis=1), furthest


def roots_of(family: Family, variances: Floats) -> Floats:
    """Return upper triangles R with R'R the information of a record, (…, free, free).

    Parameters
    ----------
    family : Family
    variances : numpy.ndarray, shape (directions, …)
    """
    if family.width == 1:
        return np.asarray(np.sqrt(variances[0])[..., None, None])
    curved = curvature(family, variances)
    free = int(family.basis.shape[1])
    made = of_all_classes(list(curved[..., None, None]), free)
    # a class of probability 0 leaves a matrix that is only just definite
    made += np.eye(free) * (1e-14 * made.max(axis=(-2, -1), keepdims=True) + 1e-300)
    return np.asarray(np.linalg.cholesky(made).swapaxes(-2, -1), dtype=float)


def by_blocks(
    work: Callable[[slice], Made], shape: tuple[int, ...], predictors: int
) -> list[Made]:
    """Return what a function makes of blocks of rows, which threads share.

    Blocks stay in the cache. Unless they are cheap there are an even number of them, of
    equal sizes, so that two threads have as much to do.

    Parameters
    ----------
    work : callable
    shape : tuple of int
        That of the matrix whose rows are read.
    predictors : int
        Number of linear predictors that are computed from each row.
    """
    n, p = shape
    number = -(-n // max(256, CACHED // max(p, predictors, 1)))
    cost = 4.0 * n * p * predictors
    if cost >= 2 * WORTH:
        number += number % 2
    size = -(-n // max(number, 1)) or 1
    blocks = [slice(start, min(start + size, n)) for start in range(0, n, size)]
    return shared(work, blocks, cost / max(len(blocks), 1))

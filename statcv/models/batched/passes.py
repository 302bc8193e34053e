"""The fits of a few large folds, by passes over records that stay where they are.

A pass reads some rows at a time, which stay in the cache of the processor, and sums the
gradients of all fits from them. The fit to all records comes first, from a sample of
them; there the Hessian of all records is computed, and with it those of the folds,
which lack the records that they hold out. Steps by these matrices, with exact gradients
and Broyden's updates, take few passes, and no copy of the records is made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.chord import ACCURACY
from statcv.models.batched.downdate import (
    Inverse,
    Whole,
    grams,
    inverted,
    products_of,
)
from statcv.models.batched.folds import Folds, Numbers, few
from statcv.models.batched.quasi_newton import STEPS, climb
from statcv.models.multinomial import contrasts
from statcv.models.newton import EXTREME, FLOOR, MOVING, TOLERANCE, column_units

CACHED = 2**17  # numbers of a block of rows: 1 MB
SEVERAL_FITS = 40  # so many fits are few, or more than that if records are
LARGE = 2**18  # so many values; with fewer than
SMALL = 2**11  # these, or with fewer than
MEDIUM = 2**15  # these if folds hold out few records, other ways are as quick
MOST = 256  # fits of which a pass sums the gradients
SAMPLE = 40  # records of the sample for each coefficient
LEAST = 2000  # records of the sample
NEWTON_STEPS = 30
NEAR = 0.3  # the distance from the optimum of all records, in standard errors
SLOW = 0.3  # a rate of convergence that is worth another Hessian
FARTHER = 4.0  # a growth of the distance after which there may be no optimum
HESSIANS = 20  # of its own that a fold gets
CONDITION = 1e10  # the largest condition number of a Hessian
SINGLE = 1e3  # one with which its products may be of single precision
HEAVY = 64  # coefficients from which such products save time
FEW, MORE = 2**16, 2**21  # products of two columns that are kept for few fits, and
SEVERAL = 16  # for so many
FLOPS = 18e9  # operations of a pass in a second, about; those of products of columns,
FLOPS_OF_PRODUCTS = 40e9
EACH = 2.5e-9  # seconds for the residual of a record
BROYDEN = 0.7  # the share of steps that Broyden's updates leave


class Family(Protocol):
    """The log-likelihood of an outcome, as a function of linear predictors."""

    @property
    def width(self) -> int:
        """The number of linear predictors of a fit."""

    @property
    def basis(self) -> Matrix:
        """What their coefficients are combinations of, shape (width, free)."""

    @property
    def moderate(self) -> float:
        """A spread of linear predictors below which classes are not separated."""

    @property
    def quadratic(self) -> bool:
        """Whether the second derivatives are the same everywhere."""

    def pull(self, eta: Matrix, rows: slice) -> None:
        """Put the derivatives by the linear predictors in the place of these.

        Shape (fits, width, rows).
        """

    def curvature(self, eta: Matrix) -> Matrix:
        """Return minus the second derivatives, for each two of the free, (pairs, m)."""

    def spread(self, eta: Matrix) -> Matrix:
        """Return the largest linear predictor, or difference of two, (fits,)."""

    def part(self, some: slice) -> Family:
        """Return the log-likelihood of some records."""


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """Two classes, with the logarithm of the odds as linear predictor.

    Attributes
    ----------
    sign : numpy.ndarray, shape (n,)
        1 for the positive class and -1 for the other.
    """

    sign: Matrix
    width = 1
    basis = np.ones((1, 1))
    moderate = 15.0
    quadratic = False

    def pull(self, eta: Matrix, rows: slice) -> None:
        """Put residuals in the place of linear predictors."""
        sign = self.sign[rows]
        eta *= sign
        np.exp(eta, out=eta)
        eta += 1
        np.divide(sign, eta, out=eta)

    def curvature(self, eta: Matrix) -> Matrix:
        """Return the variances of the outcomes."""
        small = np.exp(-np.abs(eta))
        return np.asarray(small / (1 + small) ** 2)

    def spread(self, eta: Matrix) -> Matrix:
        """Return the largest linear predictor of each fit."""
        return np.asarray(np.abs(eta).max(axis=(1, 2), initial=0.0))

    def part(self, some: slice) -> TwoClasses:
        """Return the log-likelihood of some records."""
        return TwoClasses(self.sign[some])


@dataclass(frozen=True, eq=False)
class Classes:
    """Several classes, with a linear predictor each.

    Attributes
    ----------
    y : numpy.ndarray of int, shape (n,)
    basis : numpy.ndarray, shape (classes, free)
    """

    y: NDArray[np.intp]
    basis: Matrix
    quadratic = False

    @property
    def width(self) -> int:
        """The number of classes."""
        return len(self.basis)

    @property
    def moderate(self) -> float:
        """A difference of linear predictors at which no probability is near 0."""
        return float(-np.log(EXTREME * self.width) - 1)

    def pull(self, eta: Matrix, rows: slice) -> None:
        """Put residuals in the place of linear predictors.

        That of the class observed is the sum of the other probabilities, which keeps
        its digits near 0.
        """
        fits, classes, m = eta.shape
        place = (
            self.y[rows] * m + np.arange(m) + np.arange(fits)[:, None] * (classes * m)
        )
        eta -= eta.max(axis=1, keepdims=True)
        np.exp(eta, out=eta)
        flat = eta.reshape(-1)
        observed = flat[place]
        flat[place] = 0.0
        others = eta.sum(axis=1)
        total = others + observed
        eta /= -total[:, None]
        flat[place] = others / total

    def curvature(self, eta: Matrix) -> Matrix:
        """Return covariances of the indicators of the classes, in the basis."""
        shares = np.exp(eta - eta.max(axis=0))
        shares /= shares.sum(axis=0)
        free = self.basis.shape[1]
        mixed = self.basis.T @ shares
        pairs = [(a, b) for a in range(free) for b in range(a, free)]
        made = np.empty((len(pairs), eta.shape[1]))
        for number, (a, b) in enumerate(pairs):
            both = (self.basis[:, a] * self.basis[:, b]) @ shares
            made[number] = both - mixed[a] * mixed[b]
        return made

    def spread(self, eta: Matrix) -> Matrix:
        """Return the largest difference of two linear predictors of each fit."""
        apart = eta.max(axis=1) - eta.min(axis=1)
        return np.asarray(apart.max(axis=1, initial=0.0))

    def part(self, some: slice) -> Classes:
        """Return the log-likelihood of some records."""
        return Classes(self.y[some], self.basis)


@dataclass(frozen=True, eq=False)
class Numeric:
    """A continuous outcome with a linear mean, as in least squares.

    Attributes
    ----------
    y : numpy.ndarray, shape (n,)
    """

    y: Matrix
    width = 1
    basis = np.ones((1, 1))
    moderate = np.inf
    quadratic = True

    def pull(self, eta: Matrix, rows: slice) -> None:
        """Put residuals in the place of means."""
        np.subtract(self.y[rows], eta, out=eta)

    def curvature(self, eta: Matrix) -> Matrix:
        """Return 1."""
        return np.ones_like(eta)

    def spread(self, eta: Matrix) -> Matrix:
        """Return 0, since nothing is separated."""
        return np.zeros(len(eta))

    def part(self, some: slice) -> Numeric:
        """Return the log-likelihood of some records."""
        return Numeric(self.y[some])


def _family(records: TrainingSet, ridge: Matrix) -> Family:
    if records.kind == "multiclass":
        return Classes(records.y, contrasts(ridge, records.n_classes))
    return TwoClasses(2.0 * records.y - 1.0)


# ---- sums over the records ----


@dataclass(frozen=True, eq=False)
class Passes:
    """Sums over the records, in coordinates with a unit for each column.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
    weights : numpy.ndarray, shape (n,), or None
        Weights of the records; None if all are 1.
    family : Family
        The outcomes.
    unit : numpy.ndarray, shape (p,)
        The units of the columns.
    ridge : numpy.ndarray, shape (p,)
        The penalty on the coefficients of each column.
    """

    X: Matrix
    weights: Matrix | None
    family: Family
    unit: Matrix
    ridge: Matrix

    @classmethod
    def of(cls, records: TrainingSet, family: Family, ridge: Matrix) -> Passes:
        """Prepare the sums over all records."""
        X = records.X
        unit = column_units(X[:: max(1, len(X) // LEAST)])
        return cls(X, records.weights, family, unit, ridge)

    @property
    def size(self) -> int:
        """The number of coordinates: for each combination of classes, the columns."""
        return int(self.family.basis.shape[1] * self.X.shape[1])

    @cached_property
    def penalty(self) -> Matrix:
        """The ridge on the coordinates, shape (q,)."""
        return np.tile(self.ridge / self.unit**2, self.family.basis.shape[1])

    def pairs(self, fits: int) -> Matrix | None:
        """Return products of each record's entries, if that pays for so many fits."""
        (n, p), many = self.X.shape, fits >= SEVERAL
        if self.family.basis.shape != (1, 1) or n * p * p > (MORE if many else FEW):
            return None
        return products_of(self.X)

    @property
    def bounded(self) -> bool:
        """Whether there is an optimum, by a ridge on all columns but one at most."""
        return bool(np.count_nonzero(self.ridge) >= len(self.ridge) - 1)

    def sample(self, size: int) -> Passes:
        """Return records in equal distances, and as much of the penalty."""
        step = len(self.X) // size
        some = slice(None, None, step)
        return replace(
            self,
            X=np.ascontiguousarray(self.X[some]),
            weights=None if self.weights is None else self.weights[some],
            family=self.family.part(some),
            ridge=self.ridge / step,
        )

    def coefficients(self, theta: Matrix) -> Matrix:
        """Return coefficients, shape (fits × width, p), of coordinates (fits, q)."""
        free = theta.reshape(len(theta), self.family.basis.shape[1], -1) / self.unit
        basis = self.family.basis
        if basis.shape == (1, 1):
            return np.ascontiguousarray(free[:, 0])
        beta = np.einsum("kc,mcp->mkp", basis, free)
        return np.ascontiguousarray(beta.reshape(-1, self.X.shape[1]))

    def gathered(self, sums: Matrix) -> Matrix:
        """Return derivatives by coordinates, (fits, q), of those by coefficients."""
        basis = self.family.basis
        by_class = sums.reshape(-1, len(basis), self.X.shape[1]) / self.unit
        if basis.shape != (1, 1):
            by_class = np.einsum("kc,mkp->mcp", basis, by_class)
        return np.asarray(by_class.reshape(len(by_class), -1))

    def blocks(self, fits: int) -> list[slice]:
        """Return all rows, some at a time."""
        n, p = self.X.shape
        size = max(256, CACHED // max(p, fits * self.family.width))
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def summed(self, fits: int, work: Callable[[slice], Matrix]) -> Matrix:
        """Sum what a function makes of blocks of rows."""
        first, *others = self.blocks(fits)
        total = work(first)
        for rows in others:
            total += work(rows)
        return total

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of all records at coordinates, each (1, q)."""
        beta = self.coefficients(theta)

        def sums(rows: slice) -> Matrix:
            X = self.X[rows]
            with np.errstate(over="ignore"):
                eta = beta @ X.T
                self.family.pull(eta[None], rows)
            if self.weights is not None:
                eta *= self.weights[rows]
            return np.asarray(eta @ X)

        total = self.summed(1, sums)
        return self.gathered(total) - theta * self.penalty

    def spread(self, theta: Matrix) -> Matrix:
        """Return the largest spread of linear predictors of each fit, (fits,)."""
        beta, most = self.coefficients(theta), np.zeros(len(theta))
        for rows in self.blocks(len(theta)):
            eta = beta @ self.X[rows].T
            eta = eta.reshape(len(theta), self.family.width, -1)
            most = np.maximum(most, self.family.spread(eta))
        return most

    def longest(self, scale: Matrix) -> float:
        """Return the greatest length of a row whose entries are divided by a scale."""
        most, inverse = 0.0, 1 / scale**2
        for rows in self.blocks(1):
            most = max(most, float((self.X[rows] ** 2 @ inverse).max(initial=0.0)))
        return float(np.sqrt(most))

    def hessian(
        self,
        theta: Matrix,
        rows: Numbers | None = None,
        less: Matrix | None = None,
        single: bool = False,
    ) -> Matrix:
        """Return minus the second derivatives of the log-likelihood, shape (q, q).

        Parameters
        ----------
        theta : numpy.ndarray, shape (1, q)
        rows : numpy.ndarray of int, or None
            The records whose derivatives are summed; None for all.
        less : numpy.ndarray, or None
            How often each of these records counts; None for once.
        single : bool
            Whether products are of single precision, which takes half the time.
        """
        n, p = self.X.shape
        beta, free = self.coefficients(theta), self.family.basis.shape[1]
        pairs = [(a, b) for a in range(free) for b in range(a, free)]
        sums = np.zeros((len(pairs), p, p), np.float32 if single else np.float64)
        many = n if rows is None else len(rows)
        size = max(256, CACHED // p)
        room = np.empty((min(size, many), p), sums.dtype)
        for start in range(0, many, size):
            stop = min(start + size, many)
            some: Any = slice(start, stop) if rows is None else rows[start:stop]
            X = self.X[some]
            curved = self.family.curvature(beta @ X.T)
            if self.weights is not None:
                curved *= self.weights[some]
            if less is not None:
                curved *= less[start:stop]
            _add_products(sums, X, curved, room[: len(X)])
        sums /= np.multiply.outer(self.unit, self.unit)
        whole = np.empty((free, p, free, p), sums.dtype)
        for (a, b), pair in zip(pairs, sums, strict=True):
            whole[a, :, b] = whole[b, :, a] = pair
        return np.asarray(whole.reshape(free * p, free * p))

    def diagonal(self, theta: Matrix) -> Matrix:
        """Return the diagonal of the Hessian with the penalty, shape (q,)."""
        beta, free = self.coefficients(theta), self.family.basis.shape[1]
        pairs = [(a, b) for a in range(free) for b in range(a, free)]
        own = [number for number, (a, b) in enumerate(pairs) if a == b]

        def sums(rows: slice) -> Matrix:
            X = self.X[rows]
            curved = self.family.curvature(beta @ X.T)[own]
            if self.weights is not None:
                curved *= self.weights[rows]
            return np.asarray(curved @ X**2)

        squares = self.summed(1, sums) / self.unit**2
        return np.asarray(squares.ravel() + self.penalty)

    def factor(self, theta: Matrix, counts: Matrix | None = None) -> Factor | None:
        """Return the factor of the Hessian with the penalty; None without one.

        It is computed in single precision if that saves time and costs few digits.
        """
        q = self.size
        found = None
        for single in (True, False) if q >= HEAVY else (False,):
            hessian = self.hessian(theta, None, counts, single)
            hessian.flat[:: q + 1] += self.penalty.astype(hessian.dtype)
            found = Factor.of(hessian)
            if found is not None:
                break
        return found


def _add_products(sums: Matrix, X: Matrix, curved: Matrix, room: Matrix) -> None:
    """Add products of the rows of X, weighted, to the sums for each two classes."""
    if len(sums) == 1 and (curved >= 0).all():
        np.multiply(X, np.sqrt(curved[0])[:, None], out=room, casting="same_kind")
        sums[0] += room.T @ room  # half the work of two different matrices
        return
    for pair, own in zip(sums, curved, strict=True):
        pair += (X.T * own) @ X


# ---- near the optimum of all records ----


@dataclass(frozen=True, eq=False)
class Anchor:
    """A point near the optimum of all records.

    Attributes
    ----------
    theta : numpy.ndarray, shape (1, q)
    scale : numpy.ndarray, shape (q,)
        The roots of the diagonal of a Hessian.
    factor : Factor or None
        That of a Hessian nearby, if it was computed.
    rate : float
        By how much a step by that Hessian shortens the distance to the optimum.
    """

    theta: Matrix
    scale: Matrix
    factor: Factor | None = None
    rate: float = 1.0


def find_anchor(passes: Passes) -> Anchor | None:
    """Search for the optimum of all records, roughly; None without one."""
    q, n = passes.size, len(passes.X)
    theta = np.zeros((1, q))
    if passes.family.quadratic:
        return Anchor(theta, np.sqrt(passes.diagonal(theta)))
    size = max(LEAST, SAMPLE * q)
    if n > 4 * size:
        start = find_anchor(passes.sample(size))
        theta = theta if start is None else start.theta
    by_gradients = _by_gradients(passes, theta) if q >= HEAVY else None
    return by_gradients or _by_hessians(passes, theta)


def _by_gradients(passes: Passes, theta: Matrix) -> Anchor | None:
    """Search without the Hessian, whose products cost more than some gradients."""
    scale = np.sqrt(passes.diagonal(theta))
    if not (scale > 0).all():
        return None
    one = _Every(passes, scale)
    there = theta * scale
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        found, done = climb(
            one, there, one.gradient(there), one, _near(passes), noise=0.0
        )
    return Anchor(found / scale, scale) if done.all() else None


def _near(passes: Passes) -> float:
    """Return a distance, in standard errors, that is near, as folds are farther."""
    return float(max(NEAR, NEAR * np.sqrt(passes.size) / 3))


@dataclass(frozen=True, eq=False)
class _Every:
    """The fit to all records, in coordinates whose Hessian has a diagonal of 1."""

    passes: Passes
    scale: Matrix

    def gradient(self, theta: Matrix) -> Matrix:
        return np.asarray(self.passes.gradient(theta / self.scale) / self.scale)

    def times(self, vectors: Matrix) -> Matrix:
        return vectors

    def part(self, chosen: NDArray[Any]) -> _Every:
        return self


def _by_hessians(passes: Passes, theta: Matrix) -> Anchor | None:
    before, near = np.inf, _near(passes)
    for _ in range(NEWTON_STEPS):
        factor = passes.factor(theta)
        if factor is None:
            return None
        gradient = passes.gradient(theta)
        for number in range(NEWTON_STEPS):
            step = factor.solve(gradient)
            distance = float(np.sqrt(max((step @ gradient.T).item(), 0.0)))
            if not np.isfinite(distance) or distance > FARTHER * before:
                return None
            rate = distance / before
            if distance <= near or (number and rate > SLOW):
                break
            theta, before = theta + step, distance
            gradient = passes.gradient(theta)
        if distance <= near:
            return Anchor(theta, factor.scale, factor, rate)
    return None


@dataclass(frozen=True, eq=False)
class Factor:
    """The Cholesky factor of a positive definite matrix, scaled to a unit diagonal.

    Attributes
    ----------
    lower : numpy.ndarray, shape (q, q)
    scale : numpy.ndarray, shape (q,)
        The roots of the diagonal, by which rows and columns were divided.
    """

    lower: Matrix
    scale: Matrix

    @classmethod
    def of(cls, matrix: Matrix) -> Factor | None:
        """Decompose a matrix; None if that would cost many digits."""
        from scipy.linalg.lapack import dpotrf, spotrf

        diagonal = matrix.diagonal()
        if not (diagonal > 0).all():
            return None
        scale = np.sqrt(diagonal)
        scaled = matrix / scale
        scaled /= scale[:, None].astype(matrix.dtype)
        decompose = spotrf if matrix.dtype == np.float32 else dpotrf
        # of the transpose, which is the same matrix in the order of Fortran
        upper, failed = decompose(scaled.T, lower=0, clean=0, overwrite_a=1)
        factor = cls(upper, np.asarray(scale, dtype=float))
        single = matrix.dtype == np.float32
        limit = SINGLE if single else CONDITION
        return None if failed or not factor.least * limit > 1 else factor

    @property
    def least(self) -> float:
        """The least square of a pivot."""
        return float(self.lower.diagonal().min(initial=1.0) ** 2)

    def solve(self, vectors: Matrix) -> Matrix:
        """Multiply vectors, shape (m, q), by the inverse of the matrix."""
        from scipy.linalg.lapack import dpotrs, spotrs

        solve = spotrs if self.lower.dtype == np.float32 else dpotrs
        right = (vectors / self.scale).T.astype(self.lower.dtype)
        solved, _ = solve(self.lower, right, lower=0)
        return np.asarray(solved.T / self.scale)

    @property
    def size(self) -> float:
        """The norm of the inverse of the scaled matrix."""
        half = np.linalg.inv(np.triu(self.lower).astype(float))
        return float(np.linalg.norm(half @ half.T))

    def times(self, vector: Matrix) -> Matrix:
        """Multiply a vector, shape (q,), by the inverse of the matrix."""
        from scipy.linalg.blas import dtrsv, strsv

        solve = strsv if self.lower.dtype == np.float32 else dtrsv
        right = (vector / self.scale).astype(self.lower.dtype)
        half = solve(self.lower, right, trans=1, overwrite_x=1)
        return np.asarray(solve(self.lower, half, overwrite_x=1) / self.scale)


@dataclass(frozen=True, eq=False)
class Factors:
    """Inverses of Hessians in scaled coordinates, of which fits may share one.

    Attributes
    ----------
    factors : tuple of Factor or None
        One for each fit, or one for all; None for a Hessian without an inverse.
    scale : numpy.ndarray, shape (q,)
        What coordinates are multiplied by.
    multiple : float or None
        What multiplies the one for all; None if there is one for each fit.
    """

    factors: tuple[Factor | None, ...]
    scale: Matrix
    multiple: float | None = None

    def times(self, vectors: Matrix) -> Matrix:
        """Multiply vectors, shape (m, q), each by its inverse; NaN without one."""
        if self.multiple is not None and self.factors[0] is not None:
            solved = self.factors[0].solve(vectors * self.scale)
            return np.asarray(solved * (self.scale * self.multiple))
        made = np.full(vectors.shape, np.nan)
        for fit, factor in enumerate(self.factors):
            if factor is not None:
                made[fit] = factor.times(vectors[fit] * self.scale) * self.scale
        return made

    def part(self, chosen: NDArray[Any]) -> Factors:
        """Return the inverses of some of the fits."""
        if self.multiple is not None:
            return self
        some = np.arange(len(self.factors))[chosen]
        kept = tuple(self.factors[one] for one in some)
        return replace(self, factors=kept)

    @property
    def norm(self) -> Matrix:
        """Bounds on the largest eigenvalues of the inverses, one for each fit."""
        return np.array(
            [
                np.inf
                if one is None
                else one.size * float((self.scale / one.scale).max() ** 2)
                for one in self.factors
            ]
        )


# ---- the fits of the folds ----


@dataclass(frozen=True, eq=False)
class FewFits:
    """The optimisation problem of a few fits, near the optimum of all records.

    Coordinates are those in which the Hessian there has a unit diagonal.

    Attributes
    ----------
    passes : Passes
        All records.
    scale : numpy.ndarray, shape (q,)
        What divides coordinates to become those of the passes.
    reach : float
        The most that a step of length 1 moves a linear predictor.
    changed : tuple of numpy.ndarray of int
        For each fit the records that do not occur exactly once, rising.
    times : tuple of numpy.ndarray, or None
        How often each of them occurs; None if never.
    counts : numpy.ndarray, shape (m, n), or None
        Weights of the records in each fit, beyond their own.
    """

    passes: Passes
    scale: Matrix
    reach: float
    changed: tuple[Numbers, ...]
    times: tuple[Matrix, ...] | None
    counts: Matrix | None

    def __len__(self) -> int:
        return len(self.changed)

    def part(self, chosen: NDArray[Any]) -> FewFits:
        """Return the problem of some of the fits."""
        some = np.arange(len(self))[chosen]
        times = self.times
        return replace(
            self,
            changed=tuple(self.changed[one] for one in some),
            times=None if times is None else tuple(times[one] for one in some),
            counts=None if self.counts is None else self.counts[chosen],
        )

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, less the penalty's."""
        passes, fits = self.passes, len(theta)
        there = theta / self.scale
        beta, n = passes.coefficients(there), len(passes.X)

        def sums(rows: slice) -> Matrix:
            X = passes.X[rows]
            eta = beta @ X.T
            by_fit = eta.reshape(fits, -1, len(X))
            with np.errstate(over="ignore", invalid="ignore"):
                passes.family.pull(by_fit, rows)
            if passes.weights is not None:
                eta *= passes.weights[rows]
            if self.counts is not None:
                by_fit *= self.counts[:, None, rows]
            if len(X) == n:
                self._multiply(by_fit)
            else:
                self._multiply_some(by_fit, rows)
            return np.asarray(eta @ X)

        total = passes.summed(fits, sums)
        gradient = passes.gathered(total) - there * passes.penalty
        return np.asarray(gradient / self.scale)

    def _multiply(self, by_fit: Matrix) -> None:
        """Multiply values, shape (m, width, n), by how often records occur."""
        fits, rows = self._places
        if self.times is None:
            by_fit[fits, :, rows] = 0.0
        else:
            by_fit[fits, :, rows] *= np.concatenate(self.times)[:, None]

    def _multiply_some(self, by_fit: Matrix, rows: slice) -> None:
        """Multiply the values of a block of rows."""
        block = rows.start // self._size
        for fit, own in enumerate(self.changed):
            start, stop = self._edges[fit][block : block + 2]
            place = own[start:stop] - rows.start
            if self.times is None:
                by_fit[fit, :, place] = 0.0
            else:
                by_fit[fit, :, place] *= self.times[fit][start:stop, None]

    @property
    def _size(self) -> int:
        """The number of rows in a block."""
        first = self.passes.blocks(len(self))[0]
        return int(first.stop)

    @cached_property
    def _edges(self) -> list[list[int]]:
        """Where the records of each block begin among those that changed."""
        starts = np.arange(0, len(self.passes.X) + self._size, self._size)
        return [np.searchsorted(own, starts).tolist() for own in self.changed]

    def common_hessian(self, factor: Factor) -> Factors:
        """Return an inverse that all fits share, that of all records.

        It is enlarged by the mean share of the records that the fits hold out.
        """
        share = 1 - sum(map(len, self.changed)) / (len(self.passes.X) * len(self))
        return Factors((factor,), self.scale, multiple=1 / share)

    def fold_hessians(self, theta: Matrix) -> Inverse:
        """Return the inverse Hessian of each fit at coordinates of all, (1, q)."""
        passes, there, q = self.passes, theta / self.scale, len(self.scale)
        if self.counts is not None or self._pairs is not None:
            return self.own_hessians(np.tile(theta, (len(self), 1)))

        def lost(fit: int, single: bool) -> Matrix:
            less = None if self.times is None else 1 - self.times[fit]
            return passes.hessian(there, self.changed[fit], less, single)

        factors: list[Factor | None] = []
        for single in (True, False) if q >= HEAVY else (False,):
            parts = [lost(fit, single) for fit in range(len(self))]
            if self.divided:
                total = np.sum(parts, axis=0)
            else:
                total = passes.hessian(there, single=single)
            total.flat[:: q + 1] += passes.penalty.astype(total.dtype)
            factors = [Factor.of(total - part) for part in parts]
            if None not in factors:
                break
        return Factors(tuple(factors), self.scale)

    def own_hessians(self, theta: Matrix) -> Inverse:
        """Return the inverse Hessian of each fit at its coordinates, shape (m, q)."""
        passes, there, q = self.passes, theta / self.scale, len(self.scale)
        if self._pairs is not None:
            eta = passes.coefficients(there) @ passes.X.T
            curved = passes.family.curvature(eta.reshape(1, -1))
            curved = curved.reshape(eta.shape) * self._often()
            if passes.weights is not None:
                curved *= passes.weights
            made = grams(curved, self._pairs, q)
            scale = self.scale / np.tile(1 / passes.unit, q // len(passes.unit))
            made /= np.multiply.outer(scale, scale)
            made[:, range(q), range(q)] += passes.penalty / self.scale**2
            return Whole(inverted(made))

        factors = []
        for fit, one in enumerate(there[:, None]):
            often = self.part(np.array([fit]))._often()[0]
            factors.append(passes.factor(one, often))
        return Factors(tuple(factors), self.scale)

    @cached_property
    def _pairs(self) -> Matrix | None:
        return self.passes.pairs(len(self))

    def _often(self) -> Matrix:
        """Return how often each fit trains on each record, times weights, (m, n)."""
        often = np.ones((len(self), len(self.passes.X)))
        fits, rows = self._places
        often[fits, rows] = 0.0 if self.times is None else np.concatenate(self.times)
        if self.counts is not None:
            often *= self.counts
        return often

    @cached_property
    def _places(self) -> tuple[Numbers, Numbers]:
        """Fits and records of all that changed."""
        sizes = list(map(len, self.changed))
        return np.repeat(np.arange(len(self)), sizes), np.concatenate(self.changed)

    @property
    def divided(self) -> bool:
        """Whether each record is held out by just one fit."""
        n = len(self.passes.X)
        if self.times is not None or sum(map(len, self.changed)) != n:
            return False
        seen = np.zeros(n, dtype=bool)
        for own in self.changed:
            seen[own] = True
        return bool(seen.all())


def fit_by_passes(
    records: TrainingSet, folds: Folds, ridge: Matrix
) -> tuple[Matrix, NDArray[np.bool_]] | None:
    """Fit a few large folds.

    Parameters
    ----------
    records : TrainingSet
        All records.
    folds : Folds
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.

    Returns
    -------
    coefficients : numpy.ndarray, shape (fits, width, p)
    sure : numpy.ndarray of bool, shape (fits,)
        Which are the optima beyond doubt. None if folds are small or many, or the
        records do not determine the coefficients well.
    """
    classes = records.n_classes if records.kind == "multiclass" else 1
    if not are_few_and_large(folds, records.X.shape, classes):
        return None
    passes = Passes.of(records, _family(records, ridge), ridge)
    return fit_few(passes, folds)


def fit_few(passes: Passes, folds: Folds) -> tuple[Matrix, NDArray[np.bool_]] | None:
    """Fit folds as :func:`fit_by_passes` does, whatever their number and size."""
    found = find_anchor(passes)
    if found is None:
        return None
    p, width = passes.X.shape[1], passes.family.width
    least = passes.unit * found.scale.reshape(-1, p).min(axis=0)
    combined = np.sqrt((passes.family.basis**2).sum(axis=1).max())
    reach = passes.longest(least) * float(combined)
    coefficients = np.empty((len(folds), width, p))
    sure = np.empty(len(folds), dtype=bool)
    for start in range(0, len(folds), MOST):
        some = np.arange(start, min(start + MOST, len(folds)))
        problem = _problem(passes, found.scale, reach, folds, some)
        theta, sure[some] = _settle(problem, found)
        beta = passes.coefficients(theta / found.scale)
        coefficients[some] = beta.reshape(len(some), width, p)
    return coefficients, sure


def are_few_and_large(folds: Folds, shape: tuple[int, ...], classes: int = 1) -> bool:
    """Return whether passes are quicker, as each fold changes many records.

    That is said of folds with the same outcome only.
    """
    n, p = shape
    least = int(folds.changed[0].sizes.min(initial=n))
    if folds.outcome is not None or not p or few(least, 1):
        return False
    size = n * p * max(classes, 1) ** 2
    if len(folds) > SEVERAL_FITS:
        return size > LARGE and not few(least, p)
    return size > (MEDIUM if few(least, p) else SMALL)


def _problem(
    passes: Passes, scale: Matrix, reach: float, folds: Folds, some: Numbers
) -> FewFits:
    lists, times = folds.changed
    starts = lists.starts
    cut = [slice(starts[fit], starts[fit + 1]) for fit in some]
    own = None if times is None else tuple(times[one].astype(float) for one in cut)
    counts = None if folds.weights is None else folds.weights(some)
    changed: Any = tuple(lists.values[one] for one in cut)
    return FewFits(passes, scale, reach, changed, own, counts)


def _settle(problem: FewFits, found: Anchor) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return the coordinates of each fit, and which are optima beyond doubt."""
    n, q = len(problem.passes.X), len(problem.scale)
    precision = ACCURACY / problem.reach, 1e-15 * float(np.sqrt(n * q))
    start = found.theta * problem.scale
    theta = np.tile(start, (len(problem), 1))
    if found.factor is not None and _sharing_pays(problem, found.rate):
        inverse: Inverse = problem.common_hessian(found.factor)
    else:
        inverse = problem.fold_hessians(start)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        theta, done = climb(
            problem, theta, problem.gradient(theta), inverse, *precision
        )
        for _ in range(HESSIANS):
            left = np.flatnonzero(~done)
            if not len(left):
                break
            rest, at = problem.part(left), theta[left]
            own = rest.own_hessians(at)
            theta[left], done[left] = climb(
                rest, at, rest.gradient(at), own, *precision
            )
        if done.any() and not problem.passes.bounded:
            done[done] = _not_separated(problem.part(done), theta[done])
    return theta, done


def _sharing_pays(problem: FewFits, rate: float) -> bool:
    """Return whether steps by one Hessian take less time than one for each fit."""
    (n, p), q, m = problem.passes.X.shape, len(problem.scale), len(problem)
    if problem.counts is not None:
        return True
    width, free = problem.passes.family.width, q // p
    out = max(sum(map(len, problem.changed)) / m, 1.0)
    noise = q / out
    apart = out / n * (2 * np.sqrt(noise) + noise)
    one_pass = n * m * width * (4 * p / FLOPS + EACH)
    products = 2 * n * p * p * (free + 1) * free / 2 / FLOPS_OF_PRODUCTS
    inverses = m * 1.5 * q**3 / FLOPS
    shared = min(_steps(max(rate, apart)), 2 * STEPS) * one_pass
    return bool(shared < products + inverses + _steps(rate**2) * one_pass)


def _steps(rate: float) -> float:
    """Return about how many steps bring a distance to the accuracy wanted."""
    return float(np.log(ACCURACY) / np.log(np.clip(rate, 1e-4, 0.97))) * BROYDEN + 1


def _not_separated(problem: FewFits, theta: Matrix) -> NDArray[np.bool_]:
    """Return which fits cannot be separated, as their predictions are moderate.

    Otherwise a fit of its own would call a fold separated only if a step with
    negligible gain could still move them, and the Hessian shows whether it could.
    """
    passes = problem.passes
    sure = np.asarray(passes.spread(theta / problem.scale) < passes.family.moderate)
    rest = np.flatnonzero(~sure)
    if len(rest):
        classes = max(passes.family.width, 2)
        least = (MOVING / 2) ** 2 / (2 * (TOLERANCE + FLOOR) * np.log(classes))
        total = len(passes.X) if passes.weights is None else passes.weights.sum()
        norm = problem.part(rest).own_hessians(theta[rest]).norm
        sure[rest] = total * norm * problem.reach**2 < least
    return sure

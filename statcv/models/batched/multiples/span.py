"""All records, and the coefficients that multiples of them make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.passes.products import added, padded
from statcv.numeric.threads import QUICK, product, ranges, shared

EPS = float(np.finfo(np.float32).eps)
PARTS = 2  # parts of columns, or of rows, that threads share
CELLS = 2**16  # values of records that are rounded at once
# columns whose rounded copy is kept at once, or as many as records if that is more
COLUMNS = 2**12
MAX_ROUNDING = 0.1  # the share of the ridge that rounding of Hessians may be, at most


@dataclass(frozen=True, eq=False)
class Span:
    """All records, the sums of whose multiples are coefficients of ridge fits.

    Coefficients are in units in which the ridge is alike for all columns, and so large
    that the Hessian without effects has eigenvalues of about 1.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
        The records.
    place : int or None
        The column of the intercept, which is not penalised.
    middle : numpy.ndarray, shape (p,)
        What is taken from each column first: the mean, if there is an intercept.
    square : numpy.ndarray, shape (1, p) or (m, p)
        What multiplies sums of multiples of the records to become coefficients; 0 for
        the intercept. One row for all fits, or one for each if their ridges differ.
    products : tuple of numpy.ndarray, shape (n, n)
        As many products of the records, in single precision.
    rounding : float
        About the error of linear predictors for multiples with a sum of squares of 1.
    strength : float
        The ridge.
    unit : float
        The coefficient that is 1 for the intercept.
    spread : float
        The mean square of the eigenvalues of the products, over the square of their
        mean.
    """

    X: Matrix
    place: int | None
    middle: Matrix
    square: Matrix
    products: tuple[Matrix, ...]
    rounding: float
    strength: float
    unit: float
    spread: float

    @classmethod
    def of(cls, records: TrainingSet, ridge: Matrix) -> Span | None:
        """Multiply the records; None if rounding would cost many digits.

        Parameters
        ----------
        records : TrainingSet
            All records.
        ridge : numpy.ndarray, shape (p,) or (m, p)
            Strength of the penalty on each column, 0 for the intercept only; of each
            fit, if they differ.
        """
        X, place, (n, p) = records.X, records.intercept, records.X.shape
        strengths = np.atleast_2d(ridge)
        scale, middle = np.zeros(strengths.shape), np.zeros(p)
        scale[strengths > 0] = 1 / np.sqrt(strengths[strengths > 0])
        if place is not None:
            middle = _means(X)
        with np.errstate(over="ignore", invalid="ignore"):
            products = tuple(_products(X, middle, own) for own in scale)
            squares = max(float(np.vdot(one, one)) for one in products)
        own = min(float(one.diagonal().sum(dtype=float)) for one in products)
        # errors of products of single precision, as they add up at random
        rounding = EPS * np.sqrt(squares / n)
        if not rounding / 2 <= MAX_ROUNDING:
            return None
        # Σλ² / Σλ is a typical eigenvalue; times the largest variance of an outcome,
        # 1/4, plus the ridge it is that of the Hessian
        size = squares / max(own, EPS) / 4 + 1
        for one in products:
            one /= np.float32(size)
        total = n if records.weights is None else float(records.weights.sum())
        # without effects the intercept's information is total / 4: 1 in this unit
        unit = 2 / float(np.sqrt(total))
        error = 4 * rounding / np.sqrt(n) / size
        # 1 if all directions have as much variance, n if there is one
        spread = n * squares / max(own, EPS) ** 2
        square = scale**2 / size
        return cls(X, place, middle, square, products, error, 1 / size, unit, spread)

    @property
    def common(self) -> bool:
        """Whether all fits have the same products."""
        return len(self.products) == 1

    def part(self, chosen: NDArray[Any]) -> Span:
        """Return the same for some of the fits."""
        if self.common:
            return self
        some = np.arange(len(self.products))[chosen]
        products = tuple(self.products[one] for one in some)
        return replace(self, square=self.square[some], products=products)

    @property
    def intercept(self) -> bool:
        """Whether there is an intercept."""
        return self.place is not None

    @property
    def size(self) -> int:
        """The number of coordinates: a multiple of each record, and the intercept."""
        return len(self.X) + self.intercept

    @property
    def _parts(self) -> list[slice]:
        """The records, in parts that threads share."""
        return [slice(one.start, one.stop) for one in ranges(len(self.X), PARTS)]

    @property
    def reach(self) -> float:
        """The most that a step of length 1 moves a linear predictor."""
        longest = max(one.diagonal().max(initial=0.0) for one in self.products)
        return float(np.sqrt(longest)) + self.unit * self.intercept

    def with_products(self, multiples: Matrix) -> Matrix:
        """Return coordinates, shape (m, c q), after their products with all records.

        There are q for each of the c coefficients of a column.
        """
        by_class = multiples.reshape(len(multiples), -1, self.size)
        made, n = np.empty((len(multiples), 2, *by_class.shape[1:])), len(self.X)
        made[:, 0, :, :n] = self.multiplied(multiples)
        made[:, 0, :, n:], made[:, 1] = by_class[:, :, n:], by_class
        return made.reshape(len(multiples), -1)

    def multiplied(self, multiples: Matrix) -> Matrix:
        """Return the products of all records with coordinates, (m, c, n).

        They have single precision, and are without what the intercept adds.
        """
        n, fits = len(self.X), len(multiples)
        by_class = multiples.reshape(fits, -1, self.size)[:, :, :n]
        some: Any = by_class.astype(np.float32)
        if not self.common:
            pairs = list(zip(some, self.products, strict=True))
            cost = 2.0 * n * n * some.shape[1]
            return np.stack(shared(lambda pair: product(*pair), pairs, cost))
        few = padded(some.reshape(-1, n))
        made: Any = np.empty((len(few), n), dtype=np.float32)

        def put(part: slice) -> None:
            made[:, part] = few @ self.products[0][:, part]

        shared(put, self._parts, QUICK * 2 * n * n * len(few) / PARTS)
        return np.asarray(made[: fits * some.shape[1]].reshape(some.shape))

    def _by_class(self, places: Matrix) -> Matrix:
        """Return places as their products and their multiples, (m, 2, c, q)."""
        return places.reshape(len(places), 2, -1, self.size)

    def along(self, places: Matrix) -> Matrix:
        """Return the linear predictors of places with their products, (m, c, n)."""
        n, products = len(self.X), self._by_class(places)[:, 0]
        if not self.intercept:
            return products.copy()
        return np.asarray(products[:, :, :n] + self.unit * products[:, :, n:])

    def coefficients(self, places: Matrix) -> Matrix:
        """Return the coefficients, shape (m, c, p), in the units of the columns."""
        n, p = self.X.shape
        by_class = self._by_class(places)[:, 1]
        multiples = by_class.reshape(-1, self.size)
        few = padded(multiples[:, :n])

        def sums(some: slice) -> Matrix:
            return product(few[:, some], self.X[some])

        cost = 2.0 * self.X.size * len(few) / PARTS
        beta = added(shared(sums, self._parts, cost))[: len(multiples)]
        # sums of centred records: the means enter times the sum of multiples
        beta -= np.outer(multiples[:, :n].sum(axis=1), self.middle)
        made = beta.reshape(*by_class.shape[:2], p) * self.square[:, None]
        if self.place is not None:
            # centring changes the intercept by the product of means and coefficients
            made[:, :, self.place] = self.unit * by_class[:, :, n] - made @ self.middle
        return made

    def predictors(self, places: Matrix) -> Matrix:
        """Return the linear predictors in double precision, shape (m, c, n)."""
        n, p = self.X.shape
        exact = self.coefficients(places)
        beta = padded(exact.reshape(-1, p))
        made = np.empty((len(beta), n))

        def put(some: slice) -> None:
            made[:, some] = beta @ self.X[some].T

        shared(put, self._parts, 2.0 * self.X.size * len(beta) / PARTS)
        fits, free = exact.shape[:2]
        return made[: fits * free].reshape(fits, free, n)


def _means(X: Matrix) -> Matrix:
    """Return the means of the columns."""
    means = np.empty(X.shape[1])

    def put(some: range) -> None:
        X[:, some.start : some.stop].mean(axis=0, out=means[some.start : some.stop])

    shared(put, ranges(X.shape[1], PARTS), float(X.size) / PARTS)
    return means


def _products(X: Matrix, middle: Matrix, scale: Matrix) -> Matrix:
    """Multiply all rows by each other, once they are centred and scaled."""
    n, p = X.shape

    def of_some(some: slice) -> Matrix:
        rows = np.empty((n, some.stop - some.start), dtype=np.float32)
        size = max(1, CELLS // rows.shape[1])
        for start in range(0, n, size):
            part = slice(start, start + size)
            left = X[part, some] - middle[some]
            np.multiply(left, scale[some], out=rows[part], casting="same_kind")
        return product(rows, rows.T)  # a matrix and its transpose: half the work

    def of_part(columns: range) -> Matrix:
        starts = columns[:: max(n, COLUMNS)]
        stops = [*starts[1:], columns.stop]
        return added(map(of_some, map(slice, starts, stops)))

    parts = ranges(p, PARTS)
    return added(shared(of_part, parts, QUICK * n * n * p / len(parts)))

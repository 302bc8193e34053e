"""All records, and the coefficients that multiples of them make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.passes.sums import added, padded
from statcv.threads import QUICK, product, ranges, shared

EPS = float(np.finfo(np.float32).eps)
PARTS = 2  # of columns or of rows, that threads share
CELLS = 2**16  # of rows that are rounded at once,
COLUMNS = 2**12  # of so many columns, or as many as records, whose copy is kept
DIGITS = 0.1  # the share of the ridge that rounding of Hessians may be, at most


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
    square : numpy.ndarray, shape (p,)
        What multiplies sums of multiples of the records to become coefficients; 0 for
        the intercept.
    products : numpy.ndarray, shape (n, n)
        The products of the records, in single precision.
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
    products: Matrix
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
        ridge : numpy.ndarray, shape (p,)
            Strength of the penalty on each column, 0 for the intercept only.
        """
        X, place, (n, p) = records.X, records.intercept, records.X.shape
        scale, middle = np.zeros(p), np.zeros(p)
        scale[ridge > 0] = 1 / np.sqrt(ridge[ridge > 0])

        def products_of(some: slice) -> Matrix:
            if place is not None:
                X[:, some].mean(axis=0, out=middle[some])
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
            return added(map(products_of, map(slice, starts, stops)))

        parts = ranges(p, PARTS)
        with np.errstate(over="ignore", invalid="ignore"):
            products = added(shared(of_part, parts, QUICK * n * n * p / len(parts)))
            squares = float(np.vdot(products, products))
        own = float(products.diagonal().sum(dtype=float))
        rounding = EPS * np.sqrt(squares / n)
        if not rounding / 2 <= DIGITS:
            return None
        size = squares / max(own, EPS) / 4 + 1
        products /= np.float32(size)
        total = n if records.weights is None else float(records.weights.sum())
        unit = 2 / float(np.sqrt(total))
        error = 4 * rounding / np.sqrt(n) / size
        spread = n * squares / max(own, EPS) ** 2
        square = scale**2 / size
        return cls(X, place, middle, square, products, error, 1 / size, unit, spread)

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
        longest = float(self.products.diagonal().max(initial=0.0))
        return float(np.sqrt(longest)) + self.unit * self.intercept

    def with_products(self, multiples: Matrix) -> Matrix:
        """Return coordinates, shape (m, c q), after their products with all records.

        There are q for each of the c coefficients of a column.
        """
        n, fits = len(self.X), len(multiples)
        by_class = multiples.reshape(fits, -1, self.size)
        made = np.empty((fits, 2, *by_class.shape[1:]))
        some: Any = by_class[:, :, :n].astype(np.float32).reshape(-1, n)
        few = padded(some)

        def put(part: slice) -> None:
            found = (few @ self.products[:, part])[: len(some)]
            made[:, 0, :, part] = found.reshape(fits, by_class.shape[1], -1)

        shared(put, self._parts, 2.0 * n * n * len(few) / PARTS)
        made[:, 0, :, n:], made[:, 1] = by_class[:, :, n:], by_class
        return made.reshape(fits, -1)

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
        beta -= np.outer(multiples[:, :n].sum(axis=1), self.middle)
        beta *= self.square
        if self.place is not None:
            beta[:, self.place] = self.unit * multiples[:, n] - beta @ self.middle
        return beta.reshape(*by_class.shape[:2], p)

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

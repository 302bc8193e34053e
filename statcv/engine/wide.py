"""How fits with about as many columns as records, or more, change with the records.

The inverse of the information X'CX + Λ follows from that of a matrix with a row for
each record, I + C^½KC^½, where K = XΛ⁻¹X' is the same for fits with the same ridge
(Hastie & Tibshirani 2004, Biostatistics 5:329). Columns without a ridge, such as the
intercept, are taken from the others by elimination.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from statcv.engine.information import inverses
from statcv.threads import product, shared

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

COLUMNS = 100  # with fewer, the information itself has an inverse soon enough
SQUARE = 1.5  # records for each column, up to which those are fewer operations
FREE = 8  # columns without a ridge, at most
STRONG = 1e4  # the most that a record adds to the information over a ridge


@dataclass(frozen=True, eq=False)
class Wide:
    """Fits to the same rows.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
        The rows.
    ridge : numpy.ndarray, shape (fits, p)
        The ridge of each coefficient; infinite for one that is 0.
    weights : numpy.ndarray, shape (fits, n)
        The weights of the rows in the information H of each fit; none below 0.
    """

    X: Floats
    ridge: Floats
    weights: Floats

    @staticmethod
    def suits(X: Floats, penalty: Floats, largest: float) -> bool:
        """Return whether products of the records are quicker than those of columns.

        A weak ridge would cost them digits, as results are then small differences of
        large numbers.

        Parameters
        ----------
        X : numpy.ndarray, shape (n, p)
            The rows.
        penalty : numpy.ndarray, shape (fits, p)
            The ridge of each fit.
        largest : float
            The largest weight of a row.
        """
        n, p = X.shape
        if p < COLUMNS or n > SQUARE * p:
            return False
        free, finite = penalty == 0, np.isfinite(penalty)
        alike = (free == free[0]).all() and (finite == finite[0]).all()
        if not alike or np.count_nonzero(free[0]) > FREE:
            return False
        least = np.where(free[0], np.inf, penalty.min(axis=0))
        reach = ((X - X.mean(axis=0)) ** 2 / least).sum(axis=1).max()
        return bool(largest * reach <= STRONG)

    def along(self, targets: Floats) -> Floats:
        """Return x'H⁻¹g for each row x and vectors g of shape (m, fits, p).

        Returns
        -------
        numpy.ndarray, shape (m, fits, n)
        """
        inner, apart, schur, _ = self._parts
        heavy = self.weights[:, :, None] * self._free
        given = targets[:, :, self.ridge[0] == 0].swapaxes(0, 1)
        other = targets[:, :, self._ridged].swapaxes(0, 1) - given @ self._explained
        start = other / self.ridge[:, None, self._ridged] @ self._rest.T
        moved = start - np.matmul(np.matmul(start, inner), self._kernels)
        level = np.matmul(given - np.matmul(moved, heavy), schur)
        moved += np.matmul(level, apart.swapaxes(1, 2))
        return np.asarray(moved.swapaxes(0, 1))

    @property
    def leverage(self) -> Floats:
        """The weight of each row x times x'H⁻¹x, shape (fits, n)."""
        return self._parts[3]

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """What is computed of each fit.

        These are C^½(I + C^½KC^½)⁻¹C^½, shape (fits, n, n); the u columns without a
        ridge, less what the others explain of them, (fits, n, u); the inverse of what
        the information of these is, given the others, (fits, u, u); and the leverages.
        """
        (fits, n), u = self.weights.shape, self._free.shape[1]
        inner, apart = np.empty((fits, n, n)), np.empty((fits, n, u))
        schur, leverage = np.empty((fits, u, u)), np.empty((fits, n))

        def put(fit: int) -> None:
            weights, root = self.weights[fit], np.sqrt(self.weights[fit])
            kernel = self._kernels[fit % len(self._kernels)]
            whole = kernel * root
            whole *= root[:, None]
            whole.flat[:: n + 1] += 1
            own = inverses(whole[None])[0]
            leverage[fit] = 1 - np.diag(own)
            own *= root
            own *= root[:, None]
            inner[fit] = own
            heavy = self._free * weights[:, None]
            across = product(kernel, heavy)
            rest = self._free - across + kernel @ (own @ across)
            apart[fit] = rest
            schur[fit] = np.linalg.pinv(heavy.T @ rest, hermitian=True)
            leverage[fit] += weights * np.einsum("nu,uv,nv->n", rest, schur[fit], rest)

        _ = self._kernels, self._free
        shared(put, range(fits), float(n) ** 3)
        return inner, apart, schur, leverage

    @property
    def _ridged(self) -> Bools:
        return np.asarray(np.isfinite(self.ridge[0]) & (self.ridge[0] != 0))

    @cached_property
    def _free(self) -> Floats:
        """The columns without a ridge, shape (n, u)."""
        return self.X[:, self.ridge[0] == 0]

    @cached_property
    def _explained(self) -> Floats:
        """What the others are, as far as these explain them, in terms of these.

        It is taken from them, as centring does, since that costs no digits.
        """
        return np.asarray(np.linalg.pinv(self._free) @ self.X[:, self._ridged])

    @cached_property
    def _rest(self) -> Floats:
        """The columns with a ridge, less what the others explain."""
        return np.asarray(self.X[:, self._ridged] - self._free @ self._explained)

    @cached_property
    def _kernels(self) -> Floats:
        """K of each fit, shape (fits, n, n); of one if they have the same ridge."""
        ridge, rest = self.ridge[:, self._ridged], self._rest
        if (ridge == ridge[0]).all():
            ridge = ridge[:1]
        found = np.empty((len(ridge), len(rest), len(rest)))

        def put(fit: int) -> None:
            scaled = rest / np.sqrt(ridge[fit])
            found[fit] = product(scaled, scaled.T)

        shared(put, range(len(ridge)), float(rest.size) * len(rest))
        return found

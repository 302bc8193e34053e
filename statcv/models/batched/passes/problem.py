"""The optimisation problem of a few fits, near the optimum of all records.

Steps are solved by the Cholesky factor of the Hessian of all records, or by those of
the fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix
from statcv.models.batched.new_levels import Numbers
from statcv.models.batched.passes.sums import Passes
from statcv.models.families import Family
from statcv.numeric.threads import product

MAX_CONDITION = 1e10  # the largest condition number of a Hessian
MAX_CONDITION_SINGLE = 1e3  # the largest one of a Hessian of single precision


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
    often : numpy.ndarray, shape (m, n)
        How often each fit trains on each record, or its weight beyond the record's own.
    penalty : numpy.ndarray, shape (q,) or (m, q)
        The ridge on the coordinates of the passes, of each fit if they have their own;
        Hessians have that of all records.
    """

    passes: Passes
    scale: Matrix
    reach: float
    often: Matrix
    penalty: Matrix

    def __len__(self) -> int:
        return len(self.often)

    def part(self, chosen: NDArray[Any]) -> FewFits:
        """Return the problem of some of the fits; this one, without a copy, of all."""
        some = np.arange(len(self))[chosen]
        if len(some) == len(self):
            return self
        own = self.penalty if self.penalty.ndim == 1 else self.penalty[some]
        return replace(self, often=self.often[some], penalty=own)

    def batches(self, chosen: NDArray[np.bool_]) -> list[Numbers]:
        """Return some of the fits in one batch, as there are not many."""
        return [np.flatnonzero(chosen)]

    def gradient(self, theta: Matrix) -> Matrix:
        """Return the gradient of each fit's log-likelihood, minus the penalty's."""
        passes, fits, there = self.passes, len(self), theta / self.scale
        beta, width = passes.coefficients(there), passes.family.width

        def sums(rows: slice) -> Matrix:
            X = passes.X[rows]
            by_fit = (beta @ X.T).reshape(fits, width, len(X))
            with np.errstate(over="ignore", invalid="ignore"):
                passes.family.pull(by_fit, rows)
            if passes.weights is not None:
                by_fit *= passes.weights[rows]
            by_fit *= self.often[:, None, rows]
            return product(by_fit.reshape(-1, len(X)), X)

        pulled = passes.gathered(passes.summed(fits, sums)) - there * self.penalty
        return np.asarray(pulled / self.scale)

    @property
    def family(self) -> Family:
        """The log-likelihood."""
        return self.passes.family

    @property
    def bounded(self) -> bool:
        """Whether there is an optimum, by a ridge on all columns but one at most."""
        ridge = self.passes.ridge
        return bool(np.count_nonzero(ridge) >= len(ridge) - 1)

    def seems_moderate(self, theta: Matrix) -> NDArray[np.bool_]:
        """Return whether fits are bounded; the records of others are examined."""
        return np.full(len(theta), self.bounded)

    def spread(self, theta: Matrix) -> Matrix:
        """Return the largest spread of linear predictors of each fit, (fits,)."""
        return self.passes.spread(theta / self.scale)

    def steepness(self, theta: Matrix) -> tuple[Matrix, Matrix]:
        """Return the total weight, and a bound on x H⁻¹ x, of each fit, (fits,)."""
        passes = self.passes
        total = len(passes.X) if passes.weights is None else passes.weights.sum()
        # x H⁻¹ x is at most the squared length of x times the largest eigenvalue of H⁻¹
        norm = self.own_hessian(theta)[1].norm
        return np.full(len(self), float(total)), norm * self.reach**2

    def mean_hessian(self, theta: Matrix) -> Triangle | None:
        """Return the inverse of the mean Hessian at coordinates of all fits, (1, q)."""
        # fits lose about the same share of the information
        return self._inverse(theta, np.full(self.often.shape[1], self.often.mean()))

    def own_hessian(self, theta: Matrix) -> tuple[Matrix, Triangles]:
        """Return the gradient and the inverse Hessian of each fit at theta, (m, q)."""
        fits = zip(theta, self.often, strict=True)
        made = (self._inverse(at[None], often) for at, often in fits)
        return self.gradient(theta), Triangles(tuple(made))

    def _inverse(self, theta: Matrix, often: Matrix) -> Triangle | None:
        """Return an inverse Hessian, of single precision if that costs few digits."""
        penalty = np.diag(self.passes.penalty)
        units = np.multiply.outer(self.scale, self.scale)
        for passes in (self.passes.rounded, self.passes):
            hessian = passes.hessian(theta / self.scale, often)
            made = ((hessian + penalty) / units).astype(hessian.dtype)
            if triangle := Triangle.of(made):
                return triangle
        return None

    def rounded(self) -> FewFits:
        """Return the problem with sums of single precision."""
        return replace(self, passes=self.passes.rounded)


@dataclass(frozen=True, eq=False)
class Triangle:
    """The inverse of one Hessian, by its Cholesky factor.

    Attributes
    ----------
    factor : numpy.ndarray, shape (q, q)
        The lower triangle; what is above it is not used.
    """

    factor: Matrix

    @classmethod
    def of(cls, hessian: Matrix) -> Triangle | None:
        """Decompose a Hessian; None if that would cost many digits."""
        from scipy.linalg import LinAlgError, cho_factor

        try:
            factor, _ = cho_factor(hessian, lower=True, check_finite=False)
        except LinAlgError:
            return None
        # the ratio of the diagonal to a squared pivot is at most the condition number
        pivot, most = factor.diagonal().min(initial=1.0) ** 2, hessian.diagonal().max()
        single = factor.dtype == np.float32
        limit = MAX_CONDITION_SINGLE if single else MAX_CONDITION
        return cls(factor) if pivot * limit > most else None

    def times(self, vectors: Matrix) -> Matrix:
        """Multiply vectors, shape (m, q), by the inverse."""
        from scipy.linalg import cho_solve

        right = vectors.T.astype(self.factor.dtype)
        solved = cho_solve((self.factor, True), right, check_finite=False)
        return np.asarray(solved.T, dtype=float)

    def part(self, chosen: NDArray[Any]) -> Triangle:
        """Return the same for some of the fits."""
        return self

    @property
    def norm(self) -> float:
        """A bound on the largest eigenvalue of the inverse."""
        half = np.linalg.inv(np.tril(self.factor).astype(float))
        return float(np.linalg.norm(half.T @ half))  # the Frobenius norm


@dataclass(frozen=True, eq=False)
class Triangles:
    """The inverse of the Hessian of each fit; None for one without."""

    each: tuple[Triangle | None, ...]

    def times(self, vectors: Matrix) -> Matrix:
        """Multiply vectors, shape (m, q), each by its inverse; NaN without one."""
        made = np.full_like(vectors, np.nan)
        for fit, one in enumerate(self.each):
            if one is not None:
                made[fit] = one.times(vectors[fit])
        return made

    def part(self, chosen: NDArray[Any]) -> Triangles:
        """Return the inverses of some of the fits."""
        some = np.arange(len(self.each))[chosen]
        return Triangles(tuple(self.each[one] for one in some))

    @property
    def norm(self) -> Matrix:
        """Bounds on the largest eigenvalues of the inverses, one for each fit."""
        return np.array([np.inf if one is None else one.norm for one in self.each])

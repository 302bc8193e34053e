"""Imputation models of one column, in many training sets at once.

A *batch* has one training set, completed once, in each place. The Bayesian draws are
those of Rubin (1987, sections 5.3 and 5.4) and van Buuren (2018, algorithms 3.1 to
3.5): normal regression, predictive mean matching (of type 1, with 5 donors), and
logistic or multinomial regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix

Numbers = NDArray[np.intp]

DONORS = 5  # records among which predictive mean matching draws
RIDGE = 1e-5  # share that is added to the diagonal of sums of squares
PRIOR = 0.1  # precision of the coefficients of classes, of standardised columns
FARTHEST = 5.0  # change of a linear predictor in one of Newton's steps
STEPS = 30  # Newton's steps at most
CLOSE = 1e-6  # last step's change of a coefficient


@dataclass(frozen=True, eq=False)
class Equation:
    """A model of a column, with coefficients drawn from their posterior.

    Attributes
    ----------
    drawn : numpy.ndarray, shape (batch, columns, classes - 1 or 1)
    sigma : numpy.ndarray, shape (batch,), or None
        Residual standard deviations, for a number that is drawn.
    sorted : numpy.ndarray, shape (batch, n), or None
        Means of the training records, rising, and then infinite, if values are matched.
    donors : numpy.ndarray, shape (batch, n), or None
        The values of these records.
    present : numpy.ndarray of bool, shape (batch, classes), or None
        Which classes the training records have, if it is a factor.
    """

    drawn: Matrix
    sigma: Matrix | None = None
    sorted: Matrix | None = None
    donors: Matrix | None = None
    present: NDArray[np.bool_] | None = None

    def draw(self, rows: Matrix, batch: Numbers, u: Matrix) -> Matrix:
        """Draw values, standardised if numbers are not matched.

        Parameters
        ----------
        rows : numpy.ndarray, shape (k, q, columns)
        batch : numpy.ndarray of int, shape (k,)
            The place in the batch for each q of the rows.
        u : numpy.ndarray, shape (k, q)
            Uniform random numbers.
        """
        from scipy.special import ndtri

        eta = rows @ self.drawn[batch, : rows.shape[2]]
        if self.present is not None:
            eta = np.concatenate([np.zeros_like(eta[..., :1]), eta], axis=-1)
            eta = np.where(self.present[batch][:, None], eta, -np.inf)
            share = np.exp(eta - eta.max(axis=-1, keepdims=True)).cumsum(axis=-1)
            below = share <= u[..., None] * share[..., -1:]
            return np.asarray(below.sum(axis=-1), dtype=float)
        if self.sigma is not None:
            return np.asarray(eta[..., 0] + self.sigma[batch][:, None] * ndtri(u))
        return self._matched(eta[..., 0], batch, u)

    def _matched(self, mean: Matrix, batch: Numbers, u: Matrix) -> Matrix:
        """Draw among the donors whose means are nearest."""
        assert self.sorted is not None and self.donors is not None
        place = np.broadcast_to(batch[:, None], mean.shape)
        n = self.sorted.shape[1]
        count = np.isfinite(self.sorted).sum(axis=1)[place]
        low, high = np.zeros(mean.shape, dtype=np.intp), count.copy()
        for _ in range(n.bit_length()):  # bisection, of all records at once
            middle = (low + high) // 2
            open_ = low < high
            less = self.sorted[place, np.minimum(middle, n - 1)] < mean
            low = np.where(open_ & less, middle + 1, low)
            high = np.where(open_ & ~less, middle, high)
        first = np.clip(low - DONORS, 0, np.maximum(count - 2 * DONORS, 0))
        near = np.minimum(first[..., None] + np.arange(2 * DONORS), n - 1)
        away = np.abs(self.sorted[place[..., None], near] - mean[..., None])
        which = (u * np.minimum(DONORS, count)).astype(np.intp)
        chosen = np.take_along_axis(
            near, np.argsort(away, axis=-1, kind="stable"), axis=-1
        )
        picked = np.take_along_axis(chosen, which[..., None], axis=-1)[..., 0]
        return np.asarray(self.donors[place, picked])


def _correlated(precision: Matrix, z: Matrix) -> Matrix:
    """Return draws of the given precision from standard normal ones, (batch, p)."""
    upper = np.linalg.cholesky(precision).swapaxes(1, 2)
    return np.asarray(np.linalg.solve(upper, z[..., None])[..., 0])


def _spread(beta: Matrix, use: NDArray[np.bool_]) -> Matrix:
    """Return coefficients of the used columns among those of all, (batch, d, k)."""
    made = np.zeros((len(beta), len(use), beta.shape[2]))
    made[:, use] = beta
    return made


def numeric_equation(
    D: Matrix,
    target: Matrix,
    weights: Matrix,
    use: NDArray[np.bool_],
    z: Matrix,
    u: Matrix,
    matched: Matrix | None,
) -> Equation:
    """Fit a column by least squares, and draw its coefficients.

    Parameters
    ----------
    D : numpy.ndarray, shape (batch, n, d)
    target, weights : numpy.ndarray, shape (batch, n)
    use : numpy.ndarray of bool, shape (d,)
        The columns on which it is regressed.
    z, u : numpy.ndarray, shapes (batch, p) and (batch, n + 1)
        Standard normal and uniform random numbers.
    matched : numpy.ndarray, shape (batch, n), or None
        Values of the records, if values are matched.
    """
    from scipy.special import gammaincinv

    weighted = (D * weights[..., None]).swapaxes(1, 2)
    A, b = (weighted @ D)[:, use][:, :, use], (weighted @ target[..., None])[:, use]
    diagonal = np.einsum("bii->bi", A)
    diagonal += np.where(diagonal > 0, RIDGE * diagonal, 1.0)
    beta = np.linalg.solve(A, b)
    mean = (D @ _spread(np.asarray(beta), use))[..., 0]
    squares = (weights * (target - mean) ** 2).sum(axis=1)
    free = np.maximum(weights.sum(axis=1) - use.sum(), 1.0)
    sigma = np.sqrt(squares / (2 * gammaincinv(free / 2, u[:, 0])))
    drawn = _spread(beta + sigma[:, None, None] * _correlated(A, z)[..., None], use)
    if matched is None:
        return Equation(drawn, sigma)
    mean = np.where(weights > 0, mean + 1e-9 * u[:, 1:], np.inf)  # ties at random
    order = np.argsort(mean, axis=1)
    means, donors = (np.take_along_axis(one, order, axis=1) for one in (mean, matched))
    return Equation(drawn, sorted=means, donors=donors)


def class_equation(
    D: Matrix,
    codes: Matrix,
    levels: int,
    weights: Matrix,
    use: NDArray[np.bool_],
    z: Matrix,
) -> Equation:
    """Fit a logistic or multinomial regression, and draw its coefficients.

    A weak normal prior keeps the coefficients of separated classes finite.
    """
    X, k = D[..., use], levels - 1
    batch, _, p = X.shape
    own = codes[..., None] == np.arange(levels)
    present = (own & (weights > 0)[..., None]).any(axis=1)
    second = (weights[:, :, None] * X**2).sum(axis=1)
    prior = PRIOR * second / weights.sum(axis=1)[:, None]
    prior[:, 0] = 1e-6  # the constant
    prior = np.tile(
        np.where(prior > 0, prior, 1.0), k
    )  # every class but the first has its own
    beta = np.zeros((batch, k * p))
    for _ in range(STEPS):
        eta = X @ beta.reshape(batch, k, p).swapaxes(1, 2)
        top = np.maximum(eta.max(axis=-1, keepdims=True), 0.0)
        share = np.exp(eta - top)
        share /= share.sum(axis=-1, keepdims=True) + np.exp(-top)
        left = weights[..., None] * (own[..., 1:] - share)
        gradient = (left.swapaxes(1, 2) @ X).reshape(batch, -1) - prior * beta
        hessian = np.empty((batch, k, p, k, p))
        for a in range(k):
            for c in range(a, k):
                w = weights * share[..., a] * ((a == c) - share[..., c])
                made = (X * w[..., None]).swapaxes(1, 2) @ X
                hessian[:, a, :, c] = hessian[:, c, :, a] = made
        flat = hessian.reshape(batch, k * p, k * p)
        np.einsum("bii->bi", flat)[:] += prior
        step = np.linalg.solve(flat, gradient[..., None])[..., 0]
        change = np.abs(X @ step.reshape(batch, k, p).swapaxes(1, 2)).max(axis=(1, 2))
        beta += step * np.minimum(1.0, FARTHEST / np.maximum(change, 1e-12))[:, None]
        if np.abs(step).max() < CLOSE:
            break
    drawn = (beta + _correlated(flat, z)).reshape(batch, k, p).swapaxes(1, 2)
    return Equation(_spread(drawn, use), present=present)

"""Ridge fits of more columns than records, in the space that the records span.

The coefficients of a ridge fit are a sum of multiples of the records (Hastie &
Tibshirani 2004), so that a rotation of the records loses nothing: n records have at
most n coordinates in an orthonormal basis of the rows, and a ridge on the coefficients
of these is the ridge on the original ones. The rotation is that of all records, and
serves all folds, outcomes and strengths of the penalty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import Matrix, Model, TrainingSet
from statcv.models.batched.blocks import CELLS, Penalties
from statcv.models.batched.downdate import inverted
from statcv.models.batched.fits import FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.predictions import LearntCoefficients
from statcv.models.families import width_of
from statcv.models.linear_fits import LinearFits
from statcv.numeric.newton import Optimum

WIDE = 4  # columns that are decomposed at once, in units of the records


@dataclass(frozen=True, eq=False)
class RowSpace:
    """All records in an orthonormal basis of their rows, the intercept apart.

    Attributes
    ----------
    records : TrainingSet
        The records as given.
    rows : numpy.ndarray, shape (n, rank)
        The rotated records, without intercept; the first ``rank`` of ``order`` make a
        lower triangle.
    order : numpy.ndarray of int, shape (n,)
    scale : numpy.ndarray, shape (p,), or None
        What divides the columns first, so that their penalties are alike.
    """

    records: TrainingSet
    rows: Matrix
    order: NDArray[np.intp]
    scale: Matrix | None = None

    @cached_property
    def rotated(self) -> TrainingSet:
        """The records with the rotated rows for a matrix."""
        given, rank = self.records, self.rows.shape[1]
        names = tuple(f"direction {j + 1}" for j in range(rank))
        if given.intercept is None:
            return replace(given, X=self.rows, names=names)
        X = np.empty((len(self.rows), rank + 1))
        X[:, 0], X[:, 1:] = 1.0, self.rows
        return replace(given, X=X, names=("Intercept", *names), intercept=0)

    def rotated_ridge(self, ridge: Matrix) -> Matrix:
        """Return the strength of the penalty on each column of the rotated rows."""
        made = np.full(self.rotated.X.shape[1], ridge.max())
        if self.rotated.intercept is not None:
            made[0] = 0.0
        return made

    def original(self, solved: Optimum) -> Optimum:
        """Return the optimum for the rotated rows as that for the records as given."""
        X, place = self.records.X, self.records.intercept
        first = 0 if place is None else 1
        multiples = self.multiples(solved.beta[first:].T)
        beta = (multiples @ X[self.order[: self.rows.shape[1]]]).T
        if self.scale is not None:
            # one division for the scaled records that are summed, one for the units of
            # the result
            square = self.scale**2
            beta = beta / (square if beta.ndim == 1 else square[:, None])
        if place is not None:
            beta[place] = solved.beta[0]
        return replace(solved, beta=beta)

    def turned(self, beta: Matrix) -> Matrix:
        """Return coefficients of the rotated rows, (fits, m), of those in their span.

        Parameters
        ----------
        beta : numpy.ndarray, shape (fits, p) or (fits, p, classes)
            If there are classes, the result has them as well.
        """
        place, some = self.records.intercept, self.order[: self.rows.shape[1]]
        flat = beta.swapaxes(1, -1).reshape(-1, beta.shape[1])
        eta = flat @ self.records.X[some].T
        if place is not None:
            eta -= flat[:, [place]]
        # as many independent records as directions determine coefficients
        theta: Any = np.linalg.solve(self.rows[some], eta.T).T
        if place is not None:
            theta = np.column_stack([flat[:, place], theta])
        if beta.ndim > 2:
            theta = theta.reshape(len(beta), beta.shape[2], -1).swapaxes(1, 2)
        return np.asarray(theta)

    def multiples(self, theta: Matrix) -> Matrix:
        """Return the multiples of the records that make coefficients, (…, rank).

        They are multiples of the first ``rank`` records of ``order``.

        Parameters
        ----------
        theta : numpy.ndarray, shape (…, rank)
            Coefficients of the rotated rows.
        """
        rank = self.rows.shape[1]
        triangle = self.rows[self.order[:rank]]
        flat = theta.reshape(-1, rank)
        return np.asarray(np.linalg.solve(triangle.T, flat.T).T.reshape(theta.shape))

    def back(
        self, fitted: FittedFolds, folds: Folds, names: tuple[str, ...]
    ) -> FittedFolds:
        """Return the fits to the rotated records as those to the records as given.

        Parameters
        ----------
        fitted : FittedFolds
        folds : Folds
        names : tuple of str
            The coefficients, class by class if there are several.
        """
        assert fitted.linear is not None
        turned = self.rotated.X
        made = Expanded(self, fitted.linear.coefficients, folds)
        linear = replace(fitted.linear, rows=turned)
        at = None  # it would take rotated rows
        return replace(fitted, coefficients=made, names=names, linear=linear, at=at)


@dataclass(frozen=True, eq=False)
class Expanded:
    """Coefficients of many columns, which are computed from few numbers when read.

    ``numpy.asarray`` returns them as an array.

    Attributes
    ----------
    space : RowSpace
    theta : numpy.ndarray, shape (fits, m) or (fits, m, classes)
        Coefficients of the rotated rows.
    folds : Folds
    """

    space: RowSpace
    theta: Matrix
    folds: Folds

    @property
    def shape(self) -> tuple[int, int]:
        """The number of fits, and of coefficients."""
        classes = self.theta.shape[2] if self.theta.ndim > 2 else 1
        return len(self), classes * self.space.records.X.shape[1]

    def __len__(self) -> int:
        return len(self.theta)

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (np.asarray(self),)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Compute the coefficients, shape (fits, m)."""
        space, given = self.space, self.space.records
        rank, fits = space.rows.shape[1], len(self)
        first = 0 if given.intercept is None else 1
        by_class = self.theta.reshape(fits, first + rank, -1).swapaxes(1, 2)
        multiples = space.multiples(by_class[:, :, first:])
        classes = multiples.shape[1]
        made = multiples.reshape(-1, rank) @ given.X[space.order[:rank]]
        made = made.reshape(fits, classes, -1)
        if given.intercept is not None:
            made[:, :, given.intercept] = by_class[:, :, 0]
        learnt = LearntCoefficients(made.reshape(fits, -1), given.X, self.folds)
        return np.asarray(learnt, dtype=dtype)


def row_space(records: TrainingSet, ridge: Matrix) -> RowSpace | None:
    """Return the space of the rows, if that makes ridge fits smaller.

    Parameters
    ----------
    records : TrainingSet
        All records, of which outcomes and weights are ignored.
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.

    Returns
    -------
    RowSpace or None
        None if there are no more columns than records, or a column besides the
        intercept is not penalised.

    Examples
    --------
    >>> X = np.array([[1.0, 3.0, 0.0, 4.0], [1.0, 0.0, 0.0, 2.0]])
    >>> names = ("one", "a", "b", "c")
    >>> y = np.array([0, 1])
    >>> records = TrainingSet(X, y, "binary", 2, names, 0, None, seed=0)
    >>> space = row_space(records, np.array([0.0, 1.0, 1.0, 1.0]))
    >>> space.rows @ space.rows.T
    array([[25.,  8.],
           [ 8.,  4.]])
    """
    X, place = records.X, records.intercept
    n, _p = X.shape
    penalised = ridge if place is None else np.delete(ridge, place)
    if len(penalised) <= n or not n or not spares_the_intercept_only(records, ridge):
        return None
    if penalised.min() < penalised.max():
        # columns over the roots of their strengths have a ridge in common
        scale = np.sqrt(ridge / ridge.max())
        if place is not None:
            scale[place] = 1.0
        rows, order = _rotated(X / scale, place)
        return RowSpace(records, rows, order, scale)
    if "row space" not in records.kept:
        records.kept["row space"] = _rotated(X, place)
    rows, order = records.kept["row space"]
    return RowSpace(records, rows, order)


def spares_the_intercept_only(records: TrainingSet, ridge: Matrix) -> bool:
    """Return whether a ridge is on all columns but the intercept, if there is one."""
    free = [] if records.intercept is None else [records.intercept]
    return np.flatnonzero(~(ridge > 0)).tolist() == free


def _rotated(X: Matrix, place: int | None) -> tuple[Matrix, NDArray[np.intp]]:
    """Rotate the rows by orthogonal decompositions of some columns at a time.

    The last one has pivots, and is as short as the records are independent.
    """
    from scipy.linalg import qr

    n, p = X.shape
    triangle = np.empty((0, n))
    for start in range(0, p, WIDE * n):
        some = X[:, start : start + WIDE * n]
        if place is not None and start <= place < start + some.shape[1]:
            some = np.delete(some, place - start, axis=1)
        # R'R is then XX' over all columns so far, without a product of records
        stacked = np.vstack([triangle, some.T])
        triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
    # pivots end where the rest is rounding
    turned, order = qr(triangle, mode="r", pivoting=True)
    size = np.abs(turned.diagonal())
    rank = np.count_nonzero(size > np.finfo(float).eps * n * size.max(initial=0.0))
    rows = np.empty((n, rank))
    rows[order] = turned[:rank].T
    return rows, order.astype(np.intp)


def in_row_space(
    records: TrainingSet,
    folds: Folds,
    ridge: Matrix,
    names: Callable[[], tuple[str, ...]],
    fit: Callable[[TrainingSet], FittedFolds | None],
) -> FittedFolds | None:
    """Fit in the space of the rows where that is smaller; None if it is not.

    Parameters
    ----------
    records : TrainingSet
    folds : Folds
    ridge : numpy.ndarray, shape (p,)
    names : callable
        Function that returns the names of the coefficients.
    fit : callable
        Function that fits all folds of the rotated records.
    """
    space = row_space(records, ridge)
    fitted = None if space is None else fit(space.rotated)
    if space is None or fitted is None:
        return None
    return space.back(fitted, folds, names())


def with_smaller(
    fitted: FittedFolds, records: TrainingSet, ridge: Matrix
) -> FittedFolds:
    """Add linear fits in the space of the rows to those of more columns than records.

    Parameters
    ----------
    fitted : FittedFolds
    records : TrainingSet
    ridge : numpy.ndarray, shape (p,)
        Strength of a penalty on each column, the coefficients of whose fits are in the
        span; it is that of these fits, or they have none.
    """
    n, p = records.X.shape
    if fitted.linear is None or p - (records.intercept is not None) <= n:
        return fitted
    smaller = partial(_in_row_space, records, fitted.linear, ridge)
    return replace(fitted, linear=replace(fitted.linear, smaller=smaller))


def _in_row_space(
    records: TrainingSet, linear: LinearFits, ridge: Matrix
) -> LinearFits:
    space = row_space(records, ridge)
    assert space is not None
    theta = space.turned(linear.coefficients)
    penalty = space.rotated_ridge(ridge) * bool(linear.penalty.any())
    return LinearFits(
        theta, np.broadcast_to(penalty, theta.shape[:2]), rows=space.rotated.X
    )


# ---- ridges of each fit's own ----


def fit_own_ridges(
    model: Model,
    records: TrainingSet,
    folds: Folds,
    own: Matrix,
    fit: Callable[[TrainingSet, Folds, Matrix, Penalties], FoldFits],
) -> FoldFits | None:
    """Fit ridges of each fit's own on more columns than records; None if they are few.

    Among all coefficients of the columns with the same linear predictors, the ridge
    prefers those that are multiples of the records over its strengths. It is then a
    penalty on the coefficients of the rotated records, which all fits have in common:
    θ'(QΛ⁻¹Q')⁻¹θ for rotated records that times Q are the records.

    Parameters
    ----------
    model : Model
        The model, which makes fits that are in doubt by themselves.
    records : TrainingSet
    folds : Folds
    own : numpy.ndarray, shape (fits, p)
        Strength of the ridge on each column in each fit.
    fit : callable
        Function of records, folds, about their ridge, and penalties, that leaves fits
        in doubt.
    """
    ridge, place = own.mean(axis=0), records.intercept
    space = row_space(records, ridge)
    if space is None:
        return None
    some, scale = space.order[: space.rows.shape[1]], space.scale
    X = records.X[some] if scale is None else records.X[some] / scale
    # the rotated records are a triangle; Q has the directions in the columns
    Q = np.linalg.solve(space.rows[some], X)
    first, p = (0 if place is None else 1), records.X.shape[1]
    if place is not None:
        Q[:, place] = 0.0
    fits = FoldFits.empty(len(folds), width_of(records) * p)
    known = (np.delete(own, place, axis=1) if place is not None else own) > 0
    able = np.flatnonzero(known.all(axis=1))
    inverse = np.divide(1.0, own, where=own > 0, out=np.zeros_like(own))
    if scale is not None:
        inverse *= scale**2
    size = first + len(some)
    most = max(1, CELLS // max(size**2, p))
    for start in range(0, len(able), most):
        part = able[start : start + most]
        within = inverted(np.matmul(Q * inverse[part][:, None], Q.T))
        penalties = np.zeros((len(part), size, size))
        penalties[:, first:, first:] = within
        about = np.einsum("mqq->q", penalties) / len(part)
        chosen = folds.chosen(part)
        made = fit(space.rotated, chosen, about, penalties.__getitem__)
        theta = made.coefficients.reshape(len(part), -1, size)
        beta = np.matmul(np.matmul(theta[:, :, first:], within), Q)
        beta *= inverse[part][:, None]
        if scale is not None:
            beta /= scale
        if place is not None:
            beta[:, :, place] = theta[:, :, 0]
        fits.coefficients[part] = beta.reshape(len(part), -1)
        fits.converged[part] = made.converged
    return fits.refit(model, records, folds)

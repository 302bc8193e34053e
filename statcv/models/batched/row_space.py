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
from functools import cache, cached_property, partial

import numpy as np

from statcv.models.base import Model, TrainingSet
from statcv.models.batched.blocks import CELLS, Penalties, pieces
from statcv.models.batched.downdate import inverted
from statcv.models.batched.fits import Computed, FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.predictions import learnt_coefficients
from statcv.models.families import width_of
from statcv.models.linear_fits import LinearFits
from statcv.numeric.arrays import Floats
from statcv.numeric.newton import Optimum

# the reciprocal condition of a Gram matrix from which its root keeps 11 digits
WELL_CONDITIONED = 1e-5


@dataclass(frozen=True, eq=False)
class RowSpace:
    """All records in an orthonormal basis of their rows, the intercept apart.

    Attributes
    ----------
    records : TrainingSet
        The records as given.
    rows : numpy.ndarray, shape (n, rank)
        The rotated records, without intercept.
    along : callable
        Function that returns the basis.
    scale : numpy.ndarray, shape (p,), or None
        What divides the columns first, so that their penalties are alike.
    """

    records: TrainingSet
    rows: Floats
    along: Callable[[], Floats]
    scale: Floats | None = None

    @cached_property
    def basis(self) -> Floats:
        """Orthonormal directions in the columns, 0 for the intercept, (p, rank).

        The rotated records times these are the records. Predictions do not need them.
        """
        return self.along()

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

    def rotated_ridge(self, ridge: Floats) -> Floats:
        """Return the strength of the penalty on each column of the rotated rows."""
        made = np.full(self.rotated.X.shape[1], ridge.max())
        if self.rotated.intercept is not None:
            made[0] = 0.0
        return made

    def original(self, solved: Optimum) -> Optimum:
        """Return the optimum for the rotated rows as that for the records as given."""
        beta = self.expanded(solved.beta[None, :].reshape(1, len(solved.beta), -1))
        made = beta[0, 0] if solved.beta.ndim == 1 else beta[0].T
        return replace(solved, beta=made)

    def expanded(self, theta: Floats) -> Floats:
        """Return coefficients of the records as given, shape (fits, classes, p).

        Parameters
        ----------
        theta : numpy.ndarray, shape (fits, m, classes)
            Coefficients of the rotated rows.
        """
        by_class, place = theta.swapaxes(1, 2), self.records.intercept
        made = by_class[:, :, 0 if place is None else 1 :] @ self.basis.T
        if self.scale is not None:
            made /= self.scale
        if place is not None:
            made[:, :, place] = by_class[:, :, 0]
        return np.asarray(made)

    def learnt(self, theta: Floats, folds: Folds) -> Floats:
        """Return coefficients of the records as given, (fits, classes × p)."""
        made = self.expanded(theta.reshape(*theta.shape[:2], -1))
        flat = made.reshape(len(theta), -1)
        return learnt_coefficients(flat, self.records.X, folds)

    def turned(self, beta: Floats) -> Floats:
        """Return coefficients of the rotated rows, (fits, m), of those in their span.

        Parameters
        ----------
        beta : numpy.ndarray, shape (fits, p) or (fits, p, classes)
            If there are classes, the result has them as well.
        """
        place, flat = self.records.intercept, beta.swapaxes(1, -1)
        theta = (flat if self.scale is None else flat * self.scale) @ self.basis
        if place is not None:
            theta = np.concatenate([flat[..., [place]], theta], axis=-1)
        return np.asarray(theta.swapaxes(1, -1))

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
        theta = fitted.linear.coefficients
        made = Computed(len(theta), partial(self.learnt, theta, folds))
        linear = replace(fitted.linear, rows=turned)
        at = None  # it would take rotated rows
        return replace(fitted, coefficients=made, names=names, linear=linear, at=at)


def row_space(records: TrainingSet, ridge: Floats) -> RowSpace | None:
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
        return RowSpace(records, *_rotated(X / scale, place), scale)
    if "row space" not in records.kept:
        records.kept["row space"] = _rotated(X, place)
    return RowSpace(records, *records.kept["row space"])


def spares_the_intercept_only(records: TrainingSet, ridge: Floats) -> bool:
    """Return whether a ridge is on all columns but the intercept, if there is one."""
    free = [] if records.intercept is None else [records.intercept]
    return np.flatnonzero(~(ridge > 0)).tolist() == free


def _rotated(X: Floats, place: int | None) -> tuple[Floats, Callable[[], Floats]]:
    """Return the rotated rows, and what makes the basis, by a decomposition.

    That of the Gram matrix takes a third of the time, but loses digits if records
    nearly depend on each other. If they do, a second one has pivots, and is as short as
    they are independent.
    """
    from scipy.linalg import lapack, qr, solve_triangular

    given = X.copy()
    if place is not None:
        given[:, place] = 0.0
    gram = given @ given.T
    upper, dependent = lapack.dpotrf(gram)
    condition = lapack.dpocon(upper, np.abs(gram).sum(axis=0).max(initial=0.0))[0]
    if not dependent and condition > WELL_CONDITIONED:

        @cache
        def basis() -> Floats:
            turned = solve_triangular(upper, given, trans="T", check_finite=False)
            return np.asarray(turned.T)

        return np.ascontiguousarray(upper.T), basis
    # R'R is then XX', without a product of records
    Q, R = np.linalg.qr(given.T)
    turn, turned, order = qr(R, pivoting=True)
    size = np.abs(turned.diagonal())
    # pivots end where the rest is rounding
    least = np.finfo(float).eps * len(X) * size.max(initial=0.0)
    rank = np.count_nonzero(size > least)
    rows = np.empty((len(X), rank))
    rows[order] = turned[:rank].T
    return rows, cache(lambda: Q @ turn[:, :rank])


def in_row_space(
    records: TrainingSet,
    folds: Folds,
    ridge: Floats,
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
    fitted: FittedFolds, records: TrainingSet, ridge: Floats
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
    records: TrainingSet, linear: LinearFits, ridge: Floats
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
    own: Floats,
    fit: Callable[[TrainingSet, Folds, Floats, Penalties], FoldFits],
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
    scale, Q = space.scale, space.basis.T
    first, p = (0 if place is None else 1), records.X.shape[1]
    fits = FoldFits.empty(len(folds), width_of(records) * p)
    known = (np.delete(own, place, axis=1) if place is not None else own) > 0
    able = np.flatnonzero(known.all(axis=1))
    inverse = np.divide(1.0, own, where=own > 0, out=np.zeros_like(own))
    if scale is not None:
        inverse *= scale**2
    size = first + len(Q)
    most = max(1, CELLS // max(size**2, p))
    for part in pieces(able, most):
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

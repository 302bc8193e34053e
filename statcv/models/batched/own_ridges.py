"""Ridges of each fit's own on more columns than records, in one space of the rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from statcv.models.base import Matrix, Model, TrainingSet
from statcv.models.batched.blocks import CELLS, Penalties
from statcv.models.batched.downdate import inverted
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.row_space import row_space
from statcv.models.families import width_of


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

"""Fits of two or more classes in folds that are near the fit to all records.

In coordinates where the Hessian of the fit to all records is the identity, that of a
fold is the identity minus the records that it leaves out. Steps by this fixed matrix,
with the exact gradient of each fold, take two matrix products for all folds of a block.
Folds that do not converge get their own Hessian, and finally a fit of their own, which
also judges separation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from statcv.models.base import RidgeModel, TrainingSet
from statcv.models.batched.blocks import Block, Penalties
from statcv.models.batched.centre import Centre, find_centre
from statcv.models.batched.fits import FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.large_folds import fit_large_folds
from statcv.models.batched.quasi_newton import ACCURACY, Until, settle
from statcv.models.batched.separate import refit
from statcv.models.batched.series import Series, settle_by_series
from statcv.models.families import free_classes, width_of
from statcv.models.spread import diagonal
from statcv.numeric.arrays import Bools, Floats

MAX_RECORDS_OF_MEANS = 256  # records by which the means of columns are judged
FAR = 10  # times the range of a column that its mean is from 0 at least if it is far


def fit_class_folds(
    model: RidgeModel, records: TrainingSet, folds: Folds, own: Floats | None = None
) -> FoldFits:
    """Fit two or more classes in every fold, as :class:`~statcv.models.Logit` would.

    Parameters
    ----------
    model : Logit
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds
    own : numpy.ndarray, shape (fits, p), optional
        Strength of the ridge on each column in each fit, if fits have their own.

    Returns
    -------
    FoldFits
        Coefficients of the free classes, class by class.

    Examples
    --------
    >>> from statcv.models import Logit
    >>> X = np.column_stack([np.ones(6), [0.0, 1, 2, 3, 4, 5]])
    >>> y = np.array([0, 1, 0, 0, 1, 1])
    >>> records = TrainingSet(X, y, "binary", 2, ("one", "x"), 0, None, seed=0)
    >>> fits = fit_class_folds(Logit(C=1.0), records, Folds.leaving_out([[0], [5]]))
    >>> fits.coefficients.round(3)
    array([[-0.475,  0.299],
           [-1.022,  0.299]])
    """
    if own is not None:
        fits = sure_fits(records, folds, model.ridge(records), own=own)
        return fits.refit(model, records, folds)
    return refit(sure_fits(records, folds, model.ridge(records)), model, records, folds)


def sure_fits(
    records: TrainingSet,
    folds: Folds,
    ridge: Floats,
    penalties: Penalties | None = None,
    own: Floats | None = None,
) -> FoldFits:
    """Return the fits that are beyond doubt; the others have not converged.

    Parameters
    ----------
    records, folds
        As in :func:`fit_class_folds`.
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.
    penalties : callable, optional
        Function of the numbers of m fits that returns the matrix of the ridge of each,
        shape (m, p, p), if fits have their own; these are about the same as ``ridge``.
    own : numpy.ndarray, shape (fits, p), optional
        Strengths of the ridge of each fit on each column, in place of matrices.
    """
    free = free_classes(ridge, width_of(records))
    given, shift = records, _far_means(records)
    if penalties is None and shift.any():  # large means cost digits of the Hessian
        records = replace(records, X=records.X - shift)
    fits = FoldFits.empty(len(folds), len(free) * records.X.shape[1])
    made = None
    # a column that is 0 in all training rows has no estimate, and 0 leaves it out; a
    # penalty that ties it to other columns determines it
    tied = penalties is not None
    if own is not None:
        penalties = partial(diagonal, own)
    if not tied:
        made = fit_large_folds(records, folds, ridge, own)
    if made is not None:
        fits.coefficients[:] = made[0][:, free].reshape(len(folds), -1)
        fits.converged[:] = made[1]
    centre = None if made is not None else find_centre(records, ridge)
    if centre is not None:
        n, columns = centre.X.shape
        series = Series.around(centre, folds)
        each = n * centre.family.width if series is None else len(series.cubic)
        for block in folds.blocks(n, columns, each=each):
            theta, sure = _fit_block(centre, series, block, penalties)
            beta = centre.beta(theta)[:, free]
            fits.coefficients[block.fits] = beta.reshape(len(block), -1)
            fits.converged[block.fits] = sure
    if records is not given:
        beta = fits.coefficients.reshape(len(folds), len(free), -1)
        # the intercept is that of columns as they are given
        beta[:, :, records.intercept] -= beta @ shift
    empty = None if tied else folds.empty_columns(given.X, given.weights)
    if empty is not None:
        fits.coefficients[np.tile(empty, len(free))] = 0.0
    return fits


def _far_means(records: TrainingSet) -> Floats:
    """Return the means of columns, by some of the records, that are far from 0.

    It is 0 for other columns; and for all, without an intercept that makes up for it.
    """
    some = records.X[:MAX_RECORDS_OF_MEANS]
    mean, spread = some.mean(axis=0), np.ptp(some, axis=0)
    if records.intercept is None or records.offsets:
        return np.zeros_like(mean)
    varies = spread > 1e-9 * np.abs(mean)
    return np.where(varies & (np.abs(mean) > FAR * spread), mean, 0.0)


def _fit_block(
    centre: Centre, series: Series | None, block: Block, penalties: Penalties | None
) -> tuple[Floats, Bools]:
    """Return the coordinates of each fit, and whether they are beyond doubt."""
    problem = centre.problem(block, penalties)
    until = Until(ACCURACY * centre.scale / centre.reach, centre.noise)
    if block.few(centre.X.shape[1]):
        inverse = centre.few_hessian(block)
        if series is not None:
            return settle_by_series(series, problem, until, inverse)
        theta, gradient = centre.start(problem)
        return settle(problem, theta, until, gradient, inverse)
    theta, sure = np.empty((len(block), len(centre.theta))), np.zeros(len(block), bool)
    for some, part in problem.batches(~sure):
        at, gradient = centre.start(part)
        variances = centre.variances.repeat(len(part), axis=1)
        made = settle(part, at, until, gradient, part.inverse_hessian(variances))
        theta[some], sure[some] = made
    return theta, sure

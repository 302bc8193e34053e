"""Linear regression by least squares, of one training set and of all folds together.

In terms of the orthogonal factor Q of all records, a fold's Gram matrix is the identity
minus the rows that it leaves out, and their residuals give the change of its
coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from statcv.arguments import check_types
from statcv.errors import ModelError
from statcv.models import base
from statcv.models.base import Capabilities, Model, PlainFit, TrainingSet
from statcv.models.batched.centre import Centre
from statcv.models.batched.downdate import Downdate, Whole, by_counts, by_lists
from statcv.models.batched.fits import FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.large_folds import are_few_and_large, fit_few
from statcv.models.batched.own_matrices import GROWTH, Regression, fit_own_folds
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.batched.row_space import with_smaller
from statcv.models.families import Numeric
from statcv.models.likelihood import Gaussian
from statcv.models.linear_fits import LinearFits
from statcv.models.offsets import WHOLE, alone, fit_folds_beside, fixed
from statcv.numeric.arrays import Floats
from statcv.numeric.gram import column_units
from statcv.numeric.inverses import solve_well
from statcv.numeric.threads import shared
from statcv.tables import Constructed

CONDITION = 1e6  # the largest condition number of the matrix of all records


def fit_linear_folds(model: Model, records: TrainingSet, folds: Folds) -> FoldFits:
    """Fit every fold, as :class:`~statcv.models.Linear` would.

    Parameters
    ----------
    model : Linear
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds

    Returns
    -------
    FoldFits

    Examples
    --------
    >>> from statcv.models import Linear
    >>> X = np.column_stack([np.ones(4), [0.0, 1, 2, 4]])
    >>> y = np.array([1.0, 2, 3, 9])
    >>> records = TrainingSet(X, y, "continuous", 0, ("one", "x"), 0, None, seed=0)
    >>> fit_linear_folds(Linear(), records, Folds.leaving_out([[3]])).coefficients
    array([[1., 1.]])
    """
    return sure_linear_fits(records, folds).refit(model, records, folds)


def sure_linear_fits(records: TrainingSet, folds: Folds) -> FoldFits:
    """Return the fits that are beyond doubt; the others have not converged."""
    base.refuse_missing(records, "linear regression")
    (n, p), fits = records.X.shape, FoldFits.empty(len(folds), records.X.shape[1])
    if _are_wide(folds, n, p):

        def fit(number: int) -> Floats:
            return _least_squares(folds.training_set(records, number))

        fits.coefficients[:] = shared(fit, range(len(folds)), 2.0 * n * n * p)
        fits.converged[:] = True
        return fits
    if are_few_and_large(folds, records.X.shape):
        # what is negligible is stated for outcomes of size 1
        size = float(np.abs(records.y).max(initial=0.0)) or 1.0
        made = fit_few(records, Numeric(records.y / size), folds, np.zeros(p))
        if made is not None:
            fits.coefficients[:], fits.converged[:] = made[0][:, 0] * size, made[1]
            return fits
    weights = records.each_weight
    live = np.flatnonzero((records.X[weights > 0] != 0).any(axis=0))
    root = np.sqrt(weights)
    found = _orthonormal(records.X[:, live] * root[:, None])
    if found is not None:
        (Q, R, unit), y = found, records.y * root
        # in the coordinates of Q the Gram matrix of all records is the identity
        theta = y @ Q
        residuals = y - theta @ Q.T
        n, p = Q.shape
        for block in folds.blocks(n, p):
            own = slice(None) if block.outcome is None else block.outcome
            gradient = block.sums(residuals[own], Q)
            many = block.counts is not None
            inverse: Downdate | Whole = (
                by_counts(Q, block) if many else by_lists(Q, block)
            )
            with np.errstate(invalid="ignore"):
                # one step is exact, since the Hessian is the same everywhere
                moved = theta[own] + inverse.times(gradient)
            # an inverse that is so large has lost the digits of the fold's information
            sure = inverse.norm <= GROWTH
            beta = np.linalg.solve(R, moved[sure].T).T / unit
            fits.coefficients[np.ix_(block.fits[sure], live)] = beta
            fits.converged[block.fits] = sure
    return fits


def _are_wide(folds: Folds, n: int, p: int) -> bool:
    """Return whether all training sets have fewer records than columns."""
    return folds.largest(n) < p


def _orthonormal(X: Floats) -> tuple[Floats, Floats, Floats] | None:
    """Return Q, R and units of the columns, with Q R unit = X; None if dependent."""
    unit = column_units(X)
    if not 0 < X.shape[1] <= len(X):
        return None
    Q, R = np.linalg.qr(X / unit)
    return (Q, R, unit) if np.linalg.cond(R) <= CONDITION else None


# ---- the training mean of every fold, by counting ----


def fold_means(records: TrainingSet, folds: Folds) -> Floats:
    """Return the mean outcome, or the class shares, of every training set.

    This is the prediction of :class:`~statcv.models.Mean` in the fold. Counts are
    integers, whose sums are exact, so that equal shares stay equal.

    Parameters
    ----------
    records : TrainingSet
        All records; ``y`` may have one row for each of several outcomes, which
        ``folds.outcome`` selects.
    folds : Folds

    Returns
    -------
    numpy.ndarray, shape (fits,), or (fits, classes) for more than two

    Examples
    --------
    >>> y = np.array([0, 1, 1, 1])
    >>> records = TrainingSet(np.ones((4, 1)), y, "binary", 2, ("one",), 0, None, 0)
    >>> fold_means(records, Folds.leaving_out([[0], [3]]))
    array([1.        , 0.66666667])
    """
    n, y = len(records.X), records.y
    weights = records.each_weight
    many = records.kind == "multiclass"
    parts = [y == c for c in range(records.n_classes)] if many else [y]
    means = np.empty((len(folds), len(parts)))
    for block in folds.blocks(n, p=1):
        own = slice(None) if block.outcome is None else block.outcome
        total = block.sums(np.ones(n), weights[:, None])
        for column, part in enumerate(parts):
            summed = block.sums(part[own].astype(float), weights[:, None])
            means[block.fits, column] = (summed / total)[:, 0]
    return means if many else means[:, 0]


# ---- the model ----


@dataclass(frozen=True, repr=False)
class Linear(Constructed):
    """Least squares, as R's ``lm``; for a 0/1 outcome the linear probability model.

    With fewer training records than columns, the coefficients other than the intercept
    are those of least norm, as scikit-learn's ``LinearRegression`` has them. Where
    columns are linearly dependent otherwise, the solution of least norm is taken in
    columns scaled to about the same size.

    Examples
    --------
    >>> Linear().label
    'linear regression'
    """

    label: str = "linear regression"
    capabilities = Capabilities(
        fits_together=True,
        own_matrices=True,
        needs_full_rank=True,
        offsets=True,
        likelihood=Gaussian(),
    )

    def __post_init__(self) -> None:
        check_types(Linear, vars(self), ModelError)

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome of more than two classes."""
        base.refuse_kind("linear regression", kind, ("continuous", "binary"))

    def ridge(self, training: TrainingSet) -> Floats:
        """Return the strength of the penalty: 0, infinite for an offset."""
        return fixed(np.zeros(training.X.shape[1]), training)

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        base.refuse_missing(training, "linear regression")
        if training.offsets:
            return alone(self.fit_folds(training, WHOLE), np.asarray)
        beta = _least_squares(training)
        coefficients = dict(zip(training.names, beta.tolist(), strict=True))
        linear = LinearFits.of_one(beta, np.zeros(len(beta)))
        return PlainFit(
            partial(base.means_at, np.asarray, beta), coefficients, linear=linear
        )

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        if records.offsets:
            return fit_folds_beside(self, records, folds, np.asarray)
        if folds.matrices is not None:
            return fit_own_folds(self, _regression(records), records, folds)
        fits = fit_linear_folds(self, records, folds)
        none = np.zeros(records.X.shape[1])
        fitted = by_linear_predictor(fits, records, folds, np.asarray, none)
        if not _are_wide(folds, *records.X.shape):
            return fitted
        alike = np.ones(records.X.shape[1])  # the least norm is the limit of a ridge
        if records.intercept is not None:
            alike[records.intercept] = 0.0
        return with_smaller(fitted, records, alike)


def _least_squares(training: TrainingSet) -> Floats:
    """Return the coefficients; those of least norm where columns are dependent."""
    X, y = training.X, training.y.astype(float)
    if len(X) < X.shape[1]:
        return _least_norm(training)
    if training.weights is not None:
        root = np.sqrt(training.weights)
        X, y = X * root[:, None], y * root
    unit = column_units(X)
    return np.asarray(np.linalg.lstsq(X / unit, y, rcond=None)[0] / unit)


def _least_norm(training: TrainingSet) -> Floats:
    """Fit fewer records than columns; the intercept has no part in the norm.

    The other coefficients are a sum of multiples of the records, which reproduces
    their outcomes if no record depends on others; it loses few digits in their products
    then (Björck 1996, section 2.2.1).
    """
    used, weights = base.positive_weights(training)
    X, y, place = training.X[used], training.y[used].astype(float), training.intercept
    mean, products = weights / weights.sum(), X @ X.T
    if place is not None:
        # products of the columns besides the intercept, which adds 1 to each
        products -= 1.0
    # the intercept has no part in the norm if the multiples add up to 0, for which the
    # solution for ones is subtracted from that for y
    right = np.column_stack([y, np.ones(len(X))])
    solved, well = solve_well(products[None], right[None])
    if well[0]:
        multiples, by_intercept = solved[0].T
        if place is not None:  # so that the multiples add up to 0
            multiples = multiples - multiples.sum() / by_intercept.sum() * by_intercept
        beta = multiples @ X
    else:
        root = np.sqrt(weights)
        if place is not None:
            centred, lacking = X - mean @ X, y - mean @ y
        else:
            centred, lacking = X, y
        beta = np.linalg.lstsq(centred * root[:, None], lacking * root, rcond=None)[0]
    if place is not None:
        beta[place] = 0.0
        # with an intercept, residuals have a weighted mean of 0
        beta[place] = mean @ (y - X @ beta)
    return np.asarray(beta)


def _regression(records: TrainingSet) -> Regression:
    """Return how folds are fitted that have matrices of their own."""
    return Regression(
        centre=_centre,
        in_basis=lambda basis, folds, *_: sure_linear_fits(basis, folds),
        ridge=np.zeros(records.X.shape[1]),
        mean=np.asarray,
    )


def _centre(records: TrainingSet) -> Centre | None:
    """Fit all records, in coordinates where their Gram matrix is the identity."""
    weights = records.each_weight
    root = np.sqrt(weights)
    found = _orthonormal(records.X * root[:, None])
    if found is None:
        return None
    Q, R, unit = found
    outcomes = np.atleast_2d(records.y).astype(float)
    y = outcomes[0] * root
    back = (np.linalg.inv(R).T / unit)[:, None]
    several = records.y.ndim > 1
    return Centre(
        X=records.X,
        turn=back,
        back=back,
        theta=y @ Q,
        family=Numeric(outcomes[:, None] if several else outcomes[0]),
        weights=weights,
        ridge=None,
        bounded=False,
        scale=float(np.sqrt(y @ y / max(weights.sum(), 1e-300))),
    )

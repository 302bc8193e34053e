"""The fits of all folds of a plan made together, for one outcome or many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from statcv.folds import Ragged
from statcv.models.base import FoldsModel, Matrix, Model, TrainingSet
from statcv.models.batched.folds import FoldFits, Folds, Numbers


def permuted_folds(folds: Folds, times: int, places: Numbers | None = None) -> Folds:
    """Repeat the fits of a plan once for each of several outcomes.

    Parameters
    ----------
    folds : Folds
        The fits of one outcome.
    times : int
        Number of outcomes; the fits of the k-th outcome are the k-th block.
    places : numpy.ndarray of int, shape (times, n), optional
        The record that takes the place of each record of the plan, if folds go with the
        outcome; by default they stay with the records.

    Examples
    --------
    >>> folds = Folds.leaving_out([[0], [1, 2]])
    >>> twice = permuted_folds(folds, 2, np.array([[0, 1, 2], [2, 0, 1]]))
    >>> [twice.out[fit].tolist() for fit in range(4)], twice.outcome
    ([[0], [1, 2], [2], [0, 1]], array([0, 0, 1, 1]))
    """
    each = len(folds)
    again = np.tile(np.arange(each), times)
    lists = [folds.out.chosen(again), folds.copied.chosen(again)]
    weights, seeds = folds.weights, folds.seeds
    if places is not None:
        lists = [_moved(one, places, each) for one in lists]

    def of_fits(fits: Numbers) -> Matrix:
        assert weights is not None
        given = weights(fits % each)
        if places is None:
            return given
        moved = np.empty_like(given)
        np.put_along_axis(moved, places[fits // each], given, axis=1)
        return moved

    return replace(
        folds,
        out=lists[0],
        copied=lists[1],
        weights=None if weights is None else of_fits,
        outcome=np.repeat(np.arange(times), each),
        seeds=None if seeds is None else lambda fits: seeds(fits % each),
    )


def _moved(lists: Ragged, places: Numbers, each: int) -> Ragged:
    rows = places[lists.owners // each, lists.values].astype(np.int32)
    return Ragged(rows, lists.starts).rising()


# ---- models that fit all folds of a plan together, and their fits ----

DENSE = 16  # where 1 in so many pairs of fit and record is wanted, all are computed
ROWS = 2**16  # predicted at once


@dataclass(frozen=True, eq=False)
class FittedFolds:
    """The fits of a plan, all made together.

    Attributes
    ----------
    coefficients : numpy.ndarray, shape (fits, m), or None
        NaN where nothing was learnt, such as for a column without training rows.
    names : tuple of str
        Names of the m coefficients.
    converged, separated : numpy.ndarray of bool, shape (fits,)
    predict : callable
        Function of the numbers of m records, and of the fit that is to predict each,
        that returns predictions, shape (m,) or (m, classes).
    chosen : dict or None
        Hyperparameters that were chosen inside each training set: name to values,
        shape (fits,).
    """

    coefficients: Matrix | None
    names: tuple[str, ...]
    converged: NDArray[np.bool_]
    separated: NDArray[np.bool_]
    predict: Callable[[Numbers, Numbers], Matrix]
    chosen: dict[str, NDArray[Any]] | None = None

    def predict_many(self, rows: Numbers, fits: Numbers) -> Matrix:
        """Predict any number of records, in batches of bounded memory."""
        parts = [
            self.predict(rows[i : i + ROWS], fits[i : i + ROWS])
            for i in range(0, max(len(rows), 1), ROWS)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def fit_all_folds(
    model: Model, records: TrainingSet, folds: Folds
) -> FittedFolds | None:
    """Fit every fold together; None for a model that is fitted fold by fold.

    Parameters
    ----------
    model : Model
    records : TrainingSet
        All records.
    folds : Folds

    Examples
    --------
    >>> from statcv.models import Mean
    >>> y = np.array([0, 1, 1, 1])
    >>> records = TrainingSet(np.ones((4, 1)), y, "binary", 2, ("one",), 0, None, 0)
    >>> fitted = fit_all_folds(Mean(), records, Folds.leaving_out([[0], [3]]))
    >>> fitted.predict(np.array([0, 3]), np.array([0, 1]))
    array([1.        , 0.66666667])
    """
    if not model.capabilities.fits_together:
        return None
    return cast(FoldsModel, model).fit_folds(records, folds)


def by_linear_predictor(
    fits: FoldFits,
    records: TrainingSet,
    folds: Folds,
    mean: Callable[[Matrix], Matrix],
) -> FittedFolds:
    """Predict by a function of the linear predictor.

    Parameters
    ----------
    fits : FoldFits
    records : TrainingSet
    folds : Folds
    mean : callable
        Function from linear predictors to predictions.
    """
    beta, X = fits.coefficients, records.X

    def predict(rows: Numbers, numbers: Numbers) -> Matrix:
        if len(beta) * len(X) <= DENSE * len(rows):
            return mean((beta @ X.T)[numbers, rows])
        return mean(np.einsum("ij,ij->i", X[rows], beta[numbers]))

    learnt = np.where(folds.empty_columns(X, None), np.nan, beta)
    return FittedFolds(learnt, records.names, fits.converged, fits.separated, predict)

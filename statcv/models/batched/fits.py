"""The fits of all folds of a plan, and models that make them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, cast

import numpy as np

from statcv.models.base import Model, PlainFit, TrainingSet
from statcv.models.batched.blocks import CELLS
from statcv.models.batched.folds import FEWEST, ROWS, Folds
from statcv.models.linear_fits import LinearFits
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.numeric.memory import keep_memory
from statcv.numeric.threads import RECORD, shared
from statcv.tables import Printed


class FoldsModel(Model, Protocol):
    """A model with the capability ``fits_together``."""

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of many folds together, or return None."""


@dataclass(frozen=True, eq=False)
class FoldFits:
    """The results of the fits; predictions are functions of ``X @ coefficients``.

    Attributes
    ----------
    coefficients : numpy.ndarray, shape (fits, p)
    converged, separated : numpy.ndarray of bool, shape (fits,)
    refitted : numpy.ndarray of bool, shape (fits,)
        Whether each fit was made by itself, as it did not converge with the others.
    """

    coefficients: Floats
    converged: Bools
    separated: Bools
    refitted: Bools

    @classmethod
    def empty(cls, fits: int, columns: int) -> FoldFits:
        """Allocate arrays for that many fits, not yet made."""
        flags = [np.zeros(fits, dtype=bool) for _ in range(3)]
        return cls(np.zeros((fits, columns)), *flags)

    @classmethod
    def joined(cls, parts: Sequence[FoldFits]) -> FoldFits:
        """Concatenate the fits of several parts."""
        names = [one.name for one in fields(cls)]
        each = [[getattr(part, name) for part in parts] for name in names]
        return cls(*map(np.concatenate, each))

    def refit(self, model: Model, records: TrainingSet, folds: Folds) -> FoldFits:
        """Fit by themselves, in place, those that have not converged."""
        for number in np.flatnonzero(~self.converged).tolist():
            fit = model.fit(folds.training_set(records, number))
            if fit.coefficients is not None:
                self.coefficients[number] = list(fit.coefficients.values())
            self.converged[number] = fit.converged
            self.separated[number] = fit.separated
            self.refitted[number] = True
        return self


@dataclass(frozen=True, eq=False)
class Computed:
    """An array that is computed when ``numpy.asarray`` reads it.

    Attributes
    ----------
    rows : int
    compute : callable
        Function that returns the array.
    """

    rows: int
    compute: Callable[[], Floats]

    def __len__(self) -> int:
        return self.rows

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (np.asarray(self),)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.compute(), dtype=dtype)


@dataclass(frozen=True, eq=False, repr=False)
class FittedFolds(Printed):
    """The fits of a plan, all made together.

    Attributes
    ----------
    coefficients : numpy.ndarray, shape (fits, m), or Computed, or None
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
    linear : LinearFits or None
        Their linear predictors, if they maximise a likelihood.
    everywhere : callable or None
        Function that returns the predictions of all records by all fits, shape (fits,
        n) or (fits, n, classes), if there is a quicker way than ``predict``.
    at : callable or None
        Function of m rows of the matrix, and of the fit that is to predict each, that
        returns predictions as ``predict`` does. Without it, fits are made one by one if
        training sets lack levels.
    complete : bool
        Whether ``predict`` takes account of levels that training sets lack.

    Examples
    --------
    >>> from statcv.models import Logit
    >>> X, y = np.column_stack([np.ones(6), np.arange(6)]), np.array([0, 1, 0, 1, 0, 1])
    >>> records = TrainingSet(X, y, "binary", 2, ("Intercept", "x"), 0, None, seed=0)
    >>> fitted = Logit(C=1.0).fit_folds(records, Folds.leaving_out([[0, 1], [2, 3]]))
    >>> fitted.converged
    array([ True,  True])
    >>> fitted.predict_all(6).shape
    (2, 6)
    """

    coefficients: Floats | Computed | None
    names: tuple[str, ...]
    converged: Bools
    separated: Bools
    predict: Callable[[Numbers, Numbers], Floats]
    chosen: dict[str, Array] | None = None
    linear: LinearFits | None = None
    everywhere: Callable[[], Floats] | None = None
    at: Callable[[Floats, Numbers], Floats] | None = None
    complete: bool = False

    def predict_all(self, n: int) -> Floats:
        """Predict all n records by every fit, shape (fits, n) or (fits, n, classes)."""
        if self.everywhere is not None:
            return self.everywhere()
        fits = len(self.converged)
        rows = np.tile(np.arange(n), fits)
        made = self.predict_many(rows, np.repeat(np.arange(fits), n))
        return made.reshape(fits, n, *made.shape[1:])

    def predict_many(self, rows: Numbers, fits: Numbers) -> Floats:
        """Predict any number of records, in batches of bounded memory."""

        def predict(start: int) -> Floats:
            some = slice(start, start + batch)
            return self.predict(rows[some], fits[some])

        columns = self.linear.coefficients.shape[1] if self.linear is not None else 1
        batch = max(FEWEST, min(ROWS, 4 * CELLS // columns))
        starts = range(0, max(len(rows), 1), batch)
        parts = shared(predict, starts, batch * max(RECORD, 10.0 * columns))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def joined_coefficients(
    parts: Sequence[Any],
) -> tuple[tuple[str, ...], Floats | Computed | None]:
    """Return names and coefficients of all fits, NaN where one has no such term.

    Parameters
    ----------
    parts : sequence of FittedFolds, or of other fits with names and coefficients
    """
    tables = [part.coefficients for part in parts if part.coefficients is not None]
    if len(tables) < len(parts):
        return (), None
    if len(parts) == 1:
        return parts[0].names, tables[0]
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    if all(part.names == names for part in parts):
        return names, np.concatenate([np.asarray(table) for table in tables])
    rows = []
    for part, table in zip(parts, tables, strict=True):
        rows.append(np.full((len(table), len(names)), np.nan))
        rows[-1][:, [names.index(name) for name in part.names]] = np.asarray(table)
    return names, np.concatenate(rows)


def fit_all_folds(
    model: Model, records: TrainingSet, folds: Folds, **more: Any
) -> FittedFolds | None:
    """Fit every fold together; None for a model that is fitted fold by fold.

    Parameters
    ----------
    model : Model
    records : TrainingSet
        All records.
    folds : Folds
    **more : Any
        Other arguments of the model's ``fit_folds``.

    Examples
    --------
    >>> from statcv.models import Mean
    >>> y = np.array([0, 1, 1, 1])
    >>> records = TrainingSet(np.ones((4, 1)), y, "binary", 2, ("one",), 0, None, 0)
    >>> fitted = fit_all_folds(Mean(), records, Folds.leaving_out([[0], [3]]))
    >>> fitted.predict(np.array([0, 3]), np.array([0, 1]))
    array([1.        , 0.66666667])
    """
    able = model.capabilities
    if not able.fits_together:
        return None
    if folds.matrices is not None and not able.own_matrices:
        return None
    keep_memory()
    fitted = cast(FoldsModel, model).fit_folds(records, folds, **more)
    if fitted is None or not able.uses_predictors:
        return fitted
    return with_new_levels(fitted, records, folds)


def with_new_levels(
    fitted: FittedFolds, records: TrainingSet, folds: Folds
) -> FittedFolds | None:
    """Let fits predict records at the mean of the levels seen if they lack a level.

    None if they cannot, so that they are made one by one.
    """
    new, at = folds.new_levels(records), fitted.at
    if new is None or fitted.complete:
        return fitted
    if at is None:
        return None

    def predict(rows: Numbers, fits: Numbers) -> Floats:
        made, (some, X) = fitted.predict(rows, fits), new.rows(rows, fits)
        if len(some):
            made = np.array(made)
            made[some] = at(X, fits[some])
        return made

    def everywhere() -> Floats:
        made, (rows, fits) = np.array(fitted.predict_all(len(records.X))), new.pairs()
        some, X = new.rows(rows, fits)
        made[fits[some], rows[some]] = at(X, fits[some])
        return made

    return replace(fitted, predict=predict, everywhere=everywhere, complete=True)


def only_fit(
    fitted: FittedFolds, predict: Callable[[Floats], Floats], found: Sequence[float]
) -> PlainFit:
    """Return the only fit of a plan.

    Parameters
    ----------
    fitted : FittedFolds
    predict : callable
        What it predicts at the rows of a matrix.
    found : sequence of float
        Its coefficients, in the order of the names.
    """
    return PlainFit(
        predict,
        dict(zip(fitted.names, found, strict=True)),
        bool(fitted.converged[0]),
        bool(fitted.separated[0]),
        linear=fitted.linear,
    )

"""The protocol that every model follows, and fits that wrap other fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ModelError

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The data on which a model is fitted.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
        The design matrix, intercept included where the formula has one.
    y : numpy.ndarray, shape (n,)
        0/1 with 1 positive, class codes, or numbers.
    kind : {"binary", "multiclass", "continuous"}
    n_classes : int
        0 for a continuous outcome.
    names : tuple of str
        The columns of ``X``.
    intercept : int or None
        Which column is the intercept.
    weights : numpy.ndarray or None
        Weights of the records, shape (n,).
    seed : int
        Seed for models that draw random numbers, different in each fold.
    strata : numpy.ndarray of int, or None
        Strata of the records, shape (n,), which are not split if a model divides its
        training set further.
    """

    X: Matrix
    y: NDArray[Any]
    kind: str
    n_classes: int
    names: tuple[str, ...]
    intercept: int | None
    weights: Matrix | None
    seed: int
    strata: NDArray[Any] | None = None

    @property
    def without_intercept(self) -> Matrix:
        """The matrix for libraries that add an intercept themselves."""
        if self.intercept is None:
            return self.X
        return np.delete(self.X, self.intercept, axis=1)


class Fit(Protocol):
    """A fitted model.

    It may have ``chosen``, hyperparameters that were chosen inside the training set,
    by name; and ``curves``, a metric's values on training and held-out records after
    every round, by the metric's name, shape (rounds, 2).
    """

    @property
    def coefficients(self) -> dict[str, float] | None:
        """Coefficients by term, or None for a model that has none."""

    @property
    def converged(self) -> bool:
        """Whether the fit reached its optimum."""

    @property
    def separated(self) -> bool:
        """Whether fitted probabilities ran to 0 or 1."""

    @property
    def probabilities(self) -> bool:
        """Whether it predicts probabilities or means, not decision scores."""

    def predict(self, X: Matrix) -> Matrix:
        """Return probabilities or means, (m,), or (m, classes) for more than two.

        ``X`` has the columns of the training set, intercept included.
        """


class Model(Protocol):
    """A model that :func:`statcv.cv` fits in every fold.

    A model may declare further abilities by attributes.

    ``fit_folds(records, folds)``
        Fits the training sets of many folds together, and returns
        :class:`~statcv.models.batched.fitted.FittedFolds`; None for a kind of outcome
        that it fits fold by fold. ``fits_each``, 1 by default, is how many fits one
        of them amounts to, and 0 where the work hardly grows with their number.
    ``fit_watching(training, held)``
        Fits the training set and follows a metric on the held-out records as well,
        which must not change the fit; called where ``watches`` is true.
    ``needs_full_rank``
        Whether dependent columns of the design leave coefficients undetermined, of
        which :func:`statcv.cv` then warns.
    ``releases_gil``
        Whether threads fit it as well as processes do.
    """

    @property
    def label(self) -> str:
        """How print and summary call it."""

    def check(self, kind: str) -> None:
        """Raise ModelError if the model does not admit this kind of outcome."""

    def fit(self, training: TrainingSet) -> Fit:
        """Fit the training set."""


class RidgeModel(Model, Protocol):
    """A regression that may be penalised."""

    def ridge(self, training: TrainingSet) -> Matrix:
        """Return the strength of the penalty on each column, shape (p,)."""


@dataclass(frozen=True, eq=False)
class PlainFit:
    """A fit that is a function of the matrix and, at most, coefficients."""

    function: Any
    coefficients: dict[str, float] | None = None
    converged: bool = True
    separated: bool = False
    probabilities: bool = True

    def predict(self, X: Matrix) -> Matrix:
        """Return predictions at the rows of ``X``."""
        return np.asarray(self.function(X), dtype=float)


def refuse_missing(training: TrainingSet, label: str) -> None:
    """Raise if a model that cannot take missing values would meet one."""
    if np.isnan(training.X).any():
        raise ModelError(
            f"{label} cannot take missing covariates; use na_action='drop', or a "
            "scikit-learn pipeline that imputes inside each fold."
        )


def refuse_kind(label: str, kind: str, allowed: tuple[str, ...]) -> None:
    """Raise if a model does not admit the kind of outcome."""
    if kind not in allowed:
        article = "a continuous" if kind == "continuous" else f"a {kind}"
        raise ModelError(
            f"{label} does not fit {article} outcome; it fits "
            f"{' or '.join(allowed)} outcomes."
        )


# ---- a fit inside another one, which adds the choices on its training set ----


@dataclass(frozen=True, eq=False)
class WrappedFit:
    """A fit that wraps another one and adds the hyperparameters chosen.

    Attributes
    ----------
    fit : Fit
    """

    fit: Fit

    @property
    def coefficients(self) -> dict[str, float] | None:
        """Coefficients by term, or None for a model that has none."""
        return self.fit.coefficients

    @property
    def converged(self) -> bool:
        """Whether the fit reached its optimum."""
        return self.fit.converged

    @property
    def separated(self) -> bool:
        """Whether fitted probabilities ran to 0 or 1."""
        return self.fit.separated

    @property
    def probabilities(self) -> bool:
        """Whether it predicts probabilities or means, not decision scores."""
        return self.fit.probabilities

    @property
    def curves(self) -> dict[str, Matrix] | None:
        """Metrics after every round, of a model that has rounds."""
        found: dict[str, Matrix] | None = getattr(self.fit, "curves", None)
        return found

    def predict(self, X: Matrix) -> Matrix:
        """Return probabilities or means."""
        return self.fit.predict(X)

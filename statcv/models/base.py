"""The protocol that every model follows, and what a model may be capable of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from statcv.arguments import described, is_number
from statcv.errors import ModelError
from statcv.formula import Factors, is_finite
from statcv.models.likelihood import Likelihood
from statcv.models.linear_fits import LinearFits
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.tables import Printed


@dataclass(frozen=True, eq=False, repr=False)
class TrainingSet(Printed):
    """The data on which a model is fitted.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, p)
        The design matrix, with the intercept if the formula has one.
    y : numpy.ndarray, shape (n,)
        The outcome: 0/1 with 1 positive, class codes, numbers, or times to an event,
        negative if censored (``statcv.numeric.survival``).
    kind : {"binary", "multiclass", "continuous", "survival"}
        The kind of outcome.
    n_classes : int
        Number of classes; 0 for a continuous outcome and for times to an event.
    names : tuple of str
        The columns of ``X``.
    intercept : int or None
        Which column is the intercept.
    weights : numpy.ndarray or None
        Weights of the records, shape (n,).
    seed : int
        Seed for models that draw random numbers, different in each fold.
    strata : numpy.ndarray of int, or None
        Clusters of the records, shape (n,), which a model does not split if it divides
        its training set further.
    factors : Factors or None
        The categorical factors of the formula, if any.
    horizons : tuple of float
        The times by which the risk of an event is predicted, in rising order.
    offsets : tuple of int
        The columns of ``X`` whose coefficient is 1, as of ``offset(x)`` in a formula.
    offset : numpy.ndarray, shape (n,), or None
        What is added to the linear predictor, if ``X`` does not have it.
    centre : numpy.ndarray, shape (p,), or None
        The row at which a linear predictor without an intercept is 0, the same in all
        folds; by default the mean of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from statcv.models import Linear, TrainingSet
    >>> X, y = np.column_stack([np.ones(4), np.arange(4)]), np.array([1.0, 3, 5, 7])
    >>> data = TrainingSet(X, y, "continuous", 0, ("Intercept", "x"), 0, None, 1)
    >>> round(Linear().fit(data).coefficients["x"], 6)
    2.0
    """

    X: Floats
    y: Array
    kind: str
    n_classes: int
    names: tuple[str, ...]
    intercept: int | None
    weights: Floats | None
    seed: int
    strata: Array | None = None
    factors: Factors | None = None
    horizons: tuple[float, ...] = ()
    centre: Floats | None = None
    offsets: tuple[int, ...] = ()
    offset: Floats | None = None

    @property
    def without_intercept(self) -> Floats:
        """The matrix for libraries that add an intercept themselves."""
        return without_column(self.X, self.intercept)

    @cached_property
    def is_finite(self) -> bool:
        """Whether no cell of the matrix is missing or infinite."""
        return is_finite(self.X)

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What models compute from the matrix once."""
        return {}

    @property
    def each_weight(self) -> Floats:
        """The weight of each record; 1 for all if there are no weights."""
        return np.ones(len(self.X)) if self.weights is None else self.weights

    def of_columns(self, columns: Numbers) -> TrainingSet:
        """Return the records with some of the columns, in rising order."""
        place, centre = self.intercept, self.centre
        return replace(
            self,
            X=np.ascontiguousarray(self.X[:, columns]),
            names=tuple(self.names[j] for j in columns.tolist()),
            intercept=None if place is None else int(np.searchsorted(columns, place)),
            centre=None if centre is None else centre[columns],
            factors=None,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Omit what can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def without_column(X: Floats, place: int | None) -> Floats:
    """Return a matrix without one of its columns; as it is if that is None."""
    if place is None:
        return X
    if place == 0:  # as an intercept nearly always is
        return np.ascontiguousarray(X[:, 1:])
    return np.delete(X, place, axis=1)


class Fit(Protocol):
    """A fitted model.

    Examples
    --------
    >>> from statcv.models import Mean, TrainingSet
    >>> one, y = np.ones((4, 1)), np.array([0, 1, 0, 1])
    >>> fit = Mean().fit(TrainingSet(one, y, "binary", 2, ("one",), 0, None, seed=0))
    >>> fit.converged, fit.separated, fit.probabilities
    (True, False, True)
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

    @property
    def chosen(self) -> dict[str, Any] | None:
        """Hyperparameters that were chosen inside the training set, or None."""

    @property
    def curves(self) -> dict[str, Floats] | None:
        """Values of metrics after every round, by the metric's name, or None.

        Shape (rounds, 2): on the training set, and on the held-out records.
        """

    @property
    def linear(self) -> LinearFits | None:
        """Its linear predictor, if it maximises the likelihood of the model."""

    def predict(self, X: Floats) -> Floats:
        """Return probabilities or means, (m,), or (m, classes) for more than two.

        ``X`` has the columns of the training set, intercept included.
        """


@dataclass(frozen=True, repr=False)
class Capabilities(Printed):
    """What a model can do, and what it needs; the defaults suit any model.

    Attributes
    ----------
    refits : bool
        Whether the model can be fitted; False if only its predictions are known.
    fits_together : bool
        Whether ``fit_folds(records, folds)`` fits the training sets of many folds as
        one problem. It returns ``statcv.models.batched.FittedFolds``, or None for an
        outcome that the model fits fold by fold.
    own_matrices : bool
        Whether ``fit_folds`` also fits folds each of which has a design matrix of its
        own, ``folds.matrices``, because terms are learnt in each training set.
    follows_held_out : bool
        Whether the model is to be fitted by ``fit_following(training, held_out)``,
        which follows a metric on the held-out records too; these must not change the
        fit.
    fits_per_training_set : int
        Number of fits made on one training set; 0 if the work hardly grows with the
        number of training sets.
    releases_gil : bool
        Whether threads fit the model as well as processes do.
    any_threads : bool
        Whether a fit is the same, bit by bit, for any number of OpenMP's threads.
    needs_full_rank : bool
        Whether dependent columns of the design leave coefficients undetermined, of
        which :func:`statcv.cv` then warns.
    uses_predictors : bool
        Whether predictions depend on the predictors.
    predicts_by_neighbors : bool
        Whether a prediction depends on the most similar training records alone.
    offsets : bool
        Whether it gives the columns of an offset a coefficient of 1.
    strata : bool
        Whether a term ``strata(g)`` gives it a baseline hazard for each level.
    missing : bool
        Whether it accepts missing covariates, so that such records are kept unless
        ``na_action=`` says otherwise.
    likelihood : Likelihood or None
        The likelihood that its fits maximise, apart from a ridge, if they depend on a
        linear predictor. Each fit then has that as ``linear``.

    Examples
    --------
    >>> from statcv.models import Logit
    >>> Logit().capabilities.fits_together
    True
    """

    refits: bool = True
    fits_together: bool = False
    own_matrices: bool = False
    follows_held_out: bool = False
    fits_per_training_set: int = 1
    releases_gil: bool = False
    any_threads: bool = False
    needs_full_rank: bool = False
    uses_predictors: bool = True
    predicts_by_neighbors: bool = False
    offsets: bool = False
    strata: bool = False
    missing: bool = False
    likelihood: Likelihood | None = None


class Model(Protocol):
    """A model that :func:`statcv.cv` fits in every fold.

    Examples
    --------
    >>> from statcv.models import Logit
    >>> model: Model = Logit(C=1.0)
    >>> model.label
    'ridge logistic regression, C = 1'
    >>> model.check("continuous")
    Traceback (most recent call last):
    statcv.errors.ModelError: ...
    """

    @property
    def label(self) -> str:
        """How print and summary call it."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do, and what it needs."""

    def check(self, kind: str) -> None:
        """Raise ModelError if the model does not admit this kind of outcome."""

    def fit(self, training: TrainingSet) -> Fit:
        """Fit the training set."""


class FollowingModel(Model, Protocol):
    """A model with the capability ``follows_held_out``."""

    def fit_following(self, training: TrainingSet, held_out: TrainingSet) -> Fit:
        """Fit the training set, and follow a metric on the held-out records too."""


class RidgeModel(Model, Protocol):
    """A regression that may be penalised."""

    def ridge(self, training: TrainingSet) -> Floats:
        """Return the strength of the penalty on each column, shape (p,)."""


@dataclass(frozen=True, eq=False, repr=False)
class PlainFit(Printed):
    """A fit that is a function of the matrix and, at most, coefficients."""

    function: Any
    coefficients: dict[str, float] | None = None
    converged: bool = True
    separated: bool = False
    probabilities: bool = True
    chosen: dict[str, Any] | None = None
    curves: dict[str, Floats] | None = None
    linear: LinearFits | None = None

    def predict(self, X: Floats) -> Floats:
        """Return predictions at the rows of ``X``."""
        return np.asarray(self.function(X), dtype=float)


def decisions_of(fit: Fit, X: Floats) -> Floats | None:
    """Return the classes that a fit predicts by a rule of its own, if it has one.

    Returns
    -------
    numpy.ndarray, shape (m,) or (m, classes), or None
        Whether class 1, or each of several classes, is predicted, as 1 and 0; None for
        a fit without a method ``decide``.
    """
    decide = getattr(fit, "decide", None)
    return None if decide is None else decide(X)


@dataclass(frozen=True, eq=False, repr=False)
class WrappedFit(Printed):
    """A fit that wraps another one and adds the hyperparameters chosen."""

    fit: Fit
    coefficients = property(attrgetter("fit.coefficients"))
    converged = property(attrgetter("fit.converged"))
    separated = property(attrgetter("fit.separated"))
    probabilities = property(attrgetter("fit.probabilities"))
    curves = property(attrgetter("fit.curves"))
    linear = property(attrgetter("fit.linear"))

    def predict(self, X: Floats) -> Floats:
        """Return probabilities or means."""
        return self.fit.predict(X)

    def decide(self, X: Floats) -> Floats | None:
        """Return the classes that the fit itself predicts, or None."""
        return decisions_of(self.fit, X)


def means_at(mean: Callable[[Floats], Floats], beta: Floats, X: Floats) -> Floats:
    """Return the means of rows by their linear predictors."""
    return mean(X @ beta)


def check_strength(C: object) -> None:
    """Raise ModelError unless the inverse strength of a ridge is a number above 0."""
    if not (is_number(C) and C > 0):
        raise ModelError(f"C must be a positive number or None, not {described(C)}.")


def refuse_missing(training: TrainingSet, label: str) -> None:
    """Raise if a model that cannot take missing values would meet one."""
    if not training.is_finite and np.isnan(training.X).any():
        raise ModelError(
            f"{label} cannot take missing covariates; use na_action='drop', or "
            "impute= to impute them inside each fold."
        )


def refuse_no_predictors(training: TrainingSet, label: str) -> None:
    """Raise if a model of another library would have no column."""
    if training.without_intercept.shape[1] == 0:
        raise ModelError(
            f"{label} needs at least one predictor; for the model without any use "
            "model='mean'."
        )


def predictable(X: Floats, model: Model) -> Bools:
    """Return which rows a model can predict: complete ones, unless it needs none."""
    return np.asarray(model.capabilities.missing | ~np.isnan(X).any(axis=1))


def refuse_kind(label: str, kind: str, allowed: tuple[str, ...]) -> None:
    """Raise if a model does not admit the kind of outcome."""
    if kind not in allowed:
        if kind == "survival":
            raise ModelError(
                f"{label} does not fit a time-to-event outcome; use Cox regression, "
                "model=statcv.models.Cox(), model='xgboost', or an estimator of "
                "scikit-survival, such as sksurv.ensemble.RandomSurvivalForest()."
            )
        article = "a continuous" if kind == "continuous" else f"a {kind}"
        fitted = " or ".join(allowed).replace("survival", "time-to-event")
        raise ModelError(
            f"{label} does not fit {article} outcome; it fits {fitted} outcomes."
        )


def positive_weights(training: TrainingSet) -> tuple[Numbers | slice, Floats]:
    """Return which rows have a weight above zero, and their weights."""
    if training.weights is None:
        return slice(None), np.ones(len(training.X))
    used = np.flatnonzero(training.weights > 0)
    return used, training.weights[used]

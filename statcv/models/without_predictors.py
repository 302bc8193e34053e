"""The prediction of a model without its predictors: one number in each fit.

A fit by likelihood, or of trees, then predicts the training mean, in which the
estimator's own class weights count. A classifier by margins has no such rule, and is
fitted to a constant predictor.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from statcv.models.base import Capabilities, Model, PlainFit, TrainingSet
from statcv.models.batched.fits import FittedFolds
from statcv.models.batched.folds import Folds
from statcv.models.counts import NegativeBinomial, Poisson
from statcv.models.cox import Cox
from statcv.models.linear import Linear, fold_means
from statcv.models.logit import Logit
from statcv.models.offsets import WHOLE
from statcv.models.other_libraries.sklearn_estimator import Sklearn
from statcv.models.other_libraries.sklearn_traits import last_step
from statcv.numeric.arrays import Floats
from statcv.tables import Constructed


@dataclass(frozen=True, repr=False)
class Mean(Constructed):
    """Predict the training mean (class shares): the model without skill.

    The risk of an event by a horizon follows from the cumulative hazard of the training
    set.

    Examples
    --------
    >>> Mean().label
    'training mean'
    """

    label: str = "training mean"
    dispersed: bool = False  # whether the dispersion of counts is estimated too
    capabilities = Capabilities(
        fits_together=True,
        own_matrices=True,
        offsets=True,
        strata=True,
        uses_predictors=False,
    )

    def check(self, kind: str) -> None:
        """Every outcome has a mean."""

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        if training.offsets or self.dispersed:
            # such as a rate, times the exposure of each record
            inner = bare_regression(self, training.kind).fit(bare_records(training))
            return PlainFit(partial(_exposed, inner, training))
        return PlainFit(partial(_constant, _fold_means(training, WHOLE)[0]))

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        if records.offsets or self.dispersed:
            bare, model = bare_records(records), bare_regression(self, records.kind)
            made = model.fit_folds(bare, replace(folds, matrices=None))
            theta = np.asarray(made.coefficients)[:, -1:] if self.dispersed else None
            bare_fits: FittedFolds = replace(
                made, coefficients=theta, names=("theta",) * self.dispersed, linear=None
            )
            return bare_fits
        return _constants(_fold_means(records, folds))


@dataclass(frozen=True, repr=False)
class NegMean(Constructed):
    """Predict minus the training mean, which shows what folds reveal of the outcome.

    Under leave-one-out its auROC is 1 whatever the data (Austin, Pe'er & Korem 2024,
    Fig. 1b).

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> res = scv.cv("GRADE ~ 1", df, model="negmean", scheme="rloocv", seed=1)
    >>> float(res.estimate("auroc", how="pooled"))
    0.5
    """

    label: str = "negative training mean"
    capabilities = Capabilities(
        fits_together=True, own_matrices=True, uses_predictors=False
    )

    def check(self, kind: str) -> None:
        """Every outcome has a mean."""

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        return PlainFit(partial(_constant, -_fold_means(training, WHOLE)[0]))

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds:
        """Fit the training sets of all folds together."""
        return _constants(-_fold_means(records, folds))


def bare_regression(model: Model, kind: str) -> Any:
    """Return the regression that fits an intercept beside the offsets of a model."""
    inner = innermost(model)
    if isinstance(inner, NegativeBinomial) or getattr(inner, "dispersed", False):
        return NegativeBinomial()
    if isinstance(inner, Linear):
        return Linear()
    return {"binary": Logit(), "survival": Cox()}.get(kind, Poisson())


def bare_records(records: TrainingSet) -> TrainingSet:
    """Return the records with an intercept and their offsets alone."""
    own, centre = list(records.offsets), records.centre
    X = np.column_stack([np.ones(len(records.X)), records.X[:, own]])
    return replace(
        records,
        X=X,
        names=("Intercept", *(records.names[j] for j in own)),
        intercept=0,
        offsets=tuple(range(1, X.shape[1])),
        centre=None if centre is None else np.append(1.0, centre[own]),
        factors=None,
    )


def _exposed(fit: PlainFit, records: TrainingSet, X: Floats) -> Floats:
    return fit.predict(bare_records(replace(records, X=X)).X)


def _constant(value: Floats, X: Floats) -> Floats:
    return np.broadcast_to(value, (len(X), *value.shape))


def _constants(values: Floats) -> FittedFolds:
    done = np.ones(len(values), dtype=bool)
    return FittedFolds(None, (), done, ~done, lambda rows, fits: values[fits])


def _fold_means(records: TrainingSet, folds: Folds) -> Floats:
    """Return the mean of every training set; a linear predictor of 0, and risks."""
    if records.kind != "survival":
        return fold_means(records, folds)
    bare = replace(records, X=records.X[:, :0], names=(), intercept=None, centre=None)
    fits = np.arange(len(folds))
    fitted = Cox().fit_folds(bare, replace(folds, matrices=None))
    assert fitted is not None
    return np.asarray(fitted.predict(np.zeros_like(fits), fits))


# ---- any model without its predictors ----


def innermost(model: Model) -> Model:
    """Return the model inside tuning and chosen thresholds."""
    inner: Any = model
    while hasattr(inner, "model"):
        inner = inner.model
    return inner  # type: ignore[no-any-return]


def predicted_without(model: Model, totals: Floats) -> Floats:
    """Return predictions without predictors: the training mean, class-weighted.

    Parameters
    ----------
    model : Model
    totals : numpy.ndarray, shape (fits, classes) or (fits, 1)
        Total weight of each class in each training set, or the training means of a
        continuous outcome.

    Returns
    -------
    numpy.ndarray, shape (fits,), or (fits, classes) for more than two classes

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from statcv.models import Logit
    >>> totals = np.array([[3.0, 1.0]])
    >>> predicted_without(Logit(), totals)
    array([0.25])
    >>> balanced = Sklearn(LogisticRegression(class_weight="balanced"))
    >>> predicted_without(balanced, totals)
    array([0.5])
    """
    classes = totals.shape[1]
    if classes > 1:
        totals = totals * _class_weights(model, totals)
        shares = totals / totals.sum(axis=1, keepdims=True)
        found = shares[:, 1] if classes == 2 else shares
    else:
        found = totals[:, 0]
    return np.asarray(-found if isinstance(innermost(model), NegMean) else found)


def _class_weights(model: Model, totals: Floats) -> Floats:
    """Return the factor by which the estimator multiplies the weight of each class."""
    estimator = last_step(getattr(innermost(model), "estimator", None))
    wanted = getattr(estimator, "class_weight", None)
    if isinstance(wanted, Mapping):
        of_class = [float(wanted.get(code, 1.0)) for code in range(totals.shape[1])]
        return np.broadcast_to(of_class, totals.shape)
    if isinstance(wanted, str):  # "balanced"
        # classes get equal totals; a common factor cancels in the shares
        return np.asarray(1 / np.maximum(totals, 1e-300))
    return np.ones_like(totals)


def fitted_to_constant(model: Model, training: TrainingSet) -> float | None:
    """Return the prediction of a scikit-learn estimator fitted to a constant.

    Parameters
    ----------
    model : Model
    training : TrainingSet
        The training set, of which only the outcome counts.

    Returns
    -------
    float or None
        The prediction, for two classes or a continuous outcome; None if it cannot be
        fitted to a constant.
    """
    inner = innermost(model)
    if not isinstance(inner, Sklearn):
        return None
    constant = replace(training, X=np.zeros_like(training.X), weights=None)
    try:
        with warnings.catch_warnings():  # that columns are constant
            warnings.simplefilter("ignore")
            return float(inner.fit(constant).predict(constant.X[:1])[0])
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return None

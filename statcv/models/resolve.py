"""Models from names or objects; objects are accepted wherever a string is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from statcv.arguments import described
from statcv.errors import ModelError, suggestion
from statcv.models.base import Capabilities, Model, TrainingSet, WrappedFit
from statcv.models.batched.fits import FittedFolds
from statcv.models.batched.folds import Folds
from statcv.models.counts import NegativeBinomial, Poisson
from statcv.models.cox import Cox
from statcv.models.linear import Linear
from statcv.models.logit import Logit
from statcv.models.neighbors import Neighbors
from statcv.models.ordered import ProportionalOdds
from statcv.models.other_libraries.boosting import XGBoost
from statcv.models.other_libraries.lifelines_model import Lifelines, is_regression
from statcv.models.other_libraries.sklearn_estimator import Sklearn
from statcv.models.other_libraries.statsmodels_model import (
    Statsmodels,
    is_result,
    unwrap_model,
)
from statcv.models.without_predictors import Mean, NegMean
from statcv.vocabulary import model_answer

MODELS: dict[str, Any] = {
    "logit": Logit,
    "linear": Linear,
    "cox": Cox,
    "poisson": Poisson,
    "negbin": NegativeBinomial,
    "negative_binomial": NegativeBinomial,
    "proportional_odds": ProportionalOdds,
    "neighbors": Neighbors,
    "xgboost": XGBoost,
    "mean": Mean,
    "negmean": NegMean,
}


def resolve_model(model: Any, kind: str) -> Model:
    """Return the model that a name or an object stands for.

    Parameters
    ----------
    model : str, object or None
        A name in ``MODELS``; a model of this package; a scikit-learn estimator; a
        statsmodels class or formula function (with keywords by
        ``functools.partial``), or a fitted result of one; a regression of lifelines; an
        object with ``label``,
        ``check`` and ``fit`` as :class:`~statcv.models.Model` has them. None is
        logistic regression for classes, least squares for a continuous outcome, and Cox
        regression for times to an event.
    kind : {"binary", "multiclass", "continuous", "survival"}

    Raises
    ------
    ModelError
        If it is unknown, does not fit the outcome, or lacks a method that one of its
        capabilities needs.
    """
    resolved = _resolve(model, kind)
    resolved.check(kind)
    return resolved


def distribution_of(model: Any) -> str:
    """Return the distribution that a name or a model gives to counts, if it does.

    >>> distribution_of("poisson"), distribution_of("logit")
    ('poisson', '')
    """
    named = MODELS.get(model) if isinstance(model, str) else model
    found = getattr(named, "distribution", "")
    return found if isinstance(found, str) else ""


def needs_order(model: Any) -> bool:
    """Return whether a name or a model stands for one of ordered classes.

    >>> needs_order("proportional_odds"), needs_order("logit")
    (True, False)
    """
    named: Any = MODELS.get(model) if isinstance(model, str) else model
    if _is_statsmodels(named) or is_result(named):
        named = Statsmodels(named if _is_statsmodels(named) else type(named.model))
    return getattr(named, "ordered", False) is True


def accepts_missing(model: Any) -> bool:
    """Return whether a model, by name or as an object, accepts missing covariates.

    >>> accepts_missing("xgboost"), accepts_missing("logit"), accepts_missing(None)
    (True, False, False)
    """
    try:
        return _resolve(model, "binary").capabilities.missing
    except ModelError:  # resolving it with the outcome says more
        return False


def _resolve(model: Any, kind: str) -> Model:
    if model is None:
        usual: Model = {"continuous": Linear, "survival": Cox}.get(kind, Logit)()
        return usual
    if isinstance(model, str):
        if model not in MODELS:
            raise ModelError(
                f"there is no model {model!r}; there are {', '.join(MODELS)}, and any "
                "scikit-learn or statsmodels model."
                + (model_answer(model) or suggestion(model, MODELS))
            )
        made: Model = MODELS[model]()
        return made
    if inspect.isclass(model) and not _is_statsmodels(model):
        raise ModelError(
            f"model={model.__name__} is a class; make an object of it: "
            f"{model.__name__}()."
        )
    if _is_statsmodels(model):
        return Statsmodels(model)
    if is_result(model):
        again, weights = unwrap_model(model)
        if weights is not None:
            raise ModelError(
                f"the fitted {again.label} has weights of its own records; give cv() "
                "weights= and the model without them, such as Statsmodels(sm.GLM, …)."
            )
        return again
    if is_regression(model):
        return Lifelines(model)
    if hasattr(model, "label") and hasattr(model, "check") and hasattr(model, "fit"):
        return complete(model)
    if hasattr(model, "fit") and hasattr(model, "get_params"):
        return Sklearn(model)
    raise ModelError(
        f"model={described(model)} is neither a name nor an estimator of scikit-learn, "
        "nor a class or a fitted result of statsmodels. A class of your own has "
        "fit(X, y) and predict_proba(X), or predict(X), and is derived from "
        "sklearn.base.ClassifierMixin, or RegressorMixin, and BaseEstimator."
    )


def _is_statsmodels(model: Any) -> bool:
    while isinstance(model, functools.partial):
        model = model.func
    family = getattr(model, "__self__", model)
    return inspect.isclass(family) and family.__module__.startswith("statsmodels.")


# ---- a model of the user's own, completed by what else the protocol has ----

METHODS = {"fits_together": "fit_folds", "follows_held_out": "fit_following"}


def complete(model: Any) -> Model:
    """Return a model that has every attribute of the protocol.

    An object without ``capabilities`` gets the defaults, and those of which it has the
    methods. A class that fits a training set in its own way, but inherits
    ``fit_folds``, is fitted fold by fold.

    Parameters
    ----------
    model : object
        An object with ``label``, ``check`` and ``fit``.

    Raises
    ------
    ModelError
        If a method that one of its capabilities needs is missing.
    """
    able = getattr(model, "capabilities", None)
    if able is None:
        found: dict[str, Any] = {
            name: hasattr(model, method) for name, method in METHODS.items()
        }
        return UserModel(model, _without_inherited(model, Capabilities(**found)))
    if not isinstance(able, Capabilities):
        raise ModelError(
            f"{model.label}: capabilities must be a statcv.models.Capabilities, not "
            f"{able!r}."
        )
    for name, method in METHODS.items():
        if getattr(able, name) and not hasattr(model, method):
            raise ModelError(f"{model.label} has {name}=True, but no {method}().")
    own: Model = model
    usable = _without_inherited(model, able)
    return own if usable == able else UserModel(model, usable)


def _without_inherited(model: Any, able: Capabilities) -> Capabilities:
    """Return what a model can do without what another ``fit`` needs.

    That is a ``fit_folds`` that was inherited, and the likelihood that the inherited
    ``fit`` maximises.
    """
    by_class = map(vars, type(model).__mro__)
    own: Mapping[str, Any] = next((names for names in by_class if "fit" in names), {})
    declared = "capabilities" in {*own, *getattr(model, "__dict__", {})}
    together = able.fits_together and "fit_folds" in own
    likelihood = able.likelihood if declared else None
    if (together, likelihood) == (able.fits_together, able.likelihood):
        return able
    return replace(able, fits_together=together, likelihood=likelihood)


@dataclass(frozen=True, eq=False)
class UserModel:
    """A model of the user's own that lacks attributes of the protocol.

    Attributes
    ----------
    model : object
        An object with ``label``, ``check`` and ``fit``.
    capabilities : Capabilities
    """

    model: Any
    capabilities: Capabilities

    @property
    def label(self) -> str:
        """How print and summary call it."""
        return str(self.model.label)

    def check(self, kind: str) -> None:
        """Raise ModelError if the model does not admit this kind of outcome."""
        self.model.check(kind)

    def fit(self, training: TrainingSet) -> UserFit:
        """Fit the training set."""
        return UserFit(self.model.fit(training))

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of many folds together, or return None."""
        fitted: FittedFolds | None = self.model.fit_folds(records, folds)
        return fitted

    def fit_following(self, training: TrainingSet, held_out: TrainingSet) -> UserFit:
        """Fit the training set, and follow a metric on the held-out records too."""
        return UserFit(self.model.fit_following(training, held_out))


@dataclass(frozen=True, eq=False)
class UserFit(WrappedFit):
    """A fit of the user's own model, which need not have ``chosen`` and ``curves``."""

    fit: Any
    chosen = property(lambda self: getattr(self.fit, "chosen", None))
    curves = property(lambda self: getattr(self.fit, "curves", None))
    linear = property(lambda self: getattr(self.fit, "linear", None))

"""Models from names or objects; objects are accepted wherever a string is."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from statcv.errors import ModelError, suggestion
from statcv.models.base import Model
from statcv.models.boosting import XGBoost
from statcv.models.dummy import Mean, NegMean
from statcv.models.linear import Linear
from statcv.models.logit import Logit
from statcv.models.neighbors import Neighbors
from statcv.models.sklearn_estimator import Sklearn
from statcv.models.statsmodels_model import Statsmodels

MODELS: dict[str, Any] = {
    "logit": Logit,
    "linear": Linear,
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
        ``functools.partial``). None is logistic regression for classes and least
        squares for numbers.
    kind : {"binary", "multiclass", "continuous"}

    Raises
    ------
    ModelError
        If it is unknown or does not fit the outcome.
    """
    resolved = _resolve(model, kind)
    resolved.check(kind)
    return resolved


def _resolve(model: Any, kind: str) -> Model:
    if model is None:
        return Linear() if kind == "continuous" else Logit()
    if isinstance(model, str):
        if model not in MODELS:
            raise ModelError(
                f"there is no model {model!r}; there are {', '.join(MODELS)}, and any "
                "scikit-learn or statsmodels model." + suggestion(model, MODELS)
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
    if hasattr(model, "label") and hasattr(model, "check") and hasattr(model, "fit"):
        own: Model = model
        return own
    if hasattr(model, "fit") and hasattr(model, "get_params"):
        return Sklearn(model)
    raise ModelError(
        f"model={model!r} is neither a name nor a scikit-learn or statsmodels model."
    )


def _is_statsmodels(model: Any) -> bool:
    while isinstance(model, functools.partial):
        model = model.func
    family = getattr(model, "__self__", model)
    return inspect.isclass(family) and family.__module__.startswith("statsmodels.")

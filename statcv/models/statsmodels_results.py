"""Results of statsmodels as models."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from statcv.errors import ModelError
from statcv.models.base import (
    TrainingSet,
)
from statcv.models.statsmodels_model import Statsmodels

# the share of the range of fitted values by which a refit of a result may differ
SAME = 1e-3
NO_INTERCEPT = re.compile(r"[~+]\s*0\b|-\s*1\b")
DISTRIBUTIONS = {"norm": "probit", "logistic": "logit"}  # names in ordered models


def unwrap_result(fitted: Any) -> tuple[str, Any, Statsmodels, Any]:
    """Return (formula, frame, model, weights) of a fitted formula result.

    Raises
    ------
    ModelError
        If it was not fitted from a formula, used arguments that cannot be subset to
        folds, or was fitted in a way that the result does not keep.
    """
    again, weights = unwrap_model(fitted)
    model = fitted.model
    formula = getattr(model, "formula", None)
    frame = getattr(model.data, "frame", None)
    if formula is None or frame is None:
        raise ModelError(
            "the fitted result was not made from a formula; give cv() the formula "
            "and the data, or fit through statsmodels.formula.api."
        )
    text = str(formula)
    if type(model).__name__ == "MNLogit":  # MNLogit takes numbers as classes
        left, right = text.split("~", 1)
        text = f"C({left.strip()}) ~ {right.strip()}"
    if again.ordered and NO_INTERCEPT.search(text):
        text += " + 1"  # cut points take its place
    return text, frame, again, weights


def is_result(model: Any) -> bool:
    """Return whether an object is a fitted result of statsmodels."""
    module = type(getattr(model, "model", None)).__module__
    return module.startswith("statsmodels.") and hasattr(model, "params")


def unwrap_model(fitted: Any) -> tuple[Statsmodels, Any]:
    """Return (model, weights) of a fitted result.

    Raises
    ------
    ModelError
        If it used arguments that cannot be subset to folds, or was fitted in a way that
        the result does not keep.
    """
    model = fitted.model
    Statsmodels(type(model))  # refuses kinds of models that are not supported
    keywords = {
        name: value
        for name, value in model._get_init_kwds().items()
        if value is not None and name not in ("missing_idx", "formula", "model_spec")
    }
    if type(model).__name__ == "OrderedModel":
        keywords["distr"] = DISTRIBUTIONS.get(model.distr.name, model.distr)
    elif np.ndim(model.data.orig_endog) == 2 and model.data.orig_endog.shape[1] > 1:
        raise ModelError(
            "statsmodels coded the outcome of this result in two columns and takes the "
            "first level for success; code the outcome 0/1, or give cv() the formula."
        )
    if hasattr(model, "M"):  # RLM keeps its norm in another attribute
        keywords["M"] = model.M
    weights = _pop_weights(keywords, model)
    fit = {"q": fitted.q} if type(model).__name__ == "QuantReg" else {}
    again = Statsmodels(type(model), fit=fit, **keywords)
    _check_same(again, fitted, weights)
    return again, weights


def _check_same(again: Statsmodels, fitted: Any, weights: Any) -> None:
    """Refuse a result that a refit on its own rows does not reproduce.

    Penalties, constraints and choices of the fit (a robust scale, say) are not kept
    in the result, and would be lost in the folds.
    """
    model = fitted.model
    X, names = np.asarray(model.exog), tuple(model.exog_names)
    if again.ordered:  # cut points are its intercepts
        names = ("Intercept", *names[: X.shape[1]])
        X = np.column_stack([np.ones(len(X)), X])
    training = TrainingSet(
        X=X,
        y=np.asarray(model.endog),
        kind="multiclass" if again.ordered else "continuous",
        n_classes=model.k_levels if again.ordered else 0,
        names=names,
        intercept=0 if again.ordered else None,
        weights=None if weights is None else weights.to_numpy(),
        seed=0,
    )
    try:
        before = np.asarray(fitted.predict(), dtype=float)
        after = again.fit(training).predict(training.X)
        # iterations of another start end at other last digits
        same = bool(np.abs(after - before).max() <= SAME * np.ptp(before) + 1e-8)
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise ModelError(
            f"the fitted {again.label} cannot be fitted again: {error}"
        ) from error
    if not same:
        raise ModelError(
            f"fitting {again.label} again does not give this result: it was fitted "
            "with a penalty, a constraint or a choice that it does not keep. Give "
            "cv() formula, data, and model=Statsmodels(…, fit={…})."
        )


def _pop_weights(keywords: dict[str, Any], model: Any) -> Any:
    """Take row weights out of the keywords; None where all are one."""
    keywords.pop("n_trials", None)
    found = None
    for name in ("weights", "freq_weights", "var_weights"):
        values = keywords.pop(name, None)
        if values is not None and not (np.asarray(values) == 1).all():
            if found is not None:
                raise ModelError("a fit with two kinds of weights cannot be repeated.")
            found = np.asarray(values, dtype=float)
    if found is None:
        return None
    import pandas as pd

    return pd.Series(found, index=model.data.row_labels)

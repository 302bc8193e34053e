"""Results of statsmodels as models."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import ModelError
from statcv.formula import quoted
from statcv.models.base import TrainingSet
from statcv.models.other_libraries.statsmodels_model import Statsmodels

# the distribution of counts, by the name of a family or of a class
COUNTS = {"Poisson": "poisson", "NegativeBinomial": "negative binomial"}

# the share of the range of fitted values by which a refit of a result may differ
SAME = 1e-3
NO_INTERCEPT = re.compile(r"[~+]\s*0\b|-\s*1\b")
DISTRIBUTIONS = {"norm": "probit", "logistic": "logit"}  # names in ordered models


def unwrap_result(fitted: Any) -> tuple[str, Any, Statsmodels, Any]:
    """Return (formula, frame, model, weights) of a fitted result.

    Its offset, or exposure, is a column of the frame and a term of the formula.

    Raises
    ------
    ModelError
        If it used arguments that cannot be subset to folds, or was fitted in a way that
        the result does not keep.
    """
    model, beside = fitted.model, dict[str, Any]()
    again, weights = unwrap_model(fitted, beside)
    formula = getattr(model, "formula", None)
    frame = getattr(model.data, "frame", None)
    if formula is None or frame is None:
        formula, frame = _of_arrays(model)
    text = str(formula)
    for name, values in beside.items():
        # rows without a missing value; the others are left out in any case
        column = pd.Series(values, model.data.row_labels).reindex(frame.index)
        numbers = frame.select_dtypes("number")
        same = [str(c) for c in numbers if _are_same(frame[c], column)]
        place = same[0] if same else name + "_" * (name in frame)
        frame = frame if same else frame.assign(**{place: column})
        inner = quoted(place) if name == "offset" else f"log({quoted(place)})"
        text += f" + offset({inner})"
    if type(model).__name__ == "MNLogit":  # MNLogit takes numbers as classes
        left, right = text.split("~", 1)
        text = f"C({left.strip()}) ~ {right.strip()}"
    if again.ordered and NO_INTERCEPT.search(text):
        text += " + 1"  # cut points take its place
    return text, frame, again, weights


def _are_same(one: pd.Series[Any], other: pd.Series[Any]) -> bool:
    return bool(np.allclose(one, other, rtol=1e-12, atol=0.0, equal_nan=True))


def _of_arrays(model: Any) -> tuple[str, pd.DataFrame]:
    """Return formula and frame of the arrays of a model."""
    names = model.exog_names[: model.exog.shape[1]]
    frame = pd.DataFrame(np.asarray(model.exog), model.data.row_labels, names)
    constant = model.data.const_idx
    terms = [quoted(name) for j, name in enumerate(names) if j != constant]
    left, start = str(model.endog_names), "0" if constant is None else "1"
    formula = f"{quoted(left)} ~ {' + '.join([start, *terms])}"
    return formula, frame.assign(**{left: np.asarray(model.endog)})


def is_result(model: Any) -> bool:
    """Return whether an object is a fitted result of statsmodels."""
    module = type(getattr(model, "model", None)).__module__
    return module.startswith("statsmodels.") and hasattr(model, "params")


def unwrap_model(
    fitted: Any, beside: dict[str, Any] | None = None
) -> tuple[Statsmodels, Any]:
    """Return (model, weights) of a fitted result; put what is an offset in ``beside``.

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
    if beside is not None:
        beside |= {n: keywords.pop(n) for n in ("offset", "exposure") if n in keywords}
    fit = {"q": fitted.q} if type(model).__name__ == "QuantReg" else {}
    again = Statsmodels(type(model), fit=fit, **keywords)
    _check_same(again, fitted, weights, beside or {})
    if beside:
        kind = type(keywords.get("family", model)).__name__
        again.distribution = COUNTS.get(kind, "")
    return again, weights


def _check_same(
    again: Statsmodels, fitted: Any, weights: Any, beside: dict[str, Any]
) -> None:
    """Refuse a result that a refit on its own rows does not reproduce.

    Penalties, constraints and choices of the fit (a robust scale, say) are not kept
    in the result, and would be lost in the folds.
    """
    model = fitted.model
    X, names = np.asarray(model.exog), tuple(model.exog_names)
    names = names[: X.shape[1]]
    if again.ordered:  # cut points are its intercepts
        X, names = np.column_stack([np.ones(len(X)), X]), ("Intercept", *names)
    logs = [v if n == "offset" else np.log(v) for n, v in beside.items()]
    size, names = X.shape[1], (*names, *beside)
    training = TrainingSet(
        X=np.column_stack([X, *logs]),
        offsets=tuple(range(size, len(names))),
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
    return pd.Series(found, index=model.data.row_labels)

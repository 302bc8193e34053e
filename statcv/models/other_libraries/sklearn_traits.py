"""What estimators of scikit-learn and their steps can do, and their linear predictors.

A linear predictor is given in the columns of the design, before any step of a pipeline.
"""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from statcv.errors import ModelError
from statcv.models.base import TrainingSet
from statcv.models.likelihood import Bernoulli, Gaussian, Likelihood
from statcv.models.linear_fits import LinearFits
from statcv.models.other_libraries.boosting import has_plain_trees, without_functions
from statcv.models.other_libraries.thread_warnings import collected, show
from statcv.numeric.arrays import Array, Floats

# classes of scikit-learn from which estimators that predict by neighbours derive
NEAR = {"KNeighborsMixin", "RadiusNeighborsMixin"}

# modules of scikit-learn whose estimators start no threads of OpenMP
WITHOUT_THREADS = ("sklearn.impute._base", "sklearn.preprocessing.")

SCALERS = {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"}


def steps_of(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline, also of one inside it, or the estimator."""
    if not hasattr(estimator, "steps"):
        return [estimator]
    return [one for _, step in estimator.steps for one in steps_of(step)]


def last_step(estimator: Any) -> Any:
    """Return the estimator that predicts: of a pipeline, its last step."""
    return steps_of(estimator)[-1]


def text_of(estimator: Any) -> str:
    """Return the estimator's text in one line, without defaults and addresses."""
    if type(estimator).__module__.startswith("xgboost."):  # their text lists all
        usual = type(estimator)().get_params()
        chosen = [
            f"{name}={value!r}"
            for name, value in estimator.get_params().items()
            if value is not None and repr(value) != repr(usual.get(name))
        ]
        return f"{type(estimator).__name__}({', '.join(chosen)})"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(estimator).split()))


def converges(fit: Any, X: Floats, y: Array) -> bool:
    """Fit, and return whether it converged; pass all other warnings on."""
    from sklearn.exceptions import ConvergenceWarning

    with collected() as given:
        fit(X, y)
    converged = True
    for warning in given:
        if issubclass(warning.category, ConvergenceWarning):
            converged = False
        else:
            show(warning)
    return converged


def weight_name_of(estimator: Any) -> str:
    """Return the argument by which an estimator takes weights, or refuse them."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    last = estimator.steps[-1] if isinstance(estimator, Pipeline) else ("", estimator)
    if not has_fit_parameter(last[1], "sample_weight"):
        if not last[0] and hasattr(estimator, "estimator"):  # a search passes them on
            return weight_name_of(estimator.estimator)
        raise ModelError(f"{type(last[1]).__name__} takes no weights.")
    return f"{last[0]}__sample_weight" if last[0] else "sample_weight"


def accepts_missing(estimator: Any) -> bool:
    """Return whether an estimator accepts missing values, as its tags say.

    A pipeline does if its steps do, up to the one that imputes; a search, if the
    estimator does that it tunes.
    """
    if hasattr(estimator, "cv") and hasattr(estimator, "estimator"):
        return accepts_missing(estimator.estimator)
    for step in steps_of(estimator):
        if not (isinstance(step, str) or step is None or _allows_nan(step)):
            return False
        if type(step).__module__.startswith("sklearn.impute."):
            return True
    return True


def _allows_nan(step: Any) -> bool:
    try:
        from sklearn.utils import get_tags
    except ImportError:  # scikit-learn 1.5
        from sklearn.utils._tags import _safe_tags

        return bool(_safe_tags(step, "allow_nan"))
    try:
        return bool(get_tags(step).input_tags.allow_nan)
    except (AttributeError, TypeError):  # a class without scikit-learn's tags
        return False


def names_columns(estimator: Any) -> bool:
    """Return whether a ColumnTransformer inside chooses columns by name."""
    inside = [estimator, *estimator.get_params(deep=True).values()]
    found = [one for one in inside if type(one).__name__ == "ColumnTransformer"]
    chosen = [columns for one in found for *_, columns in one.transformers]
    return any(map(_is_of_names, chosen))


def _is_of_names(columns: Any) -> bool:
    """Return whether a ColumnTransformer chooses columns so by their names."""
    if type(columns).__name__ == "make_column_selector":
        return True
    if isinstance(columns, slice):
        columns = columns.start, columns.stop
    several = [columns] if isinstance(columns, str) or callable(columns) else columns
    return any(isinstance(one, str) for one in np.ravel(several).tolist())


def is_same_with_any_threads(estimator: Any) -> bool:
    """Return whether a fit does not depend on the number of OpenMP's threads.

    This holds for the trees of XGBoost, unless they stop early by a metric, whose sum
    depends on the threads, and for histogram gradient boosting, also after steps that
    have no such threads. It does not hold for XGBoost's linear booster, nor is it known
    of other libraries.
    """
    *before, last = steps_of(estimator)
    module = type(last).__module__
    trees = module.startswith("sklearn.ensemble._hist_gradient_boosting.")
    if module == "xgboost.sklearn":
        trees = has_plain_trees(last.get_params())
    return trees and all(
        type(one).__module__.startswith(WITHOUT_THREADS) for one in before
    )


def is_compiled(estimator: Any) -> bool:
    """Return whether it is XGBoost's, without functions of Python or own threads.

    Its fits then hardly wait for other threads of Python. A pipeline is not shared, as
    scikit-learn's configuration, which its steps use, holds for one thread.
    """
    if type(estimator).__module__ != "xgboost.sklearn":
        return False
    return estimator.n_jobs in (None, 1) and without_functions(estimator.get_params())


# ---- linear predictors ----


def likelihood_of(estimator: Any) -> Likelihood | None:
    """Return the likelihood that an estimator maximises, apart from a ridge.

    It is known for ``LogisticRegression``, ``LinearRegression`` and ``Ridge``, by
    themselves or after steps that scale or impute columns.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> likelihood_of(LogisticRegression())
    Bernoulli(firth=False)
    """
    last = last_step(estimator)
    if not _from_sklearn(last) or not all(map(_is_affine, steps_of(estimator)[:-1])):
        return None
    kind = type(last).__name__
    if kind == "LogisticRegression":
        usual = getattr(last, "multi_class", "auto") in ("auto", "deprecated")
        other = last.solver == "liblinear" or last.dual  # it shrinks the intercept
        return Bernoulli() if usual and not other and _has_ridge(last) else None
    if kind == "LinearRegression":
        return None if last.positive else Gaussian()
    if kind == "Ridge":
        return Gaussian() if np.ndim(last.alpha) == 0 and not last.positive else None
    return None


def linear_of(estimator: Any, training: TrainingSet) -> LinearFits | None:
    """Return the linear predictor of a fitted estimator.

    A penalty on the coefficients of scaled columns is a penalty on those of the
    original columns, with another strength. What scaling and imputing steps learnt is
    taken as given.

    Parameters
    ----------
    estimator : scikit-learn estimator or pipeline
        The fitted estimator.
    training : TrainingSet
        The data to which it was fitted.

    Returns
    -------
    LinearFits or None
        None if the estimator has no known likelihood.
    """
    if likelihood_of(estimator) is None:
        return None
    last, p = last_step(estimator), training.X.shape[1]
    p -= training.intercept is not None
    offset, scale, filled = _affine(estimator, p)
    if len(offset) != p:
        return None
    coef = np.asarray(last.coef_, dtype=float).reshape(-1, p)
    if training.kind == "multiclass" and len(coef) != training.n_classes:
        return None
    intercept = np.broadcast_to(np.ravel(last.intercept_), len(coef))
    shift = coef @ offset
    if not last.fit_intercept and np.abs(shift).max(initial=0.0) > 0:
        return None
    one = len(coef) == 1
    beta = (coef * scale).T
    with np.errstate(divide="ignore"):
        # β = γ × scale, so that αγ² = (α / scale²) β²; infinite for a scale of 0
        penalty = _ridge(last) / scale**2
    constant = intercept + shift
    place, penalty_there, missing = training.intercept, 0.0, filled
    if not last.fit_intercept:
        # an intercept that is not fitted is 0, as under an infinite penalty
        constant, penalty_there = np.zeros(len(coef)), math.inf
    if place is not None:
        beta = np.insert(beta, place, constant, axis=0)
        penalty = np.insert(penalty, place, penalty_there)
        missing = None if filled is None else np.insert(filled, place, 1.0)
    added = place is None and last.fit_intercept
    weights = _class_weights(last, training)
    is_balanced = isinstance(getattr(last, "class_weight", None), str)
    return LinearFits(
        coefficients=beta[None, :, 0] if one else beta[None],
        penalty=penalty[None],
        constant=None if not added else (constant if one else constant[None]),
        filled=None if missing is None else missing[None],
        class_weights=None if weights is None else weights[None],
        balanced=np.array([True]) if is_balanced else None,
    )


def _from_sklearn(estimator: Any) -> bool:
    return type(estimator).__module__.startswith("sklearn.")


def _is_affine(step: Any) -> bool:
    """Return whether a step shifts and scales columns, or fills in missing values."""
    if step is None or isinstance(step, str):
        return step in (None, "passthrough")
    if not _from_sklearn(step):
        return False
    kind = type(step).__name__
    if kind == "SimpleImputer":
        plain = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
        return plain and not step.add_indicator
    return kind in SCALERS and not getattr(step, "clip", False)


def _has_ridge(model: Any) -> bool:
    """Return whether a logistic regression has a ridge, or no penalty."""
    penalty = getattr(model, "penalty", "deprecated")
    if penalty not in ("l2", "deprecated", "none", None, "elasticnet"):
        return False
    shrinks = penalty in ("elasticnet", "deprecated")
    return not (shrinks and getattr(model, "l1_ratio", None))


def _ridge(model: Any) -> float:
    """Return the strength of the ridge on the coefficients of an estimator."""
    if type(model).__name__ == "Ridge":
        return float(model.alpha)
    if type(model).__name__ == "LinearRegression":
        return 0.0
    none = getattr(model, "penalty", "l2") in (None, "none")
    return 0.0 if none else 1.0 / float(model.C)


def _affine(estimator: Any, columns: int) -> tuple[Floats, Floats, Floats | None]:
    """Return shift and scale of each column, and what replaces a missing value."""
    before = steps_of(estimator)[:-1]
    steps = [step for step in before if step not in (None, "passthrough")]
    # an affine map is known by what it makes of 0 and 1; NaN shows the value filled in
    rows = np.array([[0.0], [1.0], [np.nan]]).repeat(columns, axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an imputer may drop a column
        for step in steps:
            rows = np.asarray(step.transform(rows), dtype=float)
    offset, scale = rows[0], rows[1] - rows[0]
    if np.isnan(rows[2]).all():
        return offset, scale, None
    with np.errstate(divide="ignore", invalid="ignore"):
        # a column that is scaled to nothing may have any value
        filled = np.where(scale != 0, (rows[2] - offset) / scale, 0.0)
    return offset, scale, filled


def _class_weights(model: Any, training: TrainingSet) -> Floats | None:
    """Return the factor of each class in the likelihood, shape (classes,)."""
    wanted = getattr(model, "class_weight", None)
    if wanted is None:
        return None
    codes = range(training.n_classes)
    if isinstance(wanted, Mapping):
        return np.array([float(wanted.get(code, 1.0)) for code in codes])
    return balanced_weights(training)


def balanced_weights(training: TrainingSet) -> Floats:
    """Return the factor of each class with ``class_weight="balanced"``, (classes,).

    Since version 1.6 or so scikit-learn counts a record by its weight.
    """
    from sklearn.utils.class_weight import compute_class_weight

    counted = "sample_weight" in inspect.signature(compute_class_weight).parameters
    weights = training.weights if counted else None
    totals = np.bincount(training.y, weights, training.n_classes)
    # the same total weight for every class, and a mean weight of 1 over all records
    return np.asarray(totals.sum() / (training.n_classes * totals))

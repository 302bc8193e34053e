"""What estimators of scikit-learn and their steps can do."""

from __future__ import annotations

import copy
import re
from typing import Any

from numpy.typing import NDArray

from statcv.errors import ModelError
from statcv.models.base import Matrix
from statcv.models.other_libraries.boosted_fit import has_plain_trees, without_functions
from statcv.models.other_libraries.sklearn_linear import last_step
from statcv.models.other_libraries.thread_warnings import collected, show

# classes of scikit-learn from which estimators that predict by neighbours derive
NEAR = {"KNeighborsMixin", "RadiusNeighborsMixin"}


# modules of scikit-learn whose estimators start no threads of OpenMP
WITHOUT_THREADS = ("sklearn.impute._base", "sklearn.preprocessing.")


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


def twin(value: Any) -> Any:
    """Copy an estimator by its parameters, those of its parts too."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if type(value) in (list, tuple):
        return type(value)(map(twin, value))
    if not hasattr(value, "get_params") or isinstance(value, type):
        return copy.deepcopy(value)
    made = object.__new__(type(value))
    vars(made).update({name: twin(own) for name, own in vars(value).items()})
    return made


def set_parameter(estimator: Any, name: str, value: Any) -> None:
    """Set a parameter; that of a pipeline's step without reading those of all steps."""
    step, _, rest = name.partition("__")
    inside = dict(getattr(estimator, "steps", ())).get(step) if rest else None
    if inside is not None:
        set_parameter(inside, rest, value)
    elif not rest and _sets_attributes(type(estimator)):
        setattr(estimator, name, value)
    else:
        estimator.set_params(**{name: value})


def _sets_attributes(kind: type[Any]) -> bool:
    """Return whether a class's ``set_params`` sets attributes, as scikit-learn's do."""
    from sklearn.base import BaseEstimator

    return getattr(kind, "set_params", None) is BaseEstimator.set_params


def converges(fit: Any, X: Matrix, y: NDArray[Any]) -> bool:
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
    for step in _steps(estimator):
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


def is_same_with_any_threads(estimator: Any) -> bool:
    """Return whether a fit does not depend on the number of OpenMP's threads.

    This holds for the trees of XGBoost, unless they stop early by a metric, whose sum
    depends on the threads, and for histogram gradient boosting, also after steps that
    have no such threads. It does not hold for XGBoost's linear booster, nor is it known
    of other libraries.
    """
    last = last_step(estimator)
    return _is_of_trees(last) and all(
        type(one).__module__.startswith(WITHOUT_THREADS)
        for one in _steps(estimator)
        if one is not last
    )


def _steps(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline, also of one inside it, or the estimator."""
    if not hasattr(estimator, "steps"):
        return [estimator]
    return [one for _, step in estimator.steps for one in _steps(step)]


def _is_of_trees(estimator: Any) -> bool:
    """Return whether an estimator is of boosted trees that any threads leave alike."""
    module = type(estimator).__module__
    if module.startswith("sklearn.ensemble._hist_gradient_boosting."):
        return True
    return module == "xgboost.sklearn" and has_plain_trees(estimator.get_params())


def is_compiled(estimator: Any) -> bool:
    """Return whether it is XGBoost's, without functions of Python or own threads.

    Its fits then hardly wait for other threads of Python. A pipeline is not shared, as
    scikit-learn's configuration, which its steps use, holds for one thread.
    """
    if type(estimator).__module__ != "xgboost.sklearn":
        return False
    return estimator.n_jobs in (None, 1) and without_functions(estimator.get_params())

"""The linear predictors of scikit-learn regressions, in the columns of the design."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.models.base import TrainingSet
from statcv.models.likelihood import Bernoulli, Gaussian, Likelihood
from statcv.models.linear_fits import LinearFits

Floats = NDArray[np.float64]


def _divided(rows: Floats, centre: Floats | None, scale: Floats | None) -> Floats:
    """Return rows minus a centre, divided by a scale."""
    centred = rows if centre is None else rows - centre
    return centred if scale is None else centred / scale


def _standardised(step: Any, rows: Floats) -> Floats:
    return _divided(rows, step.mean_ if step.with_mean else None, step.scale_)


SCALERS: dict[str, Callable[[Any, Floats], Floats]] = {
    "StandardScaler": _standardised,
    "MinMaxScaler": lambda step, rows: rows * step.scale_ + step.min_,
    "MaxAbsScaler": lambda step, rows: _divided(rows, None, step.scale_),
    "RobustScaler": lambda step, rows: _divided(rows, step.center_, step.scale_),
}  # what they do to rows, without checks


def last_step(estimator: Any) -> Any:
    """Return the estimator that predicts: of a pipeline, its last step."""
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    return estimator


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
    if not _from_sklearn(last) or not all(map(_is_affine, _steps(estimator))):
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
        beta = _inserted(beta, place, constant)
        penalty = _inserted(penalty, place, penalty_there)
        missing = None if filled is None else _inserted(filled, place, 1.0)
    added = place is None and last.fit_intercept
    weights = _class_weights(last, training)
    return LinearFits(
        coefficients=beta[None, :, 0] if one else beta[None],
        penalty=penalty[None],
        constant=None if not added else (constant if one else constant[None]),
        filled=None if missing is None else missing[None],
        class_weights=None if weights is None else weights[None],
        balanced=np.array([True]) if _is_balanced(last) else None,
    )


def _inserted(rows: Floats, place: int, row: Floats | float) -> Floats:
    """Return rows with one more at a place, as ``numpy.insert`` does less quickly."""
    made = np.empty((len(rows) + 1, *rows.shape[1:]))
    made[:place], made[place], made[place + 1 :] = rows[:place], row, rows[place:]
    return made


def _from_sklearn(estimator: Any) -> bool:
    return type(estimator).__module__.startswith("sklearn.")


def _steps(estimator: Any) -> list[Any]:
    """Return the steps before the last one, those of inner pipelines in their place."""
    if not hasattr(estimator, "steps"):
        return []
    *before, last = (step for _, step in estimator.steps)
    found: list[Any] = []
    for step in before:
        found += [*_steps(step), last_step(step)]
    return found + _steps(last)


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
    steps = [step for step in _steps(estimator) if step not in (None, "passthrough")]
    # an affine map is known by what it makes of 0 and 1; NaN shows the value filled in
    rows = np.array([[0.0], [1.0], [np.nan]]).repeat(columns, axis=1)
    for step in steps:
        rows = _transformed(step, rows)
    offset, scale = rows[0], rows[1] - rows[0]
    if np.isnan(rows[2]).all():
        return offset, scale, None
    with np.errstate(divide="ignore", invalid="ignore"):
        # a column that is scaled to nothing may have any value
        filled = np.where(scale != 0, (rows[2] - offset) / scale, 0.0)
    return offset, scale, filled


def _transformed(step: Any, rows: Floats) -> Floats:
    known = SCALERS.get(type(step).__name__)
    if known is not None:
        return known(step, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an imputer may drop a column
        return np.asarray(step.transform(rows), dtype=float)


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


def _is_balanced(model: Any) -> bool:
    return isinstance(getattr(model, "class_weight", None), str)

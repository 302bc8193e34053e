"""The importance of each column of the data in a fitted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.engine import FoldFit
from statcv.formula import Terms
from statcv.models import BoostedFit, SklearnFit, TrainingSet, WrappedFit

Floats = NDArray[np.float64]
Shares = Mapping[str, float]

OWN = ("total_gain", "feature_importances", "linear")  # in order of preference
LABELS = {
    "total_gain": "total gain",
    "feature_importances": "the estimator's own",
    "linear": "sd of the column's contribution to the linear predictor",
    "permutation": "loss when held-out values are permuted",
}


def importances(fold: FoldFit) -> dict[str, Shares]:
    """Return the importances of the data's columns in a fit, as proportions.

    The kinds are ``total_gain`` and ``gain`` for boosted trees (the sum and the mean
    over the splits that use a column); ``feature_importances`` for a scikit-learn
    estimator; and ``linear``, the standard deviation of the contribution of a column's
    terms to the linear predictor, which is ``|coefficient| × sd`` for a single term.
    The importance of a term of several columns is divided equally among them; in
    ``linear`` it counts in full for each. The importances of each kind sum to one.

    Returns
    -------
    dict
        The importances by kind, then by column; empty if the model has none.
    """
    fit: Any = fold.fit
    while isinstance(fit, WrappedFit):
        fit = fit.fit
    terms, training = fold.setup.design.terms, fold.training
    found: dict[str, Floats] = {}
    booster = _booster(fit)
    if booster is not None:
        for kind in ("total_gain", "gain"):
            found[kind] = _of_booster(booster, kind, training)
    elif isinstance(fit, SklearnFit):
        own = np.ravel(getattr(fit.estimator, "feature_importances_", []))
        if len(own) == training.without_intercept.shape[1]:
            found["feature_importances"] = _with_intercept(own, training)
    shares = {kind: _by_column(terms, value) for kind, value in found.items()}
    linear = _linear(terms, training, fit.coefficients)
    if linear is not None:
        shares["linear"] = _normalised(linear)
    return shares


def mean_shares(folds: Sequence[Mapping[str, Shares]], kind: str) -> Shares | None:
    """Return the mean over fits; None if one of them does not have this kind."""
    if not folds or any(kind not in one for one in folds):
        return None
    columns = folds[0][kind]
    return {
        name: float(np.mean([one[kind][name] for one in folds])) for name in columns
    }


def _booster(fit: Any) -> Any:
    """Return the XGBoost trees of a fit; None for other models."""
    if isinstance(fit, BoostedFit):
        return None if fit.linear else fit.booster
    if isinstance(fit, SklearnFit):
        estimator = getattr(fit.estimator, "best_estimator_", fit.estimator)
        trees = getattr(estimator, "booster", None) != "gblinear"
        if hasattr(estimator, "get_booster") and trees:
            return estimator.get_booster()
    return None


def _of_booster(booster: Any, kind: str, training: TrainingSet) -> Floats:
    columns = training.without_intercept.shape[1]
    names = booster.feature_names or [f"f{j}" for j in range(columns)]
    scores = booster.get_score(importance_type=kind)
    own = np.array([float(scores.get(name, 0.0)) for name in names])
    return _with_intercept(own, training)


def _with_intercept(own: Floats, training: TrainingSet) -> Floats:
    if training.intercept is None:
        return np.asarray(own, dtype=float)
    return np.insert(np.asarray(own, dtype=float), training.intercept, 0.0)


def _by_column(terms: Terms, value: Floats) -> Shares:
    """Divide importances of the matrix's columns among the columns of the data."""
    total = dict.fromkeys(terms.columns, 0.0)
    for j, one in enumerate(value.tolist()):
        used = terms.columns_of(j)
        for name in used:
            total[name] += one / len(used)
    return _normalised(total)


def _normalised(total: Shares) -> Shares:
    whole = sum(total.values())
    if not whole > 0:  # a model that uses no column
        return dict.fromkeys(total, 0.0)
    return {name: one / whole for name, one in total.items()}


def _linear(
    terms: Terms, training: TrainingSet, coefficients: Mapping[str, float] | None
) -> Shares | None:
    """Return the sd of each column's contribution to the linear predictor."""
    if not coefficients:
        return None
    names = training.names
    if training.kind == "multiclass":
        every = [
            [coefficients.get(f"{name}[{k}]", 0.0) for name in names]
            for k in range(training.n_classes)
        ]
    elif all(n in coefficients for n in names if n != "Intercept"):
        every = [[coefficients.get(name, 0.0) for name in names]]
    else:
        return None
    beta = np.nan_to_num(np.array(every))
    users = [terms.columns_of(j) for j in range(len(names))]
    total = {}
    for column in terms.columns:
        own = [j for j, used in enumerate(users) if column in used]
        part = training.X[:, own] @ beta[:, own].T
        total[column] = float(np.sqrt(part.var(axis=0).sum()))
    return total

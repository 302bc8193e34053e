"""Any scikit-learn classifier, regressor or pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from statcv.errors import ModelError
from statcv.models.base import Matrix, TrainingSet, refuse_kind


@dataclass(frozen=True, eq=False)
class Sklearn:
    """An estimator, cloned and fitted anew in every fold.

    It receives the design without its intercept, columns in the order of the
    formula, and the outcome as 0/1 with 1 positive. Every ``random_state`` that is
    None is set from the seed of the fold. A classifier predicts probabilities, or
    its decision function where it has none; a regressor its mean.

    Parameters
    ----------
    estimator : scikit-learn estimator
    label : str, optional
        How print and summary call it; the estimator's own text.
    """

    estimator: Any
    label: str = field(default="")

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", " ".join(repr(self.estimator).split()))

    @property
    def _name(self) -> str:
        return type(self.estimator).__name__

    def check(self, kind: str) -> None:
        """Raise ModelError where the estimator does not fit the outcome."""
        from sklearn.base import is_classifier, is_regressor

        if is_classifier(self.estimator):
            refuse_kind(self._name, kind, ("binary", "multiclass"))
        elif is_regressor(self.estimator):
            refuse_kind(self._name, kind, ("continuous", "binary"))
        else:
            raise ModelError(f"{self._name} is neither a classifier nor a regressor.")

    def fit(self, training: TrainingSet) -> SklearnFit:
        """Fit a clone to the training set."""
        from sklearn.base import clone

        if training.without_intercept.shape[1] == 0:
            raise ModelError(
                f"{self._name} needs at least one predictor; for the model without "
                "any use model='mean'."
            )
        estimator = clone(self.estimator)
        _seed(estimator, training.seed)
        keywords = {}
        if training.weights is not None:
            keywords[_weight_name(estimator)] = training.weights
        estimator.fit(training.without_intercept, training.y, **keywords)
        return SklearnFit(estimator, training)


@dataclass(frozen=True, eq=False)
class SklearnFit:
    """A fitted estimator that predicts in the package's terms."""

    estimator: Any
    training: TrainingSet
    converged: bool = True
    separated: bool = False

    @property
    def coefficients(self) -> dict[str, float] | None:
        """``intercept_`` and ``coef_`` of a linear model of one outcome, or None."""
        coef = np.asarray(getattr(self.estimator, "coef_", np.empty((2, 2))))
        names = [
            name
            for j, name in enumerate(self.training.names)
            if j != self.training.intercept
        ]
        if coef.size != len(names) or (coef.ndim == 2 and coef.shape[0] != 1):
            return None
        intercept = np.ravel(getattr(self.estimator, "intercept_", 0.0))
        values = dict(zip(names, coef.ravel().tolist(), strict=True))
        return {"Intercept": float(intercept[0]), **values}

    def predict(self, X: Matrix) -> Matrix:
        """Return probabilities, decision values or means."""
        from sklearn.base import is_classifier

        if self.training.intercept is not None:
            X = np.delete(X, self.training.intercept, axis=1)
        if not is_classifier(self.estimator):
            return np.asarray(self.estimator.predict(X), dtype=float).reshape(len(X))
        if hasattr(self.estimator, "predict_proba"):
            given = np.asarray(self.estimator.predict_proba(X), dtype=float)
            shares = np.zeros((len(X), self.training.n_classes))
            shares[:, np.asarray(self.estimator.classes_, dtype=int)] = given
            return shares[:, 1] if self.training.kind == "binary" else shares
        if self.training.kind == "multiclass":
            raise ModelError(
                f"{type(self.estimator).__name__} gives no probabilities, which an "
                "outcome of more than two classes needs."
            )
        score = getattr(self.estimator, "decision_function", self.estimator.predict)
        return np.asarray(score(X), dtype=float).reshape(len(X))


def _seed(estimator: Any, seed: int) -> None:
    unset = {
        name: seed
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    if unset:
        estimator.set_params(**unset)


def _weight_name(estimator: Any) -> str:
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    last = estimator.steps[-1] if isinstance(estimator, Pipeline) else ("", estimator)
    if not has_fit_parameter(last[1], "sample_weight"):
        raise ModelError(f"{type(last[1]).__name__} takes no weights.")
    return f"{last[0]}__sample_weight" if last[0] else "sample_weight"

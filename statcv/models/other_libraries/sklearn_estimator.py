"""Any scikit-learn or scikit-survival estimator or pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from statcv.errors import ModelError, PrecisionWarning, warn
from statcv.metrics.classification.classwise import without_noise
from statcv.models import base
from statcv.models.base import Capabilities, TrainingSet
from statcv.models.cox import ProportionalHazards
from statcv.models.linear_fits import LinearFits
from statcv.models.other_libraries import sklearn_traits as traits
from statcv.models.other_libraries.thread_warnings import passed_on
from statcv.numeric.arrays import Array, Floats
from statcv.numeric.survival import events_of, times_of
from statcv.tables import Printed
from statcv.words import plural


class Sklearn:
    """An estimator that is cloned and fitted in every fold.

    It receives the design without its intercept, columns in the order of the formula,
    and the outcome as 0/1 with 1 positive. Every ``random_state`` that is None is set
    from the seed of the fold. A classifier predicts probabilities, or its decision
    function if it has no probabilities. A ``ConvergenceWarning`` counts the fold as not
    converged.

    An estimator of scikit-survival, or with its ``predict_survival_function``, receives
    times to an event as an array of (event, time). Its risk by a horizon is 1 minus
    that function. ``XGBRegressor(objective="survival:cox")`` is fitted too, with
    Breslow's baseline hazard.

    Parameters
    ----------
    estimator : scikit-learn estimator
        The estimator or pipeline.
    label : str, optional
        Name in print and summary; by default the estimator's own text.

    Raises
    ------
    ModelError
        If the estimator cannot be cloned.

    Examples
    --------
    >>> import statcv as scv
    >>> from sklearn.svm import SVC
    >>> model = scv.models.Sklearn(SVC(C=0.5), label="support vectors")
    >>> df = scv.load_data("spector")
    >>> scv.cv("GRADE ~ GPA + PSI", df, model=model, k=4, seed=1).learner.label
    'support vectors'
    """

    def __init__(self, estimator: Any, label: str = "") -> None:
        from sklearn.base import clone

        try:
            self.estimator = clone(estimator)
        except Exception as error:
            raise ModelError(
                f"{type(estimator).__name__} cannot be cloned: {error}"
            ) from error
        self._given_label = label

    def __repr__(self) -> str:
        return f"Sklearn({self.label})"

    def __getstate__(self) -> dict[str, Any]:
        """Keep what was given; everything derived from it can be derived again."""
        return {"estimator": self.estimator, "_given_label": self._given_label}

    @cached_property
    def label(self) -> str:
        """How print and summary call it."""
        return self._given_label or traits.text_of(self.estimator)

    @property
    def _name(self) -> str:
        return type(self.estimator).__name__

    @cached_property
    def capabilities(self) -> Capabilities:
        """Those of the last step of a pipeline, by its kind."""
        last = traits.last_step(self.estimator)
        kinds = {kind.__name__ for kind in type(last).__mro__}
        dummy = type(last).__module__.startswith("sklearn.dummy")
        draws = dummy and last.strategy in ("stratified", "uniform")
        any_threads = traits.is_same_with_any_threads(self.estimator)
        return Capabilities(
            uses_predictors=not dummy or draws,
            predicts_by_neighbors=bool(kinds & traits.NEAR),
            any_threads=any_threads,
            releases_gil=any_threads and traits.is_compiled(self.estimator),
            missing=traits.accepts_missing(self.estimator),
            likelihood=traits.likelihood_of(self.estimator),
        )

    def check(self, kind: str) -> None:
        """Raise ModelError if the estimator does not fit the outcome."""
        from sklearn.base import is_regressor

        if traits.names_columns(self.estimator):
            raise ModelError(
                "a ColumnTransformer receives the design of the formula, an array "
                "without names in which factors are coded. Leave it out, as terms such "
                "as scale(x) are learnt in each training set, or let it choose columns "
                "by position. To keep it, evaluate what cross_val_predict(cv=plan) "
                "returns, where plan is a fold_plan(), by from_predictions()."
            )
        inner = innermost_of(self.estimator)
        boosted = type(inner).__module__ == "xgboost.sklearn"
        if boosted and inner.early_stopping_rounds is not None:
            raise ModelError(
                "early stopping needs other records than those of the fit, which "
                "statcv.models.XGBoost(early_stopping_rounds=…) sets aside."
            )
        if fits_times(self.estimator) or fits_hazards(self.estimator):
            base.refuse_kind(self._name, kind, ("survival",))
        elif self._classifies:
            base.refuse_kind(self._name, kind, ("binary", "multiclass"))
        elif is_regressor(self.estimator):
            base.refuse_kind(self._name, kind, ("continuous", "binary"))
        else:
            raise ModelError(
                f"{self._name} is neither a classifier nor a regressor; derive its "
                "class from sklearn.base.ClassifierMixin or RegressorMixin, and "
                "BaseEstimator."
            )

    def fit(self, training: TrainingSet) -> SklearnFit:
        """Fit a copy to the training set."""
        base.refuse_no_predictors(training, self._name)
        of_times = training.kind == "survival" and fits_times(self.estimator)
        y = event_times(training.y) if of_times else training.y
        estimator = self._copied(training.seed)
        keywords = {}
        if training.weights is not None:
            keywords[traits.weight_name_of(estimator)] = training.weights
        fit = partial(estimator.fit, **keywords)
        converged = traits.converges(fit, training.without_intercept, y)
        return SklearnFit(estimator, training, self._classifies, converged)

    @cached_property
    def _classifies(self) -> bool:
        from sklearn.base import is_classifier

        return bool(is_classifier(self.estimator)) and not fits_times(self.estimator)

    def _copied(self, seed: int) -> Any:
        """Return a copy that is not fitted and whose random states are set."""
        from sklearn.base import clone

        made, unset = clone(self.estimator), {}
        for name, value in made.get_params(deep=True).items():
            last = name.rpartition("__")[2]
            if last == "random_state" and value is None:
                unset[name] = seed
            elif last == "cv" and getattr(value, "random_state", 0) is None:
                value.random_state = seed if getattr(value, "shuffle", True) else None
        return made.set_params(**unset)


@dataclass(frozen=True, eq=False, repr=False)
class SklearnFit(Printed):
    """A fitted estimator that predicts in the package's terms."""

    estimator: Any
    training: TrainingSet
    classifies: bool
    converged: bool = True
    separated: bool = False
    chosen: None = None
    curves: None = None

    @property
    def coefficients(self) -> dict[str, float] | None:
        """``intercept_`` and ``coef_`` of a linear model of one outcome, or None."""
        coef = np.asarray(getattr(self.estimator, "coef_", np.empty((2, 2))))
        training = self.training
        names = [n for j, n in enumerate(training.names) if j != training.intercept]
        if coef.size != len(names) or (coef.ndim == 2 and coef.shape[0] != 1):
            return None
        values = dict(zip(names, coef.ravel().tolist(), strict=True))
        intercept = np.ravel(getattr(self.estimator, "intercept_", 0.0))
        if training.kind == "survival" and not intercept[0]:
            return values
        return {"Intercept": float(intercept[0]), **values}

    @property
    def linear(self) -> LinearFits | None:
        """Its linear predictor, if it is a regression after scaling and imputing."""
        return traits.linear_of(self.estimator, self.training)

    @property
    def probabilities(self) -> bool:
        """False for a classifier that has a decision function alone."""
        return not self.classifies or hasattr(self.estimator, "predict_proba")

    def predict(self, X: Floats) -> Floats:
        """Return probabilities, decision values, means, or scores and risks."""
        X = base.without_column(X, self.training.intercept)
        if self.training.kind == "survival":
            if fits_hazards(self.estimator):
                return self._hazards(log_hazards(self.estimator, X))
            return predicted_times(self.estimator, X, self.training.horizons)
        if not self.classifies:
            return np.asarray(self._asked("predict", X), dtype=float).reshape(len(X))
        if self.probabilities:
            given = self._probable(np.asarray(self._asked("predict_proba", X), float))
            shares = np.zeros((len(X), self.training.n_classes))
            shares[:, np.asarray(self.estimator.classes_, dtype=int)] = given
            return shares[:, 1] if self.training.kind == "binary" else shares
        if self.training.kind == "multiclass":
            raise ModelError(
                f"{type(self.estimator).__name__} gives no probabilities, which an "
                "outcome of more than two classes needs."
            )
        if hasattr(self.estimator, "decision_function"):
            return np.asarray(self._asked("decision_function", X)).reshape(len(X))
        # bare classes, as scores that are positive where they speak for class 1
        return np.asarray(self._asked("predict", X), dtype=float).reshape(len(X)) - 0.5

    @cached_property
    def _hazards(self) -> ProportionalHazards:
        training = self.training
        eta = log_hazards(self.estimator, training.without_intercept)
        return ProportionalHazards.of(training, eta)

    def _asked(self, method: str, X: Floats) -> Any:
        return passed_on(getattr(self.estimator, method), X)

    def _probable(self, given: Floats) -> Floats:
        """Return the probabilities without rounding noise; refuse other numbers."""
        kept, noisy, bad = without_noise(given)
        name = f"the predict_proba of {type(self.estimator).__name__}"
        if bad.any():
            raise ModelError(
                f"{name} returned {given[bad][0].tolist()} for a record, and for "
                f"{plural(int(bad.sum()), 'record')} in all no probabilities of "
                "0 to 1 that add up to 1; scores belong in a decision_function."
            )
        if noisy.any():
            warn(
                f"{name} is beyond 0 to 1, or does not add up to 1, by rounding for "
                f"{plural(int(noisy.sum()), 'record')}, and was corrected.",
                PrecisionWarning,
            )
        return kept

    def decide(self, X: Floats) -> Floats | None:
        """Return the classes of the estimator's ``predict``, as 0 and 1.

        Raises
        ------
        ModelError
            If one of them is not a class of the training set.
        """
        if not (self.classifies and hasattr(self.estimator, "predict")):
            return None
        X = base.without_column(X, self.training.intercept)
        given = np.ravel(self._asked("predict", X))
        codes = range(self.training.n_classes)
        odd = [value for value in given.tolist() if value not in codes]
        if odd:
            raise ModelError(
                f"the predict of {type(self.estimator).__name__} returned {odd[0]!r}; "
                f"it must return the classes of its training set, 0 to {codes[-1]}."
            )
        if self.training.kind == "binary":
            return np.asarray(given, dtype=float)
        return np.asarray(given[:, None] == np.array(codes), dtype=float)


# ---- estimators in the manner of scikit-survival ----

EVENT_TIME = np.dtype([("event", bool), ("time", float)])  # as scikit-survival reads it


def innermost_of(estimator: Any) -> Any:
    """Return the estimator that predicts inside pipelines and searches."""
    while True:
        if hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        elif type(estimator).__module__.startswith("sklearn.model_selection."):
            estimator = estimator.estimator
        else:
            return estimator


def fits_times(estimator: Any) -> bool:
    """Return whether an estimator learns from an array of (event, time).

    So do the estimators of scikit-survival, and those with its
    ``predict_survival_function``, also at the end of a pipeline.
    """
    inner = innermost_of(estimator)
    own = any(kind.__module__.startswith("sksurv.") for kind in type(inner).__mro__)
    return own or hasattr(inner, "predict_survival_function")


def fits_hazards(estimator: Any) -> bool:
    """Return whether an estimator is XGBoost's of proportional hazards."""
    inner = innermost_of(estimator)
    boosted = type(inner).__module__ == "xgboost.sklearn"
    return boosted and inner.get_params()["objective"] == "survival:cox"


def log_hazards(estimator: Any, X: Floats) -> Floats:
    """Return the logarithms of relative hazards by XGBoost's estimator, (m,)."""
    return predicted_times(estimator, X, (), output_margin=True)[:, 0]


def event_times(y: Floats) -> Array:
    """Return signed times as an array of (event, time)."""
    made = np.empty(len(y), dtype=EVENT_TIME)
    made["event"], made["time"] = events_of(y), times_of(y)
    return made


def predicted_times(
    estimator: Any, X: Floats, horizons: tuple[float, ...], **more: Any
) -> Floats:
    """Return the score of an estimator and its risks, shape (m, 1 + horizons).

    Parameters
    ----------
    estimator : object
        A fitted estimator, pipeline or search.
    X : numpy.ndarray, shape (m, p)
    horizons : tuple of float
    **more
        Arguments of its ``predict``.

    Raises
    ------
    ModelError
        If it has no survival function, or one that is not between 0 and 1.
    """
    # scikit-learn's pipelines pass on no method that scikit-learn does not know
    while hasattr(estimator, "steps") or hasattr(estimator, "best_estimator_"):
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
            continue
        *before, (_, last) = estimator.steps
        for _, step in before:
            if step not in (None, "passthrough"):
                X = passed_on(step.transform, X)
        estimator = last
    score = np.asarray(passed_on(partial(estimator.predict, **more), X), dtype=float)
    # some of scikit-survival's predict a time, and say so
    sign = 1.0 if getattr(estimator, "_predict_risk_score", True) else -1.0
    score = sign * score.reshape(len(X), 1)
    if not horizons:
        return score
    name = type(estimator).__name__
    if not hasattr(estimator, "predict_survival_function"):
        raise ModelError(
            f"{name} predicts ranks and no risk by a time: leave horizon= out to "
            "measure how it ranks, by harrell_c and uno_c, or use a model that has a "
            "predict_survival_function."
        )
    curves = passed_on(estimator.predict_survival_function, X)
    risks = np.array([_risks_of(curve, horizons, name) for curve in curves])
    odd = (risks < 0) | (risks > 1)
    if odd.any():
        raise ModelError(
            f"the predict_survival_function of {name} returned "
            f"{1 - risks[odd][0]:g}, which is not a probability."
        )
    return np.hstack([score, risks])


def _risks_of(curve: Any, horizons: tuple[float, ...], name: str) -> Floats:
    """Return 1 minus a survival function, which keeps its last value, at horizons."""
    if hasattr(curve, "x") and hasattr(curve, "y"):  # a step function, 1 at first
        steps = getattr(curve, "a", 1.0) * np.asarray(curve.y) + getattr(curve, "b", 0)
        return 1 - np.append(1.0, steps)[np.searchsorted(curve.x, horizons, "right")]
    if not callable(curve):
        raise ModelError(
            f"the predict_survival_function of {name} must return one function of time "
            "for each record, as those of scikit-survival do."
        )
    return np.array([1 - float(curve(time)) for time in horizons])

"""Risks of models of times to an event that other libraries fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import ModelError
from statcv.models.base import Matrix, TrainingSet
from statcv.models.batched.partial_likelihood import partial_likelihood
from statcv.models.other_libraries.thread_warnings import passed_on
from statcv.numeric.logistic import expit
from statcv.numeric.survival import events_of, risk_of, times_of

EVENT_TIME = np.dtype([("event", bool), ("time", float)])  # as scikit-survival reads it


@dataclass(frozen=True, eq=False)
class ProportionalHazards:
    """The risks that follow from the logarithm of a hazard relative to a baseline.

    Attributes
    ----------
    baseline : numpy.ndarray, shape (…, horizons)
        The logarithm of the cumulative baseline hazard at each horizon.
    """

    baseline: Matrix

    @classmethod
    def of(cls, training: TrainingSet, eta: Matrix) -> ProportionalHazards:
        """Estimate the baseline of a training set as Breslow does.

        Parameters
        ----------
        training : TrainingSet
        eta : numpy.ndarray, shape (n,)
            The logarithms of its relative hazards, which are taken as given.

        Examples
        --------
        >>> y = np.array([1.0, 2.0, -3.0, 4.0])
        >>> training = TrainingSet(
        ...     np.ones((4, 1)), y, "survival", 0, ("one",), 0, None, 0, horizons=(2.5,)
        ... )
        >>> hazards = ProportionalHazards.of(training, np.zeros(4))
        >>> np.exp(hazards.baseline).round(4)  # 1/4 + 1/3
        array([0.5833])
        """
        none = np.empty((len(eta), 0))
        alone = partial_likelihood(none, training.y, False, training.weights)
        rows = eta[None, None, alone.sets.order]
        return cls(alone.log_baseline(rows, training.horizons)[0, 0])

    def __call__(self, eta: Matrix) -> Matrix:
        """Return log hazards and risks, (…, 1 + horizons), at log hazards (…,)."""
        eta = eta[..., None]
        return np.concatenate([eta, risk_of(eta + self.baseline)], axis=-1)


@dataclass(frozen=True)
class AcceleratedTimes:
    """The risks that follow from the mean logarithm of the time.

    Attributes
    ----------
    horizons : tuple of float
    distribution : {"normal", "logistic", "extreme"}
        Distribution of the logarithm about that.
    scale : float
    """

    horizons: tuple[float, ...]
    distribution: str
    scale: float

    def __call__(self, mean: Matrix) -> Matrix:
        """Return minus the mean logarithm of the time, and risks: (m, 1 + horizons)."""
        from scipy.special import ndtr

        z = (np.log(np.asarray(self.horizons)) - mean[:, None]) / self.scale
        if self.distribution == "normal":
            risks = ndtr(z)
        elif self.distribution == "logistic":
            risks = expit(z)
        else:  # the extreme value distribution, of which Weibull's is the exponential
            risks = risk_of(z)
        return np.column_stack([-mean, risks])


# ---- estimators in the manner of scikit-survival ----


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


def log_hazards(estimator: Any, X: Matrix) -> Matrix:
    """Return the logarithms of relative hazards by XGBoost's estimator, (m,)."""
    return predicted_times(estimator, X, (), output_margin=True)[:, 0]


def event_times(y: Matrix) -> NDArray[Any]:
    """Return signed times as an array of (event, time)."""
    made = np.empty(len(y), dtype=EVENT_TIME)
    made["event"], made["time"] = events_of(y), times_of(y)
    return made


def predicted_times(
    estimator: Any, X: Matrix, horizons: tuple[float, ...], **more: Any
) -> Matrix:
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


def _risks_of(curve: Any, horizons: tuple[float, ...], name: str) -> Matrix:
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

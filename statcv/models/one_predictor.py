"""Fits of one linear predictor: of two classes, numbers, or times to an event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from statcv.models.base import PlainFit, TrainingSet, means_at, positive_weights
from statcv.models.batched.partial_likelihood import partial_likelihood
from statcv.models.cox import Cox, ProportionalHazards, baseline_beside
from statcv.models.firth import intercept_shifts
from statcv.models.linear import Linear
from statcv.models.logit import Logit
from statcv.numeric.arrays import Floats
from statcv.numeric.logistic import expit

REGRESSIONS: Mapping[str, Any] = {
    "binary": Logit(),
    "continuous": Linear(),
    "survival": Cox(),
}


def intercept_beside(kind: str, y: Floats, eta: Floats, weights: Floats) -> float:
    """Return the intercept of the maximum likelihood, with the rest as an offset.

    It is 0 for times to an event, whose baseline hazard takes its part.
    """
    if kind == "survival":
        return 0.0
    if kind == "continuous":
        return float(np.average(y - eta, weights=weights))
    return float(intercept_shifts(eta[None], y, weights[None])[0])


def has_one_class(training: TrainingSet) -> bool:
    """Return whether all records that count are of one class, or censored."""
    used = positive_weights(training)[0]
    if training.kind == "survival":
        return not (training.y[used] > 0).any()
    return training.kind == "binary" and len(np.unique(training.y[used])) < 2


def fitted_values(training: TrainingSet) -> tuple[Floats, bool]:
    """Return the coefficients by maximum likelihood, and whether they are infinite.

    The intercept of times to an event is 0.
    """
    fit = REGRESSIONS[training.kind].fit(training)
    assert fit.coefficients is not None
    found = [fit.coefficients.get(name, 0.0) for name in training.names]
    return np.array(found), bool(fit.separated)


def fit_with(
    training: TrainingSet,
    beta: Floats,
    separated: bool,
    chosen: dict[str, Any] | None,
    baseline: Sequence[float] | None = None,
) -> PlainFit:
    """Return the fit that has given coefficients.

    Of times to an event, ``baseline`` are the probabilities of no event by each horizon
    at a linear predictor of 0; they are estimated unless given.
    """
    named = dict(zip(training.names, beta.tolist(), strict=True))
    mean: Callable[[Floats], Floats] = partial(mean_of, training.kind)
    if training.kind == "survival":
        centre, given = 0.0, np.array(baseline if baseline is not None else [])
        if baseline is None:
            eta = training.X @ beta
            centre, at = float(eta.mean()), training.horizons
            given = baseline_beside(
                eta - centre, training.y, at, True, training.weights
            )
        with np.errstate(divide="ignore"):
            mean = ProportionalHazards(np.log(-np.log(given)) - centre)
    predict = partial(means_at, mean, beta)
    return PlainFit(predict, named, separated=separated, chosen=chosen)


def mean_of(kind: str, eta: Floats) -> Floats:
    """Return the means of linear predictors."""
    return expit(eta) if kind == "binary" else eta


def loss_of(training: TrainingSet, eta: Floats, weights: Floats) -> float:
    """Return minus the log-likelihood; half the sum of squares of numbers.

    It is Cox's partial likelihood of times to an event, with Efron's ties.
    """
    y = training.y
    if training.kind == "survival":
        problem = partial_likelihood(eta[:, None], y, True, weights)
        one = np.ones((1, 1))
        return float(problem.loss(problem.linear(one), one)[0])
    if training.kind == "continuous":
        return float(weights @ (y - eta) ** 2) / 2
    return float(weights @ (np.logaddexp(0.0, eta) - y * eta))

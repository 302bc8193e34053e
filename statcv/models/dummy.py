"""The two models without predictors: the training mean, and its negative."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from statcv.models.base import Capabilities, Matrix, PlainFit, TrainingSet
from statcv.models.batched.fitted import FittedFolds
from statcv.models.batched.folds import Folds
from statcv.models.batched.linear import fold_means


@dataclass(frozen=True)
class Mean:
    """Predict the training mean (class shares): the model without skill.

    Examples
    --------
    >>> Mean().label
    'training mean'
    """

    label: str = "training mean"
    capabilities = Capabilities(fits_together=True, uses_predictors=False)

    def check(self, kind: str) -> None:
        """Every outcome has a mean."""

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        return PlainFit(partial(_constant, _mean(training)))

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds:
        """Fit the training sets of all folds together."""
        return _constants(fold_means(records, folds))


@dataclass(frozen=True)
class NegMean:
    """Predict minus the training mean: the adversary that shows the leak.

    Under leave-one-out its auROC is 1 whatever the data (Austin, Pe'er & Korem
    2024, Fig. 1b).
    """

    label: str = "negative training mean"
    capabilities = Capabilities(fits_together=True, uses_predictors=False)

    def check(self, kind: str) -> None:
        """Every outcome has a mean."""

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        return PlainFit(partial(_constant, -_mean(training)))

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds:
        """Fit the training sets of all folds together."""
        return _constants(-fold_means(records, folds))


def _constant(value: Matrix, X: Matrix) -> Matrix:
    return np.broadcast_to(value, (len(X), *value.shape))


def _constants(values: Matrix) -> FittedFolds:
    done = np.ones(len(values), dtype=bool)
    return FittedFolds(None, (), done, ~done, lambda rows, fits: values[fits])


def _mean(training: TrainingSet) -> Matrix:
    """Mean outcome or class shares; sums of integers, so ties stay ties."""
    if training.kind == "multiclass":
        counts = np.bincount(training.y, training.weights, training.n_classes)
        return np.asarray(counts / counts.sum())
    if training.weights is None:
        return np.asarray(training.y.sum() / len(training.y))
    return np.asarray(np.average(training.y, weights=training.weights))

"""A fit of boosted trees, and what is read from it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from statcv.errors import ModelError, needed
from statcv.models.base import TrainingSet, without_column
from statcv.models.cox import ProportionalHazards
from statcv.numeric.arrays import Bools, Floats
from statcv.numeric.logistic import expit
from statcv.numeric.survival import risk_of
from statcv.tables import Printed

PLACE = re.compile(r"^\[[\d:]+\] \S+:\d+: ")  # when and where XGBoost gave up


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

    def __call__(self, mean: Floats) -> Floats:
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


@dataclass(frozen=True, eq=False, repr=False)
class BoostedFit(Printed):
    """A fitted booster.

    Attributes
    ----------
    booster : xgboost.Booster
    names : tuple of str
        The columns of the design.
    intercept : int or None
        The column of the intercept, which it does not receive.
    rounds : int
        Number of its rounds by which it predicts.
    missing : float
        Value that stands for a missing one.
    of_lines : bool
        Whether it is a sum of linear functions rather than trees.
    probabilities : bool
    chosen : dict or None
        The number of rounds, if early stopping chose it.
    curves : dict or None
        Training and held-out values after every round, by metric.
    of_times : ProportionalHazards, AcceleratedTimes or None
        What turns its scores into predictions of times to an event.
    """

    booster: Any
    names: tuple[str, ...]
    intercept: int | None
    rounds: int
    missing: float
    of_lines: bool
    probabilities: bool
    chosen: dict[str, Any] | None
    curves: dict[str, Floats] | None
    converged: bool = True
    separated: bool = False
    linear: None = None
    of_times: ProportionalHazards | AcceleratedTimes | None = None

    @property
    def coefficients(self) -> dict[str, float] | None:
        """Coefficients of a linear booster for one outcome; None for trees."""
        if not self.of_lines:
            return None
        learnt = json.loads(self.booster.get_dump(dump_format="json")[0])
        if len(learnt["bias"]) > 1:
            return None
        names = [n for j, n in enumerate(self.names) if j != self.intercept]
        values = dict(zip(names, learnt["weight"], strict=True))
        return {"Intercept": learnt["bias"][0], **values}

    def predict(self, X: Floats) -> Floats:
        """Return probabilities, means, or scores; of times, scores and risks."""
        if self.of_times is not None:
            return self.of_times(self.scores(X, margin=True))
        return self.scores(X)

    def scores(self, X: Floats, margin: bool = False) -> Floats:
        """Return what the booster predicts; its sum if ``margin``."""
        X = without_column(X, self.intercept)
        # a booster of lines predicts by all rounds, and from XGBoost's matrix only
        if self.of_lines:
            data = xgboost_module().DMatrix(X, missing=self.missing, nthread=1)
            found = self.booster.predict(data, output_margin=margin)
        else:
            found = self.booster.inplace_predict(
                X,
                iteration_range=(0, self.rounds),
                predict_type="margin" if margin else "value",
                missing=self.missing,
            )
        predicted = np.asarray(found, dtype=float)
        return predicted[:, 0] if predicted.shape[1:] == (1,) else predicted


def rows_of(training: TrainingSet, some: Bools) -> TrainingSet:
    """Return some of the training records."""
    weights = None if training.weights is None else training.weights[some]
    return replace(training, X=training.X[some], y=training.y[some], weights=weights)


def has_plain_trees(parameters: Mapping[str, Any]) -> bool:
    """Return whether XGBoost grows trees, and ends by no metric.

    They do not depend on the number of threads, which the sum of a metric does.
    """
    trees = parameters.get("booster") in (None, "gbtree")
    return trees and parameters.get("early_stopping_rounds") is None


def without_functions(parameters: Mapping[str, Any]) -> bool:
    """Return whether no parameter of XGBoost is a function, or a list of callbacks."""
    values = parameters.values()
    return not (parameters.get("callbacks") or any(map(callable, values)))


@contextmanager
def plain_errors() -> Iterator[None]:
    """Return XGBoost's message, without the time and the place in its code."""
    xgboost = xgboost_module()
    try:
        yield
    except xgboost.core.XGBoostError as error:
        said = str(error).partition("Stack trace")[0].strip()
        raise ModelError(f"XGBoost: {PLACE.sub('', said)}") from error


def curves_of(log: Mapping[str, Any]) -> dict[str, Floats]:
    """Return the values of metrics after every round, shape (rounds, 2) for each."""
    inside, outside = log["training"], log["held_out"]
    return {name: np.column_stack([inside[name], outside[name]]) for name in inside}


def xgboost_module() -> Any:
    """Return the module xgboost, if it is installed."""
    return needed("xgboost", "model='xgboost' needs xgboost: pip install xgboost")

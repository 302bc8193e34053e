"""Gradient boosted trees by XGBoost."""

from __future__ import annotations

from typing import Any

from statcv.errors import MissingPackageError
from statcv.models.base import TrainingSet
from statcv.models.sklearn_estimator import Sklearn, SklearnFit


class XGBoost:
    """XGBoost with one thread a fold; classes or numbers as the outcome is.

    Parameters
    ----------
    **parameters
        As ``xgboost.XGBClassifier`` and ``XGBRegressor`` take them, for instance
        ``max_depth=3, n_estimators=200, learning_rate=0.6``.

    Notes
    -----
    Since version 2 XGBoost starts from the training mean, which carries the
    distributional bias of leave-one-out into every prediction; ``base_score=0.5``
    starts from a constant.

    Examples
    --------
    >>> XGBoost(max_depth=3).label
    'XGBoost (max_depth=3)'
    """

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters

    @property
    def label(self) -> str:
        """How print and summary call it."""
        listed = ", ".join(f"{k}={v!r}" for k, v in self.parameters.items())
        return f"XGBoost ({listed})" if listed else "XGBoost"

    def __repr__(self) -> str:
        return self.label

    def check(self, kind: str) -> None:
        """Every outcome can be boosted."""

    def fit(self, training: TrainingSet) -> SklearnFit:
        """Fit the training set."""
        try:
            import xgboost
        except ImportError as error:
            raise MissingPackageError(
                "model='xgboost' needs xgboost: pip install xgboost"
            ) from error
        classes = training.kind != "continuous"
        family = xgboost.XGBClassifier if classes else xgboost.XGBRegressor
        return Sklearn(family(**{"n_jobs": 1, **self.parameters})).fit(training)

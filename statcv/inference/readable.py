"""The parts of a result that summaries and plots may read."""

from __future__ import annotations

from typing import Any, Protocol

import pandas as pd

from statcv.engine import Held
from statcv.folds import FoldPlan
from statcv.folds.audit import Audit
from statcv.formula import Design
from statcv.inference.estimates.estimate import Estimate
from statcv.inference.estimates.monte_carlo import MonteCarlo
from statcv.inference.estimates.no_skill import NoSkill
from statcv.inference.refits.jackknife import Jackknife
from statcv.inference.scores import Scores
from statcv.inference.tests.htest import HTest
from statcv.metrics import Metric
from statcv.metrics.named import named_metric
from statcv.models import Model
from statcv.numeric.arrays import Floats


class Readable(Protocol):
    """A result as summaries and plots see it, read only."""

    @property
    def design(self) -> Design:
        """The outcome and the predictors."""

    @property
    def plan(self) -> FoldPlan:
        """The fold plan: which records each fit held out."""

    @property
    def learner(self) -> Model:
        """The model that was fitted."""

    @property
    def chosen_metrics(self) -> tuple[Metric, ...]:
        """The metrics that the tables show; the first is the headline."""

    @property
    def held(self) -> Held:
        """The predictions of every fold."""

    @property
    def validated(self) -> Any:
        """The model of which this is the external validation; None for all others."""

    @property
    def weights(self) -> Floats | None:
        """The weights of the rows in the fits, if any."""

    @property
    def seed(self) -> int:
        """The seed that reproduces the numbers."""

    @property
    def scores(self) -> Scores:
        """The held-out predictions as arrays."""

    @property
    def learning_curves(self) -> pd.DataFrame:
        """A metric after every boosting round, on training and held-out records."""

    @property
    def rows(self) -> str:
        """A description of the rows."""

    @property
    def in_words(self) -> tuple[str, str]:
        """The model, and how records were held out, in one line each."""

    @property
    def audit(self) -> Audit:
        """The audit of the plan for leaks, including those of the predictors."""

    @property
    def without_predictors(self) -> tuple[NoSkill, ...]:
        """The metrics of a model without predictors under these folds."""

    @property
    def mean_model_auroc(self) -> float:
        """The auROC of the training means alone."""

    def monte_carlo(
        self, metric: str | None = None, how: str | None = None
    ) -> MonteCarlo:
        """Return how far an estimate varies with the seed."""

    def metrics(self, level: float = 0.95) -> pd.DataFrame:
        """Return every metric, stated in every way that is available."""

    def estimate(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        level: float = 0.95,
    ) -> Estimate:
        """Return an estimate of one metric."""

    def jackknife(
        self, metric: str | Metric | None = None, how: str | None = None
    ) -> Jackknife:
        """Return the estimates with each record deleted and everything refitted."""

    def test(
        self,
        metric: str | None = None,
        how: str | None = None,
        *,
        method: str | None = None,
    ) -> HTest:
        """Return a test against no skill."""


def metric_of(result: Readable, name: str | Metric) -> Metric:
    """Return a metric by its name, preferably one of the result's own.

    Parameters
    ----------
    result : Readable
    name : str or Metric

    Raises
    ------
    MetricError
        If the metric is unknown, or not available for the outcome.
    """
    own = {metric.name: metric for metric in result.chosen_metrics}
    found = own.get(name) if isinstance(name, str) else None
    return found or named_metric(name, result.design.outcome)

"""What a summary and a plot may read of a result."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
from statcv.models import Model


class Readable(Protocol):
    """A result, as its readers see it: nothing in it changes."""

    @property
    def design(self) -> Design:
        """Outcome and predictors."""

    @property
    def plan(self) -> FoldPlan:
        """Who was held out."""

    @property
    def learner(self) -> Model:
        """What was fitted."""

    @property
    def chosen_metrics(self) -> tuple[Metric, ...]:
        """What the tables show; the first is the headline."""

    @property
    def held(self) -> Held:
        """What every fold gave."""

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weights of the rows in the fits."""

    @property
    def seed(self) -> int:
        """The seed that gives the same numbers again."""

    @property
    def scores(self) -> Scores:
        """Held-out predictions as arrays."""

    @property
    def learning_curves(self) -> pd.DataFrame:
        """A metric after every round, in training and held out."""

    @property
    def rows(self) -> str:
        """The rows in words."""

    @property
    def audit(self) -> Audit:
        """What the plan leaks, of these predictors too."""

    @property
    def without_predictors(self) -> tuple[NoSkill, ...]:
        """What a model without predictors scores under these folds."""

    @property
    def mean_model_auroc(self) -> float:
        """What the training mean alone scores."""

    def monte_carlo(
        self, metric: str | None = None, how: str | None = None
    ) -> MonteCarlo:
        """How far an estimate moves with the seed."""

    def metrics(self, level: float = 0.95) -> pd.DataFrame:
        """Every metric in all the ways that exist."""

    def estimate(
        self,
        metric: str | Metric | None = None,
        how: str | None = None,
        level: float = 0.95,
    ) -> Estimate:
        """One number with its interval."""

    def jackknife(
        self, metric: str | Metric | None = None, how: str | None = None
    ) -> Jackknife:
        """Estimates with each record deleted, and all fits made again."""

    def refits_are_cheap(self, metric: str | Metric, how: str | None = None) -> bool:
        """Whether all fits without each record are made in a moment."""

    def test(
        self,
        metric: str | None = None,
        how: str | None = None,
        *,
        method: str | None = None,
    ) -> HTest:
        """A test against no skill."""

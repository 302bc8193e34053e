"""What an interval is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from statcv.engine import Setup
from statcv.inference.estimates.values import folds_differ, values_by
from statcv.inference.refits.jackknife import Jackknife, Kept, keep_jackknife
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.numeric.arrays import Floats


@dataclass(frozen=True, eq=False)
class IntervalRequest:
    """A request for the interval of an estimate.

    Attributes
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        The metric of the estimate.
    how : {"pooled", "per_fold", "paired"}
        The way in which it is stated.
    level : float
        Confidence level of the interval.
    seed : int
        Seed for the draws.
    setup : Setup or None
        The data, the plan and the model, for refits; None if only predictions are
        available.
    kept : dict
        The jackknives that were computed before, to which this one is added.
    running : dict
        The arguments ``n_jobs`` and ``progress`` for refits.
    """

    scores: Scores
    metric: Metric
    how: str
    level: float
    seed: int = 0
    setup: Setup | None = None
    kept: Kept = field(default_factory=dict)
    running: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def values(self) -> Floats:
        """The values over which the estimate is the mean: by fold, or by repeat."""
        return values_by(self.scores, self.metric, self.how)

    @property
    def value(self) -> float:
        """The estimate; NaN if it has no value in any fold or repeat."""
        known = self.values[~np.isnan(self.values)]
        return float(known.mean()) if len(known) and self.has_folds else np.nan

    @cached_property
    def has_folds(self) -> bool:
        """Whether a mean over folds is one over at least two different folds."""
        return self.how != "per_fold" or folds_differ(self.scores, self.values)

    @property
    def undefined(self) -> int:
        """The number of folds or repeats in which the metric has no value."""
        return int(np.isnan(self.values).sum())

    def deleted(self) -> Jackknife | str:
        """Return the jackknife, or why it is not available."""
        assert self.setup is not None
        given = self.setup, self.scores, self.metric, self.how, self.kept
        return keep_jackknife(*given, **self.running)

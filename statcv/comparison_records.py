"""The predictions of several results for the same records, in one order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.call import Call
from statcv.comparison_checks import held_out, observed
from statcv.engine import run
from statcv.errors import ComparisonError
from statcv.inference.paired_tests import joined_clusters
from statcv.inference.record_reading import read_by_record
from statcv.metrics import Metric
from statcv.models import Mean, resolve_model
from statcv.result import CVResult

Floats = NDArray[np.float64]
NULL = "null"  # what the model without predictors is called


@dataclass(frozen=True, eq=False)
class Records:
    """What a metric reads of each result, records in the order of the first.

    Attributes
    ----------
    results : dict of str to CVResult
    metric : Metric
    reference : str or None
    """

    results: Mapping[str, CVResult]
    metric: Metric
    reference: str | None

    @cached_property
    def labels(self) -> pd.Index[Any]:
        """The labels of the records."""
        return held_out(self.first)

    @property
    def first(self) -> CVResult:
        """The first result."""
        return next(iter(self.results.values()))

    @cached_property
    def y(self) -> NDArray[Any]:
        """The coded outcome of each record."""
        return observed(self.first, self.labels)

    @cached_property
    def predictions(self) -> dict[str, Floats]:
        """What the metric reads of each result."""
        read = {
            name: read_by_record(result.scores, self.metric)[
                held_out(result).get_indexer(self.labels)
            ]
            for name, result in self.results.items()
        }
        if self._null_ranks_nobody:
            read[NULL] = np.full_like(read[NULL], 0.5)
        return read

    @property
    def _null_ranks_nobody(self) -> bool:
        against = self.reference == NULL and self.metric.rank
        return against and isinstance(self.results[NULL].learner, Mean)

    @cached_property
    def _baseline(self) -> Floats | None:
        """The training mean of each record, where the metric measures against it."""
        if not self.metric.uses_baseline:
            return None
        scores = self.first.scores
        place = np.unique(scores.row, return_inverse=True)[1]
        return np.bincount(place, scores.baseline[scores.split]) / np.bincount(place)

    def value(self, predictions: Floats) -> float:
        """Return the metric of predictions of all records."""
        return float(self.metric(self.y, predictions, self._baseline))

    def clusters(self, first: str, second: str) -> NDArray[np.intp] | None:
        """Return which records belong together, as either result tells."""
        codes = []
        for result in (self.results[first], self.results[second]):
            own = result.scores.clusters
            where = result.design.labels.get_indexer(self.labels)
            codes.append(None if own is None else own[where])
        return joined_clusters(*codes)


def null_result(result: CVResult) -> CVResult:
    """Return the model without predictors, which predicts the training mean.

    On the same plan, with the same weights; of classes it predicts the most frequent.

    Raises
    ------
    ComparisonError
        If the predictions are those of a model fitted to other records.
    """
    if not (result.plan.n_train > 0).all():
        raise ComparisonError(
            "reference='null' needs the training mean of every fold, but these "
            "predictions are of a model that was fitted to other records; the test "
            "against no skill is result.test()."
        )
    mean = resolve_model("mean", result.design.outcome.kind)
    held = run(
        result.design, result.plan, mean, seed=result.seed, weights=result.weights
    )
    changed = {"model": "mean", "tune": None, "threshold": None}
    call = Call(result.call.function, {**result.call.arguments, **changed})
    return replace(result, learner=mean, held=held, call=call, threshold=None)

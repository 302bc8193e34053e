"""The held-out predictions of several results for the same records, in one order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.comparison_checks import held_out, observed
from statcv.inference import Scores
from statcv.inference.paired_delong import Side
from statcv.inference.paired_tests import joined_clusters
from statcv.inference.record_reading import averaged, read_by_record
from statcv.metrics import Metric
from statcv.models import Mean
from statcv.readable import Readable

Floats = NDArray[np.float64]
NULL = "null"  # what the model without predictors is called


def against_null(results: Mapping[str, Readable], reference: str | None) -> bool:
    """Tell whether results are compared with the model without predictors."""
    return reference == NULL and isinstance(results[NULL].learner, Mean)


@dataclass(frozen=True, eq=False)
class Records:
    """What a metric reads of each result, records in the order of the first.

    Attributes
    ----------
    results : dict of str to result
    metric : Metric
    reference : str or None
    """

    results: Mapping[str, Readable]
    metric: Metric
    reference: str | None

    @cached_property
    def labels(self) -> pd.Index[Any]:
        """The labels of the records that were held out."""
        return held_out(self.first)

    @property
    def first(self) -> Readable:
        """The first result."""
        return next(iter(self.results.values()))

    @cached_property
    def y(self) -> NDArray[Any]:
        """The coded outcome of each record."""
        return observed(self.first, self.labels)

    # ---- the predictions ----

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """The held-out predictions of each result.

        To a metric of ranks the model without predictors ranks nobody, whatever the
        training means of the folds give away.
        """
        found = {name: result.scores for name, result in self.results.items()}
        if self.null_ranks_nobody:
            null = found[NULL]
            left = np.full_like(null.left.predicted, 0.5)
            found[NULL] = replace(
                null,
                predicted=np.full_like(null.predicted, 0.5),
                left=replace(null.left, predicted=left),
            )
        return found

    @property
    def null_ranks_nobody(self) -> bool:
        """Whether the reference is the model without predictors, of a rank metric."""
        return self.metric.rank and against_null(self.results, self.reference)

    @cached_property
    def averaged(self) -> dict[str, Scores]:
        """The predictions of each record averaged, with the baseline of the first."""
        found = {name: averaged(scores) for name, scores in self.scores.items()}
        baseline = next(iter(found.values())).baseline
        return {
            name: replace(one, baseline=baseline[self.labels.get_indexer(held)])
            for (name, one), held in zip(
                found.items(), map(held_out, self.results.values()), strict=True
            )
        }

    @cached_property
    def predictions(self) -> dict[str, Floats]:
        """What the metric reads of each record's mean prediction, by result."""
        return {
            name: read_by_record(scores, self.metric)[
                held_out(self.results[name]).get_indexer(self.labels)
            ]
            for name, scores in self.scores.items()
        }

    def value(self, predictions: Floats) -> float:
        """Return the metric of predictions of all records."""
        baseline = next(iter(self.averaged.values())).baseline
        return float(self.metric(self.y, predictions, baseline))

    # ---- pairs of results ----

    def sides(self, first: str, second: str) -> tuple[Side, Side]:
        """Return the predictions of two results, their records numbered alike."""
        a, b = (
            Side(self.scores[name], self._numbering.get_indexer(self._labels_of(name)))
            for name in (first, second)
        )
        return a, b

    def clusters(self, first: str, second: str) -> NDArray[np.intp] | None:
        """Return the cluster of each numbered record, as either result has it.

        The first are those of `labels`.
        """
        codes = []
        for name in (first, second):
            own = self.scores[name].clusters
            where = self._labels_of(name).get_indexer(self._numbering)
            if own is not None:
                alone = int(own.max()) + 1 + np.arange(len(where))
                own = np.where(where >= 0, own[where], alone)
            codes.append(own)
        return joined_clusters(*codes)

    def _labels_of(self, name: str) -> pd.Index[Any]:
        return self.results[name].design.labels

    @cached_property
    def _numbering(self) -> pd.Index[Any]:
        """The labels of all records: those held out, and then any others."""
        found = self.labels
        for result in self.results.values():
            found = found.append(result.design.labels.difference(found, sort=False))
        return found

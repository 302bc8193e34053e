"""Metrics of predicted classes as functions of a table of counts, or of shares.

A table has one row for each observed class and one column for each predicted class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.metrics.classification.classwise import (
    outcome_and_prediction,
    predicted_class,
)
from statcv.metrics.inputs import Floats, Ints


def share(part: float, whole: float) -> float:
    """Return a ratio; NaN if it is 0/0."""
    return part / whole if whole else float("nan")


def accuracy_of(table: Floats) -> float:
    """Return the share that is predicted correctly."""
    return share(float(table.trace()), float(table.sum()))


def balanced_accuracy_of(table: Floats) -> float:
    """Return the mean over classes of the share that is predicted correctly."""
    with np.errstate(invalid="ignore"):
        return float((table.diagonal() / table.sum(axis=1)).mean())


def ber_of(table: Floats) -> float:
    """Return the balanced error rate."""
    return 1 - balanced_accuracy_of(table)


def sensitivity_of(table: Floats) -> float:
    """Return the share of class 1 that is predicted correctly."""
    return share(float(table[1, 1]), float(table[1].sum()))


def specificity_of(table: Floats) -> float:
    """Return the share of class 0 that is predicted correctly."""
    return share(float(table[0, 0]), float(table[0].sum()))


def precision_of(table: Floats) -> float:
    """Return the share of class 1 among the predictions of class 1."""
    return share(float(table[1, 1]), float(table[:, 1].sum()))


def npv_of(table: Floats) -> float:
    """Return the share of class 0 among the predictions of class 0."""
    return share(float(table[0, 0]), float(table[:, 0].sum()))


def f1_of(table: Floats) -> float:
    """Return the F1 score of class 1."""
    found = 2 * float(table[1, 1])
    return share(found, found + float(table[0, 1]) + float(table[1, 0]))


def each_f1_of(table: Floats) -> Floats:
    """Return the F1 score of each class."""
    both = table.sum(axis=0) + table.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(2 * table.diagonal() / both)


def f1_macro_of(table: Floats) -> float:
    """Return the mean of the F1 scores of the classes."""
    return float(each_f1_of(table).mean())


def matthews_of(table: Floats) -> float:
    """Return the Matthews correlation, for several classes Gorodkin's R_K."""
    n, observed, predicted = table.sum(), table.sum(axis=1), table.sum(axis=0)
    together = n * table.trace() - observed @ predicted
    spread = (n**2 - observed @ observed) * (n**2 - predicted @ predicted)
    return share(float(together), float(np.sqrt(spread)))


@dataclass(frozen=True)
class MetricOfTables:
    """A metric of the confusion matrix, in each of many groups of records at once.

    Attributes
    ----------
    of_table : callable
        The metric as a function of the counts of records by observed (row) and
        predicted (column) class, shape (K, K).

    Examples
    --------
    >>> y, p = [0, 1, 1, 1], [0.2, 0.9, 0.4, 0.7]
    >>> MetricOfTables(sensitivity_of)(y, p, [0, 0, 1, 1], 3)
    array([1. , 0.5, nan])
    """

    of_table: Callable[[Floats], float]

    def __call__(
        self,
        y: ArrayLike,
        p: ArrayLike,
        group: ArrayLike,
        groups: int,
        threshold: ArrayLike = 0.5,
    ) -> Floats:
        """Return the metric in each group; NaN where it has no value."""
        tables = _tables(y, p, np.asarray(group), groups, threshold)
        distinct, of = np.unique(tables, axis=0, return_inverse=True)
        values = np.array([self.of_table(one) for one in distinct])
        return np.asarray(values[of.ravel()])


def _tables(
    y: ArrayLike, p: ArrayLike, group: Ints, groups: int, threshold: ArrayLike
) -> Floats:
    """Count records by observed (row) and predicted (column) class in each group.

    All counts of a group are NaN if a prediction or threshold is.
    """
    codes, p = outcome_and_prediction(y, p)
    classes = 2 if p.ndim == 1 else p.shape[1]
    chosen = predicted_class(p, threshold)
    known = ~np.isnan(chosen)
    cells = (group * classes + codes)[known] * classes + chosen[known].astype(np.intp)
    counts = np.bincount(cells, minlength=groups * classes**2).astype(np.float64)
    tables = counts.reshape(groups, classes, classes)
    tables[group[~known]] = np.nan
    return np.asarray(tables)

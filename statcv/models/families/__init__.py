"""The log-likelihoods of outcomes, as functions of linear predictors.

The information of a record is a sum of variances along directions that are the same
everywhere: one direction for two classes or a number, and the difference of each two
classes for several. No digits are lost where probabilities come near 0 or 1.
"""

from __future__ import annotations

from statcv.models.base import Matrix, TrainingSet
from statcv.models.families.classes import (
    EXTREME,
    Classes,
    class_names,
    contrasts,
    free_classes,
)
from statcv.models.families.counts import Counts
from statcv.models.families.family import (
    EVERY,
    Family,
    curvature,
    longest_row,
    negligible,
)
from statcv.models.families.single import Numeric, TwoClasses

__all__ = [
    "EVERY",
    "EXTREME",
    "Classes",
    "Counts",
    "Family",
    "Numeric",
    "TwoClasses",
    "class_names",
    "contrasts",
    "curvature",
    "family_of",
    "free_classes",
    "longest_row",
    "negligible",
    "width_of",
]


def width_of(records: TrainingSet) -> int:
    """Return the number of linear predictors: one, or one for each of the classes."""
    return records.n_classes if records.kind == "multiclass" else 1


def family_of(records: TrainingSet, ridge: Matrix) -> Family:
    """Return the log-likelihood of the outcomes of some records.

    Parameters
    ----------
    records : TrainingSet
        Records with one outcome, or a row of ``y`` for each of several.
    ridge : numpy.ndarray, shape (p,)
        Strength of the penalty on each column.
    """
    if records.kind == "multiclass":
        return Classes(records.y, contrasts(ridge, records.n_classes))
    y = records.y if records.y.ndim == 1 else records.y[:, None]
    if records.kind == "count":
        return Counts(y.astype(float), offset=records.offset)
    if records.kind == "continuous":
        return Numeric(y.astype(float))
    return TwoClasses(2.0 * y - 1.0, offset=records.offset)

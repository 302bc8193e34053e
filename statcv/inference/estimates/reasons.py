"""Why an estimate has no default interval."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.inference.estimates.pairs import (
    MIRRORED,
    NO_PAIRS,
    concordance,
    is_mirrored,
)
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.words import plural

Floats = NDArray[np.float64]


def why_no_default(scores: Scores, metric: Metric, how: str, values: Floats) -> str:
    """Return the reason why there is no default interval."""
    if how == "paired" and metric.rank:
        if is_mirrored(scores, metric):
            return MIRRORED
        if not concordance(scores, metric)[1]:
            return NO_PAIRS[metric.pairs]
        if scores.pairwise:
            return "there are too many pairs to list"
        other = " or interval='influence'" if metric.is_auroc else ""
        return (
            "no interval for the pairs within folds is known to keep its level; "
            f"see how='per_fold'{',' * bool(other)}{other}"
        )
    if scores.apart:
        return "each split is pooled by itself; see how='per_fold'"
    if np.isnan(values).any():
        return why_undefined(scores, values)
    return (
        f"no closed form is known for a pooled {metric.label}; interval='bootstrap' "
        "resamples the records"
    )


def why_not_predicted(scores: Scores) -> str:
    """Return how many predictions and records are NaN in words; empty if none."""
    left = scores.left
    if not len(left.row):
        return ""
    table = left.predicted.reshape(len(left.row), -1)
    missing = np.flatnonzero(np.isnan(table).any(axis=1))
    if not missing.size:
        return ""
    records = plural(len(np.unique(left.row[missing])), "record")
    return f"{missing.size} of {len(table)} predictions are NaN, for {records}"


def why_undefined(scores: Scores, values: Floats) -> str:
    """Return in how many repeats or splits an estimate has no value, in words."""
    if scores.external and len(values) == 1:
        return "it has no value"
    unit = "splits" if scores.by_split else "repeats"
    count = int(np.isnan(values).sum())
    return f"it is undefined in {count} of {len(values)} {unit}"

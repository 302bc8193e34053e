"""Nested models: which one adds terms to the other, and how they differ by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from statcv.inference.estimates.draws import variance_at_equality
from statcv.inference.estimates.influences import Influences
from statcv.inference.paired.records import SharedRecords, same_folds
from statcv.inference.readable import Readable


def nesting(a: Readable, b: Readable) -> tuple[int, int] | None:
    """Return which of two models is nested in the other, 0 or 1, and what that adds.

    The latter is the number of columns that the larger matrix has beyond the smaller
    one. None if the records or offsets differ, or neither model is nested.
    """
    if a.learner.capabilities.likelihood != b.learner.capabilities.likelihood:
        return None
    if not (a.design.is_finite and b.design.is_finite):
        return None
    if not np.array_equal(a.design.y, b.design.y):
        return None
    if a.design.strata != b.design.strata:
        return None
    matrices = [one.design.matrix for one in (a, b)]
    offsets = [list(one.design.offsets) for one in (a, b)]
    sums = [X[:, own].sum(axis=1) for X, own in zip(matrices, offsets, strict=True)]
    if not np.array_equal(*sums):  # one does not arise from the other by a coefficient
        return None
    ranks = [int(np.linalg.matrix_rank(X)) for X in matrices]
    joint = int(np.linalg.matrix_rank(np.column_stack(matrices)))
    if joint > max(ranks) or ranks[0] == ranks[1]:
        return None
    return int(ranks[1] < ranks[0]), abs(ranks[0] - ranks[1])


def at_equality(
    records: SharedRecords,
    names: tuple[str, str],
    both: Sequence[Influences],
    how: str,
    difference: float,
) -> float:
    """Return the variance of a difference where nested models perform equally well.

    It is relative to the variance of the difference found, and 1 unless the larger
    model is better.

    Parameters
    ----------
    records : SharedRecords
        The held-out predictions, and the metric.
    names : tuple of str
        The two results.
    both : sequence of Influences
        The influences of the records of each model, with draws if its fits vary.
    how : {"pooled", "per_fold", "paired"}
    difference : float
        The second estimate minus the first.
    """
    metric = records.metric
    a, b = (records.results[name] for name in names)
    scores = [records.scores[name] for name in names]
    drawn = [one.draws for one in both if one.draws is not None]
    fitted = all(one.sensitivity is not None for one in scores)
    if metric.target is not None or len(drawn) < 2 or not fitted:
        return 1.0
    if a.learner.label != b.learner.label or not same_folds(a, b):
        return 1.0
    nested = nesting(a, b)
    if nested is None:
        return 1.0
    larger_is_second = nested[0] == 0
    if (difference > 0) != (metric.greater_is_better == larger_is_second):
        return 1.0
    order = slice(None) if larger_is_second else slice(None, None, -1)
    units = records.units(*names)[records.numbers(names[0])]
    count = int(units.max()) + 1
    return variance_at_equality(scores[order], drawn[order], metric, how, units, count)

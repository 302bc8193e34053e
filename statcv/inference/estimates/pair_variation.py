"""The variance that comes from comparing some pairs of records, and not all.

Pooled predictions are compared in all pairs of a repeat. A mean over folds, or over the
pairs that a scheme compares, has fewer of them. Whether a pair is ranked correctly
depends on both of its records and on the pair itself; the last is an interaction, whose
variance does not average out where pairs are few.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from statcv.inference.estimates.pairs import concordant_pairs, is_mirrored
from statcv.inference.estimates.values import values_by_split
from statcv.inference.scores import Scores
from statcv.metrics import Metric

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


def pair_variation(scores: Scores, metric: Metric, how: str, moved: Floats) -> float:
    """Return the variance that an estimate has beyond that of its pooled predictions.

    For a share of correctly ranked pairs, it is the variance of the interaction times
    the sum of the squared weights of the pairs, less the same sum over all pairs. For
    other rank metrics, it is estimated from the folds: by the variance of what the
    influences of a fold's records do not explain of its value.

    Parameters
    ----------
    scores : Scores
    metric : Metric
        A rank metric.
    how : {"pooled", "per_fold", "paired"}
        The way in which it is stated.
    moved : numpy.ndarray, shape (n,)
        The influence of each held-out record on the pooled metric, with the fits given.
    """
    if how == "pooled":
        return 0.0
    if metric.pairs is None:
        return unexplained(scores, metric, moved)
    total = 0.0
    for sides, share in _kinds(scores, metric):
        total += share**2 * _of_kind(scores, metric, how, sides)
    return total


def _kinds(scores: Scores, metric: Metric) -> list[tuple[tuple[int, int], float]]:
    """Return the pairs of classes that are compared, and the weight of each."""
    if metric.pairs == "numbers":
        return [((-1, -1), 1.0)]
    found = list(itertools.combinations(range(scores.n_classes), 2))
    return [((low, high), 1 / len(found)) for low, high in found]


def _of_kind(
    scores: Scores, metric: Metric, how: str, sides: tuple[int, int]
) -> float:
    spread = np.mean(
        [_interaction(scores, metric, where, sides) for where in scores.by_repeat]
        if not scores.apart
        else _interaction(scores, metric, np.arange(len(scores.row)), sides)
    )
    weights, every = _weights(scores, metric, how, sides)
    return float(spread * max(weights - 1 / max(every, 1.0), 0.0))


# ---- the interaction ----


def _interaction(
    scores: Scores, metric: Metric, where: Numbers, sides: tuple[int, int]
) -> float:
    """Return the variance of whether a pair is ranked correctly, less its records'.

    With two scores for a pair, as in Hand and Till's measure, it is the mean of the
    variances of both, which is never less than the variance of their mean.
    """
    row, place = np.unique(scores.row[where], return_inverse=True)
    predicted = scores.predicted[where]
    total = np.zeros((len(row), *predicted.shape[1:]))
    np.add.at(total, place, predicted)
    mean = total / np.bincount(place).reshape(-1, *[1] * (total.ndim - 1))
    read = metric.readable(mean, scores.probabilities)
    y = scores.y[row]
    if sides[0] < 0:
        return _of_numbers(y, read)
    known = np.isin(y, sides)
    columns = [read[known]] if read.ndim == 1 else list(read[known][:, sides].T)
    high = y[known] == sides[1]
    each = [_of_classes(high, one) for one in columns]
    return float(np.mean(each))


def _of_classes(high: NDArray[np.bool_], x: Floats) -> float:
    ones, zeros = np.sort(x[high]), np.sort(x[~high])
    low = np.searchsorted(zeros, ones, side="left") / len(zeros)
    top = np.searchsorted(zeros, ones, side="right") / len(zeros)
    below = np.searchsorted(ones, zeros, side="left")
    above = len(ones) - np.searchsorted(ones, zeros, side="right")
    tied = len(ones) - below - above
    area = float((low + top).mean()) / 2
    square = area - float((top - low).mean()) / 4
    of_ones = float((((low + top) / 2) ** 2).mean())
    of_zeros = float((((above + tied / 2) / len(ones)) ** 2).mean())
    of_zeros = min(of_zeros, 1.0)
    return max(square - of_ones - of_zeros + area**2, 0.0)

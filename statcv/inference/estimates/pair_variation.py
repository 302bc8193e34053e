"""The variance that comes from comparing some pairs of records, and not all.

Pooled predictions are compared in all pairs of a repeat. A mean over folds, or over the
pairs that a scheme compares, has fewer of them. Whether a pair is ranked correctly
depends on each of its two records, and on the two together. The last part is an
interaction, whose variance is averaged over pairs, not over records.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from statcv.inference.estimates.draws import ROUNDING
from statcv.inference.estimates.influences import Influences, Ranked
from statcv.inference.estimates.pairs import concordant_pairs
from statcv.inference.estimates.values import values_by_split
from statcv.inference.scores import Scores
from statcv.metrics import Metric, concordance_by_group
from statcv.metrics.discrimination.ranking import concordance_counts
from statcv.metrics.influence.table import placements
from statcv.metrics.influence.weighted import Placements
from statcv.numeric.arrays import Array, Bools, Floats, Numbers, Outcomes

Sides = tuple[int, int]

NUMBERS: Sides = (-1, -1)  # stands for pairs of records with different numbers
MAX_RECORDS = 500  # most records of a class whose pairs are listed, or a sample


def pair_variation(
    scores: Scores, metric: Metric, how: str, found: Influences
) -> float:
    """Return the variance that an estimate has beyond that of its pooled predictions.

    For a share of correctly ranked pairs, it is the variance of the interaction times
    the sum of the squared weights of the pairs minus that over all pairs. For
    other rank metrics, it is estimated from the folds: by the variance of what the
    influences of a fold's records do not explain of its value.

    Parameters
    ----------
    scores : Scores
    metric : Metric
        A rank metric.
    how : {"pooled", "per_fold", "paired"}
        The way in which it is stated.
    found : Influences
        The influences on the pooled metric.
    """
    if how == "pooled":
        return 0.0
    if metric.pairs is None:
        return _unexplained(scores, metric, found)
    if found.units.kind == "cluster":  # whose records do not repeat each other
        return pair_covariance(scores, metric, how, found, found)
    parts = list(zip(found.ranked, found.placed, strict=True))

    def interactions(sides: Sides) -> list[float]:
        return [
            _interaction(metric.sides(y), read, sides, placed)
            for (_, y, read), placed in parts
        ]

    return _over_pairs(scores, metric, how, interactions)


def _over_pairs(
    scores: Scores, metric: Metric, how: str, of: Callable[[Sides], list[float]]
) -> float:
    """Return the variance, or covariance, that the interactions of records cause."""
    kinds, total = _kinds(scores, metric), 0.0
    for sides in kinds:
        # the interaction of two records counts once for each pair compared
        weights = max(_concentration(scores, metric, how, sides), 0.0)
        total += float(np.mean(of(sides))) * weights
    return total / len(kinds) ** 2


def pair_covariance(
    scores: Scores, metric: Metric, how: str, first: Influences, second: Influences
) -> float:
    """Return the covariance of two estimates that :func:`pair_variation` omits.

    Parameters
    ----------
    scores : Scores
        The held-out predictions of the first, in the same folds as the second.
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    first, second : Influences
        With one numbering of the records.
    """
    if how == "pooled" or metric.pairs is None:
        return 0.0
    both = list(zip(first.ranked, second.ranked, strict=True))
    unit = first.units.unit if first.units.kind == "cluster" else None

    def interactions(sides: Sides) -> list[float]:
        return [_interaction_of_both(metric, *pair, sides, unit) for pair in both]

    return _over_pairs(scores, metric, how, interactions)


def variation_of_difference(
    scores: Sequence[Scores],
    metric: Metric,
    how: str,
    both: Sequence[Influences],
    alike: Sequence[Influences] | None,
) -> float:
    """Return the variance of a difference that comes from comparing few pairs.

    Parameters
    ----------
    scores : sequence of Scores
        The held-out predictions of both models.
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    both : sequence of Influences
        The influences of the records of each model, as numbered there.
    alike : sequence of Influences, or None
        The same with one numbering; None if the folds differ.
    """
    if not metric.rank:
        return 0.0
    pairs = zip(scores, both, strict=True)
    each = sum(pair_variation(own, metric, how, one) for own, one in pairs)
    if alike is None:
        return max(each, 0.0)
    # with the same folds both compare the same pairs
    variance = each - 2 * pair_covariance(scores[0], metric, how, *alike)
    return variance if variance > ROUNDING * each else 0.0


def _interaction_of_both(
    metric: Metric, one: Ranked, other: Ranked, sides: Sides, unit: Numbers | None
) -> float:
    """Return the covariance of the interactions in two models, from some records.

    The interactions of the records of two clusters are summed, and the covariance is
    relative to that of sums over equal records.
    """
    orders = [np.argsort(row) for row, _, _ in (one, other)]
    y = metric.sides(one[1])[orders[0]]
    both = [one[2][orders[0]], other[2][orders[1]]]
    own = None if unit is None else unit[one[0][orders[0]]]
    if sides == NUMBERS:
        high = low = _some(np.arange(len(y)), own)
    else:
        high, low = (_some(np.flatnonzero(y == side), own) for side in sides[::-1])
    parts = []
    for read in both:
        table = np.zeros((len(high), len(low)))
        columns = [read] if read.ndim == 1 else list(read[:, sides].T)
        for sign, column in zip((1, -1), columns, strict=False):
            apart = sign * (column[high, None] - column[low])
            table += (np.sign(apart) + 1) / 2 / len(columns)
        if sides == NUMBERS:
            side = np.sign(y[high, None] - y[low])
            table = np.where(side > 0, table, np.where(side < 0, 1 - table, 0.5))
        # what is left of each pair without the means of its two records
        rows, everyone = table.mean(axis=1, keepdims=True), table.mean()
        parts.append(table - rows - table.mean(axis=0) + everyone)
    if own is None:
        return float((parts[0] * parts[1]).mean())
    # sums over the records of two clusters, relative to their numbers of pairs
    codes = [np.unique(own[some], return_inverse=True)[1] for some in (high, low)]
    first, second = ((np.arange(one.max() + 1)[:, None] == one) * 1.0 for one in codes)
    sums = [first @ part @ second.T for part in parts]
    pairs = np.outer(first.sum(axis=1), second.sum(axis=1))
    return float((sums[0] * sums[1]).sum() / (pairs**2).sum())


def _some(records: Numbers, unit: Numbers | None) -> Numbers:
    """Return all records, or a sample of many that is the same every time."""
    if len(records) <= MAX_RECORDS:
        return records
    rng = np.random.default_rng(0)
    if unit is None:
        return rng.choice(records, MAX_RECORDS, replace=False)
    # whole clusters in random order, which is the same for both classes
    order = np.argsort(rng.permutation(unit.max() + 1)[unit[records]], kind="stable")
    return records[order[:MAX_RECORDS]]


def _kinds(scores: Scores, metric: Metric) -> list[Sides]:
    """Return the pairs of classes that are compared, each with the same weight."""
    if metric.pairs == "numbers":
        return [NUMBERS]
    if metric.pairs == "horizon":
        return [(0, 1)]
    return list(itertools.combinations(range(scores.n_classes), 2))


# ---- the interaction ----


def _interaction(
    y: Array, read: Floats, sides: Sides, placed: Placements | None = None
) -> float:
    """Return the variance of the ranking of a pair, minus that due to its records.

    With two scores for a pair, as in Hand and Till's measure, it is the mean of the
    variances of both, which is at least the variance of their mean.
    """
    if sides == NUMBERS:
        return _of_numbers(y, read)
    if placed is not None:  # the metric compares two classes
        return _of_classes(y == 1, placed)
    known = np.isin(y, sides)
    columns = [read[known]] if read.ndim == 1 else list(read[known][:, sides].T)
    high = y[known] == sides[1]
    each = [_of_classes(high, placements(high, one)) for one in columns]
    return float(np.mean(each))


def _of_classes(high: Bools, placed: Placements) -> float:
    # E(won²), of which the placements explain the part of single records
    square = placed.area - placed.tied / 4  # a tie counts one half
    squares = placed.share**2
    both = float(squares.sum())
    of_high, ones = float(squares @ high), int(np.count_nonzero(high))
    own = of_high / ones + (both - of_high) / (len(high) - ones)
    return max(square - own + placed.area**2, 0.0)


def _of_numbers(y: Outcomes, x: Floats) -> float:
    counts = concordance_counts(y, x)
    pairs = counts.rivals.sum() / 2
    share = counts.won.sum() / 2 / pairs
    square = share - counts.tied.sum() / 2 / pairs / 4
    rivals = np.maximum(counts.rivals, 1)
    own = ((counts.won - share * rivals) ** 2 / rivals * (counts.rivals > 0)).sum()
    return max(float(square - share**2 - own / pairs), 0.0)


# ---- the weights of the pairs ----


def _concentration(scores: Scores, metric: Metric, how: str, sides: Sides) -> float:
    """Return the sum of squared weights of the pairs, minus that over all pairs.

    Weights of a pair that several repeats compare are added. Unless the pairs are
    listed, the repeats are taken as independent of each other.
    """
    # weights of equal size on all pairs add nothing
    y = metric.sides(scores.y)
    held = np.flatnonzero(np.bincount(scores.row, minlength=len(scores.y)))
    one = np.zeros(len(held), dtype=np.intp)
    every = max(float(_pairs(scores, y, held, one, 1, sides)[0]), 1.0)
    if how == "paired":
        listed = concordant_pairs(scores, metric)
        if listed is not None:
            cell = 0 if listed.cells == 1 else sides[1] * (sides[1] - 1) // 2 + sides[0]
            some = listed.cell == cell
            weight = 1 / (listed.sizes[listed.repeat[some], cell] * listed.repeats)
            weight = weight * (1.0 if listed.weight is None else listed.weight[some])
            first, second = listed.first[some], listed.second[some]
            if scores.clusters is not None:  # repeats of a pair count once
                first, second = scores.clusters[first], scores.clusters[second]
            pair = first.astype(np.int64) * len(scores.y) + second
            of_pair = np.bincount(np.unique(pair, return_inverse=True)[1], weight)
            return float((of_pair**2).sum() - 1 / every)
    number = _pairs(scores, y, scores.row, scores.split, scores.n_splits, sides)
    repeats = len(scores.by_repeat)
    repeat = np.unique(scores.repeat, return_inverse=True)[1]
    if how == "per_fold":
        known = number > 0
        folds = np.maximum(np.bincount(repeat, known, repeats), 1)
        of_repeat = np.bincount(repeat[known], 1 / number[known], repeats) / folds**2
    else:
        of_repeat = 1 / np.maximum(np.bincount(repeat, number, repeats), 1)
    return float((of_repeat - 1 / every).mean() / repeats)


def _pairs(
    scores: Scores, y: Array, row: Numbers, group: Numbers, groups: int, sides: Sides
) -> Floats:
    """Return the number of pairs of records, or clusters, in each group.

    Of clusters it is one over the sum of the squared weights of their pairs, so that
    duplicates of a record do not count.
    """
    y = y[row]
    if sides == NUMBERS:
        found = concordance_by_group(y, y, group, groups)[1]
        share = _of_units(scores, row, group, groups, np.ones(len(row), dtype=bool))
        size = np.bincount(group, minlength=groups)
        return np.asarray(found * (share / np.maximum(size, 1)) ** 2)
    low, high = (_of_units(scores, row, group, groups, y == one) for one in sides)
    return np.asarray(low * high)


def _of_units(
    scores: Scores, row: Numbers, group: Numbers, groups: int, some: Bools
) -> Floats:
    """Return the effective number of units among some of the records of each group."""
    # clusters of unequal size count as (Σ m)² / Σ m² units
    size = np.bincount(group[some], minlength=groups).astype(float)
    if scores.clusters is None:
        return size
    clusters = scores.clusters
    cell = group[some].astype(np.int64) * (int(clusters.max()) + 1)
    cells, each = np.unique(cell + clusters[row[some]], return_counts=True)
    squares = np.bincount(cells // (int(clusters.max()) + 1), each**2.0, groups)
    made = np.zeros(groups)
    np.divide(size**2, squares, out=made, where=squares > 0)
    return made


# ---- rank metrics that are not shares of pairs ----


def _unexplained(scores: Scores, metric: Metric, found: Influences) -> float:
    """Return the variance of a mean over folds that records do not explain.

    To first order, the value of a fold differs from the mean by the mean over its
    records, class by class, of the influence times the number of records of the class.
    """
    values = values_by_split(scores, metric)
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < 2:
        return 0.0
    classes = scores.y if metric.ranks_classes else np.zeros(len(scores.y))
    classes = classes.astype(np.intp)
    sizes = np.bincount(classes[found.units.counted])
    splits, cells = scores.n_splits, classes[scores.row]
    cells *= splits
    cells += scores.split
    shape = len(sizes), splits
    held = np.bincount(cells, None, sizes.size * splits).reshape(shape)
    total = np.bincount(cells, found.held[scores.row], sizes.size * splits)
    # the deviation of a fold that the influences of its records explain
    explained = sizes @ (total.reshape(shape) / np.maximum(held, 1))
    rest = (values - explained)[known]
    return float(rest.var(ddof=1) / len(known))

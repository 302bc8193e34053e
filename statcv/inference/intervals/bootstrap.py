"""The bootstrap of held-out predictions, which resamples records but does not refit.

Records are drawn with replacement within their class, so that every sample has the same
class sizes; clusters of several records are drawn whole. For pooled estimates, a record
is drawn with its predictions in all repeats. Per fold (and for pairs within folds),
records are drawn within their fold, which keeps the sizes and classes of the folds.
This requires a single repeat, since the folds differ between repeats. (If records were
drawn from all folds, small folds would vary too much: a fold could lose a class, and
its pairs are weighted by products.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from statcv.arguments import RESAMPLE_HELD
from statcv.engine import cut
from statcv.inference.estimates.pairs import concordant_pairs
from statcv.inference.estimates.values import (
    ReadPart,
    losses_by_cell,
    part,
    pooled_part,
)
from statcv.inference.intervals import interval
from statcv.inference.intervals.influence import ComparedCells
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.metrics.areas.placements import normal_quantile
from statcv.numeric.arrays import Floats, Numbers

if TYPE_CHECKING:
    from statcv.inference.intervals.request import IntervalRequest

Statistic = Callable[[Floats], Floats]

# ---- an estimate as a function of how often each record was drawn ----


def weighted_metric(scores: Scores, metric: Metric, how: str) -> Statistic:
    """Return the estimate as a function of how often each record occurs.

    The function takes weights of shape (times, n) and returns values of shape (times,).
    It is vectorized for auROC and for means over records; other metrics are computed
    for one sample after the other.
    """
    if metric.is_auroc:
        what = ComparedCells.of(scores, how)
        return lambda weights: what.value(weights[:, what.row])
    if metric.root_of is not None:
        return _weighted_mean(scores, metric.root_of, how, root=True)
    if metric.casewise is not None:
        return _weighted_mean(scores, metric, how)
    if how == "per_fold":
        places = map(slice, scores.starts[:-1], scores.starts[1:])
        parts = [part(scores, metric, where) for where in places]
    else:
        parts = [pooled_part(scores, metric, where) for where in scores.by_repeat]
    return lambda weights: np.array([_one_by_one(metric, parts, w) for w in weights])


def _weighted_mean(
    scores: Scores, metric: Metric, how: str, root: bool = False
) -> Statistic:
    """Return the mean over cells of the weighted mean loss (or its root) in each."""
    row, loss, first = losses_by_cell(scores, metric, how)

    def mean(weights: Floats) -> Floats:
        # the weighted mean loss of each cell, and its mean over cells with records
        chosen = weights[:, row]
        total = np.add.reduceat(chosen * loss, first, axis=1)
        count = np.add.reduceat(chosen, first, axis=1)
        known = count > 0
        value = np.divide(total, count, out=np.zeros_like(total), where=known)
        value = np.sqrt(value) if root else value
        with np.errstate(invalid="ignore"):
            return np.asarray(value.sum(axis=1) / known.sum(axis=1))

    return mean


def _one_by_one(metric: Metric, parts: list[ReadPart], weights: Floats) -> float:
    times = weights.astype(np.intp)
    values = [one.taken(times[one.row]).value(metric) for one in parts]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan


# ---- limits from resampled values ----


def percentile_limits(replicates: Floats, level: float) -> tuple[float, float]:
    """Return the percentile limits of bootstrap replicates.

    Between two order statistics they are interpolated on the normal scale, as in
    Davison & Hinkley (1997), equation 5.8. A limit beyond the replicates is NaN.

    Examples
    --------
    >>> percentile_limits(np.arange(1.0, 1000.0), 0.95)
    (25.0, 975.0)
    """
    from scipy.special import ndtr

    z = normal_quantile(level)
    return _at(replicates, float(ndtr(-z))), _at(replicates, float(ndtr(z)))


def bca_limits(
    replicates: Floats, value: float, moved: Floats, level: float
) -> tuple[float, float]:
    """Return the bias-corrected and accelerated limits of bootstrap replicates.

    Parameters
    ----------
    replicates : numpy.ndarray
        The bootstrap replicates. Those that equal the estimate count half for the bias,
        which matters if the estimate has few possible values.
    value : float
        The estimate.
    moved : numpy.ndarray
        The amount by which each record moves the estimate. The acceleration is a sixth
        of the sum of cubes over the sum of squares to the power of 1.5.
    level : float
        Confidence level of the limits.

    Returns
    -------
    lower, upper : float
        NaN if all replicates are on one side of the estimate, or if a corrected
        percentile lies beyond them.

    References
    ----------
    Efron (1987), JASA 82:171.

    Examples
    --------
    >>> values, moved = np.arange(1.0, 1000.0), np.array([-1.0, 1.0])
    >>> bca_limits(values, 500.0, moved, 0.95) == percentile_limits(values, 0.95)
    True
    """
    from scipy.special import ndtr, ndtri

    # replicates that equal the estimate count one half
    slack = 1e-12 * max(1.0, abs(value))
    below = float((replicates < value - slack).sum())
    below += float((np.abs(replicates - value) <= slack).sum()) / 2
    squares = float((moved**2).sum())
    if not 0 < below < len(replicates) or not squares > 0:
        return np.nan, np.nan
    # the median bias in normal deviates
    bias = float(ndtri(below / len(replicates)))
    # a sixth of the skewness of the influences
    acceleration = float((moved**3).sum()) / (6 * squares**1.5)
    z = normal_quantile(level)
    limits = []
    for side in (bias - z, bias + z):
        scale = 1 - acceleration * side
        share = float(ndtr(bias + side / scale)) if scale > 0 else np.nan
        limits.append(_at(replicates, share))
    return limits[0], limits[1]


def _at(replicates: Floats, share: float) -> float:
    """Return a quantile of replicates; NaN if it lies beyond them."""
    from scipy.special import ndtri

    place = (len(replicates) + 1) * share
    if not 1 - 1e-9 <= place <= len(replicates) + 1e-9:
        return np.nan
    k, ordered = int(np.floor(place + 1e-9)), np.sort(replicates)
    if abs(place - k) <= 1e-9:
        return float(ordered[k - 1])
    # interpolation on the normal scale between two order statistics
    low, high, at = ndtri(np.array([k, k + 1, place]) / (len(replicates) + 1))
    step = ordered[k] - ordered[k - 1]
    return float(ordered[k - 1] + (at - low) / (high - low) * step)


# ---- the units that are drawn, and their strata ----

MOST_DELETED = 1000  # the most groups of units that the jackknife deletes


def within_folds(scores: Scores, how: str) -> bool:
    """Return whether records are drawn within their fold."""
    return how == "per_fold" or (how == "paired" and not scores.pairwise)


@dataclass(frozen=True, eq=False)
class DrawnUnits:
    """Records, or clusters of several records, and the strata they are drawn from.

    Attributes
    ----------
    unit : numpy.ndarray of int, shape (n,)
        The unit of each record; -1 for one that is never held out.
    strata : tuple of numpy.ndarray of int
        The units of each stratum, within which units are drawn.
    fold : numpy.ndarray of int, shape (strata,)
        The fold of each stratum; 0 if records are not drawn within folds.
    clustered : bool
        Whether units are clusters of several records.
    """

    unit: Numbers
    strata: tuple[Numbers, ...]
    fold: Numbers
    clustered: bool

    @classmethod
    def of(cls, scores: Scores, metric: Metric, how: str) -> DrawnUnits:
        """Return the units that are drawn for an estimate."""
        held = np.unique(scores.row)
        first, unit = held, np.full(len(scores.y), -1)
        unit[held] = np.arange(len(held))
        if scores.clusters is not None:
            codes = scores.clusters[held]
            begin, number = np.unique(codes, return_index=True, return_inverse=True)[1:]
            first, unit[held] = held[begin], number
        fold = np.zeros(len(first), dtype=np.intp)
        if within_folds(scores, how):
            of_record = np.zeros(len(scores.y), dtype=np.intp)
            of_record[scores.row] = scores.split
            fold = of_record[first]
        # the classes are strata, unless clusters are drawn
        sort = np.zeros(len(first), dtype=np.intp)
        of_classes = not metric.outcomes & {"continuous", "survival"}
        classes = of_classes or scores.y.dtype.kind in "iub"
        if scores.clusters is None and classes:
            sort = np.unique(scores.y[first], return_inverse=True)[1]
        cell = np.unique(fold * (int(sort.max()) + 1) + sort, return_inverse=True)[1]
        order = np.argsort(cell, kind="stable")
        strata = np.split(order, np.flatnonzero(np.diff(cell[order])) + 1)
        own = np.array([fold[members[0]] for members in strata])
        return cls(unit, tuple(strata), own, scores.clusters is not None)

    @property
    def count(self) -> int:
        """The number of units."""
        return int(self.unit.max()) + 1

    def check(self) -> tuple[str, str]:
        """Return why units cannot be drawn, and which folds cannot vary."""
        single = np.array([len(members) < 2 for members in self.strata])
        if not single.any():
            return "", ""
        noun = "cluster" if self.clustered else "record"
        if (self.fold == 0).all():
            some = "there is" if len(self.strata) == 1 else "one class has"
            return f"{some} a single {noun}", ""
        folds, few = len(np.unique(self.fold)), len(np.unique(self.fold[single]))
        of = "" if self.clustered else " of a class"
        if few == folds:
            return f"every fold holds a single {noun}{of}", ""
        single_ones = f"{few} of {folds} folds hold a single {noun}{of}"
        return "", f"{single_ones}, so that its variation is not counted"

    def drawn(self, samples: int, rng: np.random.Generator) -> Floats:
        """Return how often each record occurs in each sample, shape (samples, n)."""
        times = np.empty((samples, self.count))
        for members in self.strata:
            size = len(members)
            # each stratum is drawn with replacement, as many units as it has
            which = rng.integers(0, size, (samples, size))
            which += size * np.arange(samples)[:, None]
            counts = np.bincount(which.ravel(), minlength=samples * size)
            times[:, members] = counts.reshape(samples, size)
        return self._of_records(times)

    def jackknife(
        self, statistic: Statistic, size: int, rng: np.random.Generator
    ) -> Iterator[Floats]:
        """Yield by stratum how far each unit, or group of units, moves a metric.

        This is (g - 1)/g times the mean of the g values without one group, minus the
        value without this group. More than a thousand units are deleted in random
        groups.

        Parameters
        ----------
        statistic : callable
            The metric as a function of weights of shape (times, n), which returns
            values of shape (times,).
        size : int
            The number of values that are computed at once.
        rng : numpy.random.Generator
            The generator for the random groups.
        """
        together = -(-self.count // MOST_DELETED)
        for stratum in self.strata:
            members = rng.permutation(stratum) if together > 1 else stratum
            groups = np.arange(len(members)) // together
            g = int(groups[-1]) + 1
            if g < 2:
                continue
            values = []
            for some in cut(g, size):
                times = np.ones((len(some), self.count))
                own = np.flatnonzero((groups >= some.start) & (groups < some.stop))
                times[groups[own] - some.start, members[own]] = 0.0
                values.append(statistic(self._of_records(times)))
            without = np.concatenate(values)
            # the empirical influence of each group, by which BCa measures skewness
            yield (g - 1) / g * (without.mean() - without)

    def _of_records(self, times: Floats) -> Floats:
        """Return the counts of records that belong to counts of units."""
        never = np.zeros((len(times), 1))
        return np.concatenate([times, never], axis=1)[:, self.unit]


# ---- the interval ----


SAMPLES = 2000
MORE = 5  # the factor on the samples if corrected limits lie beyond them
MOST_UNDEFINED = 0.05  # the largest share of samples without a value
BEYOND = "its limits lie beyond the resampled values"
CELLS = 2**21  # the number of weights that are held in memory at once


def bootstrap_interval(
    asked: IntervalRequest, bca: bool = False, n_boot: int = SAMPLES
) -> interval.Interval:
    """Compute the interval of an estimate by a bootstrap of its held-out predictions.

    Parameters
    ----------
    asked : IntervalRequest
        The estimate; `why_not_resampled` must return an empty string for it.
    bca : bool
        Whether the percentiles are corrected for bias and acceleration (Efron 1987);
        the acceleration is estimated by the jackknife over records or clusters.
    n_boot : int
        The number of samples; it is multiplied by five if corrected limits lie beyond
        them.

    References
    ----------
    Efron (1987), JASA 82:171; Davison & Hinkley (1997), Bootstrap Methods and their
    Application, chapters 3 (several samples) and 5.
    """
    scores, metric, how, level = asked.scores, asked.metric, asked.how, asked.level
    units = DrawnUnits.of(scores, metric, how)
    reason, single = units.check()
    if reason:
        return interval.Interval.none(reason)
    statistic = weighted_metric(scores, metric, how)
    value = float(statistic(np.ones((1, len(scores.y))))[0])
    if np.isnan(value):
        return interval.Interval.none("it has no value")
    stream = np.random.SeedSequence(asked.seed, spawn_key=(RESAMPLE_HELD,))
    rng = np.random.default_rng(stream)
    # as many samples at a time as fit in memory
    size = max(1, CELLS // max(len(scores.row), len(scores.left.row), 1))
    moved = None
    if bca:
        moved = np.concatenate(list(units.jackknife(statistic, size, rng)))
        if np.isnan(moved).any():
            return interval.Interval.none("without some of the records it has no value")
    drawn = _drawn(units, statistic, n_boot, size, rng)
    limits, why = _limits(drawn, value, moved, level)
    # far tails of corrected limits need more samples
    if why == BEYOND and bca:
        more = _drawn(units, statistic, (MORE - 1) * n_boot, size, rng)
        drawn = np.concatenate([drawn, more])
        limits, why = _limits(drawn, value, moved, level)
    if why:
        return interval.Interval.none(why)
    known = drawn[np.isfinite(drawn)]
    lost = len(drawn) - len(known)
    method = f"{'BCa' if bca else 'percentile'} bootstrap of held-out predictions"
    assumes = interval.RECORDS_ONLY
    if scores.clusters is not None:
        method, assumes = f"{method} by cluster", interval.CLUSTERS_ONLY
    if lost:
        assumes += f"; {lost} of {len(drawn)} resamples have no value"
    if single:
        assumes += f"; {single}"
    return interval.Interval(*limits, float(known.std(ddof=1)), method, assumes)


def _drawn(
    units: DrawnUnits, statistic: Statistic, n: int, size: int, rng: np.random.Generator
) -> Floats:
    """Return the statistic of n samples, computed ``size`` samples at a time."""
    values = [statistic(units.drawn(len(some), rng)) for some in cut(n, size)]
    return np.concatenate(values)


def _limits(
    drawn: Floats, value: float, moved: Floats | None, level: float
) -> tuple[tuple[float, float], str]:
    """Return the limits, and the reason if they are NaN."""
    known, none = drawn[np.isfinite(drawn)], (np.nan, np.nan)
    lost = len(drawn) - len(known)
    if lost > MOST_UNDEFINED * len(drawn):
        return none, f"it has no value in {lost} of {len(drawn)} resamples"
    if np.ptp(known) <= 1e-12 * np.abs(known).max():
        return none, f"all resamples have the same value, {interval.NOTHING}"
    if moved is None:
        limits = percentile_limits(known, level)
    else:
        limits = bca_limits(known, value, moved, level)
    return limits, BEYOND if np.isnan(limits).any() else ""


def why_not_resampled(scores: Scores, metric: Metric, how: str) -> str:
    """Return why the predictions cannot be resampled; empty if they can be."""
    if how == "paired" and metric.name != "auroc":
        return "its pairs are not resampled"
    within = within_folds(scores, how)
    if (within and len(scores.by_repeat) > 1) or (how == "pooled" and scores.apart):
        return "a record is in another fold in each repeat, and resampling keeps folds"
    if within and scores.overlapping:
        return "a record is in several folds, and resampling keeps folds"
    if within and scores.clusters is not None:
        cluster = scores.clusters[scores.row]
        of_cluster = np.zeros(int(cluster.max()) + 1, dtype=np.intp)
        of_cluster[cluster] = scores.split
        if (of_cluster[cluster] != scores.split).any():
            return "records of one cluster are in several folds"
    if how == "paired" and scores.pairwise:
        return _why_not_paired(scores)
    return ""


def _why_not_paired(scores: Scores) -> str:
    """Return why pairs are not resampled; empty if all pairs were held out."""
    pairs = concordant_pairs(scores)
    if pairs is None:
        return "there are too many pairs"
    # all pairs must have been compared
    ones = int((scores.y == 1).sum())
    cells = pairs.first.astype(np.int64) * len(scores.y) + pairs.second
    if len(np.unique(cells)) == ones * (len(scores.y) - ones):
        return ""
    return (
        "resampled records count the variation of single pairs too often if each "
        "record is compared with few others"
    )

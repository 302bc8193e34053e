"""The bootstrap of held-out predictions: records are drawn again, the fits stay.

Records are drawn with replacement within their class, so that every sample has as
many of each; sources of several records are drawn whole. Pooled, a record that is drawn
comes with its predictions in all repeats. Per fold (and for pairs within folds) records
are drawn inside their fold, which keeps the folds' sizes and classes: so that takes one
repeat, since another has other folds. (Drawn from all folds, records of small folds
vary too much: a fold may lose a class, and its pairs weigh products.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from statcv.inference.bootstrap_limits import bca_limits, percentile_limits
from statcv.inference.drawn_units import Statistic, Units, within_folds
from statcv.inference.influence import Compared
from statcv.inference.intervals import NOTHING, RECORDS_ONLY, SOURCES_ONLY, Interval
from statcv.inference.paired_values import concordant_pairs
from statcv.inference.scores import Scores
from statcv.inference.values import (
    Part,
    fold_parts,
    losses_by_cell,
    pooled_part,
)
from statcv.metrics import Metric
from statcv.seeds import RESAMPLE_HELD

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

SAMPLES = 2000
MORE = 5  # times as many where corrected limits lie beyond them
MOST_UNDEFINED = 0.05  # of the samples
BEYOND = "its limits lie beyond what was resampled"
CELLS = 2**21  # weights that are held at once


def bootstrap_interval(
    scores: Scores,
    metric: Metric,
    how: str,
    level: float,
    *,
    seed: int,
    bca: bool = False,
    n_boot: int = SAMPLES,
) -> Interval:
    """Interval of an estimate by a bootstrap of its held-out predictions.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
        One for which `why_not_resampled` knows no reason.
    level : float
    seed : int
        The same gives the same interval.
    bca : bool
        Correct the percentiles for bias and acceleration (Efron 1987); the
        acceleration is by the jackknife over records or sources.
    n_boot : int
        Samples; five times as many where corrected limits lie beyond them.

    References
    ----------
    Efron (1987), JASA 82:171; Davison & Hinkley (1997), Bootstrap Methods and their
    Application, chapters 3 (several samples) and 5.
    """
    units = Units.of(scores, metric, how)
    reason, single = units.check()
    if reason:
        return Interval.none(reason)
    statistic = weighted_metric(scores, metric, how)
    value = float(statistic(np.ones((1, len(scores.y))))[0])
    if np.isnan(value):
        return Interval.none("it has no value")
    rng = np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(RESAMPLE_HELD,))
    )
    size = max(1, CELLS // max(len(scores.row), len(scores.left.row), 1))
    moved = None
    if bca:
        moved = np.concatenate(list(units.jackknife(statistic, size, rng)))
        if np.isnan(moved).any():
            return Interval.none("without some of the records it has no value")
    drawn = _drawn(units, statistic, n_boot, size, rng)
    limits, why = _limits(drawn, value, moved, level)
    if why == BEYOND and bca:
        more = _drawn(units, statistic, (MORE - 1) * n_boot, size, rng)
        drawn = np.concatenate([drawn, more])
        limits, why = _limits(drawn, value, moved, level)
    if why:
        return Interval.none(why)
    known = drawn[np.isfinite(drawn)]
    lost = len(drawn) - len(known)
    method = f"{'BCa' if bca else 'percentile'} bootstrap of held-out predictions"
    assumes = RECORDS_ONLY
    if scores.clusters is not None:
        method, assumes = f"{method} by source", SOURCES_ONLY
    if lost:
        assumes += f"; {lost} of {len(drawn)} resamples have no value"
    if single:
        assumes += f"; {single}"
    return Interval(*limits, float(known.std(ddof=1)), method, assumes)


def _drawn(
    units: Units, statistic: Statistic, n: int, size: int, rng: np.random.Generator
) -> Floats:
    """Return the statistic of n samples, so many of them at once."""
    values = [
        statistic(units.drawn(min(size, n - start), rng)) for start in range(0, n, size)
    ]
    return np.concatenate(values)


def _limits(
    drawn: Floats, value: float, moved: Floats | None, level: float
) -> tuple[tuple[float, float], str]:
    """Return the limits of the samples, or why there are none."""
    known, none = drawn[np.isfinite(drawn)], (np.nan, np.nan)
    lost = len(drawn) - len(known)
    if lost > MOST_UNDEFINED * len(drawn):
        return none, f"it has no value in {lost} of {len(drawn)} resamples"
    if np.ptp(known) <= 1e-12 * np.abs(known).max():
        return none, f"all resamples have the same value, {NOTHING}"
    if moved is None:
        limits = percentile_limits(known, level)
    else:
        limits = bca_limits(known, value, moved, level)
    return limits, BEYOND if np.isnan(limits).any() else ""


def why_not_resampled(scores: Scores, how: str) -> str:
    """Say why a bootstrap of the predictions means nothing there; empty if it does."""
    within = within_folds(scores, how)
    if (within and len(scores.by_repeat) > 1) or (how == "pooled" and scores.apart):
        return "a record is in another fold in each repeat, and resampling keeps folds"
    if within and scores.overlapping:
        return "a record is in several folds, and resampling keeps folds"
    if within and scores.clusters is not None:
        source = scores.clusters[scores.row]
        of_source = np.zeros(int(source.max()) + 1, dtype=np.intp)
        of_source[source] = scores.split
        if (of_source[source] != scores.split).any():
            return "records of one source are in several folds"
    if how == "paired" and scores.pairwise:
        return _why_not_paired(scores)
    return ""


def _why_not_paired(scores: Scores) -> str:
    """Say why pairs of one fit are not resampled, unless all pairs were left out."""
    pairs = concordant_pairs(scores)
    if pairs is None:
        return "there are too many pairs"
    ones = int((scores.y == 1).sum())
    cells = pairs.first.astype(np.int64) * len(scores.y) + pairs.second
    if len(np.unique(cells)) == ones * (len(scores.y) - ones):
        return ""
    return (
        "resampled records count the variation of single pairs too often where each "
        "record meets few others"
    )


# ---- what is computed of each sample ----


def weighted_metric(scores: Scores, metric: Metric, how: str) -> Statistic:
    """Return the estimate as a function of how often each record comes.

    It takes weights of shape (times, n) and returns (times,) values: auROC and means
    over records of all at once, other metrics of one after the other.
    """
    if metric.is_auroc:
        what = Compared.of(scores, how)
        return lambda weights: what.value(weights[:, what.row])
    if metric.root_of is not None:
        return _weighted_mean(scores, metric.root_of, how, root=True)
    if metric.casewise is not None:
        return _weighted_mean(scores, metric, how)
    if how == "per_fold":
        parts = fold_parts(scores, metric)
    else:
        parts = [pooled_part(scores, metric, where) for where in scores.by_repeat]
    return lambda weights: np.array([_one_by_one(metric, parts, w) for w in weights])


def _weighted_mean(
    scores: Scores, metric: Metric, how: str, root: bool = False
) -> Statistic:
    """Return the mean over cells of the weighted mean loss (or its root) in each."""
    row, loss, first = losses_by_cell(scores, metric, how)

    def mean(weights: Floats) -> Floats:
        chosen = weights[:, row]
        total = np.add.reduceat(chosen * loss, first, axis=1)
        count = np.add.reduceat(chosen, first, axis=1)
        known = count > 0
        value = np.divide(total, count, out=np.zeros_like(total), where=known)
        value = np.sqrt(value) if root else value
        with np.errstate(invalid="ignore"):
            return np.asarray(value.sum(axis=1) / known.sum(axis=1))

    return mean


def _one_by_one(metric: Metric, parts: list[Part], weights: Floats) -> float:
    times = weights.astype(np.intp)
    values = [part.taken(times[part.row]).value(metric) for part in parts]
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else np.nan

"""Held-out predictions → estimates: pooled, per fold, or paired.

*Pooled* is one metric over all held-out predictions of a repeat. *Per fold* is the
metric in each fold. *Paired* compares only records that the same fit left out, and
never predictions of different fits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from statcv.arguments import check_level
from statcv.errors import MetricError, plural, suggestion
from statcv.inference.estimates.estimate import Estimate
from statcv.inference.estimates.monte_carlo import is_sampled, monte_carlo_sd
from statcv.inference.estimates.pairs import (
    MIRRORED,
    concordance,
    concordant_pairs,
    is_mirrored,
    lists_pairs,
)
from statcv.inference.estimates.slopes import slope_interval
from statcv.inference.estimates.values import (
    casewise_by_record,
    values_by_repeat,
    values_by_split,
)
from statcv.inference.intervals.at_boundary import interval_at_end
from statcv.inference.intervals.bootstrap import bootstrap_interval, why_not_resampled
from statcv.inference.intervals.influence import influence_interval
from statcv.inference.intervals.interval import (
    OF_OTHERS,
    RECORDS_ONLY,
    SOURCES_ONLY,
    Interval,
    corrected_t_interval,
    delong_interval,
    mean_interval,
    pairs_interval,
)
from statcv.inference.scores import Scores
from statcv.metrics import Metric

HOWS = ("pooled", "per_fold", "paired")
BOOTSTRAPS = (".632", ".632+")
INTERVALS = (
    "delong",
    "logit",
    "influence",
    "corrected_t",
    "pairs",
    "records",
    "bootstrap",
    "bca",
)
IN_SAMPLES = {
    "pairs": "; it counts the Monte Carlo error of a sample of pairs",
    "influence": "; of a sample of pairs each counts for both of its records, which "
    "adds to the width",
}
NO_PAIRS: dict[str | None, str] = {
    "classes": "no fit left out records of both classes",
    "each two classes": "of some two classes no fit left out records of both",
    "numbers": "no fit left out records of different outcomes",
}
REFITS = ("jackknife", "jackknife_logit", "corrected_jackknife", "nested_cv")
Floats = NDArray[np.float64]


def estimate(
    scores: Scores,
    metric: Metric,
    how: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    *,
    seed: int = 0,
) -> Estimate:
    """Estimate a metric one way.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}, optional
        The headline's way where not given.
    level : float
        Of the interval.
    interval : str, optional
        One of those that `possible_intervals` names; that of `default_interval` where
        not given.
    seed : int
        Of the intervals that resample records.

    Raises
    ------
    MetricError
        If ``how`` or ``interval`` is unknown, or the metric cannot be had in pairs,
        or has no such interval.
    """
    how = how or scores.headline(metric)
    if how in BOOTSTRAPS:
        raise MetricError(
            f"how={how!r} joins the value on the training records with that on what "
            "bootstrap samples leave out; use scheme='bootstrap'."
        )
    if how not in HOWS:
        raise MetricError(
            f"how must be one of {', '.join(HOWS)}, or for bootstrap samples "
            f"{' or '.join(BOOTSTRAPS)}, not {how!r}." + suggestion(how, HOWS)
        )
    check_level(level, MetricError)
    if how == "paired" and metric.pairs is None:
        raise MetricError(
            f"{metric.label} is not had from pairs; auROC (of several classes Hand and "
            "Till's), concordance and the calibration slope are."
        )
    if interval is not None:
        check_interval(scores, metric, how, interval)
    values = _values(scores, metric, how)
    defined = values[~np.isnan(values)]
    value = float(defined.mean()) if len(defined) else np.nan

    def make() -> Interval:
        name = interval or default_interval(scores, metric, how)
        if name is None:
            made = Interval.none(_why_none(scores, metric, how, values))
        else:
            made = _interval(scores, metric, how, name, values, level, seed)
        assumes = made.assumes
        if scores.external and assumes in (RECORDS_ONLY, SOURCES_ONLY):
            assumes = OF_OTHERS
        if how == "paired" and name in IN_SAMPLES and is_sampled(scores):
            assumes += IN_SAMPLES[name] * (made.method != "none")
        if made.method == "none" and np.isnan(value):
            assumes = _not_predicted(scores) or assumes
        made = replace(made, name=name or "", assumes=assumes)
        return interval_at_end(made, scores, metric, how, value, level)

    return Estimate(
        metric=metric.name,
        label=metric.label,
        how=how,
        value=value,
        level=level,
        n_undefined=len(values) - len(defined),
        n_values=len(values),
        sd=monte_carlo_sd(scores, metric, how, values),
        make=make,
        bounds=_bounds(scores, metric),
    )


# ---- which interval ----


def default_interval(scores: Scores, metric: Metric, how: str) -> str | None:
    """Return the name of the interval where a caller names none; None for none.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    """
    if how == "per_fold":
        return "corrected_t"
    if how == "paired":
        return "pairs" if _has_pairs(scores, metric) else None
    if scores.apart:
        return None
    if metric.is_auroc:
        return "delong"
    return "records" if _over_records(metric) else None


def possible_intervals(scores: Scores, metric: Metric, how: str) -> tuple[str, ...]:
    """Return the names of the intervals that a metric can have without refits.

    Parameters
    ----------
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    """
    names = []
    if metric.is_auroc:
        if how == "pooled" and not scores.apart:
            names += ["delong", "logit"]
        names.append("influence")
    if how == "per_fold":
        names.append("corrected_t")
    if how == "paired" and _has_pairs(scores, metric):
        names.append("pairs")
    if how == "pooled" and not scores.apart and _over_records(metric):
        names.append("records")
    if not _why_not_resampled(scores, metric, how):
        names += ["bootstrap", "bca"]
    return tuple(names)


def check_interval(scores: Scores, metric: Metric, how: str, interval: str) -> None:
    """Raise where a metric has no such interval, or it needs refits."""
    if interval in REFITS:
        raise MetricError(
            f"interval={interval!r} needs refits, and these are predictions alone; "
            "result.estimate() makes it."
        )
    possible = possible_intervals(scores, metric, how)
    if interval in possible:
        return
    there = f"there {'is' if len(possible) == 1 else 'are'} {_listed(possible)}"
    about = f"{metric.label} ({how.replace('_', ' ')})"
    if interval not in INTERVALS:
        hint = suggestion(interval, (*possible, *REFITS))
        raise MetricError(
            f"interval={interval!r} is unknown; for {about} {there}.{hint}"
        )
    why = ""
    if interval in ("bootstrap", "bca"):
        why = _why_not_resampled(scores, metric, how)
    raise MetricError(
        f"interval={interval!r} is not for {about}{f', since {why}' if why else ''}; "
        f"{there}."
    )


def _has_pairs(scores: Scores, metric: Metric) -> bool:
    """Tell whether pairs have an interval of their own."""
    return lists_pairs(scores) if metric.rank else not scores.apart


def _why_not_resampled(scores: Scores, metric: Metric, how: str) -> str:
    """Say why records are not resampled; empty if they are."""
    if how == "paired" and metric.name != "auroc":
        return "its pairs are not resampled"
    return why_not_resampled(scores, how)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names)) or "none without refits"


def _over_records(metric: Metric) -> bool:
    return metric.casewise is not None or metric.root_of is not None


def _why_none(scores: Scores, metric: Metric, how: str, values: Floats) -> str:
    """Say why there is no interval unless one is named."""
    if how == "paired" and metric.rank:
        if is_mirrored(scores, metric):
            return MIRRORED
        if not concordance(scores, metric)[1]:
            return NO_PAIRS[metric.pairs]
        if scores.pairwise:
            return "there are too many pairs to list"
        other = " or interval='influence'" if metric.is_auroc else ""
        return (
            "no interval is known for the pairs within folds that keeps its level; "
            f"see how='per_fold'{',' * bool(other)}{other}"
        )
    if scores.apart:
        return "each split is pooled by itself; see how='per_fold'"
    if np.isnan(values).any():
        return _undefined(scores, values)
    return (
        f"no closed form is known for a pooled {metric.label}; interval='bootstrap' "
        "resamples the records"
    )


def _not_predicted(scores: Scores) -> str:
    """Say how many predictions are NaN, and of how many records; or nothing."""
    left = scores.left
    table = left.predicted.reshape(len(left.row), -1)
    missing = np.flatnonzero(np.isnan(table).any(axis=1))
    if not missing.size:
        return ""
    records = plural(len(np.unique(left.row[missing])), "record")
    return f"{missing.size} of {len(table)} predictions are NaN, of {records}"


def _undefined(scores: Scores, values: Floats) -> str:
    unit = "splits" if scores.by_split else "repeats"
    count = int(np.isnan(values).sum())
    return f"it is undefined in {count} of {len(values)} {unit}"


# ---- values and intervals ----


def _values(scores: Scores, metric: Metric, how: str) -> Floats:
    """Return what the estimate is the mean of."""
    if how == "per_fold":
        return values_by_split(scores, metric)
    return values_by_repeat(scores, metric, how)


def _interval(
    scores: Scores,
    metric: Metric,
    how: str,
    name: str,
    values: Floats,
    level: float,
    seed: int,
) -> Interval:
    """Make the interval of that name."""
    if how == "pooled" and np.isnan(values).any():
        return Interval.none(_undefined(scores, values))
    if name in ("delong", "logit"):
        return _delong(scores, level, "wald" if name == "delong" else name)
    if name == "influence":
        return influence_interval(scores, how, level)
    if name == "corrected_t":
        return _corrected_t(scores, values, level)
    if name == "pairs" and not metric.rank:
        return slope_interval(scores, level)
    if name == "pairs":
        return _pairs(scores, metric, level)
    if name == "records":
        if metric.root_of is not None:
            return _root(_records(scores, metric.root_of, level))
        return _records(scores, metric, level)
    return bootstrap_interval(scores, metric, how, level, seed=seed, bca=name == "bca")


def _delong(scores: Scores, level: float, interval: str) -> Interval:
    parts = [scores.by_record(where, rank=True) for where in scores.by_repeat]
    codes = scores.clusters
    return delong_interval(
        [scores.y[rows] for rows, _ in parts],
        [scores.to_rank(predicted) for _, predicted in parts],
        level,
        interval=interval,
        clusters=None if codes is None else [codes[rows] for rows, _ in parts],
    )


def _corrected_t(scores: Scores, values: Floats, level: float) -> Interval:
    known, sizes = ~np.isnan(values), np.diff(scores.starts)
    made = corrected_t_interval(
        values[known], scores.n_train[known], sizes[known], level
    )
    if not scores.parted or np.isnan(made.lower):
        return made
    said = f"{plural(scores.parted, 'source')} with records in several folds"
    return replace(made, assumes=f"{made.assumes}; does not count that of {said}")


def _pairs(scores: Scores, metric: Metric, level: float) -> Interval:
    pairs = concordant_pairs(scores, metric)
    if pairs is None:
        return Interval.none(MIRRORED)
    if not len(pairs.won) or np.isnan(pairs.shares).any():
        return Interval.none(NO_PAIRS[metric.pairs])
    if pairs.cells > 1 and pairs.sizes.min() < 2:
        return Interval.none("of some two classes there is a single pair")
    return pairs_interval(
        pairs.first,
        pairs.second,
        pairs.won,
        level,
        scores.clusters,
        share=float(pairs.shares.mean()),
        moved=pairs.moved,
    )


def _records(scores: Scores, metric: Metric, level: float) -> Interval:
    """Mean over records of each record's loss, averaged over repeats."""
    rows, losses = casewise_by_record(scores, metric)
    codes = scores.clusters
    return mean_interval(losses, level, None if codes is None else codes[rows])


def _root(interval: Interval) -> Interval:
    """Turn an interval of the mean squared error into one of its root."""
    lower, upper = np.sqrt(max(interval.lower, 0.0)), np.sqrt(interval.upper)
    return Interval(
        float(lower),
        float(upper),
        float(interval.se / (lower + upper)),
        f"root of the {interval.method}" if interval.method != "none" else "none",
        interval.assumes,
    )


def _bounds(scores: Scores, metric: Metric) -> tuple[float, float]:
    """Return the least and the largest value of a metric of such predictions."""
    predicted = scores.predicted
    return metric.bounds_with(2 if predicted.ndim == 1 else predicted.shape[1])

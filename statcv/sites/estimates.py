"""Estimates with intervals, of all sites together and of each, from pooled sums."""

from __future__ import annotations

import math
from functools import partial
from typing import Final, TypeAlias

import numpy as np

from statcv.arguments import check_level, one_of
from statcv.errors import MetricError, suggestion
from statcv.inference import Estimate, Interval
from statcv.inference.intervals.infinitesimal import CORRECTED, METHOD
from statcv.inference.intervals.interval import (
    RECORDS_ONLY,
    scale_of,
    symmetric,
    wilson_limits,
)
from statcv.metrics import get_metric
from statcv.sites.coordinator import Coordinator
from statcv.sites.pooled import PooledSums, QueriedSums

HOWS: Final = ("per_fold", "pooled")
WITH_FITS: Final = (
    "counts the variation of the records, and to first order half of what that of the "
    "fits adds"
)

Source: TypeAlias = Coordinator | QueriedSums
"""What estimates are computed from: a run that has ended, or sums by a query."""


def make_estimate(
    source: Source,
    metric: str | None = None,
    how: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
) -> Estimate:
    """Return an estimate over all sites, with its interval.

    Parameters
    ----------
    source : Coordinator or QueriedSums
        A run that has ended, or the sums that sites computed by a query.
    metric, how, level, interval
        As in :meth:`statcv.sites.result.SitesResult.estimate`.
    """
    check_level(level)
    ran = isinstance(source, Coordinator)
    metric = source.metrics[0] if metric is None else metric
    if metric not in source.metrics:
        why = "cannot be computed from these sums; one of"
        if ran:
            why = "is not in the plan, and cannot be added later; the plan has"
        raise MetricError(
            f"metric {metric!r} {why} {', '.join(source.metrics)}."
            + suggestion(metric, source.metrics)
        )
    known, headline = get_metric(metric), "per_fold" if metric == "auroc" else "pooled"
    if metric.startswith("calibration") and how == "per_fold":
        raise MetricError(f"{known.label} over sites is pooled.")
    how = headline if how is None else str(one_of(how, HOWS, "how", MetricError))
    _check_interval(source, metric, how, headline, interval)
    if metric.startswith("calibration"):
        assert isinstance(source, Coordinator)
        fit = source.progress.recalibrated
        values = np.array([fit.alone if metric.endswith("intercept") else fit.slope])
    else:
        values = source.sums.values(metric, how)
    folds = how == "per_fold"
    value = float(np.nanmean(values) if folds else values[0])
    return Estimate(
        metric=metric,
        label=known.label,
        how=how,
        value=value,
        level=level,
        n_undefined=int(np.isnan(values).sum()) if folds else 0,
        n_values=len(values),
        sd=float(np.std(values, ddof=1)) if len(values) > 1 else math.nan,
        make=partial(_interval, source, metric, how, value, level, interval, headline),
        bounds=known.bounds,
    )


def _check_interval(
    source: Source, metric: str, how: str, headline: str, interval: str | None
) -> None:
    """Check that an interval is available for a metric."""
    available = ["delong" if metric == "auroc" else "records"]
    if isinstance(source, Coordinator) and how == headline:
        # trees maximise no likelihood
        grown = source.plan.grown
        usual = "corrected_influence" if grown else "infinitesimal_jackknife"
        available = [usual, *available]
    if interval is not None and interval not in available:
        raise MetricError(
            f"interval={interval!r} is not available over sites for {metric} "
            f"({how.replace('_', ' ')}); {' or '.join(available)} is."
        )


def given_fits(
    source: Source, sums: PooledSums, metric: str, how: str, value: float, level: float
) -> Interval:
    """Return an interval that takes the fits as given, over some of the sites."""
    method, df = "records", math.nan
    if metric == "auroc":
        method = "DeLong"
    elif isinstance(source, QueriedSums):
        method = "mean over records"
        if how == "per_fold":
            return Interval.none("the sums have squares of all folds together")
        if metric == "oe_ratio":
            method, df = "influence of records", float(sums.n - 1)
    se, scale = sums.se(metric, how), scale_of(get_metric(metric), value)
    return symmetric(value, se, level, method, RECORDS_ONLY, df=df, scale=scale)


def _interval(
    source: Source,
    metric: str,
    how: str,
    value: float,
    level: float,
    interval: str | None,
    headline: str,
) -> Interval:
    """Compute an interval by influences, or with fits as given."""
    ranked = metric == "auroc"
    if math.isnan(value):
        return Interval.none("it has no value")
    if ranked and value in (0.0, 1.0):
        return Interval.none(f"an area of {value:g} has no first-order variation")
    fits_vary = how == headline and interval not in ("delong", "records")
    if isinstance(source, QueriedSums) or not fits_vary:
        return given_fits(source, source.sums, metric, how, value, level)
    found = source.variations[metric]
    method, assumes = METHOD, WITH_FITS
    if source.plan.grown:
        method, assumes = "corrected influence of records", CORRECTED
    by_hash = source.plan.stratify["by"] == "hash"
    if by_hash and source.shared:
        assumes += (
            f"; persons at several sites raise its variance by {source.shared:.0%}, an "
            "estimate from buckets of identifiers"
        )
    else:
        no_sign = ", as buckets of identifiers show no more of them than chance does"
        assumes += "; records of different sites count as independent"
        assumes += no_sign if by_hash else ""
    if not ranked:
        se, scale = math.sqrt(found.total), scale_of(get_metric(metric), value)
        return symmetric(value, se, level, method, assumes, df=found.df, scale=scale)
    # the variance of an area for an area θ is in proportion to θ(1 - θ)
    rate = found.total / (found.area * (1 - found.area))
    rate += source.sums.order_se(how) ** 2 / (value * (1 - value))
    assumes += "; the order of records that are counted together is taken as random"
    lower, upper = wilson_limits(value, rate, level, found.df)
    own = value * (1 - value)
    se = math.sqrt(rate * own)
    return Interval(lower, upper, se, method, assumes, found.df, "wilson", spread=own)

"""An estimate with its interval, and the refits that the interval needs."""

from __future__ import annotations

from dataclasses import replace

from statcv.errors import MetricError, UndefinedMetricWarning, warn
from statcv.folds import FoldPlan
from statcv.inference import (
    BOOTSTRAPS,
    INTERVALS,
    Estimate,
    Interval,
    Scores,
    bootstrap_estimate,
    make_estimate,
    resolve_how,
)
from statcv.inference.intervals.request import IntervalRequest
from statcv.inference.refits.jackknife import Jackknife, keep_jackknife
from statcv.metrics import Metric
from statcv.results.refits import Running, warn_of_interval
from statcv.results.refittable import Refittable
from statcv.words import stated


def named_estimate(
    result: Refittable,
    metric: Metric,
    how: str | None,
    level: float,
    interval: str | None,
    running: Running,
) -> Estimate:
    """Estimate a metric with the named interval, with refits if it needs them.

    Parameters
    ----------
    result : CVResult
    metric, how, level, interval, seed, n_jobs, progress
        The arguments of :meth:`~statcv.results.result.CVResult.estimate`.

    Raises
    ------
    MetricError
        If the estimate is not available for the outcome or the scheme.

    Warns
    -----
    CostWarning
        If refits will take long; it is given before they start.
    UndefinedMetricWarning
        If the metric is undefined in some folds or repeats, with their number.
    """
    if how in BOOTSTRAPS and is_bootstrap(result.plan):
        if interval is not None:
            raise MetricError(f"how={how!r} has no interval; omit interval=.")
        refits = result.refits
        cut = refits.full_threshold(metric)
        found: Estimate = bootstrap_estimate(
            result.scores, metric, how, refits.fitted, level, cut
        )
    elif interval is not None and needs_refits(interval):
        check_refits(result, f"interval={interval!r}")
        bare = make_estimate(result.scores, metric, how, level)
        if (metric, bare.how) not in result.refits.jackknives:
            warn_of_interval(result, interval)
        found = _refitted(result, bare, metric, interval, running)
        assert found.interval  # makes the refits
    else:
        seed = running.seed
        found = make_estimate(result.scores, metric, how, level, interval, seed=seed)
    if found.n_undefined:
        unit = _unit(result.scores, metric, found.how)
        warn(
            f"{stated(metric.label, found.how)} has no value in "
            f"{found.n_undefined} of {found.n_values} {unit}; they are omitted.",
            UndefinedMetricWarning,
        )
    return found


def jackknife(
    result: Refittable, metric: Metric, how: str | None, running: Running
) -> Jackknife:
    """Return the jackknife: the estimate refitted without each record or cluster.

    Parameters
    ----------
    result : CVResult
    metric, how, n_jobs, progress
        The arguments of :meth:`~statcv.results.result.CVResult.jackknife`.

    Raises
    ------
    MetricError
        If the estimate cannot be jackknifed; the message gives the reason.
    """
    way = resolve_how(result.scores, metric, how)
    check_refits(result, "the jackknife")
    if (metric, way) not in result.refits.jackknives:
        warn_of_interval(result, "jackknife")
    found = keep_jackknife(
        result.refits.setup_for(metric),
        result.scores,
        metric,
        way,
        result.refits.jackknives,
        **running.processes,
    )
    if isinstance(found, str):
        raise MetricError(f"{metric.label} has no jackknife: {found}.")
    return found


def needs_refits(interval: str) -> bool:
    """Return whether the named interval exists and needs refits."""
    return interval in INTERVALS and INTERVALS[interval].refits


def is_bootstrap(plan: FoldPlan) -> bool:
    """Return whether the plan samples records, so that there are .632 estimates."""
    return plan.made_by is not None and plan.made_by.samples


def check_refits(result: Refittable, what: str) -> None:
    """Raise an error if there is no model that can be refitted.

    Parameters
    ----------
    result : CVResult
    what : str
        Name of the method that needs the refits, for the message.
    """
    if not result.refits.possible:
        raise MetricError(
            f"{what} needs refits, but these predictions come from other software or "
            "an earlier fit, so that there is no model to fit."
        )


def _refitted(
    result: Refittable, found: Estimate, metric: Metric, interval: str, running: Running
) -> Estimate:
    """Add the named interval to an estimate; its refits are made when it is read."""

    def make() -> Interval:
        asked = IntervalRequest(
            result.scores,
            metric,
            found.how,
            found.level,
            running.seed,
            setup=result.refits.setup_for(metric),
            kept=result.refits.jackknives,
            running=running.processes,
        )
        return replace(INTERVALS[interval].make(asked), name=interval)

    return found.with_interval(make)


def _unit(scores: Scores, metric: Metric, how: str) -> str:
    """Name the units over which an estimate is averaged."""
    if how in BOOTSTRAPS and metric.casewise is not None:
        return "records"
    if scores.by_split:
        return "splits"
    return "folds" if how == "per_fold" else "repeats"

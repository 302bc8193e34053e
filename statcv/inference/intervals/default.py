"""Which intervals an estimate has, and which of them is the default."""

from __future__ import annotations

from collections.abc import Sequence

from statcv.errors import MetricError, suggestion
from statcv.inference.intervals.infinitesimal import know_variations
from statcv.inference.intervals.methods import INTERVALS, why_no_resampling
from statcv.inference.scores import Scores
from statcv.metrics import Metric


def default_interval(scores: Scores, metric: Metric, how: str) -> str | None:
    """Return the name of the default interval; None if there is no default.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        The metric of the estimate.
    how : {"pooled", "per_fold", "paired"}
        The way in which it is stated.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> from statcv.inference import default_interval
    >>> default_interval(res.scores, scv.metrics.get_metric("auroc"), "pooled")
    'infinitesimal_jackknife'
    """
    if how == "pooled" and scores.apart and not metric.pools_splits:
        return None
    # the first in the table that serves the estimate
    for method in INTERVALS.values():
        if how in method.default_hows and method.serves(scores, metric, how):
            return method.name
    return None


def know_intervals(scores: Scores, asked: Sequence[tuple[Metric, str, float]]) -> None:
    """Compute what the default intervals of several estimates have in common.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    asked : sequence of (Metric, str, float)
        The metrics, the way in which each is stated, and its value.
    """
    some = [
        one
        for one in asked
        if default_interval(scores, *one[:2]) == "infinitesimal_jackknife"
    ]
    know_variations(scores, some)


def possible_intervals(scores: Scores, metric: Metric, how: str) -> tuple[str, ...]:
    """Return the names of the intervals that are available without refits.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        The metric of the estimate.
    how : {"pooled", "per_fold", "paired"}
        The way in which it is stated.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> from statcv.inference import possible_intervals
    >>> brier = scv.metrics.get_metric("brier")
    >>> possible_intervals(res.scores, brier, "pooled")  # doctest: +ELLIPSIS
    ('infinitesimal_jackknife', 'corrected_influence', 'records', ..., 'bca')
    """
    return tuple(
        method.name
        for method in INTERVALS.values()
        if not method.refits and method.serves(scores, metric, how)
    )


def check_interval(scores: Scores, metric: Metric, how: str, interval: str) -> None:
    """Raise if a metric has no such interval, or the interval needs refits."""
    method = INTERVALS.get(interval)
    if method is not None and method.refits:
        raise MetricError(
            f"interval={interval!r} needs refits, and only predictions are available "
            "here; result.estimate() computes it."
        )
    if method is not None and method.serves(scores, metric, how):
        return
    possible = possible_intervals(scores, metric, how)
    listed = ", ".join(map(repr, possible)) or "none without refits"
    there = f"there {'is' if len(possible) == 1 else 'are'} {listed}"
    about = f"{metric.label} ({how.replace('_', ' ')})"
    if method is None:
        with_refits = [one.name for one in INTERVALS.values() if one.refits]
        hint = suggestion(interval, (*possible, *with_refits))
        raise MetricError(
            f"interval={interval!r} is unknown; for {about} {there}.{hint}"
        )
    why = ""
    if interval in ("bootstrap", "bca"):
        why = why_no_resampling(scores, metric, how)
    raise MetricError(
        f"interval={interval!r} is not available for {about}"
        f"{f', since {why}' if why else ''}; {there}."
    )

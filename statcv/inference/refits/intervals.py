"""Intervals that need refits, by name."""

from __future__ import annotations

from typing import Any

from statcv.engine import Setup
from statcv.inference.estimates.estimating import REFITS, estimate
from statcv.inference.intervals.at_boundary import at_end, interval_at_end
from statcv.inference.intervals.interval import Interval
from statcv.inference.refits.jackknife import (
    Jackknife,
    corrected_jackknife_interval,
    jackknife_interval,
    try_jackknife,
)
from statcv.inference.refits.nested_cv import nested_cv_interval
from statcv.inference.refits.refitting import fixed_threshold
from statcv.inference.scores import Scores
from statcv.metrics import Metric

SCALES = {"jackknife": "identity", "jackknife_logit": "logit"}
ON_LOGITS = ("jackknife_logit", "corrected_jackknife")
Kept = dict[tuple[Metric, str], Jackknife | str]


def refit_interval(
    setup: Setup,
    scores: Scores,
    metric: Metric,
    how: str,
    level: float,
    name: str,
    *,
    seed: int,
    kept: Kept,
    **running: Any,
) -> Interval:
    """Make the interval of that name.

    Parameters
    ----------
    setup : Setup
    scores : Scores
    metric : Metric
    how : {"pooled", "per_fold", "paired"}
    level : float
    name : str
        One of `REFITS`.
    seed : int
        Of what is drawn.
    kept : dict
        Jackknives that were made before; this one is put there.
    **running
        ``n_jobs`` and ``progress``.
    """
    assert name in REFITS
    if name == "nested_cv":
        return nested_cv_interval(
            setup,
            metric,
            level,
            seed=seed,
            threshold=fixed_threshold(scores),
            **running,
        )
    value = estimate(scores, metric, how, level).value
    if at_end(metric, value) and name in ON_LOGITS:
        made = Interval.none(f"the logit of {value:g} is infinite")
        return interval_at_end(made, scores, metric, how, value, level)
    deleted = keep_jackknife(setup, scores, metric, how, kept, **running)
    if name == "corrected_jackknife":
        return corrected_jackknife_interval(scores, metric, how, level, deleted)
    made = jackknife_interval(
        setup, scores, metric, how, level, scale=SCALES[name], deleted=deleted
    )
    return interval_at_end(made, scores, metric, how, value, level)


def keep_jackknife(
    setup: Setup, scores: Scores, metric: Metric, how: str, kept: Kept, **running: Any
) -> Jackknife | str:
    """Return the jackknife, made before or now, or why there is none.

    Parameters
    ----------
    setup, scores, metric, how, kept, **running
        As :func:`refit_interval` takes them.
    """
    key = (metric, how)
    if key not in kept:
        kept[key] = try_jackknife(setup, scores, metric, how, **running)
    return kept[key]

"""The table of all intervals, with the estimates for which each is available.

A new interval is added as a line of ``methods.txt`` and an entry of `WAYS`; all other
code reads it from `INTERVALS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from statcv.errors import MetricError, suggestion
from statcv.inference.intervals import given_fits, infinitesimal
from statcv.inference.intervals.at_boundary import at_end, interval_at_end
from statcv.inference.intervals.bootstrap import bootstrap_interval, why_not_resampled
from statcv.inference.intervals.curve import curve_interval, curve_serves
from statcv.inference.intervals.influence import influence_interval
from statcv.inference.intervals.interval import Interval
from statcv.inference.intervals.request import IntervalRequest
from statcv.inference.refits import jackknife
from statcv.inference.refits.nested_cv import nested_cv_interval
from statcv.inference.refits.refitting import fixed_threshold
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.tables import Printed
from statcv.words import stored_rows

Serves = Callable[[Scores, Metric, str], bool]
Make = Callable[[IntervalRequest], Interval]


@dataclass(frozen=True, repr=False)
class IntervalMethod(Printed):
    """A method for computing an interval.

    Attributes
    ----------
    name : str
        The name by which ``estimate(interval=)`` selects it.
    sentence : str
        A description in one sentence.
    serves : callable
        The function that returns whether the interval is available for scores, a metric
        and a way of stating it.
    make : callable
        The function that computes the interval; it returns one without limits, with the
        reason, if the interval cannot be computed.
    default_hows : tuple of str
        The ways of stating a metric for which the interval is the default, if it is
        available and no earlier one of the table is.
    refits : bool
        Whether the interval refits everything.

    Examples
    --------
    >>> from statcv.inference import INTERVALS
    >>> INTERVALS["bootstrap"].sentence, INTERVALS["bootstrap"].refits
    ('Percentiles of the estimate over resampled records or clusters.', False)
    """

    name: str
    sentence: str
    serves: Serves
    make: Make
    default_hows: tuple[str, ...] = ()
    refits: bool = False


# ---- the estimates for which intervals are available ----


def _pooled_auroc(scores: Scores, metric: Metric, how: str) -> bool:
    return metric.is_auroc and how == "pooled" and not scores.apart


def _paired(scores: Scores, metric: Metric, how: str) -> bool:
    return how == "paired" and given_fits.has_pairs(scores, metric)


def _mean_over_records(scores: Scores, metric: Metric, how: str) -> bool:
    by_record = metric.casewise is not None or metric.root_of is not None
    return by_record and how == "pooled" and not scores.apart


def _resampled(scores: Scores, metric: Metric, how: str) -> bool:
    return not why_not_resampled(scores, metric, how)


# ---- the functions that compute them ----


def _influence(asked: IntervalRequest) -> Interval:
    # records that no fit has seen have no folds to be compared within
    if asked.metric.is_auroc and not asked.scores.external:
        return influence_interval(asked.scores, asked.how, asked.level)
    return infinitesimal.infinitesimal_interval(asked, "given")


def _jackknife(asked: IntervalRequest, scale: str = "identity") -> Interval:
    if scale == "logit" and at_end(asked.metric, asked.value):
        return interval_at_end(jackknife.without_logit(asked.value), asked)
    given = asked.value, asked.metric, asked.level, asked.deleted()
    return interval_at_end(jackknife.jackknife_interval(*given, scale), asked)


def _nested_cv(asked: IntervalRequest) -> Interval:
    assert asked.setup is not None
    given, cut = (asked.setup, asked.metric, asked.level), fixed_threshold(asked.scores)
    return nested_cv_interval(*given, seed=asked.seed, threshold=cut, **asked.running)


# ---- the table ----

# for which estimates each is available, and what computes it
WAYS: dict[str, tuple[Serves, Make]] = {
    "infinitesimal_jackknife": (
        infinitesimal.infinitesimal_serves,
        infinitesimal.infinitesimal_interval,
    ),
    "curve": (curve_serves, curve_interval),
    "corrected_influence": (
        infinitesimal.corrected_serves,
        partial(infinitesimal.infinitesimal_interval, fits="correlated"),
    ),
    "delong": (_pooled_auroc, given_fits.delong_of),
    "logit": (_pooled_auroc, partial(given_fits.delong_of, scale="logit")),
    "corrected_t": (lambda _, __, how: how == "per_fold", given_fits.folds_of),
    "pairs": (_paired, given_fits.pairs_of),
    "influence": (infinitesimal.influence_serves, _influence),
    "records": (_mean_over_records, given_fits.records_of),
    "bootstrap": (_resampled, bootstrap_interval),
    "bca": (_resampled, partial(bootstrap_interval, bca=True)),
    "jackknife": (lambda *_: True, _jackknife),
    "jackknife_logit": (
        lambda _, metric, how: metric.bounds == (0.0, 1.0),
        partial(_jackknife, scale="logit"),
    ),
    "corrected_jackknife": (
        lambda _, metric, how: metric.is_auroc,
        jackknife.corrected_jackknife_interval,
    ),
    "nested_cv": (_mean_over_records, _nested_cv),
}

# names, the ways of stating a metric for which each is the default, and sentences
INTERVALS = {
    name: IntervalMethod(name, said, *WAYS[name], tuple(hows.split()), bool(refits))
    for name, hows, refits, said in stored_rows(
        "statcv.inference.intervals", "methods.txt"
    )
}


# ---- which intervals an estimate has ----


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
    ('infinitesimal_jackknife', 'corrected_influence', 'influence', ..., 'bca')
    """
    known = (method for method in INTERVALS.values() if not method.refits)
    return tuple(one.name for one in known if one.serves(scores, metric, how))


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
        why = why_not_resampled(scores, metric, how)
    raise MetricError(
        f"interval={interval!r} is not available for {about}"
        f"{f', since {why}' if why else ''}; {there}."
    )

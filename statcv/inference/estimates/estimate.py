"""Estimates from held-out predictions, with intervals computed when first needed.

A *pooled* estimate is the metric over all held-out predictions of a repeat. An estimate
*per fold* is the mean of the metric over the folds. A *paired* estimate compares only
records that the same fit predicts, and never predictions of different fits.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from statcv.arguments import check_level
from statcv.errors import MetricError, suggestion
from statcv.inference.estimates import pairs
from statcv.inference.estimates.monte_carlo import is_sampled, monte_carlo_sd
from statcv.inference.estimates.values import know_values
from statcv.inference.intervals.at_boundary import interval_at_end
from statcv.inference.intervals.infinitesimal import know_variations
from statcv.inference.intervals.interval import (
    CLUSTERS_ONLY,
    OF_OTHERS,
    RECORDS_ONLY,
    Interval,
)
from statcv.inference.intervals.methods import (
    INTERVALS,
    check_interval,
    default_interval,
)
from statcv.inference.intervals.request import IntervalRequest
from statcv.inference.scores import Scores
from statcv.metrics import Metric, is_listed
from statcv.numeric.arrays import Floats
from statcv.words import plural, with_limits


def why_no_default(scores: Scores, metric: Metric, how: str, values: Floats) -> str:
    """Return the reason why there is no default interval."""
    if how == "paired" and metric.rank:
        if pairs.is_mirrored(scores, metric):
            return pairs.MIRRORED
        if not pairs.concordance(scores, metric)[1]:
            return pairs.NO_PAIRS[metric.pairs]
        if scores.pairwise:
            return "there are too many pairs to list"
        other = " or interval='influence'" if metric.is_auroc else ""
        return (
            "no interval for the pairs within folds is known to keep its level; "
            f"see how='per_fold'{',' * bool(other)}{other}"
        )
    if scores.apart:
        return "each split is pooled by itself; see how='per_fold'"
    if np.isnan(values).any():
        return why_undefined(scores, values)
    return (
        f"no closed form is known for a pooled {metric.label}; interval='bootstrap' "
        "resamples the records"
    )


def why_not_predicted(scores: Scores) -> str:
    """Return how many predictions and records are NaN in words; empty if none."""
    left = scores.left
    if not len(left.row):
        return ""
    table = left.predicted.reshape(len(left.row), -1)
    missing = np.flatnonzero(np.isnan(table).any(axis=1))
    if not missing.size:
        return ""
    records = plural(len(np.unique(left.row[missing])), "record")
    return f"{missing.size} of {len(table)} predictions are NaN, for {records}"


def why_undefined(scores: Scores, values: Floats) -> str:
    """Return in how many repeats or splits an estimate has no value, in words."""
    if scores.external and len(values) == 1:
        return "it has no value"
    unit = "splits" if scores.by_split else "repeats"
    count = int(np.isnan(values).sum())
    return f"it is undefined in {count} of {len(values)} {unit}"


@dataclass(frozen=True, repr=False)
class Estimate:
    """An estimate with its interval; ``float()`` returns the value.

    The interval is computed when it is first used: ``lower``, ``upper``, ``se`` and
    ``interval``, which has its method and what it assumes.

    Attributes
    ----------
    metric, label, how : str
        The metric, its label, and the way in which it is stated.
    value, level : float
        The estimate, and the confidence level of its interval.
    n_undefined, n_values : int
        The number of folds (or repeats) in which the metric has no value, and of all.
    sd : float
        The standard deviation of the values over repeats, or over folds of an estimate
        per fold; NaN if there is a single value.
    make, bounds
        The function that computes the interval, and its least and largest value.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> one = res.estimate("auroc")
    >>> round(float(one), 3), round(one.lower, 3)
    (0.833, 0.566)
    >>> one
    auROC 0.83 (95% CI 0.57 to 0.98)
    mean over folds; interval by infinitesimal jackknife
    """

    metric: str
    label: str
    how: str
    value: float
    level: float
    n_undefined: int
    n_values: int
    sd: float
    make: Callable[[], Interval] = field(compare=False)
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def __getstate__(self) -> dict[str, Any]:
        """Keep the interval, but not the function that computes it."""
        return {**self.__dict__, "interval": self.interval, "make": None}

    @cached_property
    def interval(self) -> Interval:
        """The interval within the bounds, with a note if the estimate is outside."""
        # limits end at the bounds of the metric
        made = self.make()
        lower, upper = max(made.lower, self.bounds[0]), min(made.upper, self.bounds[1])
        assumes, slack = made.assumes, 1e-12 * max(1.0, abs(self.value))
        if lower > self.value + slack or upper < self.value - slack:
            assumes += "; the estimate itself lies outside"
        return replace(made, lower=lower, upper=upper, assumes=assumes)

    @property
    def lower(self) -> float:
        """The lower limit of the interval; NaN if there is no interval."""
        return self.interval.lower

    @property
    def upper(self) -> float:
        """The upper limit of the interval; NaN if there is no interval."""
        return self.interval.upper

    @property
    def se(self) -> float:
        """The standard error, on the scale of the estimate."""
        return self.interval.se

    @property
    def method(self) -> str:
        """The method by which the interval was computed."""
        return self.interval.method

    @property
    def interval_in_words(self) -> str:
        """The method of the interval with a note if it takes the fits as given.

        If there is no interval, it is "none", with the reason.
        """
        if self.interval.method == "none":
            return f"none: {self.interval.assumes}"
        noted = self.interval.takes_fits_as_given
        return self.interval.method + ", fits as given" * noted

    @property
    def assumes(self) -> str:
        """The assumptions of the interval, or the reason why there is no interval."""
        return self.interval.assumes

    def with_interval(self, make: Callable[[], Interval]) -> Estimate:
        """Return the estimate with another interval."""
        return replace(self, make=make)

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        way = COMBINED.get(self.how, f"by the {self.how} rule")
        made = f"interval by {self.method}"
        if math.isnan(self.lower):
            made = f"no interval: {self.assumes}"
        return f"{self}\n{textwrap.fill(f'{way}; {made}', 80)}"

    def __str__(self) -> str:
        limits = with_limits(self.value, self.lower, self.upper, self.level)
        return f"{self.label} {limits}"


HOWS = ("pooled", "per_fold", "paired")
COMBINED = {
    "pooled": "over all held-out predictions",
    "per_fold": "mean over folds",
    "paired": "over pairs of records that one fit predicts",
}
BOOTSTRAPS = (".632", ".632+")
OF_SAMPLE = "; it includes the Monte Carlo error of a sample of pairs"
IN_SAMPLES = {
    **dict.fromkeys(("infinitesimal_jackknife", "corrected_influence"), OF_SAMPLE),
    "pairs": OF_SAMPLE,
    "influence": "; each pair of a sample counts for both of its records, which adds "
    "to the width",
}


def estimate(
    scores: Scores,
    metric: Metric,
    how: str | None = None,
    level: float = 0.95,
    interval: str | None = None,
    *,
    seed: int = 0,
) -> Estimate:
    """Estimate a metric, stated in one way.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        The metric to estimate.
    how : {"pooled", "per_fold", "paired"}, optional
        The way of stating the metric; that of the headline unless given.
    level : float
        Confidence level of the interval.
    interval : str, optional
        One of the names that `possible_intervals` returns; the name that
        `default_interval` returns unless given.
    seed : int
        Seed for the intervals that resample records.

    Raises
    ------
    MetricError
        If ``how`` or ``interval`` is unknown, if the metric is not available from
        pairs, or if it has no such interval.
    """
    how = resolve_how(scores, metric, how)
    check_level(level, MetricError)
    if interval is not None:
        check_interval(scores, metric, how, interval)
    asked = IntervalRequest(scores, metric, how, level, seed)
    values, value = np.empty(0), math.nan
    if len(scores.row):
        values, value = asked.values, asked.value

    def make() -> Interval:
        if not len(scores.row):
            return Interval.none("no record is held out")
        name = interval or default_interval(scores, metric, how)
        if not (asked.has_folds or np.isnan(values).all()):
            made = Interval.none("fewer than two different folds have a value")
        elif name is None:
            made = Interval.none(why_no_default(scores, metric, how, values))
        elif how == "pooled" and asked.undefined:
            made = Interval.none(why_undefined(scores, values))
        elif INTERVALS[name].default_hows:
            key = ("interval", name, how, repr(level))
            made = scores.once(metric, key, partial(INTERVALS[name].make, asked))
        else:  # it may draw at random
            made = INTERVALS[name].make(asked)
        assumes = made.assumes
        # predictions of a model fitted elsewhere vary with these records alone
        if scores.external and assumes in (RECORDS_ONLY, CLUSTERS_ONLY):
            assumes = OF_OTHERS
        # a sample of pairs adds Monte Carlo error to that of the records
        if how == "paired" and name in IN_SAMPLES and is_sampled(scores):
            assumes += IN_SAMPLES[name] * (made.method != "none")
        if made.method == "none" and np.isnan(value):
            assumes = why_not_predicted(scores) or assumes
        made = replace(made, name=name or "", assumes=assumes)
        return interval_at_end(made, asked)

    stated = metric.name, metric.label, how, value, level
    counts = int(np.isnan(values).sum()), len(values)
    sd = monte_carlo_sd(scores, metric, how, values)
    return Estimate(*stated, *counts, sd, make, metric.bounds_with(scores.n_classes))


def estimates(
    scores: Scores, asked: Sequence[tuple[Metric, str | None]], level: float
) -> list[Estimate]:
    """Make several estimates, whose default intervals are computed together.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    asked : sequence of (Metric, str or None)
        Metrics, and the way in which each is stated, as :func:`estimate` takes it.
    level : float
        Confidence level of the intervals.
    """
    stated = [(metric, resolve_how(scores, metric, how)) for metric, how in asked]
    if len(scores.row):
        know_values(scores, [one for one in stated if is_listed(one[0])])
    made = [estimate(scores, metric, how, level) for metric, how in stated]
    defined = [
        (metric, how, one.value)
        for (metric, how), one in zip(stated, made, strict=True)
        if len(scores.row) and not (how == "pooled" and one.n_undefined)
    ]
    # default intervals whose variances are found from the same draws
    alike = "infinitesimal_jackknife"
    some = (one for one in defined if default_interval(scores, *one[:2]) == alike)
    know_variations(scores, list(some))
    return made


def resolve_how(scores: Scores, metric: Metric, how: str | None) -> str:
    """Return the way of stating a metric, that of the headline unless given.

    Parameters
    ----------
    scores : Scores
        The held-out predictions.
    metric : Metric
        The metric to state.
    how : {"pooled", "per_fold", "paired"}, optional

    Raises
    ------
    MetricError
        If ``how`` is unknown, or the metric is not available from pairs.
    """
    how = how or scores.headline(metric)
    if how in BOOTSTRAPS:
        raise MetricError(
            f"how={how!r} combines the value on the training records with the "
            "out-of-bag value of bootstrap samples; use scheme='bootstrap'."
        )
    if how not in HOWS:
        raise MetricError(
            f"how must be one of {', '.join(HOWS)}, or for bootstrap samples "
            f"{' or '.join(BOOTSTRAPS)}, not {how!r}." + suggestion(how, HOWS)
        )
    if how == "paired" and metric.pairs is None:
        raise MetricError(
            f"{metric.label} is not available from pairs; auROC (for several classes, "
            "Hand and Till's), concordance and the calibration slope are."
        )
    return how

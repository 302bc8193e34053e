"""A result under permuted outcomes: null distribution, bias and test of no skill."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_whole
from statcv.errors import ArgumentError, MetricError, ModelError
from statcv.inference import BOOTSTRAPS, NullBias, permuted_values, resolve_how
from statcv.inference.tests.null_bias import make_null_bias
from statcv.inference.tests.permutation import Permuted, exchange, few_permutations
from statcv.metrics import Metric
from statcv.results.refits import (
    Running,
    Wanted,
    duration,
    seconds_once,
    warn_of_permutations,
)
from statcv.results.refittable import Refittable
from statcv.tables import Values

Floats = NDArray[np.float64]

MOST = 10_000_000  # permutations


def permuted(
    result: Refittable, wanted: Sequence[Wanted], times: int, running: Running
) -> list[Floats]:
    """Return metrics of the same fits under permuted outcomes, reusing known values.

    Parameters
    ----------
    result : CVResult
    wanted : sequence of (Metric, str)
        The metrics, each with the way in which folds are combined.
    times : int
        Number of permutations.
    running : Running
        Their seed, the number of processes and the progress bar.
    """

    def make(short: Sequence[Wanted], first: int) -> Permuted:
        return permuted_values(
            result.refits.setup_for(short[0][0]),
            short,
            times,
            seed=running.seed,
            first=first,
            threshold=result.threshold,
            **running.processes,
        )

    return result.refits.permutations.values(wanted, times, running.seed, make)


def null_distribution(
    result: Refittable, metric: Metric, how: str | None, times: int, running: Running
) -> pd.Series[float]:
    """Return the metric under permuted outcomes, numbered from 1.

    Parameters
    ----------
    result : CVResult
    metric, how, times, running
        The arguments of :meth:`~statcv.results.result.CVResult.null_distribution`.
    """
    check_times(result, times, "times")
    wanted = [(metric, permutable_how(result, metric, how))]
    values = permuted(result, wanted, times, running)[0]
    numbers = pd.RangeIndex(1, times + 1, name="permutation")
    return Values(
        pd.Series(values, index=numbers, name=metric.name),
        f"{metric.label} under permuted outcomes",
    )


# ---- the bias where there is no skill ----


def null_bias(
    result: Refittable,
    metric: Metric,
    how: str | None,
    n_permutations: int,
    running: Running,
) -> NullBias:
    """Return the mean under permuted outcomes minus the value of no skill.

    Parameters
    ----------
    result : CVResult
    metric, how, n_permutations, running
        The arguments of :meth:`~statcv.results.result.CVResult.null_bias`.
    """
    wanted = _with_no_skill(result, metric, how)
    return _null_biases(result, [wanted], n_permutations, running)[0]


def biases_shown(result: Refittable, n_permutations: int) -> list[NullBias]:
    """Return the biases that a summary shows, all from the same refits.

    They are that of the first rank metric, combined in its default way, and those of
    all rank metrics pooled.

    Parameters
    ----------
    result : CVResult
    n_permutations : int
        Number of permutations.
    """
    ranks = [m for m in result.chosen_metrics if m.rank and _has_no_skill(result, m)]
    if not ranks:
        raise MetricError(
            "null_bias= is for rank metrics with a value of no skill, such as auROC; "
            f"this result has {', '.join(result.metric_names)}."
        )
    ways = [(ranks[0], None), *[(metric, "pooled") for metric in ranks]]
    wanted = dict.fromkeys(_with_no_skill(result, *way) for way in ways)
    return _null_biases(result, list(wanted), n_permutations, Running(result.seed))


def _null_biases(
    result: Refittable, wanted: Sequence[Wanted], times: int, running: Running
) -> list[NullBias]:
    """Return the biases of metrics that are all read from the same fits."""
    check_times(result, times)
    orders = {metric: metric.of_random_order() for metric, _ in wanted}
    drawn = [(order, how) for m, how in wanted if (order := orders[m]) is not None]
    every = [*wanted, *drawn]
    known = result.refits.permutations.available(every, times, running.seed)
    warn_of_permutations(result, times - known)
    found = permuted(result, every, times, running)
    values = dict(zip(every, found, strict=True))

    def no_skill(metric: Metric, how: str) -> float | Floats:
        if (order := orders[metric]) is not None:
            return values[order, how]
        return no_skill_value(result, metric) or 0.0

    n_distinct = few_permutations(result.plan, result.design.y)
    return [
        make_null_bias(
            metric,
            how,
            values[metric, how],
            no_skill(metric, how),
            seed=running.seed,
            about=f"{about(result)}: {result.plan.sentence}",
            n_distinct=n_distinct,
            among=exchange(result.plan, result.design),
        )
        for metric, how in wanted
    ]


def _with_no_skill(result: Refittable, metric: Metric, how: str | None) -> Wanted:
    """Return a metric that has a value of no skill, and the way it is stated."""
    if metric.against_mean:
        raise MetricError(
            f"{metric.label} of a model that was fitted to noise is rightly below 0, "
            "since it predicts worse than the mean; its value under permuted outcomes "
            "is not a bias. null_distribution() returns these values."
        )
    if not _has_no_skill(result, metric):
        raise MetricError(
            f"no value of {metric.label} stands for no skill under every outcome, so "
            "that its bias is not defined; null_distribution() returns its values "
            "under permuted outcomes."
        )
    return metric, permutable_how(result, metric, how)


def _has_no_skill(result: Refittable, metric: Metric) -> bool:
    """Return whether no skill has a single value, whatever the model predicts."""
    constant = no_skill_value(result, metric) is not None and not metric.against_mean
    return constant or metric.in_random_order is not None


# ---- what is permuted, and what it costs ----


def about(result: Refittable) -> str:
    """Return formula, model and scheme of a result in words."""
    model, scheme = result.learner.label, result.plan.scheme
    formula = "" if result.validated else f"{result.design.formula.text}: "
    return f"{formula}{model}; {scheme}"


def no_skill_value(result: Refittable, metric: Metric) -> float | None:
    """Return the metric's value without skill; None if it depends on the outcome.

    Parameters
    ----------
    result : CVResult
    metric : Metric
    """
    return metric.without_skill(len(result.design.outcome.levels))


def permutable_how(result: Refittable, metric: Metric, how: str | None) -> str:
    """Return the way in which a metric is stated under permuted outcomes.

    Parameters
    ----------
    result : CVResult
    metric : Metric
    how : str or None
        Way in which folds are combined; the default of the metric if None.

    Raises
    ------
    ModelError
        If there is no model that can be refitted.
    MetricError
        If the metric is not available that way.
    """
    if not result.refits.possible:
        raise ModelError(
            f"{result.learner.label}: there is no model that can be fitted to permuted "
            "outcomes; test() without method= tests by the interval of the estimate."
        )
    if how in BOOTSTRAPS:
        raise MetricError(
            f"how={how!r} needs a fit on all rows in addition to those in the folds, "
            "which is not made for permuted outcomes; use how='per_fold'."
        )
    return resolve_how(result.scores, metric, how)


def check_times(result: Refittable, times: int, name: str = "n_permutations") -> None:
    """Check a number of permutations.

    Parameters
    ----------
    result : CVResult
    times : int
    name : str
        Name of the argument, for the message.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If the number is not an integer, is below 1, or is more than can be made.
    """
    check_whole(times, name, least=1)
    if times > MOST:
        cost = duration(MOST * seconds_once(result))
        raise ArgumentError(
            f"{name}={times} is more than can be made; at most {MOST} are allowed, "
            f"which take about {cost} for this model on one core."
        )

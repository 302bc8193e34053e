"""A test of a metric against no skill: by permutations, by an interval, or by folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from statcv.errors import MetricError, SchemeError, suggestion
from statcv.inference import (
    INTERVALS,
    HTest,
    make_estimate,
    measured_size,
    permutation_test,
    plain_t_test,
    values_by_split,
    wald_test,
)
from statcv.inference.tests.htest import check_alternative
from statcv.inference.tests.permutation import exchange, few_permutations_caveat
from statcv.metrics import Metric
from statcv.results.estimates import named_estimate
from statcv.results.permutations import (
    about,
    check_times,
    no_skill_value,
    permutable_how,
    permuted,
)
from statcv.results.refits import Running, warn_of_permutations
from statcv.results.refittable import Refittable


def test_of_skill(
    result: Refittable,
    metric: Metric,
    how: str | None,
    *,
    null: float | None,
    method: str | None,
    alternative: str | None,
    n_permutations: int,
    level: float,
    running: Running,
) -> HTest:
    """Test a metric by permutations, by an interval, or by a t test over folds.

    Parameters
    ----------
    result : CVResult
    metric, how, null, method, alternative, n_permutations, level, running
        The arguments of :meth:`~statcv.results.result.CVResult.test`.
    """
    side = better_side(metric) if alternative is None else alternative
    check_alternative(side)
    _check_method(method, how)
    if method == "permutation" or (method is None and result.refits.possible):
        return _by_permutation(
            result,
            metric,
            how,
            null=null,
            side=side,
            n_permutations=n_permutations,
            level=level,
            running=running,
            asked=method is not None,
        )
    if method == "t":
        return plain_t_test(
            values_by_split(result.scores, metric),
            metric,
            _null(result, metric, null),
            alternative=side,
            level=level,
            about=about(result),
            measured=_size(result, metric, "per_fold", "t"),
        )
    value = _null(result, metric, null)
    found = named_estimate(result, metric, how, level, method, running)
    test = wald_test(found, value, alternative=side, about=about(result))
    if method is None or found.interval.pairs or np.isnan(test.p_value):
        return test  # the size of such a test was not measured
    return _with_size(result, test, metric, found.how, method)


def _by_permutation(
    result: Refittable,
    metric: Metric,
    how: str | None,
    *,
    null: float | None,
    side: str,
    n_permutations: int,
    level: float,
    running: Running,
    asked: bool,
) -> HTest:
    """Test by permuted outcomes; state the reason if they cannot be permuted."""
    if null is not None and null != no_skill_value(result, metric):
        raise MetricError(
            f"null={null!r} cannot be tested by permutation: the null hypothesis of a "
            "permutation test is that outcome and predictors are unrelated. Omit null, "
            "or name another method."
        )
    check_times(result, n_permutations)
    found = make_estimate(result.scores, metric, how, level)
    wanted = [(metric, permutable_how(result, metric, how))]
    known = result.refits.permutations.available(wanted, n_permutations, running.seed)
    try:
        warn_of_permutations(result, n_permutations - known)
        values = permuted(result, wanted, n_permutations, running)[0]
    except SchemeError as error:
        if asked:
            raise
        return permutation_test(
            found, [], alternative=side, about=about(result), reason=str(error)
        )
    test = permutation_test(found, values, alternative=side, about=about(result))
    y = result.design.y
    notes = (
        exchange(result.plan, result.design),
        few_permutations_caveat(result.plan, y),
    )
    said = tuple(one.rstrip(".") for one in notes if one)
    test = replace(test, notes=(*test.notes, *said))
    return _with_size(result, test, metric, found.how, "permutation")


def _with_size(
    result: Refittable, test: HTest, metric: Metric, how: str, method: str
) -> HTest:
    """Add the measured size of such a test, if it is known."""
    said = _size(result, metric, how, method)
    return replace(test, notes=(*test.notes, said)) if said else test


def _size(result: Refittable, metric: Metric, how: str, method: str) -> str | None:
    if metric.name != "auroc":
        return None
    return measured_size(result.plan, how, method, float(result.design.y.mean()))


def _null(result: Refittable, metric: Metric, null: float | None) -> float:
    """Return the value under the null hypothesis."""
    value = no_skill_value(result, metric) if null is None else null
    if value is None:
        other = ", or use method='permutation'" if result.refits.possible else ""
        raise MetricError(
            f"no value of {metric.label} stands for no skill under every outcome; "
            f"give null={other}."
        )
    low, high = metric.bounds
    if not low <= value <= high:
        raise MetricError(
            f"null={value!r} is not a value of {metric.label}, which lies between "
            f"{low:g} and {high:g}."
        )
    return value


def better_side(metric: Metric) -> str:
    """Return the direction of better predictions; both if the best lies in between."""
    if metric.target is not None:
        return "two-sided"
    return "greater" if metric.greater_is_better else "less"


def _check_method(method: str | None, how: str | None) -> None:
    """Raise an error if the test does not exist, or does not apply to the estimate."""
    named = ("permutation", "t", *INTERVALS)
    if method is not None and method not in named:
        raise MetricError(
            f"method={method!r} is not a test; the tests are "
            f"{', '.join(map(repr, named))}." + suggestion(method, named)
        )
    if method == "t" and how not in (None, "per_fold"):
        raise MetricError(
            f"method='t' tests the values of the folds, so that how={how!r} does not "
            "apply."
        )

"""A result without skill: null distribution, bias, and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import statcv.inference.tests.permutation as permutation
from statcv import errors, inference
from statcv.arguments import check_types, check_whole
from statcv.inference.tests.htest import check_alternative
from statcv.inference.tests.null_bias import make_null_bias
from statcv.metrics import Metric
from statcv.numeric.arrays import Floats
from statcv.results.estimating import estimate
from statcv.results.refits import Running, duration, seconds_once, warn_of_permutations
from statcv.tables import Values

if TYPE_CHECKING:
    from statcv.results.result import CVResult

PERMUTATIONS = 999  # permutations of a test unless given
MOST = 10_000_000  # permutations

Wanted = tuple[Metric, str]  # a metric, and the way in which folds are combined


def permuted(
    result: CVResult, wanted: Sequence[Wanted], times: int, running: Running
) -> list[Floats]:
    """Return metrics of the same fits under permuted outcomes, reusing known values.

    Further permutations with the same seed are added to those already made.

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
    kept, seed = result.refits.permutations, running.seed
    short = [one for one in wanted if _known(result, [one], times, seed) < times]
    if short:
        first = _known(result, short, times, seed)
        setup, options = result.refits.setup_for(short[0][0]), running.processes
        options |= {"seed": seed, "first": first, "threshold": result.threshold}
        made = inference.permuted_values(setup, short, times, **options)
        for each, values in zip(short, made.values, strict=True):
            before, why = kept.get((*each, seed), (np.empty(0), ""))
            joined = np.concatenate([before[:first], values])
            kept[(*each, seed)] = joined, why or made.why
    found = []
    for metric, how in wanted:
        values, why = kept[metric, how, seed]
        found.append(values[:times])
        if not metric.is_of_random_order:
            permutation.warn_of_undefined(values[:times], metric, how, why)
    return found


def _known(result: CVResult, wanted: Sequence[Wanted], times: int, seed: int) -> int:
    """Return the number of permutations for which all these values are known."""
    kept = result.refits.permutations
    none: tuple[Floats, str] = np.empty(0), ""
    return min(times, *(len(kept.get((*one, seed), none)[0]) for one in wanted))


def null_distribution(
    result: CVResult,
    metric: str | Metric | None = None,
    how: str | None = None,
    times: int = 1000,
    *,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.Series[float]:
    """Return a metric's distribution when outcome and predictors are unrelated.

    The outcome is permuted among the records, and the whole cross-validation is
    repeated with refits. Folds that were constructed from the outcome are permuted
    with it; other folds stay with the records. Whole clusters exchange their
    outcomes with clusters of the same size. Under leave-one-out the mean auROC is
    then far from 0.5.

    Parameters
    ----------
    metric, how : str, optional
        Metric and way of combining, as in :meth:`estimate`, except for the ``.632``
        estimates.
    times : int, default 1000
        Number of permutations.
    seed : int, numpy.random.Generator or None
        Seed for the permutations; the seed of the result if None.
    n_jobs, progress
        Number of processes and progress bar, as in :func:`statcv.cv`.

    Returns
    -------
    pandas.Series
        The values, one per permutation; NaN if the metric is undefined or the model
        cannot be fitted.

    Raises
    ------
    MetricError, ModelError, SchemeError
        If the metric is not available, nothing can be refitted, or the outcome
        cannot be permuted: the folds depend on it and on bins of a covariate, or no
        two clusters of the same size have different outcomes.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> null = loo.null_distribution(times=99)
    >>> bool(null.quantile(0.95) < float(loo.estimate()))
    True
    """
    check_types(null_distribution, locals())
    metric = result._metric(metric)
    running = Running.of(result, seed, n_jobs, progress)
    check_times(result, times, "times")
    wanted = [(metric, permutable_how(result, metric, how))]
    numbers = pd.RangeIndex(1, times + 1, name="permutation")
    (values,) = permuted(result, wanted, times, running)
    made = pd.Series(values, index=numbers, name=metric.name)
    return Values(made, f"{metric.label} under permuted outcomes")


# ---- the bias where there is no skill ----


def biases_shown(result: CVResult, n_permutations: int) -> list[inference.NullBias]:
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
        raise errors.MetricError(
            "null_bias= is for rank metrics with a value of no skill, such as auROC; "
            f"this result has {', '.join(result.metric_names)}."
        )
    ways = [(ranks[0], None), *[(metric, "pooled") for metric in ranks]]
    return null_biases(result, ways, n_permutations, Running(result.seed))


def null_bias(
    result: CVResult,
    metric: str | Metric | None = None,
    how: str | None = None,
    n_permutations: int = 200,
    *,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> inference.NullBias:
    """Return the bias of an estimate when there is no skill.

    The bias is the mean of the estimate over permuted outcomes minus its value
    without skill. Pooled rank metrics are biased, strongly downwards under
    leave-one-out and slightly wherever records of different fits are compared;
    paired estimates are not. It is not the bias when there is skill, and must not
    be subtracted from an estimate.

    Parameters
    ----------
    metric, how : str, optional
        Metric and way of combining, as in :meth:`estimate`.
    n_permutations : int, default 200
        Number of permutations. Those of :meth:`test` and :meth:`null_distribution`
        with the same seed are reused.
    seed, n_jobs, progress
        As in :meth:`null_distribution`.

    Returns
    -------
    NullBias
        ``bias`` with its Monte Carlo standard error ``se``, ``mean`` and
        ``no_skill``; ``print`` states it in a sentence, and ``float`` of it is the
        bias alone.

    Raises
    ------
    MetricError, ModelError, SchemeError
        If no single value stands for no skill, or the outcome cannot be permuted.

    Warns
    -----
    CostWarning
        If the refits will take long; it is given before they start.

    References
    ----------
    Austin, Pe'er & Korem (2024), arXiv:2406.01652.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> low = loo.update(model=scv.models.Logit(C=1.0))
    >>> low.null_bias("auroc", "pooled").clear, low.null_bias("auroc").clear
    (True, False)
    """
    check_types(null_bias, locals())
    running = Running.of(result, seed, n_jobs, progress)
    wanted = [(result._metric(metric), how)]
    return null_biases(result, wanted, n_permutations, running)[0]


def null_biases(
    result: CVResult,
    ways: Sequence[tuple[Metric, str | None]],
    times: int,
    running: Running,
) -> list[inference.NullBias]:
    """Return the means under permuted outcomes minus the values of no skill.

    All metrics are read from the same fits; a way of combining folds that is None is
    the default.
    """
    wanted = list(dict.fromkeys(_with_no_skill(result, *way) for way in ways))
    check_times(result, times)
    orders = {metric: metric.of_random_order() for metric, _ in wanted}
    drawn = [(order, how) for m, how in wanted if (order := orders[m]) is not None]
    every = [*wanted, *drawn]
    known = _known(result, every, times, running.seed)
    warn_of_permutations(result, times - known)
    found = permuted(result, every, times, running)
    values = dict(zip(every, found, strict=True))

    def no_skill(metric: Metric, how: str) -> float | Floats:
        if (order := orders[metric]) is not None:
            return values[order, how]
        return no_skill_value(result, metric) or 0.0

    facts: dict[str, Any] = {
        "seed": running.seed,
        "about": f"{about(result)}: {result.plan.sentence}",
        "n_distinct": permutation.few_permutations(result.plan, result.design.y),
        "among": permutation.exchange(result.plan, result.design),
    }
    return [
        make_null_bias(metric, how, values[metric, how], no_skill(metric, how), **facts)
        for metric, how in wanted
    ]


def _with_no_skill(result: CVResult, metric: Metric, how: str | None) -> Wanted:
    """Return a metric that has a value of no skill, and the way it is stated."""
    if metric.against_mean:
        raise errors.MetricError(
            f"{metric.label} of a model that was fitted to noise is rightly below 0, "
            "since it predicts worse than the mean; its value under permuted outcomes "
            "is not a bias. null_distribution() returns these values."
        )
    if not _has_no_skill(result, metric):
        raise errors.MetricError(
            f"no value of {metric.label} stands for no skill under every outcome, so "
            "that its bias is not defined; null_distribution() returns its values "
            "under permuted outcomes."
        )
    return metric, permutable_how(result, metric, how)


def _has_no_skill(result: CVResult, metric: Metric) -> bool:
    """Return whether no skill has a single value, whatever the model predicts."""
    constant = no_skill_value(result, metric) is not None and not metric.against_mean
    return constant or metric.in_random_order is not None


# ---- tests against no skill ----


def test(
    result: CVResult,
    metric: str | Metric | None = None,
    how: str | None = None,
    *,
    null: float | None = None,
    method: str | None = None,
    alternative: str | None = None,
    n_permutations: int | None = None,
    level: float = 0.95,
    seed: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> inference.HTest:
    """Test a metric against no skill, or against a value.

    Parameters
    ----------
    metric, how : str, optional
        Metric and way of combining, as in :meth:`estimate`.
    null : float, optional
        Value of the metric under the null hypothesis; unless given, the value
        without skill, such as 0.5 for auROC. A permutation test estimates the
        centre of its null distribution instead.
    method : str, optional
        Kind of test: ``"permutation"``, by :meth:`null_distribution`, the default
        if the model can be refitted; a Wald test by the name of an interval of
        :meth:`estimate`; or ``"t"``, a plain t test over folds, which does not hold
        its nominal size, and warns.
    alternative : {"greater", "less", "two-sided"}, optional
        Alternative hypothesis; by default the direction of better predictions, or
        both sides if the best value lies in between, as for a calibration slope.
    n_permutations : int, optional
        Number of permutations; 999 unless given.
    level : float, default 0.95
        Confidence level of the interval.
    seed, n_jobs, progress
        As in :meth:`null_distribution`.

    Returns
    -------
    HTest
        The test; one that is not available has NaN and states the reason.

    Raises
    ------
    MetricError, ArgumentError, ModelError
        If metric, method or null hypothesis are not valid, or predictions from
        other software would have to be refitted.

    Warns
    -----
    CostWarning, FoldWarning
        If permutations will take long (given before they start); if ``method="t"``.

    Examples
    --------
    >>> import statcv as scv
    >>> df = scv.load_data("spector")
    >>> loo = scv.cv("GRADE ~ GPA", df, scheme="rloocv", seed=1)
    >>> loo.test(n_permutations=199).p_value <= 0.05
    True
    """
    check_types(test, locals())
    metric = result._metric(metric)
    running = Running.of(result, seed, n_jobs, progress)
    side = better_side(metric) if alternative is None else alternative
    check_alternative(side)
    named = ("permutation", "t", *inference.INTERVALS)
    if method is not None and method not in named:
        raise errors.MetricError(
            f"method={method!r} is not a test; the tests are "
            f"{', '.join(map(repr, named))}." + errors.suggestion(method, named)
        )
    if method == "t" and how not in (None, "per_fold"):
        raise errors.MetricError(
            f"method='t' tests the values of the folds, so that how={how!r} does not "
            "apply."
        )
    said = {"alternative": side, "about": about(result)}
    if method == "permutation" or (method is None and result.refits.possible):
        if null is not None and null != no_skill_value(result, metric):
            raise errors.MetricError(
                f"null={null!r} cannot be tested by permutation: the null hypothesis "
                "of a permutation test is that outcome and predictors are unrelated. "
                "Omit null, or name another method."
            )
        times = PERMUTATIONS if n_permutations is None else n_permutations
        check_times(result, times)
        found = inference.make_estimate(result.scores, metric, how, level)
        wanted = [(metric, permutable_how(result, metric, how))]
        known = _known(result, wanted, times, running.seed)
        try:
            warn_of_permutations(result, times - known)
            values = permuted(result, wanted, times, running)[0]
        except errors.SchemeError as error:
            if method is not None:
                raise
            return inference.permutation_test(found, [], **said, reason=str(error))
        made = inference.permutation_test(found, values, **said)
        notes = (
            permutation.exchange(result.plan, result.design),
            permutation.few_permutations_caveat(result.plan, result.design.y),
        )
        extra = tuple(one.rstrip(".") for one in notes if one)
        made = replace(made, notes=(*made.notes, *extra))
        return _with_size(result, made, metric, found.how, "permutation")
    if n_permutations is not None:
        own = "predictions that cannot be refitted, which are tested by their interval"
        raise errors.ArgumentError(
            f"n_permutations={n_permutations!r} has no effect with "
            f"{f'method={method!r}' if method else own}; it is of permutation tests."
        )
    value = _null(result, metric, null)
    if method == "t":
        values = inference.values_by_split(result.scores, metric)
        size = _size(result, metric, "per_fold", "t")
        return inference.plain_t_test(
            values, metric, value, level=level, measured=size, **said
        )
    found = estimate(result, metric, how, level, method, **asdict(running))
    made = inference.wald_test(found, value, **said)
    if method is None or found.interval.pairs or np.isnan(made.p_value):
        return made  # the size of such a test was not measured
    return _with_size(result, made, metric, found.how, method)


def _with_size(
    result: CVResult, test: inference.HTest, metric: Metric, how: str, method: str
) -> inference.HTest:
    """Add the measured size of such a test, if it is known."""
    said = _size(result, metric, how, method)
    return replace(test, notes=(*test.notes, said)) if said else test


def _size(result: CVResult, metric: Metric, how: str, method: str) -> str | None:
    if metric.name != "auroc":
        return None
    return inference.measured_size(
        result.plan, how, method, float(result.design.y.mean())
    )


def _null(result: CVResult, metric: Metric, null: float | None) -> float:
    """Return the value under the null hypothesis."""
    value = no_skill_value(result, metric) if null is None else null
    if value is None:
        other = ", or use method='permutation'" if result.refits.possible else ""
        raise errors.MetricError(
            f"no value of {metric.label} stands for no skill under every outcome; "
            f"give null={other}."
        )
    low, high = metric.bounds
    if not low <= value <= high:
        raise errors.MetricError(
            f"null={value!r} is not a value of {metric.label}, which lies between "
            f"{low:g} and {high:g}."
        )
    return value


def better_side(metric: Metric) -> str:
    """Return the direction of better predictions; both if the best lies in between."""
    if metric.target is not None:
        return "two-sided"
    return "greater" if metric.greater_is_better else "less"


# ---- what is permuted, and what it costs ----


def about(result: CVResult) -> str:
    """Return formula, model and scheme of a result in words."""
    model, scheme = result.learner.label, result.plan.scheme
    formula = "" if result.validated else f"{result.design.formula.text}: "
    return f"{formula}{model}; {scheme}"


def no_skill_value(result: CVResult, metric: Metric) -> float | None:
    """Return the metric's value without skill; None if it depends on the outcome.

    Parameters
    ----------
    result : CVResult
    metric : Metric
    """
    return metric.without_skill(len(result.design.outcome.levels))


def permutable_how(result: CVResult, metric: Metric, how: str | None) -> str:
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
        raise errors.ModelError(
            f"{result.learner.label}: there is no model that can be fitted to permuted "
            "outcomes; test() without method= tests by the interval of the estimate."
        )
    if how in inference.BOOTSTRAPS:
        raise errors.MetricError(
            f"how={how!r} needs a fit on all rows in addition to those in the folds, "
            "which is not made for permuted outcomes; use how='per_fold'."
        )
    return inference.resolve_how(result.scores, metric, how)


def check_times(result: CVResult, times: int, name: str = "n_permutations") -> None:
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
        raise errors.ArgumentError(
            f"{name}={times} is more than can be made; at most {MOST} are allowed, "
            f"which take about {cost} for this model on one core."
        )

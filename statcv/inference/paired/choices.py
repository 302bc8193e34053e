"""The metric, its form and the test by which results are compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from statcv.arguments import MAX_RESAMPLES, check_level, check_whole, one_of
from statcv.errors import ArgumentError, ComparisonError, MetricError, suggestion
from statcv.inference.assumptions import ASSUMED
from statcv.inference.estimates.estimate import HOWS
from statcv.inference.intervals.infinitesimal import (
    corrected_serves,
    infinitesimal_serves,
)
from statcv.inference.intervals.methods import INTERVALS
from statcv.inference.paired import methods, records
from statcv.inference.paired.contrasts import AVERAGED, TIMES, Contrasts
from statcv.inference.readable import Readable, metric_of
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.models.selection import chooses_terms

CHOICE = ASSUMED["chosen_terms"]
AT_THRESHOLD = ("function", "casewise", "derive")  # forms that take a threshold
HALF = 0.5  # default threshold, from which on class 1 is predicted
DEFAULTS = {
    "binary": "auroc",
    "multiclass": "accuracy",
    "continuous": "mse",
    "survival": "harrell_c",
}


def at_common_threshold(metric: Metric, scores: Iterable[Scores]) -> Metric:
    """Fix a metric at the threshold that all results share.

    A metric that does not depend on a threshold is returned unchanged.

    Parameters
    ----------
    metric : Metric
    scores : iterable of Scores

    Raises
    ------
    MetricError
        If the thresholds differ between results, or between the folds of one result.

    Examples
    --------
    >>> from statcv.metrics import get_metric
    >>> at_common_threshold(get_metric("auroc"), []).label
    'auROC'
    """
    if not metric.takes_threshold or metric.casewise is None:
        return metric
    cuts = [one.given_threshold for one in scores]
    given = [HALF if one is None else one for one in cuts]
    # the weight of a false positive depends on the threshold
    every = {float(cut) for one in given for cut in np.ravel(one)}
    if len(every) > 1:
        raise MetricError(
            f"{metric.label} cannot be compared: the thresholds differ between or "
            "within the results, and the weight of a false positive depends on the "
            "threshold; plot_decision() draws it over all thresholds."
        )
    cut = every.pop()
    forms: dict[str, Any] = {name: getattr(metric, name) for name in AT_THRESHOLD}
    for name, one in forms.items():
        forms[name] = one and partial(one, threshold=cut)
    label = f"{metric.label} (threshold {cut:g})"
    return replace(metric, label=label, takes_threshold=False, **forms)


def contrast(
    results: Mapping[str, Readable],
    metric: str | Metric | None = None,
    level: float = 0.95,
    *,
    how: str | None = None,
    test: str | None = None,
    reference: str | None = None,
    seed: int | None = None,
    n_permutations: int | None = None,
) -> Contrasts:
    """Check that results can be compared; choose the metric, its form and the test.

    Parameters
    ----------
    results : dict of str to result
    metric, level, how, test, reference, seed, n_permutations
        As :func:`statcv.compare` takes them.

    Raises
    ------
    ComparisonError
        If there are fewer than two results, their records differ, or the test is not
        available for the metric.
    ArgumentError, MetricError
        If an argument is out of range or does not fit the others.
    """
    check_level(level, ComparisonError)
    records.check_results(results)
    if reference is not None and reference not in results:
        raise ArgumentError(
            f"reference={reference!r} is not among the results: {', '.join(results)}; "
            "'null' is the model without predictors." + suggestion(reference, results)
        )
    every = [*results.values()]
    first = every[0]
    chosen = chosen_metric(first, metric)
    # the model without predictors has no threshold
    without = records.NULL if records.against_null(results, reference) else None
    models = [result.scores for name, result in results.items() if name != without]
    chosen = at_common_threshold(chosen, models)
    scores = [result.scores for result in results.values()]
    headlines = {one.headline(chosen) for one in scores}
    usual = headlines.pop() if len(headlines) == 1 else "pooled"
    way = _check_how(how, chosen) or usual
    fixed: tuple[str, ...] = ()
    if test is None:
        test, fixed = _default_test(results, chosen, way, without)
    method = methods.paired_method(test, chosen)
    if method.name == methods.VARIED and any(
        chooses_terms(one.learner) for one in every
    ):
        method = replace(method, assumes=f"{method.assumes}; {CHOICE}")
    if all(one.external for one in scores):
        method = replace(method, assumes=method.of_others)
    what = results, chosen, _how_of(method, way, how, scores), level, method
    seed, times = first.seed if seed is None else seed, _times(n_permutations, method)
    found = Contrasts(*what, reference, seed, times, fixed)
    if method.name == "corrected_t":
        _check_folds(found)
    if method.name in methods.BY_INFLUENCE:
        _check_influences(found)
    return found


def _default_test(
    results: Mapping[str, Readable], metric: Metric, how: str, without: str | None
) -> tuple[str, tuple[str, ...]]:
    """Return the name of the default test: a function of scheme, metric and models.

    Return also the results of whose fits it is not known how they vary with records.
    """
    models = {name: one.scores for name, one in results.items() if name != without}
    fitted = [name for name, one in results.items() if not one.scores.external]
    fixed = tuple(
        name
        for name in fitted or results
        if name != without and not infinitesimal_serves(models[name], metric, how)
    )
    shared = all(corrected_serves(scores, metric, how) for scores in models.values())
    first, *others = results.values()
    alike = all(records.same_folds(first, other) for other in others)
    by_fold = how == "per_fold" and metric.rank and alike and first.plan.n_splits > 1
    name = methods.default_method(
        metric, varying=not fixed, correlated=shared, by_fold=by_fold
    )
    return name, fixed


def chosen_metric(first: Readable, metric: str | Metric | None) -> Metric:
    """Return the metric by which results are compared, the default unless given.

    Raises
    ------
    MetricError
        If the metric is unknown, or does not suit the outcome.
    """
    outcome = first.design.outcome
    default = "poisson_deviance" if outcome.distribution else DEFAULTS[outcome.kind]
    if outcome.ordered:
        default = "ordinal_c"
    return metric_of(first, default if metric is None else metric)


def _check_how(how: str | None, metric: Metric) -> str | None:
    if how is None:
        return None
    one_of(how, HOWS, "how", MetricError)
    if how == "paired" and metric.pairs is None:
        raise MetricError(f"{metric.label} is not available with how='paired'.")
    return how


def _how_of(
    method: methods.PairedMethod, way: str, asked: str | None, scores: Sequence[Scores]
) -> str:
    """Return how the estimates that a test compares are computed.

    Raises
    ------
    ArgumentError
        If ``asked`` differs from what the test compares.
    """
    if not method.how:
        if method.name == "t" and way == "paired":
            raise ArgumentError(
                "how='paired' is not available with the t test over records."
            )
        return way
    if asked not in (None, method.how):
        raise ArgumentError(
            f"how={asked!r} is not available with test={method.name!r}, which uses "
            f"how={method.how!r}."
        )
    several = any(len(one.by_repeat) > 1 or one.overlapping for one in scores)
    return AVERAGED if method.how == "pooled" and several else method.how


def _times(n_permutations: int | None, method: methods.PairedMethod) -> int:
    if n_permutations is None:
        return TIMES
    if method.name != "permutation":
        raise ArgumentError(
            f"n_permutations={n_permutations!r} has no effect with test="
            f"{method.name!r}; it belongs to test='permutation'."
        )
    check_whole(n_permutations, "n_permutations", least=1, most=MAX_RESAMPLES)
    return int(n_permutations)


def _check_influences(contrasts: Contrasts) -> None:
    """Refuse a comparison by influences unless all results have them."""
    name, metric, how = contrasts.method.name, contrasts.metric, contrasts.how
    serves = INTERVALS[name].serves
    for label, result in contrasts.results.items():
        null = label == records.NULL and records.against_null(
            contrasts.results, contrasts.reference
        )
        fitted = not (null or result.scores.external)
        if fitted and not serves(result.scores, metric, how):
            raise ComparisonError(
                f"test={name!r} is not available for {label!r}: the influence of a "
                f"record on {contrasts.stated} is not known for "
                f"{result.learner.label}; omit test= for the default."
            )


def _check_folds(contrasts: Contrasts) -> None:
    """Refuse a comparison by folds unless both results have the same folds."""
    for first, second in contrasts.pairs:
        a, b = contrasts.results[first], contrasts.results[second]
        if not records.same_folds(a, b):
            raise ComparisonError(
                f"test='corrected_t' compares fold by fold, but {first!r} and "
                f"{second!r} do not have the same folds ({a.plan.fingerprint} and "
                f"{b.plan.fingerprint}); fit both on one plan, for example with "
                "b.update(scheme=a.plan), or use a test over records."
            )
        if a.plan.n_splits < 2:
            raise ComparisonError(
                "test='corrected_t' compares fold by fold, but there is only one fold."
            )

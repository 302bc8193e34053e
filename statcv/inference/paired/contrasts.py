"""Estimates of several results, and the paired differences between them.

Every choice of a comparison is made here: the metric, how it is computed (pooled, per
fold, paired), and the test. All estimates, differences, intervals and p-values refer
to that one metric, computed in that one way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import (
    MAX_RESAMPLES,
    PERMUTATION,
    check_level,
    check_whole,
    one_of,
)
from statcv.errors import ArgumentError, ComparisonError, MetricError, suggestion
from statcv.inference.estimates.draws import Draws
from statcv.inference.estimates.estimate import HOWS, Estimate
from statcv.inference.estimates.estimate import estimate as make_estimate
from statcv.inference.estimates.influences import Influences, influences_on
from statcv.inference.estimates.pair_variation import pair_covariance, pair_variation
from statcv.inference.estimates.values import share_by_record, values_by_split
from statcv.inference.intervals.infinitesimal import (
    corrected_serves,
    infinitesimal_serves,
    influence_serves,
    shared_training,
)
from statcv.inference.paired.delong import paired_delong
from statcv.inference.paired.methods import (
    BY_INFLUENCE,
    PairedMethod,
    default_method,
    paired_method,
)
from statcv.inference.paired.records import (
    NULL,
    Records,
    against_null,
    caveat,
    check_results,
    pooling_caveat,
    same_folds,
)
from statcv.inference.paired.tests import (
    PairedTest,
    paired_corrected_t,
    paired_influence,
    paired_jackknife,
    paired_permutation,
    paired_t,
)
from statcv.inference.readable import Readable, metric_of
from statcv.inference.scores import Scores
from statcv.metrics import Metric
from statcv.words import plural

HALF = 0.5  # default threshold, from which on class 1 is predicted


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
    every = {float(cut) for one in given for cut in np.ravel(one)}
    if len(every) > 1:
        raise MetricError(
            f"{metric.label} cannot be compared: the thresholds differ between or "
            "within the results, and the weight of a false positive depends on the "
            "threshold; plot_decision() draws it over all thresholds."
        )
    cut = every.pop()
    return replace(
        metric,
        label=f"{metric.label} (threshold {cut:g})",
        function=partial(metric.function, threshold=cut),
        casewise=partial(metric.casewise, threshold=cut),
        derive=metric.derive and partial(metric.derive, threshold=cut),
        takes_threshold=False,
    )


Floats = NDArray[np.float64]


# ---- contrasts of results ----

TIMES = 9999  # random swaps of a permutation test
DEFAULTS = {"binary": "auroc", "multiclass": "accuracy", "continuous": "mse"}
AVERAGED = "pooled, averaged"  # the metric of the mean predictions of the records
# column of adjusted p-values, its heading, and the name of the method in statsmodels
ADJUSTED = {
    "holm": ("p_holm", "p (Holm)", "holm"),
    "bh": ("p_bh", "p (BH)", "fdr_bh"),
    "none": ("p", "p", ""),
}
AGAINST_NULL = (
    "a comparison with the model without predictors is a test of skill; result.test() "
    "permutes the outcome and repeats all fits, which controls the error rate"
)


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Pairwise comparisons of results for the same records.

    Attributes
    ----------
    results : dict of str to result
    metric : Metric
    how : {"pooled", "pooled, averaged", "per_fold", "paired"}
        How the metric is computed and tested.
    level : float
        Confidence level of the intervals.
    method : PairedMethod
        The test, with its assumptions.
    reference : str or None
        The result with which the others are compared; None for all pairs.
    seed, n_permutations : int
        Seed and number of swaps of a permutation test.
    fixed : tuple of str
        The results whose fits are taken as given, which decided on the default test.
    """

    results: Mapping[str, Readable]
    metric: Metric
    how: str
    level: float
    method: PairedMethod
    reference: str | None = None
    seed: int = 0
    n_permutations: int = TIMES
    fixed: tuple[str, ...] = ()

    @cached_property
    def records(self) -> Records:
        """The held-out predictions of all results, with the records in one order."""
        return Records(self.results, self.metric, self.reference)

    @property
    def stated(self) -> str:
        """The metric, and how it is computed, in words."""
        label, how = self.metric.label, self.how.replace("_", " ")
        if label.endswith(")"):
            return f"{label[:-1]}, {how})"
        return f"{label} ({how})"

    # ---- estimates ----

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The estimate of each result; its interval is computed when first read."""
        return {name: self._estimate(name) for name in self.results}

    def _estimate(self, name: str) -> Estimate:
        if self.how == AVERAGED:
            scores = self.records.averaged[name]
            found = make_estimate(scores, self.metric, "pooled", self.level)
            return replace(found, how=AVERAGED)
        if name == NULL and self.records.null_ranks_equally:
            scores = self.records.scores[name]
            return make_estimate(scores, self.metric, self.how, self.level)
        return self.results[name].estimate(self.metric, self.how, self.level)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per result."""
        rows = {
            name: {
                "estimate": found.value,
                "lower": found.lower,
                "upper": found.upper,
                "how": found.how,
            }
            for name, found in self.estimates.items()
        }
        return pd.DataFrame.from_dict(rows, orient="index")

    # ---- differences ----

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of names compared, with the reference or the earlier one first."""
        if self.reference is None:
            return list(combinations(self.results, 2))
        others = [name for name in self.results if name != self.reference]
        return [(self.reference, other) for other in others]

    @cached_property
    def differences(self) -> pd.DataFrame:
        """One row per pair of results."""
        rows = [self._row(number, *pair) for number, pair in enumerate(self.pairs)]
        table = pd.DataFrame(rows)
        place = list(table.columns).index("p") + 1
        for way, (column, _, name) in ADJUSTED.items():
            if way != "none":
                table.insert(place, column, adjusted(table["p"].to_numpy(), name))
                place += 1
        return table

    def _row(self, number: int, first: str, second: str) -> dict[str, Any]:
        test = self._test(number, first, second)
        return {
            "first": first,
            "second": second,
            "difference": test.difference,
            "se": test.se,
            "lower": test.lower,
            "upper": test.upper,
            "statistic": test.statistic,
            "p": test.p_value,
            "caveat": "; ".join(filter(None, self._caveats(first, second, test))),
        }

    def _caveats(self, first: str, second: str, test: PairedTest) -> list[str]:
        """Return what a reader must know about a pair before trusting its p-value."""
        a, b = self.results[first], self.results[second]
        caveats = [test.reason, caveat(a, b), *self._headline_caveats(first, second)]
        for name in (first, second):
            found = self.estimates[name]
            if 0 < found.n_undefined < found.n_values:
                unit = "fold" if found.how == "per_fold" else "repeat"
                caveats.append(
                    f"{found.label} has no value in {found.n_undefined} of "
                    f"{plural(found.n_values, unit)} for {name}"
                )
        if self.metric.rank and self.how in ("pooled", AVERAGED):
            caveats.append(pooling_caveat(a, b))
        refits = [r.learner.capabilities.refits for r in self.results.values()]
        if against_null(self.results, self.reference) and all(refits):
            caveats.append(AGAINST_NULL)
        return list(dict.fromkeys(caveats))

    def _headline_caveats(self, first: str, second: str) -> list[str]:
        """Say which results have a headline that is computed in another way."""
        how = self.how.partition(",")[0]
        named: dict[str, list[str]] = {}
        for name in (first, second):
            headline = self.results[name].scores.headline(self.metric)
            if headline != how:
                named.setdefault(headline.replace("_", " "), []).append(name)
        if not named:
            return []
        said = [f"{way} for {' and '.join(names)}" for way, names in named.items()]
        compared = self.how.replace("_", " ")
        return [f"compared {compared}, while the headline is {' and '.join(said)}"]

    # ---- tests ----

    def _test(self, number: int, first: str, second: str) -> PairedTest:
        """Test the difference between the two estimates in the table."""
        before, after = (self.estimates[name].value for name in (first, second))
        with np.errstate(invalid="ignore"):
            difference = float(np.subtract(after, before))
        tested = self._tested(number, first, second, difference)
        exact = 0.0 if tested.statistic == 0 else difference
        return replace(tested, difference=exact)

    def _tested(
        self, number: int, first: str, second: str, difference: float
    ) -> PairedTest:
        if self.method.name == "corrected_t":
            return self._by_fold(first, second)
        if self.method.name == "permutation":
            return self._permuted(number, first, second)
        if self.method.name == "t":
            change = self.changes(first, second)
            clusters = self.clusters(first, second)
            return paired_t(change, clusters, self.level)
        if self.method.name in BY_INFLUENCE:
            return self._by_influence(first, second, difference)
        if self.method.name == "corrected_jackknife":
            return self._refitted(first, second, difference)
        return self._delong(first, second, self.how, difference)

    def clusters(self, first: str, second: str) -> NDArray[np.intp] | None:
        """Return the cluster of each held-out record of a pair of results."""
        codes = self.records.clusters(first, second)
        return None if codes is None else codes[: len(self.records.labels)]

    def changes(self, first: str, second: str) -> Floats:
        """Return the contribution of each record to the difference of two means.

        The mean of the contributions is the difference.
        """
        averaged = self.how == AVERAGED
        scores = self.records.averaged if averaged else self.records.scores
        how = "pooled" if averaged else self.how
        shares = [
            share_by_record(scores[name], self.metric, how) for name in (first, second)
        ]
        where = [
            self.results[name].design.labels.get_indexer(self.records.labels)
            for name in (first, second)
        ]
        return np.asarray(shares[1][where[1]] - shares[0][where[0]])

    def _by_influence(self, first: str, second: str, difference: float) -> PairedTest:
        units = self.records.units(first, second)
        both = []
        for name in (first, second):
            found = self._influences(name, units)
            if isinstance(found, str):
                return PairedTest.unavailable(difference, f"{found} for {name}")
            both.append(found)
        alike = [
            one.renumbered(self.records.numbers(name), units)
            for name, one in zip((first, second), both, strict=True)
        ]
        inflated = 1.0
        if self.method.name == "corrected_influence":
            each = [shared_training(self.records.scores[n]) for n in (first, second)]
            inflated = max(each)
        bounds = self.metric.bounds_with(self.records.first.scores.n_classes)
        return paired_influence(
            alike,
            difference,
            self.level,
            bounds,
            of_pairs=self._of_pairs(first, second, both, alike),
            inflated=inflated,
        )

    def _of_pairs(
        self,
        first: str,
        second: str,
        both: list[Influences],
        alike: list[Influences],
    ) -> float:
        """Return the variance of the difference that comes from comparing few pairs.

        The influences have the numbers of each result's records, and one numbering.
        """
        if not self.metric.rank:
            return 0.0
        own = [self.records.scores[name] for name in (first, second)]
        variance = sum(
            pair_variation(scores, self.metric, self.how, one)
            for scores, one in zip(own, both, strict=True)
        )
        if same_folds(self.results[first], self.results[second]):
            variance -= 2 * pair_covariance(own[0], self.metric, self.how, *alike)
        return max(variance, 0.0)

    def _influences(self, name: str, units: NDArray[np.intp]) -> Influences | str:
        """Return the influences of the records on the pooled metric of a result.

        Records are weighted alike for both results, by their numbered units.
        """
        of_fits = self.method.name == "infinitesimal_jackknife"
        found = influences_on(
            self.records.scores[name],
            [(self.metric, self.how)],
            of_fits=of_fits,
            unit=units[self.records.numbers(name)],
            units=int(units.max()) + 1,
        )[0]
        if isinstance(found, str) or not of_fits or found.draws is not None:
            return found
        none = Draws.none(int(units.max()) + 1)  # no fit, or the mean's
        return replace(found, draws=none)

    def _delong(
        self, first: str, second: str, how: str, difference: float
    ) -> PairedTest:
        return paired_delong(
            *self.records.sides(first, second),
            how,
            difference,
            self.records.clusters(first, second),
            self.level,
        )

    def _permuted(self, number: int, first: str, second: str) -> PairedTest:
        records = self.records
        a, b = (records.predictions[name] for name in (first, second))
        stream = np.random.SeedSequence(self.seed, spawn_key=(PERMUTATION, number, 0))
        return paired_permutation(
            self.metric,
            records.value,
            records.y,
            a,
            b,
            self.clusters(first, second),
            self.n_permutations,
            np.random.default_rng(stream),
        )

    def _refitted(self, first: str, second: str, difference: float) -> PairedTest:
        a, b = self.results[first], self.results[second]
        if not a.design.labels.equals(b.design.labels):
            why = "the order of the records differs, or not all of them were held out"
            return PairedTest.unavailable(difference, why)
        try:
            before_each = a.jackknife(self.metric, self.how)
            after_each = b.jackknife(self.metric, self.how)
        except MetricError as error:
            return PairedTest.unavailable(difference, str(error).removesuffix("."))
        pooled = [make_estimate(r.scores, self.metric, "pooled").value for r in (a, b)]
        given = self._delong(first, second, "pooled", pooled[1] - pooled[0])
        return paired_jackknife(before_each, after_each, difference, given, self.level)

    def _by_fold(self, first: str, second: str) -> PairedTest:
        a, b = self.records.scores[first], self.records.scores[second]
        change = values_by_split(b, self.metric) - values_by_split(a, self.metric)
        held = np.diff(a.starts).astype(float)
        return paired_corrected_t(change, a.n_train, held, self.level)

    @property
    def clustered(self) -> bool:
        """Whether records of one cluster are counted as dependent."""
        return self.method.name != "corrected_t" and any(
            self.records.clusters(*pair) is not None for pair in self.pairs
        )


# ---- the choices ----


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
    check_results(results)
    if reference is not None and reference not in results:
        raise ArgumentError(
            f"reference={reference!r} is not among the results: {', '.join(results)}; "
            "'null' is the model without predictors." + suggestion(reference, results)
        )
    first = next(iter(results.values()))
    chosen = chosen_metric(first, metric)
    # the model without predictors has no threshold
    without = NULL if against_null(results, reference) else None
    models = [result.scores for name, result in results.items() if name != without]
    chosen = at_common_threshold(chosen, models)
    scores = [result.scores for result in results.values()]
    way = _check_how(how, chosen) or common_how(scores, chosen)
    fixed: tuple[str, ...] = ()
    if test is None:
        fixed = _of_unknown_variation(results, chosen, way, without)
        test = _default_test(results, chosen, way, without, varying=not fixed)
    method = paired_method(test, chosen)
    if all(one.external for one in scores):
        method = replace(method, assumes=method.of_others)
    found = Contrasts(
        results=results,
        metric=chosen,
        how=_how_of(method, way, how, scores),
        level=level,
        method=method,
        reference=reference,
        seed=first.seed if seed is None else seed,
        n_permutations=_times(n_permutations, method),
        fixed=fixed,
    )
    if method.name == "corrected_t":
        _check_folds(found)
    if method.name in BY_INFLUENCE:
        _check_influences(found)
    return found


def _of_unknown_variation(
    results: Mapping[str, Readable], metric: Metric, how: str, without: str | None
) -> tuple[str, ...]:
    """Return the results of whose fits it is not known how they vary with records."""
    return tuple(
        name
        for name, one in results.items()
        if name != without and not infinitesimal_serves(one.scores, metric, how)
    )


def _default_test(
    results: Mapping[str, Readable],
    metric: Metric,
    how: str,
    without: str | None,
    *,
    varying: bool,
) -> str:
    """Return the name of the default test: a function of scheme, metric and models."""
    models = [one.scores for name, one in results.items() if name != without]
    shared = all(corrected_serves(scores, metric, how) for scores in models)
    first, *others = results.values()
    alike = all(same_folds(first, other) for other in others)
    by_fold = how == "per_fold" and metric.rank and alike and first.plan.n_splits > 1
    return default_method(metric, varying=varying, correlated=shared, by_fold=by_fold)


def chosen_metric(first: Readable, metric: str | Metric | None) -> Metric:
    """Return the metric by which results are compared, the default unless given.

    Raises
    ------
    MetricError
        If the metric is unknown, or does not suit the outcome.
    """
    default = DEFAULTS[first.design.outcome.kind]
    return metric_of(first, default if metric is None else metric)


def common_how(scores: Sequence[Scores], metric: Metric) -> str:
    """Return the headline of all results, or "pooled" if their headlines differ."""
    hows = {one.headline(metric) for one in scores}
    return hows.pop() if len(hows) == 1 else "pooled"


def _check_how(how: str | None, metric: Metric) -> str | None:
    if how is None:
        return None
    one_of(how, HOWS, "how", MetricError)
    if how == "paired" and metric.pairs is None:
        raise MetricError(f"{metric.label} is not available with how='paired'.")
    return how


def _how_of(
    method: PairedMethod, way: str, asked: str | None, scores: Sequence[Scores]
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


def _times(n_permutations: int | None, method: PairedMethod) -> int:
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
    serves = {
        "infinitesimal_jackknife": infinitesimal_serves,
        "corrected_influence": corrected_serves,
        "influence": influence_serves,
    }[name]
    for label, result in contrasts.results.items():
        null = label == NULL and against_null(contrasts.results, contrasts.reference)
        if not null and not serves(result.scores, metric, how):
            raise ComparisonError(
                f"test={name!r} is not available for {label!r}: the influence of a "
                f"record on {contrasts.stated} is not known for "
                f"{result.learner.label}; omit test= for the default."
            )


def _check_folds(contrasts: Contrasts) -> None:
    """Refuse a comparison by folds unless both results have the same folds."""
    for first, second in contrasts.pairs:
        a, b = contrasts.results[first], contrasts.results[second]
        if not same_folds(a, b):
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


def adjusted(p: Floats, name: str) -> Floats:
    """Adjust p-values for their number; those that are NaN do not count.

    Parameters
    ----------
    p : numpy.ndarray
    name : {"holm", "fdr_bh"}
        The name of the method in statsmodels.
    """
    known = ~np.isnan(p)
    if known.sum() < 2:
        return p
    from statsmodels.stats.multitest import multipletests

    corrected = np.full(len(p), np.nan)
    corrected[known] = multipletests(p[known], method=name)[1]
    return corrected

"""Results side by side: paired differences with intervals and p-values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.comparison_checks import check_results, leaning, same_folds, to_mind
from statcv.comparison_records import NULL, Records, null_result
from statcv.comparison_summary import ADJUSTED, Compared, summarise_comparison
from statcv.errors import ArgumentError, ComparisonError, MetricError, suggestion
from statcv.inference import values_by_split
from statcv.inference.common_threshold import at_common_threshold
from statcv.inference.paired_jackknife import paired_jackknife
from statcv.inference.paired_methods import PairedMethod, paired_method
from statcv.inference.paired_tests import (
    PairedTest,
    paired_corrected_t,
    paired_delong,
    paired_permutation,
    paired_t,
)
from statcv.metrics import Metric, get_metric
from statcv.result import CVResult
from statcv.seeds import PERMUTATION
from statcv.summary import Summary
from statcv.whole import is_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
TIMES = 9999  # random swaps of a permutation test


@dataclass(frozen=True, eq=False)
class Comparison:
    """Results of the same records, compared pair by pair.

    Made by :func:`statcv.compare`.

    Attributes
    ----------
    results : dict of str to CVResult
    metric : Metric
    level : float
    method : PairedMethod
        The test, and what it assumes.
    adjust : {"holm", "bh", "none"}
        Which adjusted p-values the summary shows.
    reference : str or None
        The result with which the others are compared; None for all pairs.
    seed, n_permutations : int
        Of a permutation test.
    left_out : str
        Which rows of the data no result has, in words.
    table : pandas.DataFrame
        A row a result: headline estimate with interval and how, and the pooled
        estimate of the predictions averaged over repeats, which tests of records use.
    differences : pandas.DataFrame
        A row a pair: difference (second less first), standard error, interval,
        statistic, p-value, p-values adjusted by Holm and by Benjamini and Hochberg,
        and what to mind.
    """

    results: Mapping[str, CVResult]
    metric: Metric
    level: float
    method: PairedMethod
    adjust: str = "holm"
    reference: str | None = None
    seed: int = 0
    n_permutations: int = TIMES
    left_out: str = ""

    @cached_property
    def records(self) -> Records:
        """What the metric reads of each result."""
        return Records(self.results, self.metric, self.reference)

    # ---- tables ----

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a result."""
        rows = {}
        for name, result in self.results.items():
            found = result.estimate(self.metric, level=self.level)
            rows[name] = {
                "estimate": found.value,
                "lower": found.lower,
                "upper": found.upper,
                "how": found.how,
                "pooled": self.records.value(self.records.predictions[name]),
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names that are compared, the earlier or the reference first."""
        if self.reference is None:
            return list(combinations(self.results, 2))
        others = [name for name in self.results if name != self.reference]
        return [(self.reference, other) for other in others]

    @cached_property
    def differences(self) -> pd.DataFrame:
        """A row a pair of results."""
        rows = [self._row(number, *pair) for number, pair in enumerate(self.pairs)]
        table = pd.DataFrame(rows)
        place = list(table.columns).index("p") + 1
        for way, (column, _, name) in ADJUSTED.items():
            if way != "none":
                table.insert(place, column, _adjusted(table["p"].to_numpy(), name))
                place += 1
        return table

    def _row(self, number: int, first: str, second: str) -> dict[str, Any]:
        test = self._test(number, first, second)
        pair = (self.results[first], self.results[second])
        minded = [test.reason, to_mind(*pair)]
        pooled = self.method.pools
        if self.method.name == "corrected_jackknife":
            pooled = self._how(*pair) == "pooled"
        if self.metric.rank and pooled:
            minded.append(leaning(*pair))
        return {
            "first": first,
            "second": second,
            "difference": test.difference,
            "se": test.se,
            "lower": test.lower,
            "upper": test.upper,
            "statistic": test.statistic,
            "p": test.p_value,
            "mind": "; ".join(filter(None, minded)),
        }

    def _test(self, number: int, first: str, second: str) -> PairedTest:
        if self.method.name == "corrected_t":
            return self._by_fold(first, second)
        records, clusters = self.records, self.records.clusters(first, second)
        y, value = records.y, records.value
        a, b = records.predictions[first], records.predictions[second]
        if self.method.name == "delong":
            return paired_delong(y, a, b, clusters, self.level)
        if self.method.name == "corrected_jackknife":
            given = paired_delong(y, a, b, clusters, self.level)
            return self._refitted(first, second, given)
        if self.method.name == "permutation":
            stream = np.random.SeedSequence(
                self.seed, spawn_key=(PERMUTATION, number, 0)
            )
            rng, times = np.random.default_rng(stream), self.n_permutations
            return paired_permutation(self.metric, value, y, a, b, clusters, times, rng)
        losses = self.metric.casewise
        assert losses is not None  # else there is no t test
        return paired_t(losses(y, b) - losses(y, a), clusters, self.level)

    def _how(self, a: CVResult, b: CVResult) -> str:
        """Return the way in which both are stated: the headline's, if it is one."""
        hows = {result.scores.headline(self.metric) for result in (a, b)}
        return hows.pop() if len(hows) == 1 else "pooled"

    def _refitted(self, first: str, second: str, given: PairedTest) -> PairedTest:
        a, b = self.results[first], self.results[second]
        how = self._how(a, b)
        before, after = (
            float(result.estimate(self.metric, how, self.level)) for result in (a, b)
        )
        if not a.design.labels.equals(b.design.labels):
            why = "the records are in another order, or not all of them were held out"
            return PairedTest.none(after - before, why)
        try:
            before_each = a.jackknife(self.metric, how)
            after_each = b.jackknife(self.metric, how)
        except MetricError as error:
            return PairedTest.none(after - before, str(error).removesuffix("."))
        return paired_jackknife(
            before_each, after_each, after - before, given, self.level
        )

    def _by_fold(self, first: str, second: str) -> PairedTest:
        a, b = self.results[first].scores, self.results[second].scores
        change = values_by_split(b, self.metric) - values_by_split(a, self.metric)
        held = np.diff(a.starts).astype(float)
        return paired_corrected_t(change, a.n_train, held, self.level)

    # ---- words and pictures ----

    @property
    def clustered(self) -> bool:
        """Whether records that belong together are counted as such."""
        return self.method.name != "corrected_t" and any(
            self.records.clusters(*pair) is not None for pair in self.pairs
        )

    def summary(self) -> Summary:
        """Return the comparison as tables with notes."""
        return summarise_comparison(
            Compared(
                results=self.results,
                metric=self.metric,
                level=self.level,
                method=self.method,
                adjust=self.adjust,
                clustered=self.clustered,
                against_null=self.reference == NULL,
                n_permutations=self.n_permutations,
                n=len(self.records.labels),
                left_out=self.left_out,
                table=self.table,
                differences=self.differences,
            )
        )

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def plot(
        self, kind: str | None = None, ax: Axes | None = None, **options: Any
    ) -> Axes:
        """Draw the results over each other, or their differences.

        Parameters
        ----------
        kind : {"roc", "pr", "decision", "difference", "forest"}, optional
            ROC, precision-recall or decision curves of all results; the first paired
            difference (``pair=`` chooses another) as :func:`statcv.plot_difference`
            draws it; or all differences with their intervals. By default ``"roc"``
            for two classes, else ``"forest"``.
        ax : matplotlib.axes.Axes, optional
        **options
            Of that picture: ``band=``, ``thresholds=``, ``pair=``, ``xlim=``, ….

        Raises
        ------
        ArgumentError
            If there is no such kind.
        OutcomeError
            If curves are asked for and the outcome does not have two classes.
        """
        from statcv.plots.side_by_side import draw_comparison

        return draw_comparison(self, kind, ax, **options)


def make_comparison(
    results: Mapping[str, CVResult],
    metric: str | Metric | None = None,
    level: float = 0.95,
    *,
    test: str | None = None,
    adjust: str = "holm",
    reference: str | None = None,
    seed: int | None = None,
    n_permutations: int | None = None,
    left_out: str = "",
) -> Comparison:
    """Check that results can be compared, and join them.

    Raises
    ------
    ComparisonError
        If there are fewer than two, or they differ in their records, or the metric
        has no such test.
    ArgumentError
        If ``adjust``, ``reference`` or ``n_permutations`` make no sense.
    """
    joined = dict(results)
    if reference == NULL and NULL not in joined and joined:
        first = next(iter(joined.values()))
        if isinstance(first, CVResult):
            joined = {NULL: null_result(first), **joined}
    check_results(joined, level)
    if reference is not None and reference not in joined:
        raise ArgumentError(
            f"reference={reference!r} is none of the results: {', '.join(joined)}; "
            "'null' is the model without predictors." + suggestion(reference, joined)
        )
    if adjust not in ADJUSTED:
        raise ArgumentError(
            f"adjust must be one of {', '.join(ADJUSTED)}, not {adjust!r}."
            + suggestion(adjust, ADJUSTED)
        )
    chosen = at_common_threshold(
        _metric(next(iter(joined.values())), metric),
        [joined[name].scores for name in results],  # the null model has no threshold
    )
    cheap = test is None and chosen.name == "auroc" and reference != NULL
    cheap = cheap and all(
        result.refits_are_cheap(chosen)
        and result.design.labels.equals(next(iter(joined.values())).design.labels)
        for result in joined.values()
    )
    method = paired_method(test, chosen, cheap)
    comparison = Comparison(
        results=joined,
        metric=chosen,
        level=level,
        method=method,
        adjust=adjust,
        reference=reference,
        seed=next(iter(joined.values())).seed if seed is None else seed,
        n_permutations=_times(n_permutations, method),
        left_out=left_out,
    )
    if method.name == "corrected_t":
        _check_folds(comparison)
    return comparison


def _metric(first: CVResult, metric: str | Metric | None) -> Metric:
    outcome = first.design.outcome
    defaults = {"binary": "auroc", "multiclass": "accuracy", "continuous": "mse"}
    own = {one.name: one for one in first.chosen_metrics}
    named = defaults[outcome.kind] if metric is None else metric
    chosen = own.get(named) if isinstance(named, str) else None
    chosen = chosen or get_metric(named)
    chosen.check_outcome(outcome.kind, outcome.name)
    return chosen


def _times(n_permutations: int | None, method: PairedMethod) -> int:
    if n_permutations is None:
        return TIMES
    if method.name != "permutation":
        raise ArgumentError(
            f"n_permutations={n_permutations!r} means nothing for test="
            f"{method.name!r}; it is for test='permutation'."
        )
    if not is_whole(n_permutations) or n_permutations < 1:
        raise ArgumentError(
            f"n_permutations must be a whole number from 1, not {n_permutations!r}."
        )
    return int(n_permutations)


def _check_folds(comparison: Comparison) -> None:
    """Refuse to compare fold by fold what has no folds in common."""
    for first, second in comparison.pairs:
        a, b = comparison.results[first], comparison.results[second]
        if not same_folds(a, b):
            raise ComparisonError(
                f"test='corrected_t' compares fold by fold, but {first!r} and "
                f"{second!r} do not have the same folds ({a.plan.fingerprint} and "
                f"{b.plan.fingerprint}); fit both on one plan, as b.update(scheme="
                "a.plan) does, or use a test of records."
            )
        if a.plan.n_splits < 2:
            raise ComparisonError(
                "test='corrected_t' compares fold by fold, but there is one fold only."
            )


def _adjusted(p: Floats, name: str) -> Floats:
    """Adjust p-values for how many there are, those that are NaN left out."""
    known = ~np.isnan(p)
    if known.sum() < 2:
        return p
    from statsmodels.stats.multitest import multipletests

    adjusted = np.full(len(p), np.nan)
    adjusted[known] = multipletests(p[known], method=name)[1]
    return adjusted

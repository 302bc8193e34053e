"""Comparisons of results: paired differences with intervals and p-values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv.engine import run
from statcv.errors import ArgumentError, ComparisonError, suggestion
from statcv.inference.paired.contrasts import ADJUSTED, Contrasts, contrast
from statcv.inference.paired.methods import PairedMethod
from statcv.inference.paired.records import NULL, check_results, is_result
from statcv.metrics import Metric
from statcv.models import resolve_model
from statcv.results.comparison.summary import summarise_comparison
from statcv.results.result import CVResult
from statcv.results.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Comparison:
    """Pairwise comparisons of results for the same records.

    It is returned by :func:`statcv.compare`.

    Attributes
    ----------
    results : dict of str to CVResult
    contrasts : Contrasts
        The estimates and their paired differences.
    adjust : {"holm", "bh", "none"}
        The adjusted p-values that the summary shows.
    left_out : str
        Description of the rows of the data that no result uses; empty if all are used.
    """

    results: Mapping[str, CVResult]
    contrasts: Contrasts
    adjust: str = "holm"
    left_out: str = ""

    @property
    def metric(self) -> Metric:
        """The metric by which the results are compared."""
        return self.contrasts.metric

    @property
    def how(self) -> str:
        """How the metric is computed and tested.

        It is "pooled", "pooled, averaged", "per_fold" or "paired".
        """
        return self.contrasts.how

    @property
    def stated(self) -> str:
        """The metric, and how it is computed, in words."""
        return self.contrasts.stated

    @property
    def level(self) -> float:
        """The confidence level of the intervals."""
        return self.contrasts.level

    @property
    def method(self) -> PairedMethod:
        """The test, with its assumptions."""
        return self.contrasts.method

    @property
    def reference(self) -> str | None:
        """The result with which the others are compared; None for all pairs."""
        return self.contrasts.reference

    @property
    def table(self) -> pd.DataFrame:
        """One row per result: estimate with interval, and how it is computed."""
        return self.contrasts.table

    @property
    def differences(self) -> pd.DataFrame:
        """One row per pair of results.

        The columns are the difference of the two estimates (second minus first),
        standard error, interval, statistic, p-value, p-values adjusted by the methods
        of Holm and of Benjamini and Hochberg, and caveats.
        """
        return self.contrasts.differences

    def summary(self) -> Summary:
        """Return the comparison as tables with notes."""
        return summarise_comparison(self.contrasts, self.adjust, self.left_out)

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def plot(
        self, kind: str | None = None, ax: Axes | None = None, **options: Any
    ) -> Axes:
        """Draw the curves of all results in one plot, or their differences.

        Parameters
        ----------
        kind : {"roc", "pr", "decision", "difference", "forest"}, optional
            ROC, precision-recall or decision curves of all results; the first paired
            difference (``pair=`` chooses another) as
            :func:`statcv.plots.plot_difference` draws it; or all differences with their
            intervals. By default ``"roc"`` for two classes, else ``"forest"``.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new axes unless given.
        **options
            Options of the chosen plot, such as ``band=``, ``thresholds=``, ``pair=``
            and ``xlim=``.

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
    how: str | None = None,
    test: str | None = None,
    adjust: str = "holm",
    reference: str | None = None,
    seed: int | None = None,
    n_permutations: int | None = None,
    left_out: str = "",
) -> Comparison:
    """Check that results can be compared, and compare them.

    Raises
    ------
    ComparisonError
        If there are fewer than two results, their records differ, or the test is not
        available for the metric.
    ArgumentError
        If ``adjust``, ``reference``, ``how`` or ``n_permutations`` is out of range or
        does not fit the test.
    """
    joined = dict(results)
    if reference == NULL and NULL not in joined and joined:
        first = next(iter(joined.values()))
        if is_result(first):
            joined = {NULL: null_result(first), **joined}
    check_results(joined)
    if adjust not in ADJUSTED:
        raise ArgumentError(
            f"adjust must be one of {', '.join(ADJUSTED)}, not {adjust!r}."
            + suggestion(adjust, ADJUSTED)
        )
    contrasts = contrast(
        joined,
        metric,
        level,
        how=how,
        test=test,
        reference=reference,
        seed=seed,
        n_permutations=n_permutations,
    )
    return Comparison(joined, contrasts, adjust=adjust, left_out=left_out)


def null_result(result: CVResult) -> CVResult:
    """Return the result of the model without predictors.

    It uses the same plan and the same weights. It predicts the training mean, or the
    most frequent class if the prediction is a class.

    Raises
    ------
    ComparisonError
        If the predictions come from a model that was fitted to other records.
    """
    if not (result.plan.n_train > 0).all():
        raise ComparisonError(
            "reference='null' needs the training mean of every fold, but these "
            "predictions come from a model that was fitted to other records; "
            "result.test() tests against no skill."
        )
    mean = resolve_model("mean", result.design.outcome.kind)
    held = run(
        result.design, result.plan, mean, seed=result.seed, weights=result.weights
    )
    call = result.call.with_mean_model()
    return replace(result, learner=mean, held=held, call=call, threshold=None)

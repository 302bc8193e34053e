"""Results side by side: paired differences with intervals and p-values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from statcv.engine import run
from statcv.errors import ArgumentError, ComparisonError, suggestion
from statcv.inference.paired.contrasts import ADJUSTED, Contrasts, contrast
from statcv.inference.paired.records import NULL, against_null, check_results, is_result
from statcv.metrics import Metric
from statcv.models import resolve_model
from statcv.results.call import Call
from statcv.results.comparison.summary import Compared, summarise_comparison
from statcv.results.result import CVResult
from statcv.results.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Comparison(Contrasts):
    """Results of the same records, compared pair by pair.

    Made by :func:`statcv.compare`.

    Attributes
    ----------
    results : dict of str to CVResult
    metric : Metric
    how : {"pooled", "pooled, averaged", "per_fold", "paired"}
        The way in which the metric is stated and tested.
    level : float
    method : PairedMethod
        The test, and what it assumes.
    adjust : {"holm", "bh", "none"}
        The adjusted p-values that the summary shows.
    reference : str or None
        The result with which the others are compared; None for all pairs.
    seed, n_permutations : int
        Seed and number of swaps of a permutation test.
    left_out : str
        The rows of the data that no result has, in words.
    table : pandas.DataFrame
        One row per result: estimate with interval, and how it is stated.
    differences : pandas.DataFrame
        One row per pair: difference of the two estimates (second minus first),
        standard error, interval, statistic, p-value, p-values adjusted by Holm and by
        Benjamini and Hochberg, and caveats.
    """

    results: Mapping[str, CVResult]
    adjust: str = "holm"
    left_out: str = ""

    def summary(self) -> Summary:
        """Return the comparison as tables with notes."""
        return summarise_comparison(
            Compared(
                results=self.results,
                metric=self.metric,
                how=self.how,
                stated=self.stated,
                level=self.level,
                method=self.method,
                adjust=self.adjust,
                clustered=self.clustered,
                against_null=against_null(self.results, self.reference),
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
            difference (``pair=`` chooses another) as
            :func:`statcv.plots.plot_difference` draws it; or all differences with their
            intervals. By default ``"roc"`` for two classes, else ``"forest"``.
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
    how: str | None = None,
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
        If ``adjust``, ``reference``, ``how`` or ``n_permutations`` make no sense.
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
    found = contrast(
        joined,
        metric,
        level,
        how=how,
        test=test,
        reference=reference,
        seed=seed,
        n_permutations=n_permutations,
    )
    chosen: Any = {one.name: getattr(found, one.name) for one in fields(found)}
    return Comparison(**chosen, adjust=adjust, left_out=left_out)


def null_result(result: CVResult) -> CVResult:
    """Return the model without predictors, which predicts the training mean.

    On the same plan, with the same weights; of classes it predicts the most frequent.

    Raises
    ------
    ComparisonError
        If the predictions are those of a model fitted to other records.
    """
    if not (result.plan.n_train > 0).all():
        raise ComparisonError(
            "reference='null' needs the training mean of every fold, but these "
            "predictions are of a model that was fitted to other records; the test "
            "against no skill is result.test()."
        )
    mean = resolve_model("mean", result.design.outcome.kind)
    held = run(
        result.design, result.plan, mean, seed=result.seed, weights=result.weights
    )
    changed = {"model": "mean", "tune": None, "threshold": None}
    call = Call(result.call.function, {**result.call.arguments, **changed})
    return replace(result, learner=mean, held=held, call=call, threshold=None)

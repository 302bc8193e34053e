"""Comparisons of results: paired differences with intervals and p-values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from statcv.arguments import check_level, check_types, one_of
from statcv.engine import run
from statcv.errors import ComparisonError
from statcv.inference.paired.choices import contrast
from statcv.inference.paired.contrasts import ADJUSTED, Contrasts
from statcv.inference.paired.methods import PairedMethod
from statcv.inference.paired.records import NULL, check_results, is_result
from statcv.metrics import Metric
from statcv.models import Mean, resolve_model
from statcv.results.comparison.likelihood_ratio import LikelihoodRatio, likelihood_ratio
from statcv.results.comparison.text import short_comparison, summarise_comparison
from statcv.results.refittable import Refittable
from statcv.results.summary import Summary
from statcv.results.writing.export import Exports, PaperTable
from statcv.tables import Printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def null_result(result: Refittable) -> Refittable:
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
    outcome = result.design.outcome
    mean = resolve_model("mean", outcome.kind)
    if outcome.estimates_dispersion:
        mean = Mean(dispersed=True)
    held = run(
        result.design, result.plan, mean, seed=result.seed, weights=result.weights
    )
    call = result.call.with_mean_model()
    changed: dict[str, Any] = {"threshold": None, "warnings": ()}
    made: Any = result
    return cast(
        "Refittable", replace(made, learner=mean, held=held, call=call, **changed)
    )


@dataclass(frozen=True, eq=False, repr=False)
class CompareCall(Printed):
    """The arguments that made a comparison, so that it can be made again.

    Attributes
    ----------
    names : tuple of str
        Names of the results that were given, without a model that was added.
    options : dict
        Arguments of :func:`statcv.compare` that are not the defaults.
    fitted : dict or None
        Arguments of :func:`statcv.cv` but the data, with which formulas were fitted;
        None if results were given.
    """

    names: tuple[str, ...]
    options: Mapping[str, Any]
    fitted: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Comparison(Exports):
    """Pairwise comparisons of results for the same records.

    It is returned by :func:`statcv.compare`.

    Attributes
    ----------
    results : dict of str to CVResult
    contrasts : Contrasts
        The estimates and their paired differences.
    asked : CompareCall
        The arguments that made the comparison.
    adjust : {"holm", "bh", "none"}
        The adjusted p-values that the summary shows.
    left_out : str
        Description of the rows of the data that no result uses; empty if all are used.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
    >>> both.table[["estimate", "lower"]].round(3)
          estimate  lower
    full     0.833  0.566
    less     0.767  0.450
    """

    results: Mapping[str, Refittable]
    contrasts: Contrasts
    asked: CompareCall
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

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
        >>> both.differences[["difference", "p"]].round(3)
           difference     p
        0      -0.067  0.66
        """
        return self.contrasts.differences

    @cached_property
    def likelihood_ratios(self) -> list[LikelihoodRatio]:
        """The likelihood-ratio tests of nested models, one for each such pair.

        They are made for models that maximise a likelihood of two classes or of a
        normal outcome without a penalty, by the fits to all rows.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
        >>> one = both.likelihood_ratios[0]
        >>> one.df, round(one.statistic, 2), round(one.p_value, 3)
        (1, 6.16, 0.013)
        """
        pairs = self.contrasts.pairs
        found = [
            likelihood_ratio(self.results[a], self.results[b], (a, b)) for a, b in pairs
        ]
        return [one for one in found if one is not None]

    def summary(self, digits: int | None = None, notes: bool = False) -> Summary:
        """Return the comparison as tables with notes.

        Parameters
        ----------
        digits : int, optional
            Number of decimals; those of :func:`statcv.table` unless given, or up to two
            more, so that the printed estimates and differences agree.
        notes : bool, default False
            Whether to show all notes, among them the test, what it assumes and its
            measured error rate; else at most three, those that may change a decision.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
        >>> list(both.summary().tables)
        ['Estimates', 'Differences']
        """
        check_types(Comparison.summary, locals())
        return summarise_comparison(
            self.contrasts,
            self.adjust,
            self.left_out,
            digits,
            notes=notes,
            further=[one.sentence for one in self.likelihood_ratios],
        )

    def _paper_table(self, **options: Any) -> PaperTable:
        from statcv.report import comparison_table

        return comparison_table(self, **options)

    def report(self, path: str | Path, *, style: str | None = None) -> Path:
        """Write the comparison as a report, in HTML or Markdown.

        Parameters
        ----------
        path : str or path
            File to write, as in :meth:`statcv.results.result.CVResult.report`.
        style : {"tripod+ai", "probast+ai"}, optional
            Reporting guideline, as in :meth:`statcv.results.result.CVResult.report`.
            An item for which the results differ states the answer of each.
            ``"tripod-cluster"`` is for one result.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ArgumentError
            If the style or the extension is unknown, or the file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> import statcv as scv
        >>> df = scv.load_data("spector")
        >>> both = scv.compare(a="GRADE ~ GPA", b=". ~ . + PSI", data=df, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     both.report(f"{folder}/out.html").name
        'out.html'
        """
        from statcv.report import check_path, comparison_report, write_report

        check_path(path)
        return write_report(comparison_report(self, style), path)

    def __repr__(self) -> str:
        return short_comparison(self.contrasts, self.adjust)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def plot(
        self, kind: str | None = None, ax: Axes | None = None, **options: Any
    ) -> Axes:
        """Draw the curves of all results in one plot, or their differences.

        Parameters
        ----------
        kind : str, optional
            ``"roc"``, ``"pr"``, ``"calibration"`` or ``"decision"`` for the curves of
            all results; ``"difference"`` for the first paired difference (``pair=``
            chooses another); ``"forest"`` for all differences with their intervals. By
            default ``"roc"`` for two classes, else ``"forest"``.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; new axes unless given.
        **options
            Options of the chosen plot, such as ``band=`` and ``thresholds=``.

        Raises
        ------
        ArgumentError, OutcomeError
            If there is no such kind, or curves are asked for without two classes.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
        >>> both.plot().get_xlabel()
        '1 − specificity'
        """
        from statcv.plots.referee import draw_comparison

        return draw_comparison(self, kind, ax, **options)


LEVEL = 0.95  # confidence level unless given


def make_comparison(
    results: Mapping[str, Refittable],
    metric: str | Metric | None = None,
    level: float = LEVEL,
    *,
    how: str | None = None,
    test: str | None = None,
    adjust: str = "holm",
    reference: str | None = None,
    seed: int | None = None,
    n_permutations: int | None = None,
    left_out: str = "",
    fitted: Mapping[str, Any] | None = None,
) -> Comparison:
    """Check that results can be compared, and compare them.

    Parameters
    ----------
    results, metric, level, how, test, adjust, reference, seed, n_permutations
        The arguments of :func:`statcv.compare`.
    left_out : str
        Description of the rows of the data that no result uses.
    fitted : mapping, optional
        Arguments of :func:`statcv.cv` but the data, with which formulas were fitted.

    Raises
    ------
    ComparisonError
        If there are fewer than two results, their records differ, or the test is not
        available for the metric.
    ArgumentError
        If ``adjust``, ``reference``, ``how`` or ``n_permutations`` is out of range or
        does not fit the test.
    """
    check_level(level, ComparisonError)
    options = {
        "metric": metric,
        "level": None if level == LEVEL else level,
        "how": how,
        "test": test,
        "adjust": None if adjust == "holm" else adjust,
        "reference": reference,
        "seed": None if fitted is not None else seed,
        "n_permutations": n_permutations,
    }
    given = {name: value for name, value in options.items() if value is not None}
    asked = CompareCall(tuple(results), given, fitted)
    joined = dict(results)
    if reference == NULL and NULL not in joined and joined:
        first = next(iter(joined.values()))
        if is_result(first):
            joined = {NULL: null_result(first), **joined}
    check_results(joined)
    one_of(adjust, ADJUSTED, "adjust")
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
    return Comparison(joined, contrasts, asked, adjust, left_out)

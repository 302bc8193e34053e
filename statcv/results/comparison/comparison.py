"""Comparisons of results: paired differences with intervals and p-values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_level, one_of
from statcv.engine import run
from statcv.errors import ComparisonError
from statcv.inference import measured_comparison
from statcv.inference.paired.contrasts import ADJUSTED, Contrasts, contrast
from statcv.inference.paired.methods import PairedMethod
from statcv.inference.paired.records import (
    DRAWS_DIFFER,
    NULL,
    SCHEMES_DIFFER,
    against_null,
    check_results,
    in_words,
    is_result,
    same_folds,
)
from statcv.metrics import Metric
from statcv.models import resolve_model
from statcv.results.comparison.likelihood_ratio import LikelihoodRatio, likelihood_ratio
from statcv.results.result import CVResult
from statcv.results.summary import Summary, check_digits, decimals, number
from statcv.words import p_value, percent, sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Asked:
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
class Comparison:
    """Pairwise comparisons of results for the same records.

    It is returned by :func:`statcv.compare`.

    Attributes
    ----------
    results : dict of str to CVResult
    contrasts : Contrasts
        The estimates and their paired differences.
    asked : Asked
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
    >>> both.table.round(3)
          estimate  lower  upper       how
    full     0.833  0.566  0.976  per_fold
    less     0.767  0.450  0.961  per_fold
    """

    results: Mapping[str, CVResult]
    contrasts: Contrasts
    asked: Asked
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

    def summary(self, digits: int | None = None) -> Summary:
        """Return the comparison as tables with notes.

        Parameters
        ----------
        digits : int, optional
            Number of decimals of estimates and differences; unless given, as many as
            the standard errors of the differences warrant.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
        >>> list(both.summary().tables)
        ['Estimates', 'Differences of the auROC (per fold)']
        """
        made = summarise_comparison(self.contrasts, self.adjust, self.left_out, digits)
        return replace(made, notes=(*made.notes, *map(str, self.likelihood_ratios)))

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
        return str(self.summary())

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
            chooses another) as :func:`statcv.plots.plot_difference` draws it;
            ``"forest"`` for all differences with their intervals. By default ``"roc"``
            for two classes, else ``"forest"``.
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

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
        >>> both.plot().get_xlabel()
        '1 − specificity'
        """
        from statcv.plots.side_by_side import draw_comparison

        return draw_comparison(self, kind, ax, **options)


LEVEL = 0.95  # confidence level unless given


def make_comparison(
    results: Mapping[str, CVResult],
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
    asked = Asked(tuple(results), given, fitted)
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
    changed: dict[str, Any] = {"threshold": None, "warnings": ()}
    return replace(result, learner=mean, held=held, call=call, **changed)


# ---- the summary ----

MORE_DIGITS = 2  # number of further digits tried so that rounded estimates subtract


def summarise_comparison(
    compared: Contrasts, adjust: str, left_out: str, digits: int | None = None
) -> Summary:
    """Return the summary of a comparison.

    Parameters
    ----------
    compared : Contrasts
        The estimates and their paired differences.
    adjust : {"holm", "bh", "none"}
        The adjusted p-values that are shown.
    left_out : str
        Description of the rows of the data that no result uses; empty if all are used.
    digits : int, optional
        Number of decimals of estimates and differences.
    """
    check_digits(digits)
    outcome = compared.records.first.design.outcome
    records = f"{len(compared.records.labels)}, the same in every result"
    if left_out:
        records += f"; {left_out}"
    caption = f"Differences of the {compared.stated}"
    shown = shown_tables(compared, adjust, digits)
    return Summary(
        title=_title(compared),
        facts=(
            ("outcome", f"{outcome.name}: {outcome.describe()}"),
            ("records", records),
            *in_words(compared.results),
        ),
        tables={"Estimates": compared.table, caption: compared.differences},
        shown={
            "Estimates": shown[0],
            caption: shown[1],
        },
        notes=_notes(compared, adjust),
    )


def _title(compared: Contrasts) -> str:
    """Return the title, which names schemes if nothing else differs."""
    by_schemes = (SCHEMES_DIFFER, DRAWS_DIFFER)
    caveats = compared.differences["caveat"]
    schemes = all(any(text in told for text in by_schemes) for told in caveats)
    what = "Comparison of schemes by" if schemes else "Paired comparison of"
    test = compared.method.title + (", clustered" if compared.clustered else "")
    return f"{what} {compared.metric.label} ({test})"


def shown_tables(
    compared: Contrasts, adjust: str, given: int | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables, rounded so that each difference is that of shown estimates.

    All estimates and differences have as many digits as the smallest standard error
    of a difference warrants, or up to two more if the rounded numbers then subtract
    exactly; if they never do, the difference of the rounded estimates is shown. The
    number of digits may also be given.
    """
    table, pairs = compared.table, compared.differences
    spread = _spread(pairs)
    spread = spread[np.isfinite(spread) & (spread > 0)]
    least = decimals(float(spread.min())) if len(spread) else 3
    tried = range(least, least + MORE_DIGITS + 1)
    if given is not None:
        least, tried = given, range(given, given + 1)
    for digits in tried:
        differences = _subtracted(compared, digits)
        if differences == [_text(d, digits) for d in pairs["difference"]]:
            break
    else:
        digits = least
        differences = _subtracted(compared, digits)
    interval = f"{percent(compared.level)} interval"
    estimates = pd.DataFrame(
        {
            "estimate": [_text(v, digits) for v in table["estimate"]],
            interval: _ranges(table, digits),
            "how": table["how"].str.replace("_", " "),
        }
    )
    columns = {
        "difference": differences,
        "se": [_text(v, digits) for v in pairs["se"]],
    }
    if pairs["lower"].notna().any():
        columns[interval] = _ranges(pairs, digits)
    columns[compared.method.statistic] = [number(v) for v in pairs["statistic"]]
    columns["p"] = [p_value(value) for value in pairs["p"]]
    shown = pd.DataFrame(columns)
    if len(pairs) > 1 and adjust != "none":
        column, heading, _ = ADJUSTED[adjust]
        shown[heading] = [p_value(value) for value in pairs[column]]
    shown.index = pd.Index(pairs["second"] + " − " + pairs["first"])
    return estimates, shown


def _subtracted(compared: Contrasts, digits: int) -> list[str]:
    """Return the differences of the estimates rounded to ``digits`` digits."""
    pairs = compared.differences
    rounded = {
        name: float(f"{value:.{digits}f}")
        for name, value in compared.table["estimate"].items()
    }
    return [
        _text(rounded[second] - rounded[first], digits)
        for first, second in zip(pairs["first"], pairs["second"], strict=True)
    ]


def _text(value: float, digits: int) -> str:
    """Format a number with ``digits`` decimals; zero has no sign."""
    if not np.isfinite(value):
        return number(value)
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _notes(compared: Contrasts, adjust: str) -> tuple[str, ...]:
    pairs = compared.differences
    caveats = dict.fromkeys(filter(None, pairs["caveat"]))
    notes = [f"Caveat: {text}." for text in caveats]
    if compared.clustered:
        notes.append(
            "Records in one cluster (equal values of the stratifier) are treated as "
            "dependent."
        )
    if compared.method.name == "permutation":
        notes.append(
            f"p is based on {compared.n_permutations} random swaps, or on all swaps if "
            "these are few; it is never zero (Phipson & Smyth 2010)."
        )
    assumes = compared.method.assumes
    notes.append(sentence(assumes))
    if 0 < len(compared.fixed) < len(compared.results) - 1:
        notes.append(
            "One test serves all pairs. How the fits vary with the records is unknown "
            f"for {', '.join(compared.fixed)}, so that it takes all fits as given; "
            "the others, compared by themselves, are tested by the infinitesimal "
            "jackknife, with another p."
        )
    measured = _measured(compared)
    if measured:
        notes.append(sentence(measured))
    if len(compared.differences) > 1 and adjust == "none":
        notes.append(
            f"The {len(compared.differences)} p-values are not adjusted for their "
            "number."
        )
    return tuple(notes)


def _measured(compared: Contrasts) -> str | None:
    """Report the error rate of the test in simulations with common folds."""
    first, *others = compared.results.values()
    binary = first.design.outcome.kind == "binary"
    if against_null(compared.results, compared.reference) or not binary:
        return None
    if not all(same_folds(first, other) for other in others):
        return None
    name, how = compared.method.name, compared.how.partition(",")[0]
    averaged = name in ("delong", "t")  # over repeats, which the study does not have
    if averaged and len(first.scores.by_repeat) > 1:
        return None
    share = float(first.design.y.mean())
    return measured_comparison(first.plan, how, name, share, compared.metric.name)


def _spread(table: pd.DataFrame) -> NDArray[np.float64]:
    """Return one standard error per row, which determines the digits shown."""
    from_interval = (table["upper"] - table["lower"]) / 4
    if "se" in table:
        from_interval = from_interval.fillna(table["se"])
    return from_interval.to_numpy()


def _ranges(table: pd.DataFrame, digits: int) -> list[str]:
    return [
        "–" if np.isnan(lower) else f"{_text(lower, digits)} to {_text(upper, digits)}"
        for lower, upper in zip(table["lower"], table["upper"], strict=True)
    ]

"""Comparisons of results: paired differences with intervals and p-values, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import statcv.inference.paired.records as compared_records
from statcv import words
from statcv.arguments import check_level, check_types, one_of
from statcv.engine import run
from statcv.errors import ComparisonError
from statcv.inference import COMBINED, measured_comparison
from statcv.inference.paired.choices import contrast
from statcv.inference.paired.contrasts import ADJUSTED, Contrasts
from statcv.inference.paired.methods import PairedMethod
from statcv.inference.paired.records import NULL, in_words
from statcv.metrics import Metric
from statcv.models import Mean, resolve_model
from statcv.models.selection import chooses_terms
from statcv.results.comparison.likelihood_ratio import LikelihoodRatio, likelihood_ratio
from statcv.results.summary import Summarised, Summary
from statcv.results.wording.in_words import (
    events_in_words,
    first_that_fits,
    scheme_in_words,
)
from statcv.results.wording.phrases import Note, Weight, note, shown_notes
from statcv.results.writing.export import Exports
from statcv.tables import Printed, check_digits, column
from statcv.words import p_value, percent, with_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from statcv.results.result import CVResult


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
    outcome = result.design.outcome
    mean = resolve_model("mean", outcome.kind)
    if outcome.estimates_dispersion:
        mean = Mean(dispersed=True)
    same: dict[str, Any] = {"seed": result.seed, "weights": result.weights}
    held, call = run(result.design, result.plan, mean, **same), result.call
    changed: dict[str, Any] = {"held": held, "call": call.with_mean_model()}
    return replace(result, learner=mean, threshold=None, warnings=(), **changed)


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
class Comparison(Exports, Summarised):
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
    less     0.767  0.454
    """

    results: Mapping[str, CVResult]
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
        of Holm and of Benjamini and Hochberg, and caveats. By default the statistic of
        a model that adds terms to another one, and is better, is the difference over
        the standard error that it has where both perform equally well.

        Examples
        --------
        >>> import statcv as scv
        >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
        >>> both = scv.compare(full=res, less=res.update(". ~ . - PSI"))
        >>> both.differences[["difference", "p"]].round(3)
           difference      p
        0      -0.067  0.546
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
        further = [one.sentence for one in self.likelihood_ratios]
        return summarise_comparison(self, digits, notes=notes, further=further)

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
        return short_comparison(self)

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
    asked = CompareCall(tuple(results), given, fitted)
    joined = dict(results)
    if reference == NULL and NULL not in joined and joined:
        first = next(iter(joined.values()))
        if compared_records.is_result(first):
            joined = {NULL: null_result(first), **joined}
    compared_records.check_results(joined)
    one_of(adjust, ADJUSTED, "adjust")
    drawn: dict[str, Any] = {"seed": seed, "n_permutations": n_permutations}
    drawn |= {"how": how, "test": test, "reference": reference}
    contrasts = contrast(joined, metric, level, **drawn)
    return Comparison(joined, contrasts, asked, adjust, left_out)


# ---- in words ----

MORE_DIGITS = 2  # number of further digits tried so that rounded estimates subtract
ROOM = 20  # number of lines that the notes may take


def summarise_comparison(
    compared: Comparison,
    digits: int | None = None,
    *,
    notes: bool = False,
    further: Sequence[str] = (),
) -> Summary:
    """Return the summary of a comparison.

    Parameters
    ----------
    compared : Comparison
    digits : int, optional
        Number of decimals of estimates and differences.
    notes : bool
        Whether to show all notes, not only those that may change a decision.
    further : sequence of str
        Further notes, which may.
    """
    check_digits(digits)
    outcome = compared.contrasts.records.first.design.outcome
    records = f"{len(compared.contrasts.records.labels)}, the same in every result"
    if compared.left_out:
        records += f"; {compared.left_out}"
    estimates, differences = shown_tables(compared, digits)
    found = [*_notes(compared), *((Weight.USEFUL, text) for text in further)]
    told, more = shown_notes(found, notes, ROOM)
    return Summary(
        title=_title(compared),
        headline=_headline(compared, digits),
        facts=(
            ("outcome", f"{outcome.name}: {outcome.describe()}"),
            ("records", records),
            *in_words(compared.contrasts.results),
        ),
        methods=_methods(compared),
        tables={"Estimates": compared.table, "Differences": compared.differences},
        shown={"Estimates": estimates, "Differences": differences},
        notes=told,
        more=more,
    )


def short_comparison(compared: Comparison) -> str:
    """Return three lines: the difference, the estimates, and the records."""
    estimates = shown_tables(compared)[0].iloc[:, 0]
    label = compared.metric.label
    heading = f"{label} with {percent(compared.level)} CI: "
    bare = [f"{name} {cell.partition(' (')[0]}" for name, cell in estimates.items()]
    each = [f"{name} {cell}" for name, cell in estimates.items()]
    caveats = [*dict.fromkeys(filter(None, compared.differences["caveat"]))]
    n = len(compared.contrasts.records.labels)
    last = [_records(compared, ""), f"{n:,} records"]
    if caveats:
        said = ["; ".join(caveats), caveats[0].partition("; ")[0]]
        last = [f"Caveat: {text}" for text in said]
        last.append("Caveats apply; summary() states them")
    lines = (
        [_headline(compared, None), _headline(compared, None, False)],
        [heading + ", ".join(each), f"{label}: {', '.join(bare)}"],
        last,
    )
    return "\n".join(map(first_that_fits, lines))


def _title(compared: Comparison) -> str:
    """Return the title, which names schemes if nothing else differs."""
    by_schemes = compared_records.SCHEMES_DIFFER, compared_records.DRAWS_DIFFER
    caveats = compared.differences["caveat"]
    schemes = all(any(text in told for text in by_schemes) for told in caveats)
    what = "Comparison of schemes by" if schemes else "Paired comparison of"
    return f"{what} {compared.metric.label} ({_test(compared)})"


def _test(compared: Comparison) -> str:
    clustered = ", clustered" if compared.contrasts.clustered else ""
    return f"{compared.method.title}{clustered}"


def _headline(compared: Comparison, given: int | None, names: bool = True) -> str:
    """Return the difference, or that of several with the smallest p-value."""
    label, pairs = compared.metric.label, compared.differences
    name, heading, _ = ADJUSTED[compared.adjust]
    p = pairs[name if len(pairs) > 1 else "p"]
    at = 0 if p.isna().all() else int(np.nanargmin(p))
    pair = f"{pairs['second'].iloc[at]} − {pairs['first'].iloc[at]}"
    least = float(p.iloc[at])
    digits = ".2f" if least > 0.1 else ".2g"
    said = "" if np.isnan(least) else words.p_in_words(least, digits)
    if len(pairs) > 1:
        text = f"{len(pairs)} differences in {label}"
        way = f", {heading.partition(' ')[2][1:-1]}" * (compared.adjust != "none")
        return f"{text}; smallest {said} ({pair}{way})" if said else text
    places, differences = _rounded(compared, given)
    low, high = column([*pairs["lower"], *pairs["upper"]], [], places)
    known = f"{percent(compared.level)} CI {low} to {high}" * (low != "–")
    text = f"difference in {label} {differences[0]} ({known or 'no interval'})"
    return text + f", {said}" * bool(said) + f" ({pair})" * names


def _methods(compared: Comparison) -> str:
    """Return the records and folds, and by what the results differ."""
    results, first = compared.contrasts.results, compared.contrasts.records.first
    said = [_records(compared, compared.left_out)]
    if len({one.learner.label for one in results.values()}) == 1:
        said.append(f"Model: {first.learner.label}")
    if len({one.plan.sentence for one in results.values()}) == 1:
        said.append(scheme_in_words(first))
    each = "; ".join(f"{name}: {text}" for name, text in in_words(results))
    return " ".join(f"{text}." for text in (*said, each) if text)


def _records(compared: Comparison, left_out: str) -> str:
    """Count the records, and those of each class."""
    records = compared.contrasts.records
    few = events_in_words(records.first)[0]
    text = f"{len(records.labels):,} records, the same in every result{few}"
    return f"{text}; {left_out}" if left_out else text


def shown_tables(
    compared: Comparison, given: int | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables, rounded so that each difference is that of shown estimates.

    All estimates and differences have as many digits as the narrowest interval of a
    difference warrants, or up to two more if the rounded numbers then subtract
    exactly; if they never do, the difference of the rounded estimates is shown. The
    number of digits may also be given.
    """
    table, pairs = compared.table, compared.differences
    digits, differences = _rounded(compared, given)
    interval = f"({percent(compared.level)} CI)"
    known = table["lower"].notna().any()
    heading = f"{compared.metric.label}{f' {interval}' * bool(known)}"
    values = column(table["estimate"].tolist(), [], digits)
    ranges = _with_ranges(values, table, digits)
    estimates = pd.DataFrame({heading: ranges}, index=table.index)
    heading = f"difference{f' {interval}' * bool(pairs['lower'].notna().any())}"
    columns = {heading: _with_ranges(differences, pairs, digits)}
    columns["p"] = [p_value(value) for value in pairs["p"]]
    shown = pd.DataFrame(columns)
    if len(pairs) > 1 and compared.adjust != "none":
        name, heading, _ = ADJUSTED[compared.adjust]
        shown[heading] = [p_value(value) for value in pairs[name]]
    shown.index = pd.Index(pairs["second"] + " − " + pairs["first"])
    return estimates, shown


def _rounded(compared: Comparison, given: int | None) -> tuple[int, list[str]]:
    """Return the number of digits, and the differences rounded to them."""
    pairs = compared.differences
    ses = ((pairs["upper"] - pairs["lower"]) / 4).fillna(pairs["se"]).to_numpy()
    least = words.shared_digits(-2 * ses, 2 * ses) if given is None else given
    more = 0 if given is not None else MORE_DIGITS
    for digits in range(least, least + more + 1):
        differences = subtracted(compared, digits)
        if differences == column(pairs["difference"].tolist(), [], digits):
            return digits, differences
    return least, subtracted(compared, least)


def subtracted(compared: Comparison, digits: int) -> list[str]:
    """Return the differences of the estimates rounded to ``digits`` digits."""
    pairs = compared.differences
    rounded = compared.table["estimate"].map(f"{{:.{digits}f}}".format).astype(float)
    second, first = (rounded[pairs[one]].to_numpy() for one in ("second", "first"))
    return column((second - first).tolist(), [], digits)


def _notes(compared: Comparison) -> list[Note]:
    pairs = compared.differences
    caveats = dict.fromkeys(filter(None, pairs["caveat"]))
    notes = [note("caveat", text=text) for text in caveats]
    fixed = compared.contrasts.fixed
    if 0 < len(fixed) < len(compared.contrasts.results) - 1:
        notes.append(note("fits as given", fixed=", ".join(fixed)))
    if len(pairs) > 1 and compared.adjust == "none":
        notes.append(note("unadjusted", pairs=len(pairs)))
    label = compared.metric.label
    if not any(one.scores.external for one in compared.contrasts.results.values()):
        label += f" ({COMBINED.get(compared.how, compared.how)})"
    notes.append(note("compared", label=label, test=_test(compared)))
    if compared.contrasts.clustered:
        notes.append(note("clustered test"))
    if compared.method.name == "permutation":
        notes.append(note("swaps", swaps=compared.contrasts.n_permutations))
    said = filter(None, (compared.method.assumes, _measured(compared)))
    return notes + [(Weight.METHOD, words.sentence(text)) for text in said]


def _measured(compared: Comparison) -> str | None:
    """Report the error rate of the test in simulations with common folds."""
    results = compared.contrasts.results
    first, *others = results.values()
    known = first.design.outcome.kind in ("binary", "survival")
    if compared_records.against_null(results, compared.reference) or not known:
        return None
    if not all(compared_records.same_folds(first, other) for other in others):
        return None
    name, how = compared.method.name, compared.how.partition(",")[0]
    averaged = name in ("delong", "t")  # over repeats, which the study does not have
    if averaged and len(first.scores.by_repeat) > 1:
        return None
    share = float(first.design.y.mean())
    learners = (result.learner for result in results.values())
    choosing = next(filter(chooses_terms, learners), None)
    about = how, name, share, compared.metric.name, choosing
    return measured_comparison(first.plan, *about)


def _with_ranges(values: list[str], table: pd.DataFrame, digits: int) -> list[str]:
    """Return rounded values with their intervals, where there are some."""
    limits = [column(table[one].tolist(), [], digits) for one in ("lower", "upper")]
    return list(map(with_interval, values, *limits))

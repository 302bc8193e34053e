"""The verb that makes a table for a paper: of results, or of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from statcv import words
from statcv.arguments import check_level, described
from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.inference import Estimate, make_estimates, metric_of
from statcv.inference.estimates.groups import groups_of
from statcv.inference.paired.records import is_result, name_results
from statcv.metrics import Metric
from statcv.report.parts import Cited, plain_text
from statcv.report.prose import phrase
from statcv.results.by_group import group_table
from statcv.results.comparison.comparison import Comparison, shown_tables
from statcv.results.estimating import is_bootstrap
from statcv.results.pooling import Pooled, over_imputations, pooled_table
from statcv.results.result import CVResult
from statcv.results.writing.export import INDENT, PaperTable, check_options
from statcv.tables import column
from statcv.verbs.argument_types import MetricsLike

WAYS = {
    "pooled": "computed from all held-out predictions together",
    "per_fold": "the mean over folds",
    "paired": "computed from records that the same fit held out",
}
LIMITS = ["estimate", "lower", "upper"]
Limits = tuple[float, ...]  # an estimate, and the limits of its interval
Made = tuple[pd.DataFrame, str, tuple[str, ...]]  # cells, the usual caption, and notes


def table(
    *results: CVResult | Pooled | Comparison | Mapping[str, Any],
    by: Any = None,
    metrics: MetricsLike | None = None,
    digits: int | None = None,
    level: float | None = None,
    caption: str | None = None,
    label: str | None = None,
    notes: bool = False,
    **named: CVResult | Pooled,
) -> PaperTable:
    """Make a table for a paper: metrics with intervals, of one result or several.

    An estimate with its interval is one cell, such as "0.68 (0.58 to 0.77)". Several
    results stand side by side, one column per result. A comparison has one row per
    result, with the differences and their p-values.

    Parameters
    ----------
    *results, **named : CVResult, Pooled or Comparison
        One result or comparison, or several results, named as in
        :func:`statcv.compare`.
    by : str or array-like, optional
        Grouping of the records, as in
        :meth:`~statcv.results.result.CVResult.metrics`; there is then one row per
        group.
    metrics : str or list of str, optional
        The metrics to show; those of the results unless given.
    digits : int, optional
        Number of decimals. Unless given, two, here as in every summary, plot and
        report: one more for each power of ten by which a quarter of the width of the
        interval is below 0.01, and one less for each by which it is above 1.
    level : float, default 0.95
        Confidence level of the intervals.
    caption : str, optional
        Caption; it says what was evaluated, in which records and by which scheme
        unless given. An empty text leaves it out.
    label : str, optional
        Label of the table in LaTeX, and ``id`` in HTML.
    notes : bool, default False
        Whether notes below the table say how each metric and its interval are computed.

    Returns
    -------
    PaperTable
        The table, which prints as text, with methods for LaTeX, Markdown, HTML, Word
        and great_tables.

    Raises
    ------
    ArgumentTypeError
        If there is no result, or something else is given in place of one.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> scv.table(all=res, less=res.update(". ~ . - PSI"), metrics="auroc", caption="")
    Estimate (95% CI)                 all                less
    auROC             0.83 (0.57 to 0.98) 0.77 (0.45 to 0.96)
    """
    check_options(digits, caption, label, notes)
    if len(results) == 1 and isinstance(results[0], Comparison) and not named:
        for name, given in (("by", by), ("metrics", metrics), ("level", level)):
            if given is not None:
                raise ArgumentError(
                    f"{name}= means nothing for a comparison, which is by one metric "
                    "and has one level; statcv.table(**comparison.results) shows the "
                    "metrics of its results side by side."
                )
        cells, usual, told = _of_comparison(results[0], digits, notes)
    else:
        how: dict[str, Any] = {"by": by, "metrics": metrics, "digits": digits}
        how |= {"level": 0.95 if level is None else level, "notes": notes}
        cells, usual, told = _of_results(_by_name(results, named), **how)
    return PaperTable(cells, usual if caption is None else caption, label, told)


def _by_name(
    results: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, CVResult | Pooled]:
    """Return the results by the heads of their columns."""
    given: dict[str, Any] = dict(named)
    if len(results) == 1 and isinstance(results[0], Mapping):
        given = {**results[0], **given}
    elif results:
        given = {**name_results(results), **given}
    for name, one in given.items():
        if not (is_result(one) or isinstance(one, Pooled)) or not isinstance(name, str):
            raise ArgumentTypeError(
                f"table() takes results of cv(), and {name!r} is {described(one)}; a "
                "comparison is given alone; table(res, by=) is for metrics by group."
            )
    if not given:
        raise ArgumentTypeError("table() needs a result, such as table(res).")
    return given if len(given) > 1 else {"": next(iter(given.values()))}


def _of_results(
    results: Mapping[str, CVResult | Pooled],
    by: Any,
    metrics: Any,
    digits: int | None,
    level: float,
    notes: bool,
) -> Made:
    """Return the metrics of one result, or of several side by side, with intervals."""
    check_level(level)
    first, *others = results.values()
    chosen = [_metrics_of(one, metrics) for one in results.values()]
    common = set.intersection(*({m.name for m in own} for own in chosen))
    names = [metric.name for metric in chosen[0] if metric.name in common]
    if not names:
        raise ArgumentError(
            f"the results {words.joined(list(results))} have no metric in common; name "
            "metrics that all of them can have by metrics=."
        )
    by_name = [{metric.name: metric for metric in own} for own in chosen]
    kept = [[own[name] for name in names] for own in by_name]
    made = [_made(*both, level) for both in zip(results.values(), kept, strict=True)]
    rows: list[tuple[str, list[str]]] = []
    said = f"Estimate ({words.percent(level)} CI)"
    heads = list(results) if others else [said]
    of_group = ""
    if by is not None:
        rows = _by_group(list(results.values()), kept, by, level, digits)
        of_group = f" by {groups_of(_single(first), by).name}"
    else:
        bare = {} if others else _of_bootstrap(first, level)
        heads += list(bare)
        for place, metric in enumerate(kept[0]):
            more = tuple(float(of.get(metric.name, np.nan)) for of in bare.values())
            own = [each[place] for each in made]
            limits = tuple((one.value, one.lower, one.upper) for one in own)
            cells = _cells(limits, _digits(limits, digits), more)
            rows.append((_heading(metric), cells))
    frame = pd.DataFrame([cells for _, cells in rows], columns=heads)
    frame.index = pd.Index([name for name, _ in rows], name=said if others else None)
    what = kept[0][0].label if len(names) == 1 and of_group else "Performance"
    told = _notes(results, made, level) if notes else ()
    return frame, f"{what}{of_group} {_evaluated(results)}", told


def _of_comparison(comparison: Comparison, digits: int | None, notes: bool) -> Made:
    """Return the estimates of the results compared, and their differences."""
    pairs = comparison.differences
    if digits is None:
        digits = words.shared_digits(pairs["lower"], pairs["upper"])
    estimates, differences = shown_tables(comparison, digits)
    tested, alone = differences.to_numpy().tolist(), comparison.reference is not None
    of = {}
    if alone or len(pairs) == 1:
        of = dict(zip(pairs["second"], tested, strict=True))
    nothing = [""] * differences.shape[1]
    each = estimates.iloc[:, 0].items()
    rows = {one: [cell, *of.get(one, nothing)] for one, cell in each}
    if not of:
        named = zip(differences.index, tested, strict=True)
        rows |= {name: ["", *cells] for name, cells in named}
    ci = f"({words.percent(comparison.level)} CI)"
    heads = [f"{comparison.metric.label} {ci}", f"Difference {ci}"]
    heads += [*differences.columns[1:]]
    frame = pd.DataFrame(list(rows.values()), columns=heads, index=pd.Index(list(rows)))
    evaluated = _evaluated(comparison.contrasts.results)
    told = comparison.summary(notes=True).notes if notes else ()
    said = f"{comparison.metric.label} and its paired differences {evaluated}"
    return frame, said, told


def _cells(
    limits: Sequence[Limits], digits: int, bare: Sequence[float] = ()
) -> list[str]:
    """Return estimates with their intervals, and further numbers without one."""
    each = (words.with_interval(*column(one, [], digits)) for one in limits)
    return [*each, *column(bare, [], digits)]


def _single(result: CVResult | Pooled) -> CVResult:
    """Return the result of the first imputation of a pooled one, or the result."""
    return result.imputations[0] if isinstance(result, Pooled) else result


def _made(
    result: CVResult | Pooled, metrics: Sequence[Metric], level: float
) -> list[Estimate]:
    if isinstance(result, Pooled):
        return [one.estimate for one in over_imputations(result, metrics, level)]
    return list(make_estimates(result.scores, [(m, None) for m in metrics], level))


def _metrics_of(result: CVResult | Pooled, metrics: Any) -> list[Metric]:
    """Return the metrics to show, which are those of the result unless named."""
    if metrics is None:
        return list(result.chosen_metrics)
    alone = isinstance(metrics, (str, Metric)) or not isinstance(metrics, Sequence)
    named = [metrics] if alone else list(metrics)
    if not named:
        raise ArgumentError("metrics is empty; omit it for the metrics of the result.")
    return [metric_of(_single(result), one) for one in named]


def _heading(metric: Metric) -> str:
    """Return the label with a capital letter, unless it is an abbreviation."""
    label = metric.label
    word = label.partition(" ")[0]
    return words.sentence_case(label) if word.islower() else label


def _digits(limits: Sequence[Limits], given: int | None) -> int:
    """Return the number of decimals of estimates that stand together."""
    if given is not None:
        return given
    return words.shared_digits(*([one[end] for one in limits] for end in (1, 2)))


def _of_bootstrap(
    result: CVResult | Pooled, level: float
) -> dict[str, pd.Series[float]]:
    """Return the .632 and .632+ estimates of a bootstrap, by the heads of columns."""
    if isinstance(result, Pooled) or not is_bootstrap(result.plan):
        return {}
    table = result.metrics(level).set_index("metric")
    return {".632": table["boot632"], ".632+": table["boot632plus"]}


def _by_group(
    results: Sequence[CVResult | Pooled],
    metrics: Sequence[Sequence[Metric]],
    by: Any,
    level: float,
    digits: int | None,
) -> list[tuple[str, list[str]]]:
    """Return the rows of groups, below the name of each metric if there are several."""
    tables = [
        pooled_table(one, own, level, by)
        if isinstance(one, Pooled)
        else group_table(one.scores, own, groups_of(one, by), level)
        for one, own in zip(results, metrics, strict=True)
    ]
    found: list[tuple[str, list[str]]] = []
    for metric in metrics[0]:
        each = [table[table["metric"] == metric.name] for table in tables]
        names = each[0].iloc[:, 1].astype(str) + [f" (n = {n})" for n in each[0]["n"]]
        limits = [[tuple(row) for row in one[LIMITS].to_numpy()] for one in each]
        rows = list(zip(*limits, strict=True))
        places, indent = _digits([one for row in rows for one in row], digits), ""
        if len(metrics[0]) > 1:
            indent = INDENT
            found.append((_heading(metric), [""] * len(results)))
        for name, row in zip(names, rows, strict=True):
            found.append((f"{indent}{name}", _cells(row, places)))
    return found


# ---- caption and notes ----


def _evaluated(results: Mapping[str, Any]) -> str:
    """Return of what, in which records and by which scheme, as the end of a caption."""
    each = [Cited(_single(one)) for one in results.values()]
    schemes = {plain_text(phrase("resampling", one)) for one in each}
    pooled = [len(p.imputations) for p in results.values() if isinstance(p, Pooled)]
    imputations = pooled[0] if len(pooled) == len(results) else 0
    return plain_text(phrase("evaluated", each, [*schemes], imputations))


def _notes(
    results: Mapping[str, CVResult | Pooled],
    estimates: Sequence[Sequence[Estimate]],
    level: float,
) -> tuple[str, ...]:
    """Return how each metric is computed, and its interval, for each result."""
    told: dict[str, list[str]] = {}
    for name, own in zip(results, estimates, strict=True):
        for note in (_ways(own), _intervals(own, level)):
            told.setdefault(note, []).append(name)
    return tuple(
        note if len(names) == len(results) else f"{words.listed(names)}: {note}"
        for note, names in told.items()
    )


def _ways(estimates: Sequence[Estimate]) -> str:
    ways: dict[str, list[str]] = {}
    for one in estimates:
        ways.setdefault(WAYS.get(one.how, one.how), []).append(one.label)
    said = [
        f"{words.joined(labels)} {'is' if len(labels) == 1 else 'are'} {way}"
        for way, labels in ways.items()
    ]
    return f"{'; '.join(said)}."


def _intervals(estimates: Sequence[Estimate], level: float) -> str:
    methods: dict[str, list[str]] = {}
    for one in estimates:
        methods.setdefault(one.interval_in_words, []).append(one.label)
    said = f"{words.percent(level)} confidence intervals (CI)"
    if len(methods) == 1:
        return f"{said}: {next(iter(methods))}."
    each = [f"{method} ({words.joined(labels)})" for method, labels in methods.items()]
    return f"{said}: {'; '.join(each)}."

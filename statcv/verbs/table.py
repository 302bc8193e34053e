"""The verb that makes a table for a paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from statcv.arguments import described
from statcv.errors import ArgumentTypeError
from statcv.inference.paired.records import is_result, name_results
from statcv.report import comparison_table, paper_table
from statcv.results.comparison.comparison import Comparison
from statcv.results.pooling import Pooled
from statcv.results.result import CVResult
from statcv.results.writing.export import OPTIONS, PaperTable
from statcv.verbs.argument_types import MetricsLike


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
    every = locals()
    options = {name: every[name] for name in OPTIONS if every[name] is not None}
    given: dict[str, Any] = dict(named)
    if len(results) == 1 and isinstance(results[0], Comparison) and not named:
        return comparison_table(results[0], **options)
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
    if len(given) == 1:
        given = {"": next(iter(given.values()))}
    return paper_table(given, **options)

"""What each term of a formula contributes to the performance on held-out records."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv import errors
from statcv.arguments import check_types
from statcv.formula import as_frame, is_offset, is_strata
from statcv.metrics import Metric
from statcv.results.comparison.comparison import (
    Comparison,
    make_comparison,
    null_result,
    summarise_comparison,
)
from statcv.results.comparison.likelihood_ratio import LikelihoodRatio
from statcv.results.refits import LONG, duration, seconds_once
from statcv.results.summary import Summarised, Summary
from statcv.results.wording.phrases import caution, noted
from statcv.tables import Table, shown_frame

if TYPE_CHECKING:
    from statcv.results.result import CVResult

FULL = "<none>"  # R's name of the row in which nothing is dropped


@dataclass(frozen=True, eq=False, repr=False)
class Drop1(Summarised):
    """The loss of performance without each term; ``print`` shows one row per term.

    Attributes
    ----------
    comparison : Comparison
        The result and those without one term each, with the paired test.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ TUCE * PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.drop1("brier").table["term"].tolist()  # TUCE and PSI are in TUCE:PSI
    ['<none>', 'TUCE:PSI']
    """

    comparison: Comparison

    @property
    def _tests(self) -> list[LikelihoodRatio]:
        every = self.comparison.likelihood_ratios
        return [test for test in every if test.larger == FULL]

    @property
    def table(self) -> pd.DataFrame:
        """One row per term, after that of the whole formula.

        The columns are ``term``; ``estimate``, the metric without the term;
        ``difference``, that minus the metric of the whole formula, with ``se``,
        ``lower``, ``upper`` and ``p``; and ``df``, ``lr`` and ``lr_p``, the
        likelihood-ratio test, NaN unless the model is an unpenalised likelihood.
        """
        compared = self.comparison
        table = compared.table["estimate"].rename_axis("term").reset_index()
        wanted = ["second", "difference", "se", "lower", "upper", "p"]
        found = compared.differences[wanted].rename(columns={"second": "term"})
        tests = pd.DataFrame(
            [(t.smaller, t.df, t.statistic, t.p_value) for t in self._tests],
            columns=["term", "df", "lr", "lr_p"],
        )
        joined = table.merge(found, how="left").merge(tests, on="term", how="left")
        joined = joined.astype(dict.fromkeys(joined.columns[1:], float))
        heads = {"term": "without", "estimate": "estimate", "difference": "difference"}
        return self._shown(joined, heads | {"p": "p", "lr_p": "p (LR)"})

    def _shown(self, table: pd.DataFrame, heads: dict[str, str]) -> Table:
        """Return a table that prints these columns."""
        return Table(
            table,
            self._caption,
            heads,
            limits={"difference": ("lower", "upper")},
            alike=("estimate",),
            level=self.comparison.level,
            p=("p", "lr_p"),
            decimals={"df": 0, "lr": 2},
        )

    @property
    def _caption(self) -> str:
        label = self.comparison.metric.label
        return f"{label} without each term, and the difference from all"

    def summary(self, digits: int | None = None) -> Summary:
        """Return the table with notes.

        Parameters
        ----------
        digits : int, optional
            Number of decimals; unless given, as many as the intervals warrant.
        """
        compared, table = self.comparison, self.table
        notes = summarise_comparison(compared, notes=True).notes
        heads = {"estimate": "estimate", "difference": "difference", "p": "p"}
        if self._tests:
            heads |= {"df": "df", "lr": "LR", "lr_p": "p (LR)"}
            said = "LR is the likelihood-ratio test of the term on all rows"
            notes = (*notes, f"{said}. {noted('another question')}")
        body = shown_frame(self._shown(table.set_index("term"), heads), digits)
        result = compared.results[FULL]
        scheme = f"{result.plan.scheme}: {result.plan.sentence}"
        return Summary(
            title=f"Single term deletions of {result.design.formula.text}",
            facts=(("model", result.learner.label), ("scheme", scheme)),
            tables={self._caption: table},
            shown={self._caption: body.replace("–", "")},
            notes=notes,
        )


def drop1(
    result: CVResult,
    metric: str | Metric | None = None,
    *,
    how: str | None = None,
    test: str | None = None,
    level: float = 0.95,
) -> Drop1:
    """Return the performance without each term of the formula, as R's ``drop1``.

    The model is refitted without the term on the same folds, and compared with that
    of the whole formula by :func:`statcv.compare`. A term that is part of an
    interaction is not dropped before that. The p-values are not adjusted for their
    number.

    Parameters
    ----------
    metric : str, optional
        Name of the metric; the headline metric unless given.
    how, test, level
        As in :func:`statcv.compare`.

    Returns
    -------
    Drop1
        One row per term with the difference, its interval and p-value, and for an
        unpenalised likelihood the likelihood-ratio test.

    Raises
    ------
    ModelError, FormulaError
        If the predictions come from other software, or there is no term to drop.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> found = res.drop1("brier")
    >>> found.table[["term", "estimate", "difference", "lr_p"]].round(3)
         term  estimate  difference   lr_p
    0  <none>     0.151         NaN    NaN
    1     GPA     0.191        0.04  0.003
    2     PSI     0.171        0.02  0.013
    """
    check_types(drop1, locals())
    metric = result._metric(metric)
    if not result.refits.possible:
        raise errors.ModelError(
            "drop1() fits the model again without each term, but these predictions "
            "come from other software or an earlier fit."
        )
    formula = result.design.formula
    terms = [term for term in formula.terms if term]
    dropped = [
        term
        for term in terms
        if not any(set(term) < set(other) for other in terms)
        and (len(terms) > 1 or formula.intercept)
        # they have no coefficient that could be 0
        and not (is_offset(term[0]) or is_strata(term[0]))
    ]
    if not dropped:
        raise errors.FormulaError(f"{formula.text!r} has no term that can be dropped.")
    seconds = len(dropped) * seconds_once(result)
    if seconds > LONG:
        caution("cost of drop1", times=len(dropped), cost=duration(seconds))
    data = as_frame(result.call.data).iloc[result.design.kept]
    same = {"scheme": result.plan, "data": data, "weights": result.weights}
    same |= dict.fromkeys(("k", "p", "pairs", "repeats", "stratify", "rebalance"))
    results = {FULL: result}
    for term in dropped:
        kept = [":".join(other) for other in terms if other != term]
        if not kept and result.learner.capabilities.likelihood is None:
            results[":".join(term)] = null_result(result)
            continue
        less = " + ".join([str(int(formula.intercept)), *kept])
        changes = {**same, "formula": f"{formula.outcome} ~ {less}"}
        # The call itself has already warned of bias by the folds.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.DistributionalBiasWarning)
            results[":".join(term)] = result.call.again(formula, {}, changes)
    options: dict[str, Any] = {"reference": FULL, "adjust": "none"}
    return Drop1(make_comparison(results, metric, level, how=how, test=test, **options))

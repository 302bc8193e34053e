"""A result in words and rounded tables."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from statcv.arguments import check_types, one_of
from statcv.errors import ArgumentError, StatcvError
from statcv.formula import counted
from statcv.inference import COMBINED, Readable
from statcv.results.by_group import summary_by_group
from statcv.results.estimating import optimism_corrected
from statcv.results.permutations import biases_shown
from statcv.results.selection import choice_of
from statcv.results.summary import Summary, first_of
from statcv.results.wording.in_words import methods_in_words
from statcv.results.wording.notes import notes_of
from statcv.results.wording.phrases import shown_notes
from statcv.tables import check_digits, column, row_digits, shown_frame
from statcv.words import plural, with_limits

if TYPE_CHECKING:
    from statcv.results.result import CVResult

COEFFICIENTS = ("final", "folds")
MOST_LINES = 40  # number of lines that a summary has at most, for ten predictors
MOST_PRECISE = 0.05  # smallest error that is assumed, as a share of the coefficient
AROUND_NOTES = 4  # lines before and after the notes


def summary(
    result: CVResult,
    level: float = 0.95,
    monte_carlo_error: float | None = None,
    null_bias: int | None = None,
    digits: int | None = None,
    optimism: bool = False,
    notes: bool = False,
    coefficients: Literal["final", "folds"] = "final",
) -> Summary:
    """Return a summary, which is text in a console and HTML in a notebook.

    Parameters
    ----------
    level : float, default 0.95
        Confidence level of the intervals.
    monte_carlo_error : float, optional
        Target for the Monte Carlo standard error; the summary states how many
        repeats would bring it below this value. A tenth of the standard error
        unless given.
    null_bias : int, optional
        Number of permutations from which :meth:`null_bias` is estimated, for the
        first rank metric and for all rank metrics pooled; none unless given.
    digits : int, optional
        Number of decimals; those of :func:`statcv.table` unless given.
    optimism : bool, default False
        Whether to add the table of :meth:`optimism_corrected` for all metrics, from
        500 bootstrap samples to which the model is fitted.
    notes : bool, default False
        Whether to show all notes, among them the method of each interval, its
        measured coverage, and how each metric is combined over folds; else at most
        three, those that may change a decision.
    coefficients : {"final", "folds"}, default "final"
        Coefficients that are shown: those of the fit to all records with their
        range over folds, or their mean, standard deviation and range over folds.
        The fit to all records is made for models that maximise a likelihood and
        fit all folds together.

    Examples
    --------
    >>> import statcv as scv
    >>> res = scv.cv("GRADE ~ GPA + PSI", scv.load_data("spector"), k=4, seed=1)
    >>> res.summary().tables["Metrics"].index[:2].tolist()
    ['auroc', 'auprc']
    """
    check_types(summary, locals())
    biases = [] if null_bias is None else biases_shown(result, null_bias)
    check_digits(digits)
    one_of(coefficients, COEFFICIENTS, "coefficients")
    if monte_carlo_error is not None and not monte_carlo_error > 0:
        raise ArgumentError(
            f"monte_carlo_error must be above 0, not {monte_carlo_error!r}."
        )
    metrics: Any = result.metrics(level)
    tables = {"Metrics": metrics.set_index("metric")}
    shown = {"Metrics": shown_frame(metrics, digits).drop(columns="how")}
    if metrics["estimate"].isna().all():
        shown["Metrics"].insert(0, "estimate", "–")
    if result.call.by is not None:
        by, texts = summary_by_group(result, level, digits)
        heading = f"By {by.columns[1]}; mean and prediction interval by random effects"
        tables[heading], shown[heading] = by, texts
    found = notes_of(result, tables["Metrics"], level, monte_carlo_error, biases)
    if notes and (spread := _over_folds(result, tables["Metrics"], digits)) is not None:
        shown["Metrics over folds"] = spread.set_index(shown["Metrics"].index)
    over, final = result.held.coefficients, False
    if over is not None and over.shape[1]:
        table, text, caption = _coefficients(result, over, digits, coefficients)
        tables["Coefficients"], shown[caption] = table, text
        final = "final" in table
    headline = result.estimate(level=level)
    limits = headline.value, headline.lower, headline.upper
    what = result.learner.label if result.validated else result.design.formula.text
    external = result.scores.external
    made = Summary(
        title=f"{'External ' if external else 'Cross-'}validation of {what}",
        headline=f"{headline.label} {with_limits(*limits, level, digits)}",
        facts=_facts(result),
        methods=_selection(result) + methods_in_words(result, final=final),
        tables=tables,
        shown=shown,
    )
    room = MOST_LINES - AROUND_NOTES - len(str(made).splitlines())
    told, more = shown_notes(found, notes, room)
    made = replace(made, notes=told, more=more)
    if not optimism:
        return made
    caption = "Corrected for optimism by the bootstrap"
    corrected = optimism_corrected(result, result.chosen_metrics, level=level)
    return replace(
        made,
        tables={**tables, caption: corrected.to_frame()},
        shown={**shown, caption: corrected.shown},
    )


def _selection(result: CVResult) -> str:
    """Say how many different sets of terms were chosen, if terms were."""
    if choice_of(result) is None or result.held.coefficients is None:
        return ""
    said = result.selection.sentence
    before = "; rows that lack any term were left out before the choice"
    before *= bool(result.design.n_incomplete)
    return f"{said}{before}. "


# ---- metrics ----


def _over_folds(
    result: Readable, table: pd.DataFrame, digits: int | None
) -> pd.DataFrame | None:
    """Return how each metric is combined over folds, and its spread over these."""
    sizes = result.plan.tests.sizes
    columns = {"estimate": table["how"].map(COMBINED).tolist()}
    if not (result.scores.apart or len(sizes) == 1 or sizes.max() == 1):
        places = row_digits(table, "lower", "upper") if digits is None else digits
        means = column(table["per_fold"].tolist(), [], places)
        each = zip(
            means, column(table["per_fold_sd"].tolist(), [], places), strict=True
        )
        both = [mean if mean == "–" else f"{mean} ({sd})" for mean, sd in each]
        columns["per fold (sd)"] = both
    elif result.scores.external:
        return None
    return pd.DataFrame(columns)


# ---- coefficients ----


def _coefficients(
    result: CVResult, over: pd.DataFrame, digits: int | None, wanted: str
) -> tuple[pd.DataFrame, pd.DataFrame, str]:
    """Return the coefficients, the first of them as text, and the caption.

    Those of the final model are among them if it is fitted at little cost.
    """
    with np.errstate(invalid="ignore"):  # theta of counts may be infinite
        table = over.agg(["mean", "std", "min", "max"]).T
    table = table.rename(columns={"std": "sd"})
    final, why = _final(result)
    if final is not None:
        table.insert(0, "final", final.reindex(table.index))
    caption, first = "Coefficients", first_of(table)
    if len(first) < len(table):
        caption += f", the first {len(first)} of {len(table)} "
        caption += "(all are in summary().tables['Coefficients'])"
    caption += f" in the folds; {why}" * bool(why)
    # an sd over folds is not a standard error, and may be 0
    sds = np.maximum(first["sd"], MOST_PRECISE * first["mean"].abs()).tolist()
    sizes = first.abs().max(axis=1).tolist() if digits is None else ()
    texts = {name: column(first[name].tolist(), sds, digits, sizes) for name in first}
    shown = pd.DataFrame(texts, index=first.index)
    if wanted == "folds":
        return table, shown.drop(columns="final", errors="ignore"), caption
    columns = {"final model": shown["final"]} if "final" in shown else {}
    plan, scores = result.plan, result.scores
    one = plan.n_fits == plan.n_splits and not (scores.apart or scores.overlapping)
    fits = plural(plan.n_fits, "fold" if one else "fit")
    columns[f"range over {fits}"] = shown["min"] + " to " + shown["max"]
    return table, pd.DataFrame(columns), caption


def _final(result: CVResult) -> tuple[pd.Series[float] | None, str]:
    """Return the coefficients of the fit to all records, or why there are none.

    That fit is made for models that fit all folds together and maximise a likelihood,
    for which it costs little.
    """
    known = choice_of(result) or result.learner.capabilities.likelihood
    if known is None or not result.refits.setup.fits_together:
        return None, ""
    n = f"{result.design.n:,}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they would say stands in the caption
            fit, found = result.refits.all_rows, result.model.coefficients
    except StatcvError:
        return None, f"the fit to all {n} records failed"
    if fit.separated:
        return None, f"the fit to all {n} records separates the classes"
    if not fit.converged:
        return None, f"the fit to all {n} records did not converge"
    return found, ""


# ---- facts ----


def _facts(result: Readable) -> tuple[tuple[str, str], ...]:
    design, rows = result.design, result.rows
    if design.missing:
        rows += f" (missing: {counted(design.missing)})"
    if design.absent:
        rows += f" (kept, though missing: {design.lacking})"
    if result.weights is not None:
        rows += "; weighted in the fits, not in the metrics"
    external, scheme = result.scores.external, result.plan.scheme
    scheme = "external validation" if external else scheme
    drawn = (("seed", f"{result.seed}; folds {result.plan.fingerprint}"),)
    return (
        ("model", result.learner.label),
        ("scheme", f"{scheme}: {result.plan.sentence}"),
        ("outcome", f"{design.outcome.name}: {design.outcome.describe()}"),
        ("rows", rows),
        *(() if external else drawn),
    )

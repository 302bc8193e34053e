"""A result in words: its model, its records, and how these were held out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from statcv.inference import Estimate, Readable
from statcv.models.imputation import Imputed
from statcv.models.selection import selection_in
from statcv.numeric.survival import events_of
from statcv.results.wording.phrases import phrase
from statcv.tables import WIDTH
from statcv.words import joined, listed, plural, sentence_case

MOST_NAMED = 4  # largest number of predictors, or of classes, that are all named
LONG_FORMULA = 60  # number of characters above which a formula is not repeated


def short_text(result: Readable, headline: Estimate) -> str:
    """Return three lines: the estimate and the records, the scheme, and the model."""
    first = first_that_fits([f"{headline} in {n}" for n in _records(result)])
    model, scheme = lines_in_words(result)
    return f"{first}\n{scheme}\n{model}"


def lines_in_words(result: Readable) -> tuple[str, str]:
    """Return the model, and how records were held out, in one line each."""
    models = [f"{label}{on}" for label in _label(result) for on in _on(result)]
    # phrases that are least important are omitted first
    schemes = [
        sentence_case(phrase("scheme", result, most)) for most in (4, 3, 2, 1, 0)
    ]
    return first_that_fits(models), first_that_fits(schemes)


def scheme_in_words(result: Readable) -> str:
    """Return how records were held out, as the beginning of a sentence."""
    return sentence_case(phrase("scheme", result))


def methods_in_words(result: Readable, final: bool) -> str:
    """Return what was done, as the methods section of a paper says it.

    Parameters
    ----------
    result : CVResult
    final : bool
        Whether the summary shows the model that is fitted to all records.
    """
    formula = result.design.formula.text
    told = result.learner.capabilities.refits and len(formula) <= LONG_FORMULA
    what = _label(result)[0] + (f", {formula}," if told else _on(result)[0])
    events = events_in_words(result)[0]
    return phrase("methods", result, what, events, _held_out(result), final)


# ---- the model ----


def _label(result: Readable) -> list[str]:
    """Return the name of the model with its parameters, ever more briefly."""
    name = sentence_case(result.learner.label.removesuffix("()"))
    if (model := result.validated) is not None:
        known = model.predictors or ["no predictors"]
        names = [joined(known), plural(len(model.predictors), "predictor")]
        head = re.split(r"[,(]", name)[0]
        return [name] * ("~" in name) + [f"{head} with {columns}" for columns in names]
    head, _, rest = name.partition(", ")
    bare, chosen = re.split(r" ?\(", head)[0], result.held.chosen
    labels = [f"{head} ({rest})" if rest and "(" not in head else name]
    if chosen is not None and set(chosen) - {"threshold", "score"}:
        labels.append(f"{bare} (tuned in every training set)")
    elif selection_in(result.learner):
        labels.append(f"{bare} (terms chosen in every fold)")
    return [*labels, bare]


def _on(result: Readable) -> list[str]:
    """Return the outcome and the predictors, ever more briefly."""
    design = result.design
    outcome, names = design.formula.outcome, list(design.formula.columns)
    if design.offsets:  # their columns stand apart from the predictors
        used = design.beside_offsets
        names = [name for name in names if name in used]
    given = "".join(f", {design.names[j]}" for j in design.offsets)
    if result.validated:
        return ["" if "~" in result.learner.label else f" for {outcome}"]
    if not result.learner.capabilities.refits:
        noun = "column" if len(names) == 1 else "columns"
        return [f" of {outcome} ({noun} {listed(names)})", f" of {outcome}"]
    if not names or not result.learner.capabilities.uses_predictors:
        return [f" for {outcome}, without predictors{given}"]
    of, on = " for", "from"
    if "regression" in result.learner.label:
        of, on = " of", "on"
    count = plural(len(names), "predictor")
    if len(names) <= MOST_NAMED:
        each = [joined(names), count]
    else:
        each = [f"{count} ({listed(names, most=MOST_NAMED - 1)})", count]
    return [f"{of} {outcome} {on} {one}{given}" for one in each]


# ---- the records ----


def rows_in_words(result: Readable) -> str:
    """Return the number of rows, and of those that were used, in words."""
    design = result.design
    text = f"n = {design.n}"
    if design.n < design.n_given:
        text += f" of {design.n_given}"
    if design.weightless:
        text += f", {design.weightless} of weight 0"
    if design.n_incomplete:
        text += f", {design.n_incomplete} incomplete"
    if design.n_absent:
        those = f"the {design.n}" if design.weightless else "them"
        text += f", {design.n_absent} of {those} incomplete"
    held = _held_out(result)
    return text if held == design.n else f"{text}; {held} of them held out"


def _held_out(result: Readable) -> int:
    return int(np.count_nonzero(np.bincount(result.held.row)))


def _records(result: Readable) -> list[str]:
    """Count the records and the positive ones, ever more briefly.

    They are complete if others were left out.
    """
    design, held = result.design, _held_out(result)
    if held < design.n:
        return [f"{held:,} held-out records"]
    own = result.learner.capabilities.refits or result.validated
    lost = bool(design.n_incomplete and own) and not design.absent
    said = "imputed" if isinstance(result.learner, Imputed) else "incomplete"
    kept = f" ({design.n_absent:,} {said})" if design.absent else ""
    count = f"{design.n:,} {'complete ' * lost}records{kept}"
    return [*(f"{count}{few}" for few in events_in_words(result)), count]


def events_in_words(result: Readable) -> list[str]:
    """Count the positive records, or those of every class, ever more briefly."""
    outcome = result.design.outcome
    counts = outcome.counts if outcome.levels else {}
    if outcome.kind == "survival":
        count = int(events_of(outcome.y).sum())
        return [f", {count:,} event{'s' * (count != 1)}"]
    if outcome.kind == "binary":
        events = f"{counts[outcome.positive]:,}"
        return [f", {events} with {outcome.name} = {outcome.positive}"]
    between = " < " if outcome.ordered else ", "
    each = between.join(f"{level} {count:,}" for level, count in counts.items())
    few = f" ({outcome.name}: {each})" if len(counts) <= MOST_NAMED else ""
    many = f" of {len(counts)} {'ordered ' * outcome.ordered}classes"
    return [*[few] * bool(few), many] if counts else [""]


# ---- lines ----


def first_that_fits(said: Sequence[str]) -> str:
    """Return the first text that fits in a line, or the beginning of the last."""
    fits = (text for text in said if len(text) <= WIDTH)
    return next(fits, f"{said[-1][: WIDTH - 1]}…")

"""A result in words: its model, its records, and how these were held out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from statcv.folds import FoldPlan
from statcv.formula import counted
from statcv.inference import Estimate, Readable
from statcv.models.imputation import Imputed
from statcv.models.selection import selection_in
from statcv.numeric.survival import events_of
from statcv.results.refittable import Refittable
from statcv.tables import WIDTH
from statcv.words import joined, listed, plural

MOST_NAMED = 4  # largest number of predictors, or of classes, that are all named
LONG_FORMULA = 60  # number of characters above which a formula is not repeated

# how training sets are balanced, in words
BALANCED = dict.fromkeys(
    ("subsample", "upsample", "all", "bag"),
    "all training sets with the same class counts",
) | {"weight": "classes weighted alike in all training sets"}

Part = tuple[int, str]  # a phrase, and how soon it is omitted where there is no room


def short_text(result: Readable, headline: Estimate) -> str:
    """Return three lines: the estimate and the records, the scheme, and the model."""
    first = first_that_fits([f"{headline} in {n}" for n in _records(result)])
    model, scheme = lines_in_words(result)
    return f"{first}\n{scheme}\n{model}"


def lines_in_words(result: Readable) -> tuple[str, str]:
    """Return the model, and how records were held out, in one line each."""
    models = [f"{label}{on}" for label in _label(result) for on in _on(result)]
    parts = _scheme_parts(result)
    # phrases that are least important are omitted first
    ranks = sorted({rank for rank, _ in parts}, reverse=True)
    schemes = ["".join(text for rank, text in parts if rank <= most) for most in ranks]
    return first_that_fits(models), first_that_fits(list(map(_sentence_case, schemes)))


def methods_in_words(result: Refittable, final: bool) -> str:
    """Return what was done, as the methods section of a paper says it.

    Parameters
    ----------
    result : CVResult
    final : bool
        Whether the summary shows the model that is fitted to all records.
    """
    design, formula = result.design, result.design.formula.text
    fitted = result.learner.capabilities.refits
    lost = (design.n_given - design.n) * (fitted or bool(result.validated))
    what = _label(result)[0] + (f", {formula}," if fitted else _on(result)[0])
    if fitted and len(formula) > LONG_FORMULA:
        what = _label(result)[0] + _on(result)[0]
    what += ", validated" * bool(result.validated)
    of_given = f" of {design.n_given:,}" * bool(lost)
    said = f"{what} in {design.n:,}{of_given} records{events_in_words(result)[0]}"
    if lost:
        missing = f" (missing: {counted(design.missing)})" if design.missing else ""
        said += f"; {lost:,} left out as incomplete{missing}"
    if design.absent:
        said += f"; {design.n_absent:,} incomplete (missing: {design.lacking})"
    if _held_out(result) < design.n:
        said += f"; {_held_out(result):,} of them held out"
    sentences = [said, scheme_in_words(result)]
    if fitted:
        sentences[-1] += f"; seed {result.seed}"
    if result.weights is not None:
        sentences.append("Records are weighted in the fits, not in the metrics")
    if result.threshold is not None:
        at = f"{result.threshold:g}"
        sentences.append(f"A prediction of {at} or more is classified as positive")
    if final:
        sentences.append(f"The final model is the fit to all {design.n:,} records")
    return "".join(f"{one}. " for one in sentences).strip()


# ---- the model ----


def _label(result: Readable) -> list[str]:
    """Return the name of the model with its parameters, ever more briefly."""
    name = _sentence_case(result.learner.label.removesuffix("()"))
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
        lost = design.n_given - design.n
        text += f" of {design.n_given}, {lost} incomplete"
    if design.n_absent:
        text += f", {design.n_absent} of them incomplete"
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
    lost = design.n < design.n_given and bool(own) and not design.absent
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


# ---- the scheme ----


def scheme_in_words(result: Readable) -> str:
    """Return how records were held out, as the beginning of a sentence."""
    return _sentence_case("".join(text for _, text in _scheme_parts(result)))


def _scheme_parts(result: Readable) -> list[Part]:
    """Return the phrases of which the description of the scheme consists.

    The first of them is always said.
    """
    plan = result.plan
    scheme, strata = plan.made_by, plan.strata
    parts: list[Part] = []
    if result.scores.external:
        said = "external validation: the model was fitted to other records"
        if result.validated:
            said = "external validation; the interval counts these records alone"
        parts.append((0, said))
        if strata is not None:
            parts.append((1, f"; those of the same {strata.label} are one cluster"))
        return parts
    if scheme is None:
        first, *others = re.split("(?=[,;] )", plan.sentence)
        name = f"{'rebalanced ' * plan.rebalanced}cross-validation, {first}"
        return [(0, name), (4, "".join(others))]
    again = plan.repeats > 1
    if scheme.splits == "shares":
        share = re.search(r"[\d.]+%", plan.sentence)
        out, splits = share.group() if share else "some", "random split"
        parts.append((0, f"{plural(plan.repeats, splits)} of the records"))
        parts.append((1, f", {out} held out in each"))
    elif scheme.splits == "samples":
        tested = ", each tested on the records that it lacks"
        parts += [(0, plural(plan.repeats, "bootstrap sample")), (1, tested)]
    else:
        parts += _cross_validation(plan)
    timed = result.design.outcome.kind == "survival"
    if scheme.spreads:
        what = "events" if timed else "each class"
        parts.append((3, f" with {what} spread evenly"))
    if again and scheme.splits in ("folds", "groups", "pairs"):
        parts.append((1, f", repeated {plan.repeats} times"))
    elif again and scheme.splits == "units":
        parts.append((1, f", {plan.repeats} draws of the dropped records"))
    if plan.rebalance in BALANCED:
        balanced = BALANCED[plan.rebalance]
        if timed:
            balanced = balanced.replace("class counts", "numbers of events")
            balanced = balanced.replace("classes", "events and other records")
        parts.append((4, f", {balanced}"))
    if strata is not None and scheme.splits != "units":
        same, noun = ("the same", "group") if strata.identifies else ("equal", "value")
        parts.append((2, f", records of {same} {strata.label} kept together"))
        parts.append((4, f" ({plural(strata.count, noun)})"))
    return parts


def _cross_validation(plan: FoldPlan) -> list[Part]:
    """Return the phrases for a scheme that holds out each record, or pair, in turn."""
    scheme, strata = plan.made_by, plan.strata
    assert scheme is not None
    first, _, rest = plan.sentence.partition("; ")[0].partition(", ")
    name = {"folds": f"{len(plan.labels[0])}-fold", "units": "leave-one-out"}.get(
        scheme.splits, first.removeprefix("rebalanced ")
    )
    rebalanced = "rebalanced " * plan.rebalanced
    if strata is not None and scheme.splits == "units":
        groups = plural(strata.count, "group")
        name = f"{rebalanced}leave-one-group-out cross-validation"
        each = f", each {strata.label} held out"
        return [(0, name), (2, each), (4, f" ({groups})")]
    parts = [(0, f"{rebalanced}{name} cross-validation")]
    if scheme.splits == "pairs":
        pairs, of, records = rest.partition(" of records")
        parts += [(1, f", {pairs}"), (4, f"{of}{records}")]
    return parts


# ---- lines ----


def _sentence_case(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def first_that_fits(said: Sequence[str]) -> str:
    """Return the first text that fits in a line, or the beginning of the last."""
    fits = (text for text in said if len(text) <= WIDTH)
    return next(fits, f"{said[-1][: WIDTH - 1]}…")

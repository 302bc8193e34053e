"""The items of reporting guidelines, and what a result says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from statcv.report import facts, parts
from statcv.report.methods_paragraph import WORKS
from statcv.words import joined, stored_rows

AUTHOR: Final = "for the author"


@dataclass(frozen=True)
class Item:
    """An item of a guideline, and the words by which a result answers it.

    Attributes
    ----------
    name, topic : str
    words : str
        Words with fields in braces, which stand for facts: an item without one of them
        is for the author, as is one without words. ``res`` is the result, and ``own``
        the same result if it has fits of its own.
    validated : str
        What the validation of a model says instead; empty if it says the same.
    """

    name: str
    topic: str
    words: str = ""
    validated: str = ""


@dataclass(frozen=True)
class Guideline:
    """A reporting guideline.

    Attributes
    ----------
    name : str
    tables : mapping
        The caption of each of its lists of items, and the file that has it, one item
        per line: name, topic, and words.
    work : str
        Key of the work that has the official list.
    """

    name: str
    tables: Mapping[str, str]
    work: str

    @cached_property
    def lists(self) -> tuple[tuple[str, tuple[Item, ...]], ...]:
        """The lists of items, each with a caption."""
        return tuple(
            (
                caption,
                tuple(
                    Item(*row)
                    for row in stored_rows("statcv.report", f"templates/{file}")
                ),
            )
            for caption, file in self.tables.items()
        )


ALL = "items and sub-items"
GUIDELINES: Final = {
    "tripod+ai": Guideline("TRIPOD+AI", {ALL: "tripod+ai.txt"}, "tripod"),
    "probast+ai": Guideline(
        "PROBAST+AI",
        {
            "questions of development": "probast+ai-development.txt",
            "questions of evaluation": "probast+ai-evaluation.txt",
        },
        "probast",
    ),
    "tripod-cluster": Guideline(
        "TRIPOD-Cluster", {ALL: "tripod-cluster.txt"}, "cluster"
    ),
}


def checklist(
    guideline: Guideline, answers: tuple[Mapping[str, parts.Prose], ...]
) -> parts.Section:
    """Return a checklist, with the items that are the author's named as such.

    Parameters
    ----------
    guideline : Guideline
    answers : tuple of mapping
        What the results say, by item; one mapping per list of items.
    """
    tables, said = [], []
    for (what, items), own in zip(guideline.lists, answers, strict=True):
        total, filled = len(items), [parts.plain_text(words) for words in own.values()]
        in_part = sum(AUTHOR in text for text in filled)
        part = f" ({in_part} of them in part)" * bool(in_part)
        said.append(f"{len(filled)} of {total} {what}{part}")
        rows = tuple((one.name, one.topic, own.get(one.name, AUTHOR)) for one in items)
        caption = f"{guideline.name}: {total} {what}"
        head = ("item", "topic", "from the result")
        tables.append(parts.ReportTable(caption, head, rows))
    first: parts.Prose = (f"{joined(said)} are filled from the result.",)
    last = (
        "The topics are short words of our own; the official list is binding. Whether "
        "an item is met is for the author and the reader to judge."
    )
    return parts.Section(
        f"{guideline.name} checklist",
        prose=(first, last),
        items=(WORKS[guideline.work],),
        tables=tuple(tables),
    )


# ---- answers ----


Answers = dict[str, parts.Prose]


def answers_of(
    style: str, res: parts.Cited, level: float, **more: parts.Words
) -> tuple[Answers, ...]:
    """Return what a result says of the items of a guideline, one set per list.

    Parameters
    ----------
    style : str
        Key of the guideline.
    res : Cited
        The result.
    level : float
        Confidence level of the intervals.
    **more : words
        Further facts by name, such as those of clusters.
    """
    known = _known(res, level) | more
    if "group" in more:
        group = (*parts.as_prose(more["group"]), ", see the table")
        known["performance"] = (*known["headline"], "; by ", *group)
    found = []
    for _, items in GUIDELINES[style].lists:
        said = {one.name: one.words for one in items}
        if res.thing.validated:
            said = {one.name: one.validated or one.words for one in items}
        found.append(
            {
                item: parts.prose(words, **known)
                for item, words in said.items()
                if words and parts.fields(words) <= known.keys()
            }
        )
    return tuple(found)


def same_or_each(names: Sequence[parts.Said], each: Sequence[Answers]) -> Answers:
    """Return the answers of several results: once if equal, else one after the other.

    Parameters
    ----------
    names : sequence of str
        Names of the results.
    each : sequence of mapping
        The answers of each result to the items of one list.
    """
    found: Answers = {}
    for item in dict.fromkeys(item for own in each for item in own):
        texts = {parts.plain_text(own[item]) if item in own else None for own in each}
        if len(texts) == 1:
            found[item] = each[0][item]
            continue
        words: list[str | parts.Said] = []
        for named, own in zip(names, each, strict=True):
            if item in own:
                *first, last = own[item]
                if isinstance(last, str):  # without its full stop
                    last = last.rstrip(".")
                words += ["; "] * bool(words) + [named, ": ", *first, last]
        found[item] = tuple(words)
    return found


HELD = "held-out predictions of {own.plan.n_fits:d} fits"


# ---- the facts ----


def _known(res: parts.Cited, level: float) -> dict[str, Any]:
    """Return the facts that answers are made of, by name."""
    result, api = res.thing, res.api
    said = facts.headline(res, level)
    metrics = ", ".join(metric.label for metric in result.chosen_metrics)
    objective = "internal validation by cross-validation"
    if facts.is_given(result):
        objective = "evaluation of predictions from other software"
    if result.scores.external:
        objective = "external validation of a model that was fitted to other records"
    known: dict[str, Any] = {
        "res": res,
        "objective": objective,
        "sentence": facts.sentence_parts(res, level),
        "outcome": parts.said(res.design.outcome.describe()),
        "size": facts.size(res),
        "analysed": facts.size(res),
        "missing": _missing(res),
        "metrics": parts.Said(
            metrics, f"', '.join(m.label for m in {api}.chosen_metrics)"
        ),
        "headline": said,
        "performance": said,
        "output": _output(res),
    }
    if result.design.outcome.kind == "survival":
        known["metrics"] = (known["metrics"], "; ", *facts.censoring(res))
    if not facts.is_given(result):
        known |= _of_fits(res)
    if result.scores.external:
        known |= _of_others(res)
    else:
        known["concern"] = _concern(res)
    if facts.lists_coefficients(result):
        known["equation"] = (
            "coefficients of the model, in the table of the fit to all records"
        )
    elif result.held.coefficients is not None and len(result.held.coefficients.T):
        known["equation"] = "coefficients are many: `model` of the result has them"
    return known


def _of_others(res: parts.Cited) -> dict[str, Any]:
    """Return the facts of a model that was fitted to other records."""
    model = res.thing.validated
    names = [name for name in res.thing.design.names if name != "Intercept"]
    listed = f"', '.join(n for n in {res.api}.design.names if n != 'Intercept')"
    found: dict[str, Any] = {
        "predictions": ("read from the data: ", parts.Said(", ".join(names), listed)),
        "not_apparent": "the model was fitted to other records",
        "repeated": "no resampling: the model was fitted to other records",
        "evaluated": "all records of the data count alike",
    }
    if model:
        found["read"] = parts.listed(res.validated.predictors)
    if model and model.text:
        found["written"] = "see the equation of the model"
    if model and model.share is not None:
        found["shares"] = parts.prose(
            "the mean outcome is {here} in these records, and {there} where the model "
            "was fitted",
            here=parts.number_of(res.design.y.mean()),
            there=parts.number_of(res.validated.share),
        )
    return found


def _of_fits(res: parts.Cited) -> dict[str, Any]:
    """Return the facts that only a result with fits of its own has."""
    design, plan, drop = res.thing.design, res.thing.plan, facts.without_intercept(res)
    imbalance: parts.Words = "training sets were not rebalanced"
    recalibration: parts.Words = "no method for class imbalance was used"
    if plan.rebalance:
        imbalance = ("training sets were rebalanced: ", parts.said(res.plan.rebalance))
        recalibration = (*imbalance, "; statcv did not recalibrate predictions")
    learnt = "no transformation of the predictors is estimated from the data"
    if design.terms.stateful:
        learnt = "transformations are estimated from each training set alone"
    sizes = res.plan.n_train
    lowest, highest = parts.count(sizes.min()), parts.count(sizes.max())
    chosen = ""
    if res.thing.held.chosen is not None:
        chosen = " with its choice of hyperparameters or thresholds,"
    training = "training sets of {low} to {high} records of the same data"
    return {
        "own": res,
        "columns": parts.listed(res.design.names.from_place(drop)),
        "analysed": parts.prose(
            "{size}; {res.plan.n_fits:d} fits", size=facts.size(res), res=res
        ),
        "imbalance": imbalance,
        "recalibration": recalibration,
        "learnt": learnt,
        "training": parts.prose(training, low=lowest, high=highest),
        "predictions": "each record is predicted by fits that were not trained on it",
        "resampling": facts.resampling(res),
        "updating": "no model was updated after its evaluation",
        "not_apparent": parts.prose(HELD, own=res),
        "per_column": facts.per_column(res),
        "kept_together": _kept_together(res),
        "repeated": f"the formula was fitted again,{chosen} in every training set; "
        "any selection before it is for the author",
        "evaluated": "held-out records are those of the data, neither weighted nor "
        "duplicated",
    }


def _missing(res: parts.Cited) -> parts.Prose:
    given = facts.is_given(res.thing) and not res.thing.validated
    what = "are further rows of a record" if given else "are omitted as incomplete"
    said = f"{{lost}} of {{res.design.n_given:d}} rows {what}"
    words = parts.prose(said, lost=facts.omitted(res), res=res)
    for name, n in facts.missing(res):
        words += ("; ", n, " lack ", name)
    return words


def _kept_together(res: parts.Cited) -> parts.Words:
    """Return whether records that belong together are in one fold."""
    scores = res.thing.scores
    if scores.clusters is None:
        return "no clusters were given, so that records count as independent"
    if scores.split_clusters:
        words = "{res.scores.split_clusters:d} clusters are divided across folds"
        return parts.prose(words, res=res)
    return "no cluster is divided across folds"


def _concern(res: parts.Cited) -> parts.Words:
    concerns = "; ".join(text.rstrip(".") for text in res.thing.audit.concerns)
    if not concerns:
        return "the audit of the folds raises no concern"
    api = f"'; '.join(text.rstrip('.') for text in {res.api}.audit.concerns)"
    return ("the audit of the folds found: ", parts.Said(concerns, api))


def _output(res: parts.Cited) -> parts.Words:
    probabilities = res.thing.scores.probabilities
    kind = "probabilities" if probabilities else "predicted values"
    if res.thing.design.outcome.kind == "survival":
        at = facts.horizons(res)
        return ("linear predictor", *((" and risk of the event", *at) if at else ()))
    if res.thing.threshold is None:
        return kind
    return parts.prose(f"{kind}; threshold {{res.threshold:g}}", res=res)

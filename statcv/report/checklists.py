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
        room, files = "statcv.report", self.tables.items()
        each = [(name, stored_rows(room, f"templates/{file}")) for name, file in files]
        return tuple((name, tuple(Item(*row) for row in rows)) for name, rows in each)


ALL = "items and sub-items"
OF_PROBAST = {
    f"questions of {what}": f"probast+ai-{what}.txt"
    for what in ("development", "evaluation")
}
CLUSTERS = {ALL: "tripod-cluster.txt"}
GUIDELINES: Final = {
    "tripod+ai": Guideline("TRIPOD+AI", {ALL: "tripod+ai.txt"}, "tripod"),
    "probast+ai": Guideline("PROBAST+AI", OF_PROBAST, "probast"),
    "tripod-cluster": Guideline("TRIPOD-Cluster", CLUSTERS, "cluster"),
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
    title, works = f"{guideline.name} checklist", (WORKS[guideline.work],)
    return parts.Section(title, (first, last), works, tuple(tables))


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
        able = {k: w for k, w in said.items() if w and parts.fields(w) <= known.keys()}
        found.append({item: parts.prose(w, **known) for item, w in able.items()})
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


# ---- the facts ----


def _known(res: parts.Cited, level: float) -> dict[str, Any]:
    """Return the facts that answers are made of, by name."""
    result, api, design = res.thing, res.api, res.thing.design
    metrics = ", ".join(metric.label for metric in result.chosen_metrics)
    listed = f"', '.join(m.label for m in {api}.chosen_metrics)"
    known: dict[str, Any] = {
        "res": res,
        "sentence": facts.sentence_parts(res, level),
        "outcome": parts.said(res.design.outcome.describe()),
        "size": facts.size(res),
        "missing": _missing(res),
        "metrics": parts.Said(metrics, listed),
        "headline": facts.headline(res, level),
        "output": _output(res),
    }
    known["performance"] = known["headline"]
    if design.outcome.kind == "survival":
        known["metrics"] = (known["metrics"], "; ", *facts.censoring(res))
    if not facts.is_given(result):
        drop = facts.without_intercept(res)
        known["own"], known["resampling"] = res, facts.resampling(res)
        known["columns"] = parts.listed(res.design.names.from_place(drop))
        known["per_column"] = facts.per_column(res)
    if result.validated:
        known["read"] = parts.listed(res.validated.predictors)
    return known | _in_table(res, known["size"])


def _in_table(res: parts.Cited, size: parts.Prose) -> dict[str, parts.Prose]:
    """Return the facts of the table that hold; of several in one name, the last."""
    result, model, plan = res.thing, res.thing.validated, res.thing.plan
    fits, external = not facts.is_given(result), result.scores.external
    concerns = [] if external else result.audit.concerns
    clustered = fits and result.scores.clusters is not None
    coefficients = result.held.coefficients
    holds = {
        "always": True,
        "given": not fits,
        "fits": fits,
        "rebalanced": fits and plan.rebalance,
        "stateful": fits and result.design.terms.stateful,
        "chosen": fits and result.held.chosen is not None,
        "clustered": clustered,
        "divided": clustered and result.scores.split_clusters,
        "external": external,
        "folds": not external,
        "concerned": concerns,
        "coefficients": coefficients is not None and len(coefficients.T),
        "few": facts.lists_coefficients(result),
        "written": model and model.text,
        "shares": model and model.share is not None,
    }
    names = [name for name in result.design.names if name != "Intercept"]
    of_names = f"', '.join(n for n in {res.api}.design.names if n != 'Intercept')"
    of_concerns = f"'; '.join(text.rstrip('.') for text in {res.api}.audit.concerns)"
    said = "; ".join(text.rstrip(".") for text in concerns)
    known: dict[str, parts.Cited | parts.Words] = {
        "res": res,
        "size": size,
        "low": parts.count(res.plan.n_train.min()),
        "high": parts.count(res.plan.n_train.max()),
        "names": parts.Said(", ".join(names), of_names),
        "concerns": parts.Said(said, of_concerns),
    }
    if holds["shares"]:
        known["here"] = parts.number_of(res.design.y.mean())
        known["there"] = parts.number_of(res.validated.share)
    table = stored_rows("statcv.report", "templates/facts.txt")
    return {
        name: parts.prose(text, **known) for name, when, text in table if holds[when]
    }


def _missing(res: parts.Cited) -> parts.Prose:
    given = facts.is_given(res.thing) and not res.thing.validated
    what = "are further rows of a record" if given else "are omitted as incomplete"
    said = f"{{lost}} of {{res.design.n_given:d}} rows {what}"
    words = parts.prose(said, lost=facts.omitted(res), res=res)
    for name, n in facts.missing(res):
        words += ("; ", n, " lack ", name)
    return words


def _output(res: parts.Cited) -> parts.Words:
    probabilities = res.thing.scores.probabilities
    kind = "probabilities" if probabilities else "predicted values"
    if res.thing.design.outcome.kind == "survival":
        at = facts.horizons(res)
        return ("linear predictor", *((" and risk of the event", *at) if at else ()))
    if res.thing.threshold is None:
        return kind
    return parts.prose(f"{kind}; threshold {{res.threshold:g}}", res=res)

"""The items of reporting guidelines, and what a result says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from statcv.report import facts, parts
from statcv.report.methods_paragraph import WORKS
from statcv.report.prose import fields, prose
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
        able = {k: w for k, w in said.items() if w and fields(w) <= known.keys()}
        found.append({item: prose(w, **known) for item, w in able.items()})
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
    """Return the facts of the table that hold; of several in one name, the last."""
    result, model, kind = res.thing, res.thing.validated, res.thing.design.outcome.kind
    fits, external = not facts.is_given(result), result.scores.external
    clustered = fits and result.scores.clusters is not None
    coefficients = result.held.coefficients
    holds = {
        "always": True,
        "given": not fits,
        "fits": fits,
        "rebalanced": fits and result.plan.rebalance,
        "stateful": fits and result.design.terms.stateful,
        "chosen": fits and result.held.chosen is not None,
        "clustered": clustered,
        "divided": clustered and result.scores.split_clusters,
        "external": external,
        "folds": not external,
        "concerned": not external and result.audit.concerns,
        "coefficients": coefficients is not None and len(coefficients.T),
        "few": facts.lists_coefficients(result),
        "timed": kind == "survival",
        "validated": model,
        "written": model and model.text,
        "shares": model and model.share is not None,
    }
    table = stored_rows("statcv.report", "templates/facts.txt")
    known: dict[str, Any] = {"res": res} | ({"own": res} if fits else {})
    return known | {
        name: prose(text, res=res, level=level)
        for name, when, text in table
        if holds[when]
    }

"""The items of reporting guidelines, in short words of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from statcv.report.methods import WORKS
from statcv.report.parts import Prose, ReportTable, Section, plain_text, stored_rows
from statcv.words import joined

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
            (caption, tuple(Item(*row) for row in stored_rows(file)))
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
    guideline: Guideline, answers: tuple[Mapping[str, Prose], ...]
) -> Section:
    """Return a checklist, with the items that are the author's named as such.

    Parameters
    ----------
    guideline : Guideline
    answers : tuple of mapping
        What the results say, by item; one mapping per list of items.
    """
    tables, said = [], []
    for (what, items), own in zip(guideline.lists, answers, strict=True):
        total, filled = len(items), [plain_text(words) for words in own.values()]
        in_part = sum(AUTHOR in text for text in filled)
        part = f" ({in_part} of them in part)" * bool(in_part)
        said.append(f"{len(filled)} of {total} {what}{part}")
        rows = tuple((one.name, one.topic, own.get(one.name, AUTHOR)) for one in items)
        caption = f"{guideline.name}: {total} {what}"
        head = ("item", "topic", "from the result")
        tables.append(ReportTable(caption, head, rows))
    first: Prose = (f"{joined(said)} are filled from the result.",)
    last = (
        "The topics are short words of our own; the official list is binding. Whether "
        "an item is met is for the author and the reader to judge."
    )
    return Section(
        f"{guideline.name} checklist",
        prose=(first, last),
        items=(WORKS[guideline.work],),
        tables=tuple(tables),
    )

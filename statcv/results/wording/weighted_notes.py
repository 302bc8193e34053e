"""The texts of notes with their weights, and which of them are shown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any

from statcv.results.wording.phrases import filled
from statcv.tables import WIDTH
from statcv.words import plural, stored_rows


class Weight(IntEnum):
    """Whether a reader of the estimates would decide otherwise."""

    BIASED = 4  # the estimates are biased, or the held-out outcomes leaked
    UNSOUND = 3  # fits failed, or there is no interval
    LIMITED = 2  # the estimates say less than they seem to
    USEFUL = 1  # what else could be asked of the data
    METHOD = 0  # how the numbers were made; told on request


MOST_NOTES = 3  # largest number of notes that are shown unless requested

Note = tuple[Weight, str]  # the weight of a note, and its text
Notes = Iterator[Note]
TEXTS = {
    name: (Weight[weight], text)
    for name, weight, text in stored_rows("statcv.results.wording", "notes.txt")
}


def note(name: str, /, **facts: Any) -> Note:
    """Return a note of the table, with facts in place of its fields.

    >>> note("not converged", failed=2, fits=10)
    (<Weight.UNSOUND: 3>, '2 of 10 fits did not converge.')
    """
    weight, text = TEXTS[name]
    return weight, filled(text, **facts)


def shown_notes(
    notes: Sequence[Note], everything: bool, room: int
) -> tuple[tuple[str, ...], str]:
    """Return the notes that are shown, by weight, and where the others are.

    Parameters
    ----------
    notes : sequence of Note
    everything : bool
        Whether all are shown, not only those that may change a decision.
    room : int
        Number of lines that are free for them; the first is shown in any case.
    """
    ranked = list(dict.fromkeys(sorted(notes, key=lambda note: -note[0])))
    if everything:
        return tuple(text for _, text in ranked), ""
    chosen, lines = list[str](), 0
    for weight, text in ranked:
        needed = len(textwrap.wrap(f"- {text}", WIDTH, subsequent_indent="  "))
        if weight == Weight.METHOD or len(chosen) == MOST_NOTES:
            break
        if not chosen or lines + needed <= room:
            chosen.append(text)
            lines += needed
    others = plural(len(ranked) - len(chosen), "further note")
    more = f"summary(notes=True) adds {others}, on how the numbers were made."
    return tuple(chosen), more if len(ranked) > len(chosen) else ""

"""The phrases, warnings and notes by which results describe themselves."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import cache
from typing import Any

from statcv import errors
from statcv.folds.strata import ALIKE
from statcv.formula import counted
from statcv.results.writing.writers import Phrases
from statcv.tables import WIDTH, number
from statcv.words import joined, listed, plural, sentence_case, stated, stored_rows


def _in_one_line(pieces: Iterable[Any]) -> str:
    """Return pieces of a text one after the other, a space for each line break."""
    text = re.sub(r"\s*\n\s*", "\n", "".join(map(str, pieces)))
    return text.removeprefix("\n").removesuffix("\n").replace("\n", " ")


def _first_clause(text: str) -> str:
    return re.split("[,;] ", text)[0]


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}".replace(",", " ")


def _share(text: str) -> str:
    found = re.search(r"[\d.]+%", text)
    return found.group() if found else ""


_KNOWN: dict[str, Any] = {"plural": plural, "joined": joined, "listed": listed}
_KNOWN |= {"counted": counted, "form": format, "repr": repr, "ALIKE": ALIKE}
_KNOWN |= {"sentence_case": sentence_case, "clause": _first_clause, "share": _share}
_KNOWN |= {"number": number, "thousands": "{:,}".format, "stated": stated}
_KNOWN |= {"two_digits": _two_digits}
_PHRASES = Phrases(("statcv.results.wording", "phrases.txt"), _in_one_line, **_KNOWN)
phrase, filled = _PHRASES.phrase, _PHRASES.filled


def caution(name: str, /, **facts: Any) -> None:
    """Give a warning of ``warnings.txt``, with facts in place of its fields."""
    kind, text = _table("warnings.txt")[name]
    errors.warn(filled(text, **facts), getattr(errors, kind))


@cache
def _table(file: str) -> dict[str, tuple[str, str]]:
    """Return the kind and the text of each row of a table, by its name."""
    rows = stored_rows("statcv.results.wording", file)
    return {name: (kind, text) for name, kind, text in rows}


# ---- notes, by their weight ----


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


def note(name: str, /, **facts: Any) -> Note:
    """Return a note of ``notes.txt``, with facts in place of its fields.

    >>> note("not converged", failed=2, fits=10)
    (<Weight.UNSOUND: 3>, '2 of 10 fits did not converge.')
    """
    weight, text = _table("notes.txt")[name]
    return Weight[weight], filled(text, **facts)


def noted(name: str, /, **facts: Any) -> str:
    """Return the text of a note alone, where all notes are shown."""
    return note(name, **facts)[1]


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

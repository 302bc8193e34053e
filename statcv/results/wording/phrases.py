"""The phrases by which results describe themselves, from templates."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from statcv import errors
from statcv.folds.strata import ALIKE
from statcv.formula import counted
from statcv.results.writing.writers import phrases
from statcv.tables import number
from statcv.words import joined, listed, plural, sentence_case, stated, stored_rows

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def phrase(name: str, *given: Any) -> str:
    """Return a phrase of ``templates/phrases.txt``, of what it is about."""
    return str(getattr(_environment().globals["say"], name)(*given))


def filled(text: str, /, **facts: Any) -> str:
    """Return a text with facts in place of its fields.

    >>> filled("{fits|plural('fit')}, of which {share|form('.1f')}", fits=2, share=0.5)
    '2 fits, of which 0.5'
    """
    made = _template(text)
    return _in_one_line(made.root_render_func(made.new_context(facts)))


def caution(name: str, /, **facts: Any) -> None:
    """Give a warning of the table, with facts in place of its fields."""
    kind, text = _warnings()[name]
    errors.warn(filled(text, **facts), getattr(errors, kind))


@cache
def _warnings() -> dict[str, tuple[str, str]]:
    rows = stored_rows("statcv.results.wording", "warnings.txt")
    return {name: (kind, text) for name, kind, text in rows}


@cache
def _template(text: str) -> Template:
    return _environment().from_string(text)


@cache
def _environment() -> Environment:
    words = {"plural": plural, "joined": joined, "listed": listed, "counted": counted}
    more = {"form": format, "repr": repr, "thousands": "{:,}".format, "ALIKE": ALIKE}
    more |= {"sentence_case": sentence_case, "clause": _first_clause, "share": _share}
    more |= {"number": number, "stated": stated, "two_digits": _two_digits}
    room = "statcv.results.wording"
    return phrases(room, "phrases.txt", _in_one_line, **words, **more)


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

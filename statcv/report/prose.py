"""The prose of a report, by templates whose fields keep their sources."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from statcv.folds import SCHEMES
from statcv.report import parts
from statcv.report.parts import Cited, Prose, Said
from statcv.results.writing.writers import phrases
from statcv.words import limits_digits, plural

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def prose(template: str, **known: Any) -> Prose:
    """Return a text in which fields in braces stand for what a report cites.

    A field is the name of words, or what is read of a source, which ``|count`` and
    ``|form(".2f")`` show as a number, or a phrase of ``templates/prose.txt``.

    >>> prose("z is {z.imag|form('.0f')} {unit}", z=Cited(2j, "res.z"), unit="m")
    ('z is ', Said(text='2', api='res.z.imag', value=2.0), ' m')
    """
    made = _template(template)
    return _joined(made.root_render_func(made.new_context(known)))


def phrase(name: str, *given: Any) -> Prose:
    """Return a phrase of ``templates/prose.txt``, of what it is about."""
    made: Prose = getattr(_environment().globals["say"], name)(*given)
    return made


@cache
def fields(template: str) -> set[str]:
    """Return the names of the words and sources that a template needs.

    >>> sorted(fields("{plan}; {res.learner.label}; {say.size(res)}"))
    ['plan', 'res']
    """
    from jinja2.meta import find_undeclared_variables

    made = _environment()
    return find_undeclared_variables(made.parse(template)) - made.globals.keys()


@cache
def _template(text: str) -> Template:
    return _environment().from_string(text)


@cache
def _environment() -> Environment:
    """Return the templates of prose, which know each other's phrases."""
    numbers = {"count": parts.count, "form": parts.said, "number": parts.number_of}
    known: dict[str, Any] = {
        "schemes": SCHEMES,
        "limits_digits": limits_digits,
        "isnan": math.isnan,
    }
    known["plural"] = plural
    return phrases("statcv.report", "prose.txt", _joined, **numbers, **known)


def _joined(pieces: Iterable[Any]) -> Prose:
    """Return pieces of a text one after the other, a space for each line break."""
    found: list[str | Said] = []
    for piece in pieces:
        shown = parts.said(piece) if isinstance(piece, Cited) else piece
        for part in parts.as_prose(shown):
            one = part if isinstance(part, Said) else str(part)
            if found and isinstance(one, str) and isinstance(found[-1], str):
                found[-1] += one
            else:
                found.append(one)
    lines = [re.sub(r"\s*\n\s*", "\n", x) if isinstance(x, str) else x for x in found]
    if lines and isinstance(lines[0], str):
        lines[0] = lines[0].removeprefix("\n")
    if lines and isinstance(lines[-1], str):
        lines[-1] = lines[-1].removesuffix("\n")
    return tuple(x.replace("\n", " ") if isinstance(x, str) else x for x in lines if x)

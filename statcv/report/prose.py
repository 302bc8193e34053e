"""The prose of a report, by templates whose fields keep their sources."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from statcv.folds import SCHEMES
from statcv.report import parts
from statcv.report.parts import Cited, Prose, Said
from statcv.results.writing.writers import Phrases
from statcv.words import limits_digits, plural


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


_NUMBERS = {"count": parts.count, "form": parts.said, "number": parts.number_of}
_KNOWN: dict[str, Any] = {"schemes": SCHEMES, "limits_digits": limits_digits}
_KNOWN |= {"isnan": math.isnan, "plural": plural, **_NUMBERS}
_PHRASES = Phrases(("statcv.report", "prose.txt"), _joined, **_KNOWN)
phrase, fields = _PHRASES.phrase, cache(_PHRASES.fields)


def prose(template: str, **known: Any) -> Prose:
    """Return a text in which fields in braces stand for what a report cites.

    A field is the name of words, or what is read of a source, which ``|count`` and
    ``|form(".2f")`` show as a number, or a phrase of ``templates/prose.txt``.

    >>> prose("z is {z.imag|form('.0f')} {unit}", z=Cited(2j, "res.z"), unit="m")
    ('z is ', Said(text='2', api='res.z.imag', value=2.0), ' m')
    """
    return _PHRASES.filled(template, **known)

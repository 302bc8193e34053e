"""A formula updated by another, in whose sides dots stand for the old ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from statcv.errors import FormulaError
from statcv.formula.language import parse
from statcv.formula.language.expansion import DOT, Expansion
from statcv.formula.language.quoting import quoted, without_signs_of_r

_OPERATORS = {"+", "-", "*", "/", ":", "**", "^", "%", "|"}

Summands = list[tuple[str, str]]  # signs and terms


def updated_formula(old: str, new: str, left_out: Sequence[str] = ()) -> str:
    """Replace the dots of a new formula by the sides of an old one, as R's ``update``.

    Removed and repeated terms are not written. A dot of the old formula goes on to mean
    all columns but those that it left out, the columns of its outcome.

    >>> updated_formula("y ~ age + np.log(bmi)", ". ~ . - age")
    'y ~ np.log(bmi)'
    >>> updated_formula("y ~ age + bmi", ". ~ .:sex")
    'y ~ (age + bmi):sex'
    >>> updated_formula("y ~ age", "crp ~ .")
    'crp ~ age'
    """
    new, old = without_signs_of_r(new), without_signs_of_r(old)
    (left, right), (outcome, terms) = (
        parse.written_sides(parse.mark_dots(f)) for f in (new, old)
    )
    if not right or not outcome:
        return new
    if left == outcome and right == DOT != terms:
        raise FormulaError(
            f"a dot in update() stands for the terms of the result, so that {new!r} is "
            "its own formula; call cv() for all columns of the data."
        )
    outcome = (left or DOT).replace(DOT, outcome)
    if DOT in terms:
        gone = (one for one in map(quoted, left_out) if not _has_name(outcome, one))
        terms += "".join(f" - {one}" for one in gone)
    full = right.replace(DOT, f"({terms})")
    try:
        meant = _expansion(full)
    except FormulaError:
        return _dotted(
            f"{outcome} ~ {full}"
        )  # raises an error later, with the position
    put = _put(right, terms)
    for found in (_without_doubles(put), put):
        said = _said(found)
        if _same(said, meant):
            return _dotted(f"{outcome} ~ {said}")
    return _dotted(f"{outcome} ~ {full}")


def updated_in_comparison(first: str, formula: str) -> str:
    """Update the first formula by another, in which dots may mean all other columns.

    They do if the other names its outcome.

    >>> updated_in_comparison("y ~ age", ". ~ . + bmi")
    'y ~ age + bmi'
    >>> updated_in_comparison("y ~ age", "y ~ .")
    'y ~ .'
    """
    left = parse.written_sides(parse.mark_dots(without_signs_of_r(formula)))[0]
    return formula if left and DOT not in left else updated_formula(first, formula)


def _has_name(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _put(text: str, terms: str) -> Summands:
    """Return the summands of a side, with its dots replaced by another side's."""
    found: Summands = []
    inside = f"({terms})" if parse.top_level(terms, _OPERATORS) else terms
    for sign, term in _summands(text):
        if (sign, term) == ("+", DOT):
            found += _summands(terms)
        else:
            found.append((sign, term.replace(DOT, inside)))
    return found


def _without_doubles(summands: Summands) -> Summands:
    """Drop summands that are removed again or repeated, and a redundant intercept."""
    found: dict[str, tuple[str, str]] = {}
    for sign, term in summands:
        key = "".join(term.split())
        if key in found and found[key][0] != sign:
            del found[key]
        elif key not in found:
            found[key] = (sign, term)
    if len(found) > 1 and found.get("1") == ("+", "1"):
        del found["1"]
    return list(found.values())


def _said(summands: Summands) -> str:
    """Write a sum; an empty sum is the intercept."""
    text = " ".join(f"{sign} {term}" for sign, term in summands) or "1"
    return f"-{text[2:]}" if text.startswith("- ") else text.removeprefix("+ ")


def _same(text: str, meant: Expansion) -> bool:
    """Return whether two sides have the same terms in the same order."""
    try:
        found = _expansion(text)
    except FormulaError:
        return False
    intercepts = {found.intercept is not False, meant.intercept is not False}
    return found.ordered == meant.ordered and len(intercepts) == 1


def _expansion(text: str) -> Expansion:
    """Expand a side; ``.`` stands for a column of that name."""
    return parse.expanded(parse.sides(f"y ~ {_dotted(text)}")[1], [quoted(".")])


def _summands(text: str) -> Summands:
    """Split a side at each ``+`` and ``-`` that is not in brackets."""
    found: Summands = []
    sign, start = "+", 0
    for place in [*parse.top_level(text, {"+", "-"}), len(text)]:
        term = text[start:place].strip()
        if term:
            found.append((sign, term))
            sign = "+"
        if text[place : place + 1] == "-":
            sign = "-" if sign == "+" else "+"
        start = place + 1
    return found


def _dotted(text: str) -> str:
    return text.replace(DOT, ".")

"""The terms of a formula, and sets of them.

A set of terms is an integer whose binary digits say which terms it has, so that equal
sets of different training sets are equal keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from statcv.errors import ArgumentError, suggestion
from statcv.formula import Design, is_offset


@dataclass(frozen=True)
class Term:
    """A term of a formula: a covariate, a factor, a spline, or an interaction.

    Attributes
    ----------
    name : str
    columns : tuple of int
        Its columns of the matrix.
    factors : frozenset of str
        The variables whose product it is.
    """

    name: str
    columns: tuple[int, ...]
    factors: frozenset[str]

    def contains(self, other: Term) -> bool:
        """Return whether the other term is a main effect below this interaction."""
        return other.factors < self.factors


def terms_of(design: Design) -> tuple[Term, ...]:
    """Return the terms of a design besides intercept and offsets, in their order.

    A factor of one level has no column, and cannot be chosen.
    """
    places: dict[tuple[str, ...], list[int]] = {}
    for j, term in enumerate(design.terms.origins):
        places.setdefault(term, []).append(j)
    return tuple(
        Term(":".join(codes), tuple(places[codes]), frozenset(codes))
        for codes in design.formula.terms
        if codes in places and codes and not is_offset(codes[0])
    )


def forced_by(keep: Iterable[str], terms: tuple[Term, ...]) -> int:
    """Return the set of terms that are kept by name, with those that they contain.

    Raises
    ------
    ArgumentError
        If a name is not that of a term.
    """
    made, named = 0, {frozenset(_parts(term.name)): term for term in terms}
    for name in keep:
        found = named.get(frozenset(_parts(name)))
        if found is None:
            known = [term.name for term in terms]
            raise ArgumentError(
                f"keep= names {name!r}, which is not a term of the formula; its terms "
                f"are {', '.join(known[:8])}{', …' * (len(known) > 8)}."
                + suggestion(name, known)
            )
        for place, term in enumerate(terms):
            if term == found or found.contains(term):
                made |= 1 << place
    return made


def _parts(name: str) -> list[str]:
    return "".join(name.split()).split(":")


def members(chosen: int) -> Iterator[int]:
    """Yield the places of the terms of a set.

    >>> list(members(0b1010))
    [1, 3]
    """
    while chosen:
        low = chosen & -chosen
        yield low.bit_length() - 1
        chosen ^= low


def droppable(chosen: int, forced: int, terms: tuple[Term, ...]) -> list[int]:
    """Return the terms that may leave a set: no other one of it contains them."""
    inside = [terms[place] for place in members(chosen)]
    return [
        place
        for place in members(chosen & ~forced)
        if not any(other.contains(terms[place]) for other in inside)
    ]


def addable(chosen: int, upper: int, terms: tuple[Term, ...]) -> list[int]:
    """Return the terms that may enter a set: it has all main effects below them."""
    outside = [terms[place] for place in members(upper & ~chosen)]
    return [
        place
        for place in members(upper & ~chosen)
        if not any(terms[place].contains(other) for other in outside)
    ]

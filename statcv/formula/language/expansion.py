"""The terms for which the operators of a formula stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import patsy

from statcv.formula.language.limits import MAX_INTERACTIONS, check_count
from statcv.formula.language.quoting import column_of, quoted

DOT = "ꓸ"  # stands in for '.' while patsy reads: one sign, so carets keep their place

Term = tuple[str, ...]


@dataclass
class Expansion:
    """Distinct terms, and whether an intercept was asked for (None: not stated).

    The key of a term is its factor, or the set of its factors if it has several.
    """

    terms: dict[str | frozenset[str], Term] = field(default_factory=dict)
    intercept: bool | None = None

    def add(self, *terms: Term) -> None:
        """Add terms that are new, with each factor of a term once."""
        for term in terms:
            term = tuple(dict.fromkeys(term))
            key = term[0] if len(term) == 1 else frozenset(term)
            self.terms.setdefault(key, term)

    @property
    def ordered(self) -> tuple[Term, ...]:
        """The terms by degree, then as written."""
        return tuple(sorted(self.terms.values(), key=len))


def expand(tree: Any, dot: Sequence[str] | None) -> Expansion:
    """Expand a tree of patsy's parser.

    Parameters
    ----------
    tree : patsy.parse_formula.ParseNode
        Tree of one side of the formula.
    dot : sequence of str or None
        Codes of the columns that ``.`` stands for; None where it has no meaning.

    Raises
    ------
    patsy.PatsyError
        If an operator is not supported; the error holds its position.
    """
    chain = []  # a + b - c + … from its end: a loop, since it may be long
    while tree.type in ("+", "-") and len(tree.args) == 2:
        chain.append(tree)
        tree = tree.args[0]
    found = _expand_one(tree, dot)
    for node in reversed(chain):
        other = expand(node.args[1], dot)
        if node.type == "+":
            for key, term in other.terms.items():
                found.terms.setdefault(key, term)
            if other.intercept is not None:
                found.intercept = other.intercept
        else:
            for key in other.terms:
                found.terms.pop(key, None)
            if other.intercept or node.args[1].type == "ZERO":
                found.intercept = not other.intercept
    return found


def mentioned(tree: Any) -> list[str]:
    """Return the expressions of a tree, including those that it removes again."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.args)
        if node.type == "PYTHON_EXPR" and node.token.extra != DOT:
            found.append(_code(node))
    return found[::-1]


def _code(node: Any) -> str:
    """Return the canonical code of an expression, unique for each column."""
    code = str(node.token.extra)
    column = column_of(code)
    return code if column is None else quoted(column)


def _expand_one(node: Any, dot: Sequence[str] | None) -> Expansion:
    kind, arity = node.type, len(node.args)
    if kind in ("ZERO", "ONE"):
        return Expansion(intercept=kind == "ONE")
    if kind == "PYTHON_EXPR":
        return _factor(node, dot)
    if kind == "**":
        return _power(node, dot)
    if kind in ("*", ":", "/"):
        left, right = (_interacting(part, dot) for part in node.args)
        return _interaction(kind, left, right)
    if kind == "+" and arity == 1:
        return expand(node.args[0], dot)
    if kind == "-" and node.args[0].type in ("ZERO", "ONE"):
        return Expansion(intercept=node.args[0].type == "ZERO")
    raise _error(_REFUSED.get(kind, f"the operator {kind!r} is not known here"), node)


_REFUSED = {
    "-": "only 1 or 0 can be subtracted where no term stands before '-'",
    "~": "'~' can stand once only, between the outcome and the predictors",
    "NUMBER": "only the numbers 0 and 1 can be terms; write I(2 * x) for a product",
}


def _factor(node: Any, dot: Sequence[str] | None) -> Expansion:
    code = node.token.extra
    found = Expansion()
    if code == DOT and dot is None:
        raise _error("'.' means nothing on the left of '~'", node)
    if code == DOT and not dot:
        raise _error("'.' stands for no column: the data have no others", node)
    if code == DOT:
        found.terms = dict(zip(dot or (), zip(dot or ()), strict=True))
    elif DOT in code:
        raise _error("'.' stands for columns only where it is a term by itself", node)
    else:
        found.add((_code(node),))
    return found


def _interacting(node: Any, dot: Sequence[str] | None) -> Expansion:
    found = expand(node, dot)
    if found.intercept:
        raise _error("the intercept cannot interact with anything", node)
    return found


def _interaction(kind: str, left: Expansion, right: Expansion) -> Expansion:
    found = Expansion(intercept=_taken_out(left, right))
    ours = list(left.terms.values())
    if kind != "/":
        pairs = len(ours) * len(right.terms)
        check_count(pairs, 10 * MAX_INTERACTIONS, "interactions")
    if kind != ":":
        found.add(*ours)
    if kind == "*":
        found.add(*right.terms.values())
    if kind == "/":  # (a + b)/c is a + b + a:b:c, as in R
        ours = [tuple(code for term in ours for code in term)]
    found.add(*(a + b for a in ours for b in right.terms.values()))
    return found


def _power(node: Any, dot: Sequence[str] | None) -> Expansion:
    base = _interacting(node.args[0], dot)
    exponent = getattr(node.args[1].token, "extra", None) or ""
    if not exponent.isdecimal() or int(exponent) < 1:
        raise _error("'**' needs an integer of 1 or more after it", node.args[1])
    found = Expansion(intercept=_taken_out(base))
    found.add(*base.terms.values())
    latest = base
    for _ in range(1, min(int(exponent), len(base.terms))):
        latest = _interaction(":", latest, base)
        found.add(*latest.terms.values())
    return found


def _taken_out(*parts: Expansion) -> bool | None:
    return False if any(part.intercept is False for part in parts) else None


def _error(message: str, node: Any) -> Exception:
    error: Exception = patsy.PatsyError(message, node)
    return error

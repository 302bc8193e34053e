"""The text of a formula: an outcome expression and the terms of the predictors.

patsy parses the text, but its expansion of the terms is not used. It recurses at every
``+`` and compares each term with all others, which fails beyond a few hundred columns,
and it keeps the intercept in ``x + -1`` and ``(x - 1) * z``, where R removes it.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import Any

from statcv.errors import FormulaError, plural
from statcv.formula.limits import (
    MAX_INTERACTIONS,
    check_cost,
    check_count,
    check_length,
)
from statcv.formula.quoting import column_of, quoted, without_signs_of_r
from statcv.formula.scope import Factor, column_factor, resolve

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
    import patsy

    error: Exception = patsy.PatsyError(message, node)
    return error


# ---- formula text → outcome expression and terms of the predictors ----

_CLOSING = {")", "]", "}"}
_ARITHMETIC = {"**", "-", "*", "/"}


@dataclass(frozen=True)
class Formula:
    """A parsed formula.

    Attributes
    ----------
    text : str
        The formula as the user wrote it.
    outcome : str
        The expression on the left.
    intercept : bool
        Whether there is an intercept.
    terms : tuple of tuple of str
        One tuple of factor expressions per term, ordered by degree as in R, and then as
        written. The empty tuple is the intercept.
    factors : dict
        Factor of each expression, the outcome included.
    outcome_columns, columns : tuple of str
        Columns of the data used on the left, and on the right.
    functions : dict
        Functions and modules that the expressions use, by name.
    """

    text: str
    outcome: str
    intercept: bool
    terms: tuple[Term, ...]
    factors: Mapping[str, Factor]
    outcome_columns: tuple[str, ...]
    columns: tuple[str, ...]
    functions: Mapping[str, Any]

    @cached_property
    def multiplies(self) -> bool:
        """Whether every term is a product of columns."""
        codes = chain.from_iterable(self.terms)
        return all(self.factors[code].column is not None for code in codes)

    @cached_property
    def products(self) -> tuple[Term, ...]:
        """The columns whose product each term is, if it ``multiplies``."""
        columns = {code: str(one.column) for code, one in self.factors.items()}
        return tuple(tuple(columns[code] for code in term) for term in self.terms)

    def __getstate__(self) -> dict[str, Any]:
        """Replace modules, which do not pickle, by their names."""
        names = {
            name: _Module(value.__name__) if isinstance(value, ModuleType) else value
            for name, value in self.functions.items()
        }
        return {**self.__dict__, "functions": names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        functions = {
            name: import_module(value.name) if isinstance(value, _Module) else value
            for name, value in state["functions"].items()
        }
        self.__dict__.update(state, functions=functions)


@dataclass(frozen=True)
class _Module:
    name: str


def parse_formula(
    text: object,
    columns: Sequence[str],
    scope: Mapping[str, Any],
    not_in_dot: Collection[str] = (),
) -> Formula:
    """Parse a formula, given the columns of the data.

    ``.`` on the right stands for every column that is neither on the left nor in
    ``not_in_dot``.

    Parameters
    ----------
    text : str
    columns : sequence of str
        All columns.
    scope : mapping
        Names that the formula may call.
    not_in_dot : collection of str
        Columns that ``.`` does not stand for.

    Raises
    ------
    FormulaError
        If the formula cannot be parsed; the message marks the position.
    ColumnError
        If it names a column that the data do not have.
    """
    if not isinstance(text, str):
        kind = type(text).__name__
        raise FormulaError(f"the formula must be text, 'y ~ x1 + x2', not {kind}.")
    text = text.replace("\n", " ").strip()
    check_length(text, columns)
    left, right = sides(without_signs_of_r(text))
    if left.type in _ARITHMETIC and left.args[-1].type != "ONE":  # R computes there
        computed = _sides(without_signs_of_r(text))[0]
        left = sides(f"I({computed}) ~ 1")[0]
    outcome = _single_outcome(expanded(left), text)
    known = dict.fromkeys(columns)
    left_factors, functions = resolve([outcome], known, scope)
    outcome_columns = left_factors[outcome].columns
    gone = {*outcome_columns, *not_in_dot}
    dot = {quoted(column): column for column in columns if column not in gone}
    found = expanded(right, tuple(dot))
    terms, intercept = found.ordered, found.intercept is not False
    several = [term for term in terms if len(term) > 1]
    check_count(len(several), MAX_INTERACTIONS + 2 * len(dot), "interactions")
    if not (intercept or terms):
        raise FormulaError(f"the formula {text!r} leaves no column to fit.")
    codes = dict.fromkeys(chain.from_iterable(terms))
    named = [code for code in codes if code not in dot]
    # a misspelt name is an error where it is taken away, too
    asked = dict.fromkeys([*named, *mentioned(right)])
    read, more_functions = resolve(asked, known, scope)
    for term in several:
        if any("(" in code for code in term):  # the columns of a product of bases
            check_cost(ast.parse(f"[{', '.join(term)}]"), ":".join(term))
    renamed = "Q" in known
    of_dot = {c: column_factor(c, dot[c], renamed) for c in codes if c in dot}
    factors = {**left_factors, **of_dot, **read}
    in_order = chain.from_iterable(factors[code].columns for code in codes)
    used = tuple(dict.fromkeys(in_order))
    _refuse_both_sides(outcome_columns, used)
    return Formula(
        text=text,
        outcome=outcome,
        intercept=intercept,
        terms=((), *terms) if intercept else terms,
        factors=factors,
        outcome_columns=outcome_columns,
        columns=used,
        functions={**functions, **more_functions},
    )


def _refuse_both_sides(outcome: Collection[str], used: Sequence[str]) -> None:
    both = [column for column in used if column in outcome]
    if both:
        raise FormulaError(
            f"{both[0]!r} stands on both sides of the formula: the outcome cannot "
            "predict itself."
        )


@lru_cache(maxsize=128)
def sides(text: str) -> tuple[Any, Any]:
    """Return patsy's parse trees of the two sides of ``~``."""
    import patsy
    from patsy.parse_formula import parse_formula

    if text.endswith("~"):
        raise FormulaError(
            f"the formula {text!r} has nothing on the right of '~'; "
            "'y ~ 1' is the model without predictors."
        )
    try:
        tree = parse_formula(mark_dots(text))
    except patsy.PatsyError as error:
        raise _unreadable(error) from None
    except RecursionError:
        raise FormulaError("the formula has too many nested brackets.") from None
    if len(tree.args) != 2:
        hint = " (the outcome is set off by '~', not '=')" if "=" in text else ""
        raise FormulaError(
            f"the formula {text!r} has no outcome on the left: write 'y ~ …'{hint}."
        )
    return tree.args[0], tree.args[1]


def expanded(tree: Any, dot: Sequence[str] | None = None) -> Expansion:
    """Return the terms of a side, or raise an error that marks the position."""
    import patsy

    try:
        return expand(tree, dot)
    except patsy.PatsyError as error:
        raise _unreadable(error) from None
    except RecursionError:
        raise FormulaError("the formula has too many nested brackets.") from None


def _unreadable(error: Exception) -> FormulaError:
    """Return patsy's message, with the position marked below and the dots restored."""
    message, *place = str(error).replace(DOT, ".").splitlines()
    if any("::" in line for line in place):
        message += "; functions are written without their package of R"
    return FormulaError("\n".join([f"cannot read the formula: {message}", *place]))


def _single_outcome(left: Expansion, text: str) -> str:
    terms = left.ordered
    if len(terms) != 1 or len(terms[0]) != 1 or left.intercept is not None:
        raise FormulaError(
            f"the formula {text!r} must have one outcome on the left of '~', "
            f"not {plural(len(terms), 'term')}; a sum or a product is written I(a + b) "
            "or I(a * b)."
        )
    return terms[0][0]


def mark_dots(text: str) -> str:
    """Mark each ``.`` that stands alone, not the ones of ``np.log`` or ``.5``."""
    marked = list(text)
    before = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            after_noun = before is not None and (
                before.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING)
                or before.string in _CLOSING
            )
            if token.string == "." and not after_noun:
                marked[token.start[1]] = DOT
            before = token
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser reports what is unclosed, and where
    return "".join(marked)


# ---- updating by another formula, in which dots stand for sides ----

_OPENING = {"(", "[", "{"}
_OPERATORS = {"+", "-", "*", "/", ":", "**", "^", "%", "|"}

Summands = list[tuple[str, str]]  # signs and terms


def updated_formula(old: str, new: str) -> str:
    """Replace the dots of a new formula by the sides of an old one, as R's ``update``.

    The dots are replaced only if the left side is a dot, contains one, or is absent;
    otherwise ``.`` means all other columns. Removed and repeated terms are not written.

    >>> updated_formula("y ~ age + np.log(bmi)", ". ~ . - age")
    'y ~ np.log(bmi)'
    >>> updated_formula("y ~ age + bmi", ". ~ .:sex")
    'y ~ (age + bmi):sex'
    >>> updated_formula("y ~ age", "y ~ .")
    'y ~ .'
    """
    new, old = without_signs_of_r(new), without_signs_of_r(old)
    (left, right), (outcome, terms) = (_sides(mark_dots(f)) for f in (new, old))
    if not right or not outcome or (left and DOT not in left):
        return new
    outcome = (left or DOT).replace(DOT, outcome)
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


def _sides(text: str) -> tuple[str, str]:
    """Return the text left and right of ``~``, empty if a side is absent."""
    text = text.replace("\n", " ")
    place = next(iter(_top_level(text, {"~"})), len(text))
    return text[:place].strip(), text[place + 1 :].strip()


def _put(text: str, terms: str) -> Summands:
    """Return the summands of a side, with its dots replaced by another side's."""
    found: Summands = []
    inside = f"({terms})" if _top_level(terms, _OPERATORS) else terms
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
    return expanded(sides(f"y ~ {_dotted(text)}")[1], [quoted(".")])


def _summands(text: str) -> Summands:
    """Split a side at each ``+`` and ``-`` that is not in brackets."""
    found: Summands = []
    sign, start = "+", 0
    for place in [*_top_level(text, {"+", "-"}), len(text)]:
        term = text[start:place].strip()
        if term:
            found.append((sign, term))
            sign = "+"
        if text[place : place + 1] == "-":
            sign = "-" if sign == "+" else "+"
        start = place + 1
    return found


def _top_level(text: str, operators: Collection[str]) -> list[int]:
    """Return the positions of operators outside brackets and strings."""
    depth, places = 0, []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.string in _OPENING:
                depth += 1
            elif token.string in _CLOSING:
                depth -= 1
            elif depth == 0 and token.string in operators:
                places.append(token.start[1])
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser reports what is unclosed, and where
    return places


def _dotted(text: str) -> str:
    return text.replace(DOT, ".")

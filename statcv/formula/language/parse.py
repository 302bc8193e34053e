"""The text of a formula: an outcome expression and the terms of the predictors.

patsy parses the text, but its expansion of the terms is not used. It recurses at every
``+`` and compares each term with all others, which fails beyond a few hundred columns,
and it keeps the intercept in ``x + -1`` and ``(x - 1) * z``, where R removes it.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import chain, product
from types import ModuleType
from typing import Any

import patsy
import patsy.parse_formula

from statcv.errors import ColumnError, FormulaError
from statcv.formula.language import limits
from statcv.formula.language.expansion import DOT, Expansion, Term, expand, mentioned
from statcv.formula.language.quoting import (
    quoted,
    without_backticks,
    without_signs_of_r,
)
from statcv.formula.language.reader import resolve
from statcv.formula.language.scope import Factor, Scope, column_factor
from statcv.formula.outcomes.survival import surv_arguments
from statcv.tables import Printed, Said
from statcv.words import plural

_OPENING = {"(", "[", "{"}
_CLOSING = {")", "]", "}"}
_ARITHMETIC = {"**", "-", "*", "/"}
# functions that make a whole term
ALONE = {"offset": "y ~ x + offset(log(days))", "strata": "y ~ x + strata(hospital)"}


@dataclass(frozen=True, repr=False)
class Formula(Printed):
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
    survival : tuple of str
        Expressions of time and status, if the outcome is ``Surv(time, status)``.
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
    survival: tuple[str, ...]
    outcome_columns: tuple[str, ...]
    columns: tuple[str, ...]
    functions: Mapping[str, Any]

    def _said(self) -> Said:
        terms = [":".join(term) for term in self.terms if term]
        return self.text, {"outcome": self.outcome, "terms": terms}

    @cached_property
    def multiplies(self) -> bool:
        """Whether every term is a product of columns."""
        codes = chain.from_iterable(self.terms)
        return all(self.factors[code].column is not None for code in codes)

    @cached_property
    def products(self) -> tuple[Term, ...]:
        """The columns whose product each term is, if it ``multiplies``."""
        columns = {code: str(one.column) for code, one in self.factors.items()}
        return tuple(tuple(map(columns.__getitem__, term)) for term in self.terms)

    def __getstate__(self) -> dict[str, Any]:
        """Replace modules, which do not pickle, by their names."""
        names = {
            name: value.__name__ if isinstance(value, ModuleType) else value
            for name, value in self.functions.items()
        }
        return {**self.__dict__, "functions": names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        functions = {
            name: import_module(value) if isinstance(value, str) else value
            for name, value in state["functions"].items()
        }
        self.__dict__.update(state, functions=functions)


def parse_formula(
    text: object, columns: Sequence[str], scope: Scope, not_in_dot: Collection[str] = ()
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
    try:
        return _parsed(text, columns, scope, not_in_dot)
    except (FormulaError, ColumnError) as error:
        name = without_backticks(text, columns)
        if name is None or "backticks" in str(error):
            raise
        hint = f"Write the column {name!r} in backticks: `{name}`."
        apart = "\n" if "\n" in str(error) else " "
        raise type(error)(f"{error}{apart}{hint}") from None


def _parsed(
    text: str,
    columns: Sequence[str],
    scope: Mapping[str, Any],
    not_in_dot: Collection[str],
) -> Formula:
    text = text.replace("\n", " ").strip()
    limits.check_length(text, columns)
    left, right = sides(without_signs_of_r(text))
    if left.type in _ARITHMETIC and left.args[-1].type != "ONE":  # R computes there
        computed = written_sides(without_signs_of_r(text))[0]
        left = sides(f"I({computed}) ~ 1")[0]
    outcome = _single_outcome(expanded(left), text)
    known = dict.fromkeys(columns)
    survival = surv_arguments(outcome)
    left_factors, functions = resolve(survival or [outcome], known, scope)
    on_left = chain.from_iterable(one.columns for one in left_factors.values())
    outcome_columns = tuple(dict.fromkeys(on_left))
    gone = {*outcome_columns, *not_in_dot}
    dot = {quoted(column): column for column in columns if column not in gone}
    found = expanded(right, tuple(dot))
    terms, intercept = found.ordered, found.intercept is not False
    _refuse_part_of_another(terms)
    several = [term for term in terms if len(term) > 1]
    limits.check_count(
        len(several), limits.MAX_INTERACTIONS + 2 * len(dot), "interactions"
    )
    if not (intercept or terms):
        raise FormulaError(f"the formula {text!r} leaves no column to fit.")
    codes = dict.fromkeys(chain.from_iterable(terms))
    named = [code for code in codes if code not in dot]
    # a misspelt name is an error where it is taken away, too
    asked = dict.fromkeys([*named, *mentioned(right)])
    read, more_functions = resolve(asked, known, scope)
    for term in several:
        if any("(" in code for code in term):  # the columns of a product of bases
            limits.check_cost(ast.parse(f"[{', '.join(term)}]"), ":".join(term))
    renamed = "Q" in known
    of_dot = {c: column_factor(c, dot[c], renamed) for c in codes if c in dot}
    factors = {**left_factors, **of_dot, **read}
    in_order = chain.from_iterable(factors[code].columns for code in codes)
    used = tuple(dict.fromkeys(in_order))
    both = [column for column in used if column in outcome_columns]
    if both:
        raise FormulaError(
            f"{both[0]!r} stands on both sides of the formula: the outcome cannot "
            "predict itself."
        )
    return Formula(
        text=text,
        outcome=outcome,
        intercept=intercept,
        terms=((), *terms) if intercept else terms,
        factors=factors,
        survival=survival,
        outcome_columns=outcome_columns,
        columns=used,
        functions={**functions, **more_functions},
    )


def outcome_columns(outcome: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of ``Surv(time, status)``; any other outcome is a column."""
    if outcome in columns or not outcome.startswith("Surv("):
        return (outcome,)
    return parse_formula(f"{outcome} ~ 1", columns, {}).outcome_columns


def _refuse_part_of_another(terms: Collection[Term]) -> None:
    """Check that offset() and strata() are terms by themselves, and strata() once."""
    calling = [term for term in terms if "(" in "".join(term)]
    for term, (name, as_in) in product(calling, ALONE.items()):
        for code in term:
            alone = len(term) == 1 and code.startswith(f"{name}(")
            alone = alone and code.count(f"{name}(") == 1
            if re.search(rf"\b{name}\(", code) and not (
                alone and isinstance(ast.parse(code, mode="eval").body, ast.Call)
            ):
                raise FormulaError(
                    f"{':'.join(term)!r}: {name}() is a term by itself, as in "
                    f"{as_in!r}."
                )
    several = [code for term in calling for code in term if is_strata(code)]
    if len(several) > 1:
        inside = ", ".join(code[len("strata(") : -1] for code in several)
        raise FormulaError(
            f"{' + '.join(several)}: the strata are one term, strata({inside})."
        )


def is_offset(name: str) -> bool:
    """Return whether a term, or a column of the matrix, has a coefficient of 1."""
    return name.startswith("offset(")


def is_strata(name: str) -> bool:
    """Return whether a term, or a column of the matrix, says which baseline is used."""
    return name.startswith("strata(")


@lru_cache(maxsize=128)
def sides(text: str) -> tuple[Any, Any]:
    """Return patsy's parse trees of the two sides of ``~``."""
    if text.endswith("~"):
        raise FormulaError(
            f"the formula {text!r} has nothing on the right of '~'; "
            "'y ~ 1' is the model without predictors."
        )
    try:
        tree = patsy.parse_formula.parse_formula(mark_dots(text))
    except (patsy.PatsyError, RecursionError) as error:
        raise _unreadable(error) from None
    if len(tree.args) != 2:
        hint = " (the outcome is set off by '~', not '=')" if "=" in text else ""
        raise FormulaError(
            f"the formula {text!r} has no outcome on the left: write 'y ~ …'{hint}."
        )
    return tree.args[0], tree.args[1]


def expanded(tree: Any, dot: Sequence[str] | None = None) -> Expansion:
    """Return the terms of a side, or raise an error that marks the position."""
    try:
        return expand(tree, dot)
    except (patsy.PatsyError, RecursionError) as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> FormulaError:
    """Return patsy's message, with the position marked below and the dots restored."""
    if isinstance(error, RecursionError):
        return FormulaError("the formula has too many nested brackets.")
    message, *place = str(error).replace(DOT, ".").splitlines()
    if any("::" in line for line in place):
        message += "; functions are written without their package of R"
    if any("$" in line for line in place):
        message += "; columns are written without their data frame"
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


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens up to the first error."""
    # the parser reports what is unclosed, and where
    with suppress(tokenize.TokenError, SyntaxError):
        yield from tokenize.generate_tokens(io.StringIO(text).readline)


def mark_dots(text: str) -> str:
    """Mark each ``.`` that stands alone, not the ones of ``np.log`` or ``.5``."""
    marked, before = list(text), None
    for token in _tokens(text):
        after_noun = before is not None and (
            before.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING)
            or before.string in _CLOSING
        )
        if token.string == "." and not after_noun:
            marked[token.start[1]] = DOT
        before = token
    return "".join(marked)


def written_sides(text: str) -> tuple[str, str]:
    """Return the text left and right of ``~``, empty if a side is absent."""
    text = text.replace("\n", " ")
    place = next(iter(top_level(text, {"~"})), len(text))
    return text[:place].strip(), text[place + 1 :].strip()


def top_level(text: str, operators: Collection[str]) -> list[int]:
    """Return the positions of operators outside brackets and strings."""
    depth, places = 0, []
    for token in _tokens(text):
        if token.string in _OPENING:
            depth += 1
        elif token.string in _CLOSING:
            depth -= 1
        elif depth == 0 and token.string in operators:
            places.append(token.start[1])
    return places

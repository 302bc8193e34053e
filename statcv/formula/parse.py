"""The text of a formula → one outcome expression and the terms of the predictors."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from statcv.errors import FormulaError
from statcv.formula.operators import DOT, Expansion, Term, expand, mentioned
from statcv.formula.scope import Factor, resolve

_CLOSING = {")", "]", "}"}


@dataclass(frozen=True)
class Formula:
    """A parsed formula.

    Attributes
    ----------
    text : str
        The formula as the user wrote it.
    outcome : str
        The expression on the left.
    terms : tuple of tuple of str
        A tuple of factor expressions a term, by degree and then as written, as R
        orders them; the empty tuple is the intercept.
    factors : dict
        What each expression is, the outcome's too.
    outcome_columns, columns : tuple of str
        Columns of the data used on the left, and on the right.
    functions : dict
        Functions and modules that the expressions use, by name.
    """

    text: str
    outcome: str
    terms: tuple[Term, ...]
    factors: Mapping[str, Factor]
    outcome_columns: tuple[str, ...]
    columns: tuple[str, ...]
    functions: Mapping[str, Any]

    def __getstate__(self) -> dict[str, Any]:
        """Modules do not pickle: keep their names."""
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


def parse(
    text: object,
    columns: Collection[str],
    scope: Mapping[str, Any],
    not_in_dot: Collection[str] = (),
) -> Formula:
    """Read a formula against the columns of the data.

    ``.`` on the right stands for every column that is not on the left and not in
    ``not_in_dot``.

    Raises
    ------
    FormulaError
        If the formula cannot be read; the message points at the place.
    ColumnError
        If it names a column that the data do not have.
    """
    if not isinstance(text, str):
        kind = type(text).__name__
        raise FormulaError(f"the formula must be text, 'y ~ x1 + x2', not {kind}.")
    text = text.replace("\n", " ").strip()
    left, right = sides(text)
    outcome = _single_outcome(expanded(left), text)
    factors, functions = resolve([outcome], columns, scope)
    outcome_columns = factors[outcome].columns
    others = [c for c in columns if c not in {*outcome_columns, *not_in_dot}]
    found = expanded(right, others)
    predictors = found.ordered
    if found.intercept is not False:
        predictors = ((), *predictors)
    if not predictors:
        raise FormulaError(f"the formula {text!r} leaves no column to fit.")
    codes = dict.fromkeys(code for term in predictors for code in term)
    # a misspelt name is an error where it is taken away, too
    on_right, more_functions = resolve([*codes, *mentioned(right)], columns, scope)
    used = dict.fromkeys(c for code in codes for c in on_right[code].columns)
    both = [column for column in used if column in outcome_columns]
    if both:
        raise FormulaError(
            f"{both[0]!r} stands on both sides of the formula: the outcome cannot "
            "predict itself."
        )
    return Formula(
        text=text,
        outcome=outcome,
        terms=predictors,
        factors={**factors, **on_right},
        outcome_columns=outcome_columns,
        columns=tuple(used),
        functions={**functions, **more_functions},
    )


def sides(text: str) -> tuple[Any, Any]:
    """Return patsy's parse trees of what stands left and right of ``~``."""
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
    if len(tree.args) != 2:
        hint = " (the outcome is set off by '~', not '=')" if "=" in text else ""
        raise FormulaError(
            f"the formula {text!r} has no outcome on the left: write 'y ~ …'{hint}."
        )
    return tree.args[0], tree.args[1]


def expanded(tree: Any, dot: Sequence[str] | None = None) -> Expansion:
    """Return the terms of a side; a formula that has none is refused with the place."""
    import patsy

    try:
        return expand(tree, dot)
    except patsy.PatsyError as error:
        raise _unreadable(error) from None


def _unreadable(error: Exception) -> FormulaError:
    """Return patsy's message, which shows the place below, with the dots put back."""
    message, *place = str(error).replace(DOT, ".").splitlines()
    if "'^" in message:
        message += "; '^' is no power here, write (a + b)**2 for all pairs of terms"
    return FormulaError("\n".join([f"cannot read the formula: {message}", *place]))


def _single_outcome(left: Expansion, text: str) -> str:
    terms = left.ordered
    if len(terms) != 1 or len(terms[0]) != 1 or left.intercept is not None:
        raise FormulaError(
            f"the formula {text!r} must have one outcome on the left of '~', "
            f"not {len(terms)} terms."
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

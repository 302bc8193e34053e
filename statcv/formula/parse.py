"""The text of a formula → one outcome expression and the terms of the predictors."""

from __future__ import annotations

import io
import keyword
import tokenize
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from statcv.errors import FormulaError
from statcv.formula.scope import resolve

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
        A tuple of factor expressions a term; the empty tuple is the intercept.
    outcome_columns, columns : tuple of str
        Columns of the data used on the left, and on the right.
    functions : dict
        Functions and modules that the expressions use, by name.
    """

    text: str
    outcome: str
    terms: tuple[tuple[str, ...], ...]
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
    left, tilde, right = text.partition("~")
    if not tilde or not left.strip():
        hint = " (the outcome is set off by '~', not '=')" if "=" in left else ""
        raise FormulaError(
            f"the formula {text!r} has no outcome on the left: write 'y ~ …'{hint}."
        )
    if not right.strip():
        raise FormulaError(
            f"the formula {text!r} has nothing on the right of '~'; "
            "'y ~ 1' is the model without predictors."
        )
    placeholder = _replace_dots(right, "__dot__")
    described = _describe(f"{left}~{placeholder}")
    outcome = _single_outcome(described, text)
    outcome_columns, outcome_functions = resolve([outcome], columns, scope)
    if placeholder != right:
        others = [c for c in columns if c not in {*outcome_columns, *not_in_dot}]
        if not others:
            raise FormulaError("'.' stands for no column: the data have no others.")
        dots = "(" + " + ".join(map(quoted, others)) + ")"
        described = _describe(f"{left}~{_replace_dots(right, dots)}")
    terms = tuple(
        tuple(factor.code for factor in term.factors) for term in described.rhs_termlist
    )
    if not terms:
        raise FormulaError(f"the formula {text!r} leaves no column to fit.")
    codes = list(dict.fromkeys(code for term in terms for code in term))
    used, functions = resolve(codes, columns, scope)
    both = sorted(set(used) & set(outcome_columns))
    if both:
        raise FormulaError(
            f"{both[0]!r} stands on both sides of the formula: the outcome cannot "
            "predict itself."
        )
    return Formula(
        text=text,
        outcome=outcome,
        terms=terms,
        outcome_columns=tuple(outcome_columns),
        columns=tuple(used),
        functions={**outcome_functions, **functions},
    )


def quoted(column: str) -> str:
    """Return how a column is written in a formula: itself, or in ``Q('…')``."""
    plain = column.isidentifier() and not keyword.iskeyword(column)
    return column if plain and column.isascii() else f"Q({column!r})"


def _describe(text: str) -> Any:
    import patsy

    try:
        return patsy.ModelDesc.from_formula(text)
    except patsy.PatsyError as error:
        raise FormulaError(f"cannot read the formula: {error}") from None


def _single_outcome(described: Any, text: str) -> str:
    terms = described.lhs_termlist
    if len(terms) != 1 or len(terms[0].factors) != 1:
        raise FormulaError(
            f"the formula {text!r} must have one outcome on the left of '~', "
            f"not {len(terms)} terms."
        )
    return str(terms[0].factors[0].code)


def _replace_dots(right: str, replacement: str) -> str:
    """Replace each ``.`` that stands alone, not the ones of ``np.log`` or ``.5``."""
    pieces: list[str] = []
    end, before = 0, None
    try:
        for token in tokenize.generate_tokens(io.StringIO(right).readline):
            if token.start[0] > 1:
                break
            after_noun = before is not None and (
                before.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING)
                or before.string in _CLOSING
            )
            if token.string == "." and not after_noun:
                pieces += [right[end : token.start[1]], replacement]
                end = token.end[1]
            before = token
    except (tokenize.TokenError, IndentationError):
        pass  # the parser reports what is unclosed, and where
    return "".join(pieces) + right[end:]

"""Calls that take many columns, such as ``columns("bmi_*")``."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from statcv.errors import ColumnError, FormulaError, suggestion
from statcv.formula.language.limits import MAX_TEXT
from statcv.formula.language.quoting import quoted

SELECTOR = "columns"


def is_selection(node: ast.AST) -> bool:
    """Return whether a node is a call of ``columns``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == SELECTOR
    )


def spread(
    arguments: Iterable[ast.expr], columns: Collection[str], code: str
) -> list[ast.expr]:
    """Replace each ``columns(…)`` by the columns that match.

    Parameters
    ----------
    arguments : iterable of ast.expr
        Arguments of a call.
    columns : collection of str
        Columns of the data.
    code : str
        Code of the term, for messages.

    Raises
    ------
    ColumnError
        If no column matches a pattern.
    FormulaError
        If an argument is not a pattern.
    """
    found: list[ast.expr] = []
    for argument in arguments:
        if is_selection(argument):
            names = _matching(argument, columns, code)
            found += [_named(name) for name in names]
        else:
            found.append(argument)
    return found


def labels_of_parts(
    tree: ast.Expression, function: str, columns: Collection[str], code: str
) -> tuple[str, ...]:
    """Return one label per part for an expression with one call of a parts function.

    ``scale(clr(a, b))`` has the labels ``scale(clr(a))`` and ``scale(clr(b))``. The
    tree is modified.
    """
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == function
    ]
    if len(calls) != 1:
        return ()
    (call,) = calls
    parts = spread(call.args, columns, code)
    call.keywords = []
    labels = []
    for part in parts:
        call.args = [part]
        labels.append(ast.unparse(tree))
    return tuple(labels)


def outside_a_call(code: str) -> FormulaError:
    """Return the error for ``columns(…)`` outside the arguments of a function."""
    return FormulaError(
        f"columns() in {code!r} stands for the arguments of a function, as in "
        'clr(columns("lactobacillus_*")); it is not a term by itself.'
    )


def _matching(call: ast.expr, columns: Collection[str], code: str) -> list[str]:
    assert isinstance(call, ast.Call)
    patterns = [
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    if not patterns or call.keywords or len(patterns) < len(call.args):
        raise FormulaError(
            f"columns() takes patterns in quotes, in {code!r}: "
            'columns("lactobacillus_*", "gardnerella_1").'
        )
    names: dict[str, None] = {}
    for pattern in patterns:
        if len(pattern) > MAX_TEXT:
            raise FormulaError(f"columns() has a pattern above {MAX_TEXT} characters.")
        matched = [name for name in columns if fnmatchcase(name, pattern)]
        if not matched:
            raise ColumnError(
                f"no column of the data matches {pattern!r}."
                + suggestion(pattern, columns)
            )
        names |= dict.fromkeys(matched)
    return list(names)


def _named(column: str) -> ast.expr:
    return ast.parse(quoted(column), mode="eval").body

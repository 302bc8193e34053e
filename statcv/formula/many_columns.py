"""Calls that take many columns: ``columns("bmi_*")`` among their arguments, and parts.

What is written stays the code of the term; what is evaluated has the names of the
columns in place of the patterns.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from statcv.errors import ColumnError, FormulaError, suggestion
from statcv.formula.quoting import quoted

SELECTOR = "columns"


def is_selection(node: ast.AST) -> bool:
    """Tell whether a node is a call of ``columns``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == SELECTOR
    )


def spread(
    arguments: Iterable[ast.expr], columns: Collection[str], code: str
) -> list[ast.expr]:
    """Put the columns that match in place of each ``columns(…)``.

    Parameters
    ----------
    arguments : iterable of ast.expr
        Of a call.
    columns : collection of str
        Of the data.
    code : str
        The term, for messages.

    Raises
    ------
    ColumnError
        If no column matches a pattern.
    FormulaError
        If something else than patterns is given.
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
    """Return a label a part for an expression with one call of a function of parts.

    ``scale(clr(a, b))`` has the labels ``scale(clr(a))`` and ``scale(clr(b))``. The
    tree is changed.
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
    """Return the error of ``columns(…)`` where it is no argument of a function."""
    return FormulaError(
        f"columns() in {code!r} stands for the arguments of a function, as in "
        'clr(columns("lactobacillus_*")); it is no term by itself.'
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

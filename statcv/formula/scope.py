"""Which names of an expression are data, and which are functions.

Names come from the data's columns only. The caller's scope lends functions and
modules, never data: patsy alone would silently take a variable of the script in
place of a misspelt column.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

from statcv.errors import ColumnError, FormulaError, suggestion
from statcv.formula.poly import poly


def transforms() -> dict[str, Any]:
    """Return the functions every formula knows: patsy's own, ``bs`` and ``poly``."""
    import patsy.builtins

    from statcv.formula.splines import bs

    known = {name: getattr(patsy.builtins, name) for name in patsy.builtins.__all__}
    return {**known, "bs": bs, "poly": poly}


def expression_names(code: str) -> tuple[set[str], set[str]]:
    """Return (names that may be data, names that are called) of an expression.

    >>> sorted(expression_names("np.log(x) + Q('odd name')")[0])
    ['np', 'odd name', 'x']
    """
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError as error:
        raise FormulaError(
            f"cannot read the term {code!r}: {error.msg}\n"
            f"    {code}\n    {' ' * ((error.offset or 1) - 1)}^"
        ) from None
    called, quoted, bound = set(), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitXor, ast.BitOr)):
            raise FormulaError(_foreign_operator(node.op, code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
            if node.func.id == "Q" and node.args:
                quoted.add(_literal(node.args[0], code))
        elif isinstance(node, ast.comprehension):
            bound |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.Lambda):
            bound |= {argument.arg for argument in node.args.args}
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return (names - called - bound) | quoted, called


def _foreign_operator(operator: ast.operator, code: str) -> str:
    if isinstance(operator, ast.BitXor):
        return (
            f"the term {code!r} uses '^', which is not a power here; write "
            "(a + b)**2 for all pairs of terms, I(x**2) for a square."
        )
    return f"the term {code!r} uses '|': models with random effects are not fitted."


def _literal(node: ast.expr, code: str) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise FormulaError(f"Q() takes the name of a column in quotes, in {code!r}.")


def resolve(
    codes: Collection[str], columns: Collection[str], scope: Mapping[str, Any]
) -> tuple[list[str], dict[str, Any]]:
    """Return the columns that expressions use, and what the scope lends them.

    The package's own transforms and Python's builtins come first and are not
    listed: only functions and modules of the caller are.

    Raises
    ------
    ColumnError
        If a name is neither a column nor a function or module in ``scope``.
    """
    known = transforms()
    used: list[str] = []
    functions: dict[str, Any] = {}
    for code in codes:
        names, called = expression_names(code)
        for name in sorted(called - known.keys()):
            functions[name] = _function(name, code, known, scope)
        for name in sorted(names):
            if name in columns:
                if name not in used:
                    used.append(name)
            elif name not in known:
                functions[name] = _not_data(name, code, columns, scope)
    return used, functions


def _function(
    name: str, code: str, known: Mapping[str, Any], scope: Mapping[str, Any]
) -> Any:
    for place in (scope, vars(builtins)):
        if callable(place.get(name)):
            return place[name]
    raise FormulaError(
        f"the term {code!r} calls {name!r}, which is no function known here."
        + suggestion(name, known)
    )


def _not_data(
    name: str,
    code: str,
    columns: Collection[str],
    scope: Mapping[str, Any],
) -> Any:
    for place in (scope, vars(builtins)):
        value = place.get(name)
        if isinstance(value, ModuleType) or callable(value):
            return value
    message = f"there is no column {name!r} in the data."
    if name in scope:
        message = (
            f"there is no column {name!r} in the data; the variable of that name in "
            "your script is not used: add it to the data, or write its value."
        )
    raise ColumnError(message + suggestion(name, columns))

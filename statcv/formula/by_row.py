"""Whether an expression computes each row from that row alone."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from statcv.formula.by_fold.expressions import parsed

_ELEMENTWISE = (
    *(ast.Expression, ast.Name, ast.Constant, ast.Load, ast.BinOp, ast.UnaryOp),
    *(ast.Compare, ast.operator, ast.unaryop, ast.cmpop),
)


def by_row(
    python: str, functions: Mapping[str, Any], transforms: Collection[Any]
) -> bool:
    """Return whether an expression is known to compute each row from that row alone.

    Its parts are columns, operators, functions of NumPy and functions that learn.

    Parameters
    ----------
    python : str
        Code of the expression.
    functions : mapping
        What it may call.
    transforms : collection
        The classes of the functions that learn.
    """
    return _by_row(parsed(python), functions, transforms)


def _by_row(
    node: ast.AST, functions: Mapping[str, Any], transforms: Collection[Any]
) -> bool:
    if isinstance(node, ast.Call):
        known, arguments = False, [*node.args, *(one.value for one in node.keywords)]
        if isinstance(node.func, ast.Name):
            found = functions.get(node.func.id)
            transform = getattr(found, "__patsy_stateful_transform__", None)
            known = transform in transforms or node.func.id in ("I", "Q", "C", "strata")
            known = known or isinstance(found, np.ufunc)
        elif isinstance(node.func, ast.Attribute):
            module = node.func.value
            known = (
                isinstance(module, ast.Name)
                and functions.get(module.id) is np
                and isinstance(getattr(np, node.func.attr, None), np.ufunc)
            )
        return known and all(
            _is_literal(one) or _by_row(one, functions, transforms) for one in arguments
        )
    if isinstance(node, ast.Name) and node.id in functions:
        return True  # a contrast, such as Sum
    if not isinstance(node, _ELEMENTWISE):
        return False
    return all(
        _by_row(one, functions, transforms) for one in ast.iter_child_nodes(node)
    )


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True

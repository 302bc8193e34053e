"""Limits of what the text of a formula may cost, whoever wrote it.

A formula is bounded before it is evaluated: its length, its terms, the numbers that it
writes, the text that it makes, the patterns that it matches, and the columns of its
splines and polynomials.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection

from statcv.errors import FormulaError

MAX_LENGTH = 20_000  # characters of a formula besides names of columns
MAX_EXPRESSIONS = 1_000  # terms and factors that are not columns of the data
MAX_INTERACTIONS = 5_000  # products of a formula, besides two for each column of "."
MAX_DIGITS = 300  # digits of a constant
MAX_BASIS = 1_000  # columns of a spline, polynomial or set of intervals
MAX_WIDTH = 1_000  # width to which a text is filled, or number of its repetitions
MAX_TEXT = 200  # characters of a pattern or text in a call
MAX_QUANTIFIERS = 3  # quantifiers *, +, ? and {} in a regular expression
MAX_REPLACEMENTS = 3  # calls of .replace() in a term

_BASES = frozenset({"bs", "cr", "cs", "cc", "te", "poly", "cut"})
_MATCHING = frozenset({"contains", "match", "fullmatch", "replace", "count"})


def check_length(text: str, columns: Collection[str]) -> None:
    """Raise an error if a formula is much longer than the names of the columns.

    Examples
    --------
    >>> check_length("y ~ x", ["y", "x"])
    """
    if len(text) > MAX_LENGTH and len(text) > MAX_LENGTH + sum(
        2 * len(name) + 8 for name in columns
    ):
        raise FormulaError(
            f"the formula has {len(text):,} characters; at most {MAX_LENGTH:,} are "
            "read besides the names of columns."
        )


def check_count(count: int, most: int, what: str) -> None:
    """Raise an error if a formula has more than ``most`` of something."""
    if count > most:
        raise FormulaError(
            f"the formula has more than {most:,} {what}; make columns in the data "
            "first, or fit fewer terms."
        )


def check_cost(tree: ast.AST, code: str) -> bool:
    """Raise an error if a term writes, matches or makes more than the limits allow.

    Integers by which a column is multiplied become floats where they are large, since
    a text multiplied by an integer is repeated, and by a float is an error. Returns
    whether the tree was changed so.

    Parameters
    ----------
    tree : ast.AST
        The term as Python.
    code : str
        Its code, for messages.

    Raises
    ------
    FormulaError
        If a limit is exceeded; the message names it.

    Examples
    --------
    >>> check_cost(ast.parse("x**2 + 10**6"), "x")
    False
    >>> check_cost(ast.parse("9**9**9"), "9**9**9")
    Traceback (most recent call last):
    ...
    statcv.errors.FormulaError: the term '9**9**9' has a constant of more than 300 \
digits.
    """
    columns, repeats, replaced = 1.0, 1.0, 0
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            repeats *= _repeats(node, code)
            _digits(node, code)
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else None
            replaced += name == "replace"
            _check_text(node, name, code)
            called = name or getattr(node.func, "id", "")
            if called in _BASES:
                columns *= _size(node, code)
    most = (
        (columns, MAX_BASIS, "columns of splines, polynomials or intervals"),
        (replaced, MAX_REPLACEMENTS, "calls of .replace()"),
    )
    for count, limit, what in most:
        if count > limit:
            raise _too_much(code, f"asks for more than {limit:,} {what}")
    if repeats > MAX_WIDTH:
        for node in ast.walk(tree):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                _as_floats(node.left)
                _as_floats(node.right)
    return repeats > MAX_WIDTH


def _as_floats(side: ast.AST) -> None:
    """Turn the integers of a constant into floats."""
    parts = list(ast.walk(side))
    if not any(isinstance(part, (ast.Name, ast.Call)) for part in parts):
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, int):
                part.value = float(part.value)


def _too_much(code: str, what: str) -> FormulaError:
    shown = code if len(code) <= MAX_TEXT else f"{code[:MAX_TEXT]}…"
    return FormulaError(f"the term {shown!r} {what}.")


def _digits(node: ast.AST, code: str) -> float | None:
    """Return the number of digits of a constant, or None if it depends on columns."""
    found: float | None = None
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        found = math.log10(max(abs(node.value), 1)) if node.value < math.inf else 308.0
    elif isinstance(node, ast.UnaryOp):
        found = _digits(node.operand, code)
    elif isinstance(node, ast.BinOp):
        one, other = _digits(node.left, code), _digits(node.right, code)
        power = isinstance(node.op, (ast.Pow, ast.LShift))
        if power and other is not None and other > math.log10(MAX_WIDTH):
            found = math.inf
        elif one is not None and other is not None:
            grown = max(one, 0.31) * 10**other if power else one + other
            found = grown + 1 if power else max(one, other, grown)
    if found is not None and found > MAX_DIGITS + 10:
        raise _too_much(code, f"has a constant of more than {MAX_DIGITS} digits")
    return found


def _repeats(node: ast.BinOp, code: str) -> float:
    """Return how often a product by an integer would repeat a text."""
    if not isinstance(node.op, (ast.Mult, ast.Mod)):
        return 1.0
    times = 1.0
    for side in (node.left, node.right):
        if isinstance(side, (ast.List, ast.Tuple)) or _is_text(side):
            raise _too_much(code, "multiplies or fills a text or a list")
        digits = _digits(side, code)
        whole = not any(
            isinstance(one, ast.Constant) and isinstance(one.value, float)
            for one in ast.walk(side)
        )
        if digits is not None and whole and isinstance(node.op, ast.Mult):
            times *= 10**digits
    return times


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_text(node.left) or _is_text(node.right)
    if isinstance(node, ast.IfExp):
        return _is_text(node.body) or _is_text(node.orelse)
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))


def _size(call: ast.Call, code: str) -> float:
    """Return the greatest integer among the arguments of a basis, at least 1."""
    given = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    sizes = [_digits(one, code) for one in given if not isinstance(one, ast.Call)]
    if any(isinstance(one, ast.BinOp) for one in given):
        raise _too_much(code, f"computes an argument of {ast.unparse(call.func)}()")
    return max((10**digits for digits in sizes if digits), default=1.0)


def _check_text(call: ast.Call, name: str | None, code: str) -> None:
    """Check the widths, texts and patterns that are given to a method of text."""
    accessor = getattr(getattr(call.func, "value", None), "attr", None)
    if accessor != "str" and name not in ("replace", "astype", "round"):
        return
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    regular = not any(
        keyword.arg == "regex" and getattr(keyword.value, "value", None) is False
        for keyword in call.keywords
    )
    for one in given:
        if isinstance(one, (ast.BinOp, ast.Call)):
            raise _too_much(code, f"computes an argument of .{name}()")
        width = _digits(one, code)
        if accessor == "str" and width is not None and width > math.log10(MAX_WIDTH):
            raise _too_much(code, f"gives .{name}() a number above {MAX_WIDTH:,}")
        for part in ast.walk(one):
            if isinstance(part, ast.Constant) and isinstance(part.value, (str, bytes)):
                _check_pattern(part.value, name, regular, code)


def _check_pattern(
    text: str | bytes, name: str | None, regular: bool, code: str
) -> None:
    if len(text) > MAX_TEXT:
        raise _too_much(code, f"gives .{name}() more than {MAX_TEXT} characters")
    pattern = str(text)
    if name == "astype" and re.search(r"\d{4}", pattern):
        raise _too_much(code, f"gives .astype() a width above {MAX_WIDTH:,}")
    if name not in _MATCHING or not regular:
        return
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "c", re.sub(r"\\.", "c", pattern))
    if re.search(r"\)[*+?{]", plain) or re.search(r"\(\?(?![:P])|\(\?P[=>]", plain):
        raise _too_much(
            code, "repeats a group of a regular expression, which may take for ever"
        )
    if len(re.findall(r"[*+{]|(?<!\()\?", plain)) > MAX_QUANTIFIERS:
        raise _too_much(
            code, f"has more than {MAX_QUANTIFIERS} quantifiers in a regular expression"
        )

"""How a column is written in a formula."""

from __future__ import annotations

import ast
import keyword
import unicodedata
from collections.abc import Sequence

_KEYWORDS = frozenset(keyword.kwlist)


def quoted(column: str) -> str:
    """Return how a column is written in a formula: itself, or in ``Q('…')``.

    >>> quoted("age"), quoted("odd name")
    ('age', "Q('odd name')")
    """
    plain = column.isidentifier() and not keyword.iskeyword(column)
    same = column.isascii() or unicodedata.normalize("NFKC", column) == column
    return column if plain and same else f"Q({column!r})"


def all_quoted(columns: Sequence[str]) -> list[str]:
    """Return how each of many columns is written in a formula.

    >>> all_quoted(["age", "odd name"])
    ['age', "Q('odd name')"]
    """
    ascii_names = all(map(str.isascii, columns)) and all(map(str.isidentifier, columns))
    if ascii_names and not _KEYWORDS.intersection(columns):
        return list(columns)
    return [quoted(column) for column in columns]


def column_of(code: str) -> str | None:
    """Return the column that an expression consists of, or None.

    >>> column_of("age"), column_of('Q("odd name")'), column_of("np.log(age)")
    ('age', 'odd name', None)
    """
    if code.isidentifier() and not keyword.iskeyword(code):
        return code
    if not code.startswith("Q("):
        return None
    try:
        call = ast.parse(code, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
        values = [a.value for a in call.args if isinstance(a, ast.Constant)]
        if call.func.id == "Q" and len(values) == 1 and isinstance(values[0], str):
            return values[0]
    return None

"""How a column is written in a formula."""

from __future__ import annotations

import ast
import keyword
import unicodedata


def quoted(column: str) -> str:
    """Return how a column is written in a formula: itself, or in ``Q('…')``.

    >>> quoted("age"), quoted("odd name")
    ('age', "Q('odd name')")
    """
    plain = column.isidentifier() and not keyword.iskeyword(column)
    same = column.isascii() or unicodedata.normalize("NFKC", column) == column
    return column if plain and same else f"Q({column!r})"


def all_quoted(columns: dict[str, str]) -> dict[str, str]:
    """Return many columns by how they are written in a formula.

    Parameters
    ----------
    columns : dict
        The columns, by their names.

    Returns
    -------
    dict
        The same object if all columns are written as themselves.

    Examples
    --------
    >>> all_quoted({"age": "age", "odd name": "odd name"})
    {'age': 'age', "Q('odd name')": 'odd name'}
    """
    if (
        "".join(columns).isascii()
        and all(map(str.isidentifier, columns))
        and columns.keys().isdisjoint(keyword.kwlist)
    ):
        return columns
    return {quoted(column): column for column in columns}


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

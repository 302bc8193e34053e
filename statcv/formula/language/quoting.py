"""How a column is written in a formula."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from collections.abc import Iterable


def quoted(column: str) -> str:
    """Return how a column is written in a formula: itself, or in ``Q('…')``.

    >>> quoted("age"), quoted("odd name")
    ('age', "Q('odd name')")
    """
    plain = column.isidentifier() and not keyword.iskeyword(column)
    same = column.isascii() or unicodedata.normalize("NFKC", column) == column
    return column if plain and same else f"Q({column!r})"


_OF_R = re.compile(
    r"""`([^`]+)`|\^|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""  # strings are kept as is
)


def without_signs_of_r(text: str) -> str:
    """Write R's backticks as ``Q('…')`` and its ``^`` as ``**``, but in no string.

    >>> without_signs_of_r("y ~ `odd name` * age + `bmi`^2 + C(site, levels=['^'])")
    "y ~ Q('odd name') * age + bmi**2 + C(site, levels=['^'])"
    """
    if "`" not in text and "^" not in text:
        return text
    signs = {"^": "**"}
    return _OF_R.sub(lambda m: quoted(m[1]) if m[1] else signs.get(m[0], m[0]), text)


def without_backticks(text: str, columns: Iterable[str]) -> str | None:
    """Return the longest odd name that a formula writes as if it were plain, or None.

    >>> without_backticks("y ~ CRP % + age", ["age", "CRP %"])
    'CRP %'
    """
    rest = "".join(_OF_R.sub("^", text).split())
    named = (name for name in columns if re.search(r"[^\W\d]", name))  # not 1 or 2.5
    odd = [name for name in named if quoted(name) != name]
    for name in sorted(odd, key=len, reverse=True):
        written = re.escape("".join(name.split()))
        if re.search(rf"(?<![\w.]){written}(?![\w.])", rest):
            return name
    return None


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

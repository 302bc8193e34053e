"""How a column is written in a formula."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


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


@dataclass(frozen=True, eq=False)
class Written(Mapping[str, str]):
    """Columns by how they are written in a formula.

    The table is made when one of them is looked up.

    Attributes
    ----------
    codes : tuple of str
        How they are written.
    columns : tuple of str
        The same object if all are written as themselves.
    """

    codes: tuple[str, ...]
    columns: tuple[str, ...]

    @cached_property
    def _table(self) -> dict[str, str]:
        return dict(zip(self.codes, self.columns, strict=True))

    def __getitem__(self, code: str) -> str:
        return self._table[code]

    def __contains__(self, code: object) -> bool:
        return code in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self.codes)

    def __len__(self) -> int:
        return len(self.codes)


def all_quoted(columns: Sequence[str], among: Container[str]) -> Written:
    """Return many columns by how they are written in a formula.

    Parameters
    ----------
    columns : sequence of str
        Different columns.
    among : container of str
        These columns, and perhaps others, in which one is found quickly.

    Examples
    --------
    >>> columns = ["age", "odd name"]
    >>> dict(all_quoted(columns, among=set(columns)))
    {'age': 'age', "Q('odd name')": 'odd name'}
    """
    columns, words = tuple(columns), keyword.kwlist
    if len(columns) < len(words):
        reserved = any(map(keyword.iskeyword, columns))
    else:
        reserved = any(word in among for word in words)
    if _are_names(columns) and not reserved:
        return Written(columns, columns)
    codes = tuple(map(quoted, columns))
    return Written(columns if codes == columns else codes, columns)


def _kind(sign: str) -> str:
    """Return ``a`` for a sign that may begin a name, and ``0`` for one inside it."""
    if sign.isidentifier():
        return "a"
    return "0" if sign.isdigit() else sign if sign == "\n" else "?"


KINDS = "".join(_kind(chr(number)) for number in range(128)).encode().ljust(256, b"?")


def _are_names(columns: Sequence[str]) -> bool:
    """Return whether all columns are ASCII identifiers, by one look at all letters.

    >>> _are_names(["age", "x_1"]), _are_names(["age", "1x"]), _are_names([""])
    (True, False, False)
    """
    lines = "".join(["\n", "\n".join(columns), "\n"])  # one for each
    if not lines.isascii():
        return False
    kinds = np.frombuffer(lines.encode().translate(KINDS), dtype=np.uint8)
    ends = np.flatnonzero(kinds == ord("\n"))
    if len(ends) != len(columns) + 1 or (kinds == ord("?")).any():
        return False
    return bool((kinds[ends[:-1] + 1] == ord("a")).all())


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

"""The fold of a keyed hash as SQL, so that a database assigns it to its own records."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from typing import Any

from statcv.errors import ArgumentError, suggestion
from statcv.folds.hashing import check_k

# quote, text, hmac, fold; in SQLite a misspelt name in "" would become its own text
_DIALECTS = {
    "duckdb": (
        '"',
        "encode(nfc_normalize(trim(CAST({} AS VARCHAR), {})))",
        "sha256(CAST($opad AS BLOB) || unhex(sha256(CAST($ipad AS BLOB) || {})))",
        "CAST('0x' || substr({}, 1, 14) AS BIGINT) % {}",
    ),
    "sqlite": (
        "`",
        "CAST(nfc_normalize(trim(CAST({} AS TEXT), {})) AS BLOB)",
        "sha256(CAST(:opad || sha256(CAST(:ipad || {} AS BLOB)) AS BLOB))",
        "big_endian(substr({}, 1, 7)) % {}",
    ),
    "postgresql": (
        '"',
        "convert_to(normalize(btrim(CAST({} AS text), {}), NFC), 'UTF8')",
        "sha256(CAST(%(opad)s AS bytea) || sha256(CAST(%(ipad)s AS bytea) || {}))",
        "mod(('x' || encode(substr({}, 1, 7), 'hex'))::bit(56)::bigint, {})",
    ),
}
_WHITE_SPACE = [code for code in range(0x3001) if chr(code).isspace()]


def sql_fold(column: str, k: int, dialect: str) -> str:
    """Return an SQL expression for the fold of each row.

    The fold is that of :func:`statcv.folds.hashing.keyed_fold`. The expression holds no
    key: its two :func:`statcv.folds.hashing.pads` are bound as parameters. Text is
    brought to its written form in SQL, so the column may hold any text (without
    U+0000), or whole numbers of an integer type; turn floats and dates into text first.
    NULL stays NULL.

    Parameters
    ----------
    column : str
        Its name, which is quoted.
    k : int
        The number of folds.
    dialect : {"duckdb", "sqlite", "postgresql"}
        DuckDB (:func:`register_duckdb`) takes ``$ipad`` and ``$opad``, SQLite
        (:func:`register_sqlite`) ``:ipad`` and ``:opad``, PostgreSQL (13 or later,
        UTF-8) ``%(ipad)s`` and ``%(opad)s`` of psycopg 3. psycopg2 would write them
        into the query; a server that logs statements logs parameters too, unless
        ``log_parameter_max_length`` is 0.

    Examples
    --------
    >>> import sqlite3
    >>> from statcv.folds.hashing import pads
    >>> connection = sqlite3.connect(":memory:")
    >>> register_sqlite(connection)
    >>> query = f"SELECT {sql_fold('id', 5, 'sqlite')} FROM (SELECT '007' AS id)"
    >>> inner, outer = pads("statcv")
    >>> connection.execute(query, {"ipad": inner, "opad": outer}).fetchone()
    (1,)
    >>> connection.close()
    """
    if dialect not in _DIALECTS:
        raise ArgumentError(
            f"there is no dialect {dialect!r}; there are {', '.join(_DIALECTS)}."
            + suggestion(dialect, _DIALECTS)
        )
    if not isinstance(column, str) or not column or "\0" in column:
        raise ArgumentError(f"column must be the name of a column, not {column!r}.")
    quote, text, hmac, fold = _DIALECTS[dialect]
    name = quote + column.replace(quote, 2 * quote) + quote
    if dialect == "postgresql":
        name = name.replace("%", "%%")  # psycopg takes a single one for a parameter
    character = "char({})" if dialect == "sqlite" else "chr({})"
    space = " || ".join(map(character.format, _WHITE_SPACE))
    return fold.format(hmac.format(text.format(name, space)), check_k(k))


def register_sqlite(connection: Any) -> None:
    """Give an ``sqlite3`` connection ``sha256``, ``nfc_normalize``, ``big_endian``."""
    encoding = connection.execute("PRAGMA encoding").fetchone()[0]
    if encoding != "UTF-8":
        raise ArgumentError(f"the database must hold text as UTF-8, not {encoding}.")
    functions: dict[str, Callable[[Any], Any]] = {
        "sha256": lambda x: None if x is None else hashlib.sha256(x).digest(),
        "nfc_normalize": lambda x: x and unicodedata.normalize("NFC", x),
        "big_endian": lambda x: x and int.from_bytes(x, "big"),
    }
    for name, function in functions.items():
        connection.create_function(name, 1, function, deterministic=True)


def register_duckdb(connection: Any) -> None:
    """Give a DuckDB connection ``sha256`` of a blob, which it lacks before 1.1."""
    kinds = "SELECT parameter_types FROM duckdb_functions() WHERE function_name = "
    if (["BLOB"],) not in connection.execute(kinds + "'sha256'").fetchall():
        connection.create_function(
            "sha256",
            lambda x: None if x is None else hashlib.sha256(x).hexdigest(),
            ["BLOB"],
            "VARCHAR",
            null_handling="special",
        )

"""Folds as SQL, by keyed hash or by thresholds, for records in a database."""

from __future__ import annotations

import hashlib
import math
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from configparser import SectionProxy
from functools import lru_cache, partial
from typing import Any

from statcv.errors import ArgumentError, suggestion
from statcv.folds.strata.hashing import assign, check_k
from statcv.folds.strata.identifiers import SEPARATOR
from statcv.folds.strata.thresholds import Thresholds
from statcv.words import stored_sections


def _real(number: float) -> str:
    """Write a number for SQLite, which reads long decimals only nearly."""
    few_digits = float(f"{number:.15g}") == number
    if number == 0 or (few_digits and 1e-7 <= abs(number) < 1e15):
        return f"{number:.15g}"
    mantissa, exponent = math.frexp(number)
    whole, power = int(mantissa * 2**53), exponent - 53
    sign, steps = ("*" if power > 0 else "/"), [62] * (abs(power) // 62)
    factors = (f" {sign} {2**step}" for step in [*steps, abs(power) % 62])
    return f"(CAST({whole} AS REAL){''.join(factors)})"


# how each database writes the parts of an expression
DIALECTS = partial(stored_sections, "statcv.folds.strata", "dialects.ini")
_WHITE_SPACE = [code for code in range(0x3001) if chr(code).isspace()]


def sql_fold(
    column: str | Sequence[str], k: int, dialect: str, thresholds: Any = None
) -> str:
    """Return an SQL expression for the fold of each row, by a keyed hash.

    The expression holds no key: two parameters, the ``pads(key)`` of
    ``statcv.folds.strata``, are bound to it. The column may hold text, or
    integers of an integer type. NULL stays NULL.

    Parameters
    ----------
    column : str or list of str
        Name of the column, which is quoted. Several count together.
    k : int
        Number of folds.
    dialect : {"duckdb", "sqlite", "postgresql"}
        DuckDB (after ``register_duckdb``) takes ``$ipad`` and ``$opad``, SQLite (after
        ``register_sqlite``) ``:ipad`` and ``:opad``, PostgreSQL ``%(ipad)s`` and
        ``%(opad)s`` of psycopg 3. A server that logs statements logs parameters too,
        unless ``log_parameter_max_length`` is 0.
    thresholds : array-like of int, optional
        The k - 1 thresholds of :func:`statcv.folds.strata.balanced_folds`,
        which are not secret. The fold is then the interval in which the digest lies.

    Raises
    ------
    ArgumentError
        If the dialect, ``k`` or the thresholds are not valid.

    Examples
    --------
    >>> import sqlite3
    >>> from statcv.folds.strata.hashing import pads
    >>> connection = sqlite3.connect(":memory:")
    >>> register_sqlite(connection)
    >>> query = f"SELECT {sql_fold('id', 5, 'sqlite')} FROM (SELECT '007' AS id)"
    >>> inner, outer = pads("statcv")
    >>> connection.execute(query, {"ipad": inner, "opad": outer}).fetchone()
    (1,)
    >>> connection.close()
    """
    k, sql = check_k(k), _named(dialect)
    columns = [column] if isinstance(column, str) else column
    if not isinstance(columns, (list, tuple)) or not columns:
        raise ArgumentError(f"column must be the name of a column, not {column!r}.")
    character, quote = sql["character"].format, sql["quote"]
    space = " || ".join(map(character, _WHITE_SPACE))
    texts = [sql["text"].format(_quoted(n, quote, dialect), space) for n in columns]
    text = f" || {character(ord(SEPARATOR))} || ".join(texts)
    digest = sql["digest"].format(sql["hmac"].format(sql["blob"].format(text)))
    if thresholds is None:
        return f"mod({digest}, {k})" if dialect == "postgresql" else f"{digest} % {k}"
    assign([], thresholds)  # says what is wrong with them
    bounds = [int(bound) for bound in thresholds]
    if len(bounds) != k - 1:
        raise ArgumentError(f"{len(bounds)} thresholds do not make k={k} folds.")
    if "interval" in sql:
        return sql["interval"].format(digest, ", ".join(map(str, bounds)))
    return f"({' + '.join(sql['step'].format(digest, bound) for bound in bounds)})"


def sql_bins(
    column: str, thresholds: Any, dialect: str, folds: Sequence[int] | None = None
) -> str:
    """Return an SQL expression for the fold of each row, by thresholds of a covariate.

    The fold is that of ``by_quantile(column, thresholds=…)``, numbered from 1. What is
    missing, or not a number, is NULL.

    Parameters
    ----------
    column : str
        Name of the column, which is quoted. It holds numbers; or dates, in SQLite as
        text such as ``1990-01-31``.
    thresholds : array-like of numbers or dates
        Thresholds, such as ``plan.thresholds``.
    dialect : {"duckdb", "sqlite", "postgresql"}
        Dialect of SQL.
    folds : sequence of int, optional
        The fold of each bin; unless given, each bin is a fold: 1, 2, ….

    Raises
    ------
    ArgumentError
        If the dialect, the thresholds or the folds are not valid.

    Examples
    --------
    >>> print(sql_bins("age", [35.5, 56], "sqlite"))
    CASE WHEN typeof(`age`) NOT IN ('integer', 'real') THEN NULL
      WHEN `age` < 35.5 THEN 1
      WHEN `age` < 56 THEN 2
      ELSE 3 END
    """
    sql, at = _named(dialect), Thresholds.of(thresholds)
    if folds is None:
        folds = range(1, len(at) + 2)
    if len(folds) != len(at) + 1:
        raise ArgumentError(
            f"{len(at)} thresholds make {len(at) + 1} bins, but {len(folds)} folds are "
            "given."
        )
    name = _quoted(column, sql["quote"], dialect)
    if at.dates:
        value = sql["day"].format(name)
        missing = f"{value} IS NULL"
        literals = [sql["day_literal"].format(text) for text in at.texts]
    else:
        value = sql["number"].format(name)
        missing = sql["no_number"].format(value)
        write = "CAST('{!r}' AS double precision)".format
        literals = [*map(_real if dialect == "sqlite" else write, at.values)]
    below = [f"{value} < {literal} THEN" for literal in literals]
    cases = [f"  WHEN {one} {int(k)}" for one, k in zip(below, folds, strict=False)]
    first, last = f"CASE WHEN {missing} THEN NULL", f"  ELSE {int(folds[-1])} END"
    return "\n".join([first, *cases, last])


def _named(dialect: str) -> SectionProxy:
    known = DIALECTS().sections()
    if dialect not in known:
        raise ArgumentError(
            f"there is no dialect {dialect!r}; there are {', '.join(known)}."
            + suggestion(dialect, known)
        )
    return DIALECTS()[dialect]


def _quoted(name: str, quote: str, dialect: str) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        raise ArgumentError(f"column must be the name of a column, not {name!r}.")
    quoted = quote + name.replace(quote, 2 * quote) + quote
    # psycopg takes a single per cent sign for a parameter
    return quoted.replace("%", "%%") if dialect == "postgresql" else quoted


def register_sqlite(connection: Any) -> None:
    """Give an ``sqlite3`` connection the functions that the expression calls.

    Examples
    --------
    >>> import sqlite3
    >>> from statcv.folds.strata import hashing, hashing_sql
    >>> connection = sqlite3.connect(":memory:")
    >>> hashing_sql.register_sqlite(connection)
    >>> inner, outer = hashing.pads(b"our secret")
    >>> fold = hashing_sql.sql_fold("id", 5, "sqlite")
    >>> query = f"SELECT {fold} FROM (SELECT 'P1' AS id)"
    >>> connection.execute(query, {"ipad": inner, "opad": outer}).fetchone()
    (3,)
    >>> hashing.keyed_fold(["P1"], 5, key=b"our secret")
    array([3])
    >>> connection.close()
    """
    encoding = connection.execute("PRAGMA encoding").fetchone()[0]
    if encoding != "UTF-8":
        raise ArgumentError(f"the database must hold text as UTF-8, not {encoding}.")

    @lru_cache(maxsize=8)
    def read(bounds: str) -> list[int]:
        return [*map(int, bounds.split(", "))]

    functions: dict[str, Callable[..., Any]] = {
        "sha256": lambda x: None if x is None else hashlib.sha256(x).digest(),
        "nfc_normalize": lambda x: x and unicodedata.normalize("NFC", x),
        "big_endian": lambda x: x and int.from_bytes(x, "big"),
        "interval_of": lambda x, at: None if x is None else bisect_right(read(at), x),
    }
    for name, function in functions.items():
        arguments = 1 + (name == "interval_of")
        connection.create_function(name, arguments, function, deterministic=True)


def register_duckdb(connection: Any) -> None:
    """Give a DuckDB connection ``sha256`` of a blob, which it lacks before 1.1.

    Examples
    --------
    >>> import duckdb
    >>> from statcv.folds.strata import hashing, hashing_sql
    >>> inner, outer = hashing.pads(b"our secret")
    >>> fold = hashing_sql.sql_fold("id", 5, "duckdb")
    >>> query = f"SELECT {fold} FROM (SELECT 'P1' AS id)"
    >>> with duckdb.connect() as connection:
    ...     hashing_sql.register_duckdb(connection)
    ...     found = connection.execute(query, {"ipad": inner, "opad": outer}).fetchone()
    >>> found
    (3,)
    """

    def sha256(x: bytes | None) -> str | None:
        return None if x is None else hashlib.sha256(x).hexdigest()

    kinds = "SELECT parameter_types FROM duckdb_functions() WHERE function_name = "
    if (["BLOB"],) not in connection.execute(kinds + "'sha256'").fetchall():
        given = sha256, ["BLOB"], "VARCHAR"
        connection.create_function("sha256", *given, null_handling="special")

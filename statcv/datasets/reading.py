"""Tables in files, read so that nothing in them is lost.

Identifiers are text as it is written, and only empty cells and ``NA`` are missing.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from io import BytesIO, StringIO
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Final

import pandas as pd

from statcv import errors
from statcv.datasets.published import exact_numbers
from statcv.errors import ArgumentError, ColumnError, DataError
from statcv.words import listed, plural

SUFFIXES: Final = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
UNNAMED: Final = "Unnamed: 0"  # as pandas calls a first column without a name
OTHERS: Final = {";", "|"}  # separators
LOOK: Final = 50  # rows in which a decimal comma is looked for
# what the first bytes of a file say that is not text
STARTS_OF_BINARY: Final = {
    b"PK\x03\x04": "an Excel workbook or an archive; save its table as CSV",
    b"\x1f\x8b": "compressed by gzip; let its name end in .gz",
}
EXACT: Final = 2**53  # integers beyond it are rounded where a column has empty cells


def read_table(
    path: str | PathLike[str],
    *,
    text: str | Iterable[str] | Callable[[list[str]], Iterable[str]] = (),
    missing: str | float | Iterable[str | float] = (),
    sep: str | None = None,
    decimal: str = ".",
    encoding: str | None = None,
) -> pd.DataFrame:
    r"""Read a file as the command ``statcv`` reads it.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.csv.gz``, ``.tsv``, ``.tsv.gz`` or ``.parquet`` file. An unnamed
        first column holds the row labels.
    text : str, list of str or callable
        Columns that identify, such as a patient number, or a function that picks them
        from the names of all columns. They are read as text, exactly as written:
        ``00007`` is not 7. A column of digits that numbers would not keep, because of
        leading zeros or of more than 15 digits beside empty cells, always is.
    missing : str, number or list of them
        Text that means a missing value, beside empty cells and ``NA``. ``None``,
        ``null``, ``nan`` and ``n/a`` are values unless they are given here.
    sep : str, optional
        Separator of the fields; by default a comma or, in ``.tsv`` files and if it
        alone occurs in the first line, a tab. A line ``sep=;`` above the names, which
        Excel reads, gives it too.
    decimal : {".", ","}
        Decimal point of numbers.
    encoding : str, optional
        Encoding of the text, such as ``"latin-1"`` or ``"utf-16"``; by default UTF-8.

    Raises
    ------
    ColumnError
        If there is no column that ``text`` names.
    DataError
        If the file cannot be read; the message names the row and what to do.

    Warns
    -----
    MissingDataWarning
        If text was read as missing, with its counts in each column.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "visits.csv"
    >>> _ = file.write_text("id;arm;crp\n00007;None;3,5\n7;A;\n")
    >>> read_table(file, text="id", sep=";", decimal=",")
          id   arm  crp
    0  00007  None  3.5
    1      7     A  NaN
    """
    path = Path(path)
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        raise DataError(
            f"{str(path)!r} does not end in {', '.join(SUFFIXES)}. Rename a file of "
            "text, and save a table of another program as CSV; in Python, a data frame "
            "that pandas reads is taken as it is."
        )
    sep = "\t" if sep == r"\t" else sep
    if sep is not None and (len(sep) != 1 or sep in '"\r\n'):
        raise ArgumentError(f"sep is one character, not {sep!r}.")
    if decimal not in (".", ","):
        raise ArgumentError(f"decimal is '.' or ',', not {decimal!r}.")
    if isinstance(missing, str) or not isinstance(missing, Iterable):
        missing = [missing]
    words = {str(one) for one in missing}
    try:
        raw = path.read_bytes()
        if name.endswith(".parquet"):
            if words or sep or encoding or decimal != ".":
                raise ArgumentError(
                    "a Parquet file has typed columns, for which missing, sep, decimal "
                    "and encoding mean nothing."
                )
            return pd.read_parquet(BytesIO(raw), engine="pyarrow")
        raw = gzip.decompress(raw) if name.endswith(".gz") else raw
        for start in filter(raw.startswith, STARTS_OF_BINARY):
            raise DataError(f"it is {STARTS_OF_BINARY[start]}.")
        content = _decoded(raw, encoding)
        if named := re.match(r"sep=(.)\r?\n", content):  # for Excel, not a row
            content, sep = content[named.end() - 1 :], sep or named[1]
        usual = "\t" if name.endswith((".tsv", ".tsv.gz")) else ","
        names, sep = _header(content, sep, usual)
        found = _missing(content, names, sep, words)
        given = text(names) if callable(text) else text
        as_text = {given} if isinstance(given, str) else set(given)
        for name in sorted(as_text.difference(names)):
            hint = errors.suggestion(name, names)
            raise ColumnError(f"text={name!r} is not a column of the file.{hint}")

        def read(wanted: list[str], known: Iterable[str]) -> pd.DataFrame:
            made: pd.DataFrame = pd.read_csv(
                StringIO(content, newline=""),
                sep=sep,
                decimal=decimal,
                header=0,
                names=names,
                usecols=wanted,
                index_col=False,
                dtype=dict.fromkeys(known, str),
                keep_default_na=False,
                na_values={n: list(found[n]) for n in names},
                low_memory=False,
                **exact_numbers(),
            )
            return made

        table = read(names, [*as_text, UNNAMED])
        if numbers := _perhaps_identifiers(table, content, sep):
            cells = read(numbers, numbers)
            table = table.assign(**cells.loc[:, cells.apply(_identifies)])
    except (ArgumentError, ColumnError):
        raise
    except ImportError:
        raise errors.MissingPackageError(
            'reading Parquet needs pyarrow: pip install "statcv[parquet]"'
        ) from None
    except Exception as error:  # ours, or from pandas, csv, zlib or the system
        why = errors.reason(error)
        raise DataError(f"cannot read {str(path)!r}: {why}") from error
    told = [
        f"{n} ({listed([f'{cell!r} {count}' for cell, count in found[n].items()])})"
        for n in names
        if any(map(str.strip, found[n]))
    ]
    if told:
        said = f"text was read as missing in {listed(told)}."
        errors.warn(said, errors.MissingDataWarning)
    if names[0] != UNNAMED:
        return table
    labels = table.pop(UNNAMED)
    if labels.str.fullmatch("0|[1-9][0-9]{0,17}").all():
        labels = labels.astype("int64")
    return table.set_axis(pd.Index(labels).rename(None))


def _perhaps_identifiers(table: pd.DataFrame, content: str, sep: str) -> list[str]:
    """Return the columns of numbers that may not show what is written in the file."""
    numbers = table.select_dtypes("number")
    padded = re.search(rf'(?:^|[{re.escape(sep)}"])\s*0\d', content, re.M)
    return [str(n) for n in numbers if padded or bool((numbers[n] > EXACT).any())]


def _identifies(cells: pd.Series[str]) -> bool:
    """Return whether cells are all digits, and numbers would not keep all of them."""
    present = cells.dropna().str.strip()
    if not present.str.fullmatch(r"\d+").all():
        return False
    beyond = bool(cells.isna().any() and (present.astype(float) > EXACT).any())
    return beyond or bool(present.str.fullmatch(r"0\d+").any())


def _decoded(raw: bytes, encoding: str | None) -> str:
    """Return the text of a file, or say what its encoding may be."""
    if encoding is None and raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(
            f"its encoding is UTF-16; read it with {_options(encoding='utf-16')}"
        )
    try:
        content = raw.decode(encoding or "utf-8")
    except LookupError:
        raise ArgumentError(
            f"there is no encoding {encoding!r}; usual ones are utf-8, latin-1, cp1252 "
            "and utf-16."
        ) from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        byte, options = raw[error.start :][:1], _options(encoding="latin-1")
        raise DataError(
            f"line {line} holds the byte 0x{byte.hex()}, which is not "
            f"{encoding or 'UTF-8'} (it is {byte.decode('latin-1')!r} in latin-1); "
            f"read it with its own encoding, such as {options}"
        ) from None
    if "\0" in content:
        line = content.count("\n", 0, content.index("\0")) + 1
        raise DataError(
            f"line {line} holds a NUL character: the file is damaged, or UTF-16, which "
            f"is read with {_options(encoding='utf-16-le')}"
        )
    return content.removeprefix("\ufeff")


def _options(**given: str) -> str:
    """Return options as a shell and as Python write them."""
    shell = " ".join(f'--{name} "{value}"' for name, value in given.items())
    python = ", ".join(f'{name}="{value}"' for name, value in given.items())
    return f"{shell} (in Python: {python})."


def _rows(content: str, sep: str) -> Iterator[tuple[int, list[str]]]:
    """Return the rows that are not blank, each with the number of its last line."""
    reader = csv.reader(StringIO(content, newline=""), delimiter=sep)
    return ((reader.line_num, row) for row in reader if row[1:] or "".join(row).strip())


def _header(content: str, sep: str | None, usual: str) -> tuple[list[str], str]:
    """Return the names of the columns, and the separator."""
    _, names = next(_rows(content, sep or usual), (0, []))
    if not names:
        raise DataError("it is empty.")
    if len(names) == 1 and sep is None:
        if "\t" in names[0]:
            return _header(content, "\t", usual)
        for other in OTHERS.intersection(names[0]):
            raise DataError(
                f"its fields are separated by {other!r}, not by {usual!r} (the first "
                f"line is {names[0]!r}){_advice(content, other)}"
            )
    names = [name or f"Unnamed: {j}" for j, name in enumerate(names)]
    for j, name in enumerate(names):
        if name in names[:j]:
            raise DataError(
                f"columns {names.index(name) + 1} and {j + 1} are both called "
                f"{name!r}; give each a name of its own."
            )
    return names, sep or usual


def _advice(content: str, sep: str) -> str:
    """Say with which options to read a file whose fields `sep` separates."""
    for line, row in islice(_rows(content, sep), 1, LOOK):
        if any(re.fullmatch(r"[+-]?\d*,\d+", cell.strip()) for cell in row):
            seen = f"with decimal commas (line {line} is {sep.join(row)!r})"
            return f", {seen}; read it with {_options(sep=sep, decimal=',')}"
    return f"; read it with {_options(sep=sep)}"


def _missing(
    content: str, names: list[str], sep: str, words: set[str]
) -> dict[str, Counter[str]]:
    """Return how often each text that means a missing value occurs, by column.

    Raises
    ------
    DataError
        If a row has more or fewer fields than the header, or there is no row.
    """
    means = {"", "NA", *map(str.strip, words)}
    for word in words:
        with suppress(ValueError):  # a number, however a column of numbers writes it
            means |= {f"{float(word):.15g}", str(float(word))}
    found = {name: Counter[str]() for name in names}
    count = 0
    for count, (line, row) in enumerate(islice(_rows(content, sep), 1, None), start=1):
        if len(row) != len(names):
            raise DataError(
                f"row {count}, which ends in line {line}, has "
                f"{plural(len(row), 'field')}, and the header has {len(names)}; a "
                f"field that holds {sep!r} itself is put in quotation marks."
            )
        if not means.isdisjoint(map(str.strip, row)):
            for name, cell in zip(names, row, strict=True):
                if cell.strip() in means and name != UNNAMED:
                    found[name][cell] += 1
    if not count:
        raise DataError("it has a header and no rows.")
    return found

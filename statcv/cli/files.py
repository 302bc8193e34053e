"""Data sets by their names, and files by their paths."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from statcv.errors import ArgumentError, DataError, reason, suggestion

if TYPE_CHECKING:
    import pandas as pd

    from statcv.sites import SitesPlan

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


def read_data(name: str) -> pd.DataFrame:
    """Return a data set by its name, or a file by its path."""
    from statcv import datasets

    how = datasets.available_data().set_index("name")["how"]
    if name in how.index:
        fetch = getattr(datasets, f"fetch_{name}", None)
        return fetch() if fetch else datasets.load_data(name)
    path = Path(name)
    if not path.exists():
        files = [str(p) for p in path.parent.glob("*") if p.name.endswith(SUFFIXES)]
        hint = suggestion(name, [*how.index, *files])
        raise DataError(f"there is no file and no data set {name!r}.{hint}")
    if not path.name.lower().endswith(SUFFIXES):
        raise DataError(f"{name!r} does not end in {', '.join(SUFFIXES)}.")
    try:
        return _read_file(path)
    except ImportError:
        line = 'reading Parquet needs pyarrow: pip install "statcv[parquet]"'
        raise DataError(line) from None
    except Exception as error:  # from pandas, pyarrow, zlib or the system
        raise DataError(f"cannot read {name!r}: {reason(error)}") from error


def _read_file(path: Path) -> pd.DataFrame:
    import pandas as pd

    name, content = path.name.lower(), BytesIO(path.read_bytes())
    if name.endswith(".parquet"):
        return pd.read_parquet(content, engine="pyarrow")
    separator = "\t" if name.endswith((".tsv", ".tsv.gz")) else ","
    layout: dict[str, Any] = {
        "sep": separator,
        "compression": "gzip" if name.endswith(".gz") else None,
        "index_col": False,
    }
    _check_header(_first_line(content, layout), separator)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows too long
        table: pd.DataFrame = pd.read_csv(content, **layout)
    for column in table.columns:
        _refuse_decimal_commas(table[column], column)
    unnamed = table.columns[0] == "Unnamed: 0"
    return table.set_index("Unnamed: 0").rename_axis(None) if unnamed else table


def _first_line(content: BytesIO, layout: Mapping[str, Any]) -> list[str]:
    """Return the names in the first line, as written."""
    import pandas as pd

    line = pd.read_csv(content, header=None, nrows=1, dtype=str, **layout)
    content.seek(0)
    return [str(name) for name in line.iloc[0].fillna("")]


def _check_header(names: list[str], separator: str) -> None:
    """Check the column names for duplicates, and the separator.

    Raises
    ------
    DataError
        If a name occurs more than once, or the fields are separated by semicolons.
    """
    if len(names) == 1 and ";" in names[0]:
        raise DataError(
            f"its fields are separated by ';', not by {separator!r} (the first line is "
            f"{names[0]!r}); write it with ',' between fields and '.' in numbers."
        )
    for j, name in enumerate(names):
        if name and name in names[:j]:
            raise DataError(
                f"columns {names.index(name) + 1} and {j + 1} are both called "
                f"{name!r}; give each a name of its own."
            )


def _refuse_decimal_commas(column: pd.Series[Any], name: str) -> None:
    """Check that no column is text only because of decimal commas.

    Raises
    ------
    DataError
        If every value is a number, and some are written with a decimal comma.
    """
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(column.dtype):
        return
    values = column.dropna().astype(str).str.strip()
    with_comma = values[values.str.fullmatch(r"[+-]?\d*,\d+([eE][+-]?\d+)?")]
    others = values.drop(with_comma.index)
    if len(with_comma) and others.str.fullmatch(r"[+-]?\d+(\.\d+)?").all():
        raise DataError(
            f"column {name!r} is text, since its numbers are written with a comma "
            f"(first: {with_comma.iloc[0]!r}); write them with a point."
        )


def read_plan(path: Path) -> SitesPlan:
    """Return the plan in a file.

    Raises
    ------
    ArgumentError
        If there is no file.
    """
    from statcv.sites import SitesPlan
    from statcv.sites.transports.exchange import read

    text = read(path)
    if text is None:
        raise ArgumentError(f"there is no file {path}.")
    return SitesPlan.from_json(text)

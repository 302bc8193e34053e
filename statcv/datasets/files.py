"""A data set by its name, or a file by its path."""

from __future__ import annotations

import warnings
from io import BytesIO
from pathlib import Path

import pandas as pd

from statcv import datasets
from statcv.errors import DataError, reason, suggestion

SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


def read_data(name: str) -> pd.DataFrame:
    """Return a data set by its name, or a file by its path."""
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
    except Exception as error:  # of pandas, pyarrow, zlib or the system
        raise DataError(f"cannot read {name!r}: {reason(error)}") from error


def _read_file(path: Path) -> pd.DataFrame:
    name, content = path.name.lower(), BytesIO(path.read_bytes())
    if name.endswith(".parquet"):
        return pd.read_parquet(content, engine="pyarrow")
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows too long
        table: pd.DataFrame = pd.read_csv(
            content,
            sep="\t" if name.endswith((".tsv", ".tsv.gz")) else ",",
            compression="gzip" if name.endswith(".gz") else None,
            index_col=False,
        )
    if table.shape[1] == 1 and ";" in table.columns[0]:
        raise DataError("its fields are set off by ';', not by ','; write it anew.")
    unnamed = table.columns[0] == "Unnamed: 0"
    return table.set_index("Unnamed: 0").rename_axis(None) if unnamed else table

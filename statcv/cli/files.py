"""Files that the command reads and writes: data sets, tables, text and pictures."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from statcv import datasets
from statcv.errors import ArgumentError, DataError, reason, suggestion

if TYPE_CHECKING:
    import pandas as pd

    from statcv.results.comparison.comparison import Comparison
    from statcv.results.result import CVResult
    from statcv.results.summary import Summary


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
    except Exception as error:  # from pandas, pyarrow, zlib or the system
        raise DataError(f"cannot read {name!r}: {reason(error)}") from error


def _read_file(path: Path) -> pd.DataFrame:
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
    if pd.api.types.is_numeric_dtype(column.dtype):
        return
    values = column.dropna().astype(str).str.strip()
    with_comma = values[values.str.fullmatch(r"[+-]?\d*,\d+([eE][+-]?\d+)?")]
    others = values.drop(with_comma.index)
    if len(with_comma) and others.str.fullmatch(r"[+-]?\d+(\.\d+)?").all():
        raise DataError(
            f"column {name!r} is text, since its numbers are written with a comma "
            f"(first: {with_comma.iloc[0]!r}); write them with a point."
        )


# ---- what is written ----


def make_folder(folder: Path) -> None:
    """Make a folder, or raise an error that says why this fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(
            f"cannot make the folder {folder}: {error.strerror or error}"
        ) from error


def write_result(
    result: CVResult, folder: Path, level: float, summary: Summary | None = None
) -> list[Path]:
    """Write a result's tables and pictures, and its summary; return the files."""
    from statcv.plots import plot_roc

    tables = {"metrics": result.metrics(level), "predictions": result.predictions}
    tables["folds"] = result.folds
    if result.held.coefficients is not None:
        tables["coefficients"] = result.coefficients
    if result.held.chosen is not None:
        tables["tuned"] = result.tuned.map(lambda v: "None" if v is None else v)
    if len(result.pairs):
        tables["pairs"] = result.pairs
    written = [_write_text(folder / "summary.txt", summary or result.summary(level))]
    written += [write_table(folder / f"{name}.csv", t) for name, t in tables.items()]
    kind = result.design.outcome.kind
    if kind != "multiclass":
        written.append(_write_picture(folder / "panel.png", result.plot))
    if kind == "binary":
        written.append(_write_picture(folder / "roc.png", lambda: plot_roc(result)))
    return written


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write a comparison, and each of its results in a subfolder."""
    estimates = comparison.table.rename_axis("result").reset_index()
    written = [
        _write_text(folder / "comparison.txt", comparison.summary()),
        write_table(folder / "estimates.csv", estimates),
        write_table(folder / "differences.csv", comparison.differences),
    ]
    kinds = {each.design.outcome.kind for each in comparison.results.values()}
    if kinds == {"binary"}:
        written.append(_write_picture(folder / "roc.png", comparison.plot))
    for name, result in comparison.results.items():
        below = folder / re.sub(r"[^\w-]+", "_", name)
        make_folder(below)
        written += write_result(result, below, comparison.level)
    return written


def _write_text(path: Path, content: object) -> Path:
    path.write_text(f"{content}\n", encoding="utf-8", newline="\n")
    return path


def write_table(path: Path, table: pd.DataFrame) -> Path:
    """Write a table as CSV with LF line ends."""
    table.to_csv(path, index=False, lineterminator="\n")
    return path


def _write_picture(path: Path, draw: Callable[[], Any]) -> Path:
    """Write the figure on which `draw` draws; it returns Axes, or several."""
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = np.ravel(draw())[0].figure
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return path

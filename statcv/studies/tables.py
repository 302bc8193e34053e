"""Write and read the tables of a study that ship with the package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

import pandas as pd

from statcv.errors import ArgumentError, DataError, suggestion

Folder = str | os.PathLike[str] | None

DECIMALS = 5  # at most
DIGITS = 5  # unless given for the column
OF_ERRORS = 2  # of a column that ends in _se


def write_table(
    table: pd.DataFrame,
    file: Path,
    digits: Mapping[str, int] | None = None,
    decimals: int = DECIMALS,
) -> None:
    """Write a table, with numbers rounded to the digits given for each column."""
    written = table.copy()
    for column in table.select_dtypes("float"):
        name = str(column)
        wanted = (digits or {}).get(name, OF_ERRORS if name.endswith("_se") else DIGITS)
        written[column] = [_short(value, wanted, decimals) for value in table[column]]
    written.replace("nan", "").to_csv(file, index=False)


def read_table(
    paper: str, name: str, names: Iterable[str], folder: Folder = None
) -> pd.DataFrame:
    """Read a table of a paper's study that ships with the package, or from a folder.

    Parameters
    ----------
    paper : str
        Subpackage of the study, below ``statcv.studies``.
    name : str
    names : iterable of str
        Names of all tables of the study.
    folder : str or path, optional

    Raises
    ------
    ArgumentError
        If there is no such table.
    DataError
        If its file does not exist.
    """
    there = tuple(names)
    if name not in there:
        raise ArgumentError(
            f"there is no table {name!r}.{suggestion(name, there)} There is "
            f"{', '.join(there)}."
        )
    place = files("statcv.data") if folder is None else Path(folder)
    file = file_of(paper, name)
    try:
        with (place / file).open("rb") as content:
            return pd.read_csv(content)
    except FileNotFoundError:
        raise DataError(
            f"there is no {file}; python -m statcv.studies.{paper} makes it."
        ) from None


def file_of(paper: str, name: str) -> str:
    """Return the name of a table's file.

    Examples
    --------
    >>> file_of("bey2020", "figure3")
    'bey2020_figure3.csv'
    >>> file_of("austin2024.published", "figure4")
    'austin2024_published_figure4.csv'
    """
    return f"{paper.replace('.', '_')}_{name}.csv"


def _short(value: float, digits: int, decimals: int) -> str:
    """Write a number to so many digits, and no more than so many decimals.

    >>> _short(4465.3, 3, 5), _short(-0.000298, 3, 5), _short(0.83612, 5, 5)
    ('4470', '-0.0003', '0.83612')
    """
    return f"{float(f'{round(value, decimals):.{digits}g}'):g}"

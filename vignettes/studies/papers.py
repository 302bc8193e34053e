"""The tables of the papers' studies: made, written, read.

Each paper has one `Paper`, which lists its tables and what makes them. The command
``python -m studies PAPER DIRECTORY FOLDER`` makes and writes them, and
``stored(name)`` of the paper's package reads one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from statcv.errors import ArgumentError, DataError, suggestion

Folder = str | os.PathLike[str] | None
TABLES = Path(__file__).with_name("tables")


def _same(table: pd.DataFrame) -> pd.DataFrame:
    return table


@dataclass(frozen=True)
class Table:
    """A table of a paper's study, and what makes it.

    Attributes
    ----------
    count : int
        Number of data sets, or of runs.
    make : callable
        Function of the number of data sets, of ``directory``, ``seed``, ``n_jobs`` and
        ``progress``, and of the paper's options that it takes.
    options : tuple of str
        Names of those options.
    results : str, optional
        Directory of its results; its name unless given. Tables may share one.
    to_file : callable
        Function of the table that returns what is written.
    from_file : callable
        Function of the table in the file that returns what `Paper.stored` gives.
    """

    count: int
    make: Callable[..., pd.DataFrame]
    options: tuple[str, ...] = ()
    results: str | None = None
    to_file: Callable[[pd.DataFrame], pd.DataFrame] = _same
    from_file: Callable[[pd.DataFrame], Any] = _same


@dataclass(frozen=True)
class Rounding:
    """How the numbers of a table are written.

    Attributes
    ----------
    digits : int
        Number of significant digits.
    errors : int
        That of columns whose name ends in ``_se``.
    columns : mapping
        That of single columns by name.
    decimals : int, optional
        Largest number of decimals; any number unless given.
    """

    digits: int = 5
    errors: int = 2
    columns: Mapping[str, int] = field(default_factory=dict)
    decimals: int | None = 5

    def rounded(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table with text in place of its floating-point numbers."""
        written = table.copy()
        for column in table.select_dtypes("float"):
            name = str(column)
            usual = self.errors if name.endswith("_se") else self.digits
            wanted = self.columns.get(name, usual)
            written[column] = [
                _short(value, wanted, self.decimals) for value in table[column]
            ]
        return written.replace("nan", "")


def _short(value: float, digits: int, decimals: int | None = None) -> str:
    """Write a number with given numbers of digits and, at most, decimals.

    >>> _short(4465.3, 3), _short(-0.000298, 3, 5), _short(0.83612, 5, 5)
    ('4470', '-0.0003', '0.83612')
    """
    near = value if decimals is None else round(value, decimals)
    return f"{float(f'{near:.{digits}g}'):.{max(digits, 6)}g}"


@dataclass(frozen=True)
class Paper:
    """The study of a paper: its tables, in the order of their importance.

    Attributes
    ----------
    name : str
        Subpackage of the study, below ``studies``.
    tables : mapping
        `Table` by name.
    rounding : Rounding
    options : mapping
        What distinguishes its runs beyond the number of data sets, the seed and the
        number of processes: name → arguments of ``argparse``'s ``add_argument``.
    place : path
        Folder of the stored tables.
    """

    name: str
    tables: Mapping[str, Table]
    rounding: Rounding = field(default_factory=Rounding)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    place: Path = TABLES

    def file(self, name: str) -> str:
        """Return the name of a table's file.

        Examples
        --------
        >>> Paper("austin2024.published", {}).file("figure4")
        'austin2024_published_figure4.csv'
        """
        return f"{self.name.replace('.', '_')}_{name}.csv"

    def make(
        self,
        name: str,
        directory: str | os.PathLike[str],
        *,
        most: int | None = None,
        seed: int = 1,
        n_jobs: int | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Run what is missing of a table, and return it.

        Parameters
        ----------
        name : str
        directory : str or path
            Directory for the results of all tables. An interrupted run continues from
            there.
        most : int, optional
            Largest number of data sets.
        seed : int, default 1
        n_jobs : int, optional
            Number of processes, as in joblib; the results do not depend on it.
        progress : bool, optional
            Whether to show a bar; by default at a terminal, after two seconds.
        **options
            Options of the paper; those that the table does not take are left aside.
        """
        table = self.tables[name]
        results = name if table.results is None else table.results
        return table.make(
            min(table.count, most or table.count),
            directory=Path(directory) / results,
            seed=seed,
            n_jobs=n_jobs,
            progress=progress,
            **{key: options[key] for key in table.options if key in options},
        )

    def write(
        self, name: str, table: pd.DataFrame, folder: str | os.PathLike[str]
    ) -> None:
        """Write a table into a folder, with rounded numbers."""
        written = self.rounding.rounded(self.tables[name].to_file(table))
        written.to_csv(Path(folder) / self.file(name), index=False)

    def stored(self, name: str, folder: Folder = None) -> Any:
        """Return a stored table, or one from a folder.

        Raises
        ------
        ArgumentError
            If there is no such table.
        DataError
            If its file does not exist.
        """
        if name not in self.tables:
            raise ArgumentError(
                f"there is no table {name!r}.{suggestion(name, self.tables)} There is "
                f"{', '.join(self.tables)}."
            )
        place = self.place if folder is None else Path(folder)
        file = self.file(name)
        try:
            with (place / file).open("rb") as content:
                table = pd.read_csv(content)
        except FileNotFoundError:
            raise DataError(
                f"there is no {file}; python -m studies {self.name} makes it."
            ) from None
        return self.tables[name].from_file(table)

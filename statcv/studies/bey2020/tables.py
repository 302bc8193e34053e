"""The tables that ship with the package, and the runs that make them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from statcv.errors import ArgumentError, DataError, suggestion
from statcv.studies.bey2020.folds import numbers_of_folds
from statcv.studies.bey2020.fresh import fresh_records
from statcv.studies.bey2020.importance import Figure4, figure4
from statcv.studies.bey2020.leak import leak_of_copies
from statcv.studies.bey2020.learning import Figure2, figure2
from statcv.studies.bey2020.limitations import limits
from statcv.studies.bey2020.narrow import narrow_bins
from statcv.studies.bey2020.optima import rotations
from statcv.studies.bey2020.ranking import RANKINGS
from statcv.studies.bey2020.scale import Scale
from statcv.studies.bey2020.violins import Figure3, figure3

Make = Callable[[int, Scale, Path, int, int], pd.DataFrame]


@dataclass(frozen=True)
class Run:
    """A part of the study.

    Attributes
    ----------
    count : int
        Data sets.
    make : callable
        Data sets, scale, directory, seed and processes → table.
    """

    count: int
    make: Make


def _of(study: Callable[..., Any], attribute: str = "", **fixed: Any) -> Make:
    """Return what runs a study and gives its table."""

    def make(
        count: int, scale: Scale, directory: Path, seed: int, jobs: int
    ) -> pd.DataFrame:
        found = study(
            count, scale=scale, directory=directory, seed=seed, n_jobs=jobs, **fixed
        )
        table: pd.DataFrame = getattr(found, attribute) if attribute else found
        return table

    return make


def _rotations(
    count: int, scale: Scale, directory: Path, seed: int, jobs: int
) -> pd.DataFrame:
    return rotations(count, directory=directory, n_jobs=jobs)


RUNS = {
    "rotations": Run(400, _rotations),
    "figure3": Run(30, _of(figure3, "table")),
    "figure4": Run(100, _of(figure4, "table")),
    "figure3_drawn": Run(60, _of(figure3, "table", rotations="drawn")),
    "figure2": Run(30, _of(figure2, "curves")),
    "fresh": Run(30, _of(fresh_records)),
    "fresh_drawn": Run(30, _of(fresh_records, rotations="drawn")),
    "per_fold": Run(30, _of(narrow_bins)),
    "limits": Run(30, _of(limits)),
    "k": Run(30, _of(numbers_of_folds)),
    "leak": Run(30, _of(leak_of_copies)),
}
FIGURES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "figure2": Figure2,
    "figure3": Figure3,
    "figure3_drawn": Figure3,
    "figure4": Figure4,
}

DECIMALS = 5
DIGITS = dict.fromkeys(RANKINGS, 3) | dict.fromkeys(
    ("training", "held_out", "first_training", "first_held_out"), 4
)


def write_table(name: str, table: pd.DataFrame, folder: Path) -> None:
    """Write a table, its numbers to as many digits as are told of them."""
    written = table.copy()
    for column in table.select_dtypes("float"):
        digits = 2 if str(column).endswith("_se") else DIGITS.get(str(column), 5)
        written[column] = [_short(value, digits) for value in table[column]]
    written.replace("nan", "").to_csv(folder / file_of(name), index=False)


def _short(value: float, digits: int) -> str:
    """Write a number to so many digits, and five decimals at most.

    >>> _short(4465.3, 3), _short(-0.000298, 3), _short(0.83612, 5)
    ('4470', '-0.0003', '0.83612')
    """
    return f"{float(f'{round(value, DECIMALS):.{digits}g}'):g}"


def file_of(name: str) -> str:
    """Return the name of a table's file.

    Examples
    --------
    >>> file_of("figure3")
    'bey2020_figure3.csv'
    """
    return f"bey2020_{name}.csv"


def stored(name: str, folder: str | os.PathLike[str] | None = None) -> Any:
    """Return what was measured at full scale, as it ships with the package.

    Parameters
    ----------
    name : str
        ``"figure2"``, ``"figure3"``, ``"figure4"``; ``"figure3_drawn"``, with another
        rotation in each of 60 simulations; ``"fresh"``, ``"fresh_drawn"``,
        ``"per_fold"``, ``"k"``, ``"limits"``, ``"leak"``, ``"rotations"``.
    folder : str or path, optional
        Of tables of one's own, as ``python -m statcv.studies.bey2020`` writes them.

    Returns
    -------
    Figure2, Figure3, Figure4 or pandas.DataFrame
        What the function of the study returns; numbers have five digits or fewer.

    Raises
    ------
    ArgumentError
        If there is no such table.
    DataError
        If it was not written.
    """
    if name not in RUNS:
        raise ArgumentError(
            f"there is no table {name!r}.{suggestion(name, RUNS)} There is "
            f"{', '.join(RUNS)}."
        )
    place = files("statcv.data") if folder is None else Path(folder)
    try:
        with (place / file_of(name)).open("rb") as content:
            table = pd.read_csv(content)
    except FileNotFoundError:
        raise DataError(
            f"there is no {file_of(name)}; python -m statcv.studies.bey2020 makes it."
        ) from None
    return FIGURES[name](table) if name in FIGURES else table

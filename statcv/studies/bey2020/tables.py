"""The tables that ship with the package, and the runs that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

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
from statcv.studies.tables import Folder, file_of, read_table, write_table

Make = Callable[[int, Scale, Path, int, int], pd.DataFrame]


@dataclass(frozen=True)
class Run:
    """A part of the study.

    Attributes
    ----------
    count : int
        Number of data sets.
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

PAPER = "bey2020"
DIGITS = dict.fromkeys(RANKINGS, 3) | dict.fromkeys(
    ("training", "held_out", "first_training", "first_held_out"), 4
)


def write_run(name: str, table: pd.DataFrame, folder: Path) -> None:
    """Write a table, with numbers rounded to the digits given for each column."""
    write_table(table, folder / file_of(PAPER, name), DIGITS)


def stored(name: str, folder: Folder = None) -> Any:
    """Return a table of results at full scale, which ships with the package.

    Parameters
    ----------
    name : str
        ``"figure2"``, ``"figure3"``, ``"figure4"``; ``"figure3_drawn"``, with another
        rotation in each of 60 simulations; ``"fresh"``, ``"fresh_drawn"``,
        ``"per_fold"``, ``"k"``, ``"limits"``, ``"leak"``, ``"rotations"``.
    folder : str or path, optional
        Folder of your own tables, as written by ``python -m statcv.studies.bey2020``.

    Returns
    -------
    Figure2, Figure3, Figure4 or pandas.DataFrame
        What the function of the study returns; numbers have five digits or fewer.

    Raises
    ------
    ArgumentError
        If there is no such table.
    DataError
        If its file does not exist.
    """
    table = read_table(PAPER, name, RUNS, folder)
    return FIGURES[name](table) if name in FIGURES else table

"""The tables that ship with the package, and the runs that make them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from statcv.studies.austin2024.published.curves import Figure4, figure4
from statcv.studies.austin2024.published.paths import SAMPLES
from statcv.studies.austin2024.published.tuning import (
    PUBLISHED,
    TuningPaths,
    tuning_paths,
)
from statcv.studies.tables import Folder, file_of, read_table

PAPER = "austin2024.published"
Make = Callable[..., pd.DataFrame]
QUICK = ("ptb", "cfs_xgboost", "cfs_logistic")  # analyses that have many draws
DIGITS = 7


@dataclass(frozen=True)
class Run:
    """A part of the study.

    Attributes
    ----------
    count : int
        Runs, or data sets of a population.
    make : callable
        Function of the number of runs, the directory, and the arguments of
        :func:`figure4` or :func:`tuning_paths` that returns a table.
    """

    count: int
    make: Make


def _figure4(count: int, directory: Path, **how: Any) -> pd.DataFrame:
    return figure4(count, directory=directory / "figure4", **how).predictions


def _draws(count: int, directory: Path, **how: Any) -> pd.DataFrame:
    own = directory / "figure4"
    found = figure4(count, analyses=QUICK, pairs=False, directory=own, **how)
    return found.aurocs[found.aurocs["estimate"] != "LOOCV, pooled"]


def _paths_of(data: tuple[str, ...], argument: str) -> Make:
    def make(count: int, directory: Path, **how: Any) -> pd.DataFrame:
        how[argument] = count
        return tuning_paths(data, directory=directory / "tuning", **how).table

    return make


RUNS = {
    "tuning_samples": Run(100, _paths_of(SAMPLES, "data_sets")),
    "tuning_published": Run(10, _paths_of(PUBLISHED, "runs")),
    "figure4": Run(10, _figure4),
    "figure4_draws": Run(40, _draws),
}
PATHS = ("tuning_samples", "tuning_published")
WITH_IRAE = ("tuning_published", "figure4", "figure4_draws")


def write_table(name: str, table: pd.DataFrame, folder: Path) -> None:
    """Write a table to seven digits; a path has one column per estimate."""
    if name in PATHS:
        order = table["estimate"].unique()
        index = ["data", "number", "C"]
        wide = table.pivot(index=index, columns="estimate", values="auroc")[order]
        by_data = wide.index.get_level_values("data")
        table = pd.concat(
            [wide[by_data == data] for data in table["data"].unique()]
        ).reset_index()
    table.to_csv(
        folder / file_of(PAPER, name), index=False, float_format=f"%.{DIGITS}g"
    )


def _paths(wide: pd.DataFrame) -> TuningPaths:
    """Return paths as they were before they were written."""
    index = ["data", "number", "C"]
    long = wide.melt(id_vars=index, var_name="estimate", value_name="auroc")
    return TuningPaths(long.dropna(ignore_index=True))


def stored(name: str, folder: Folder = None) -> Any:
    """Return a table of results at full scale, which ships with the package.

    Parameters
    ----------
    name : str
        ``"figure4"``, ten runs of every analysis; ``"figure4_draws"``, the auROCs of
        more runs, which show the precision of ten; ``"tuning_samples"`` and
        ``"tuning_published"``.
    folder : str or path, optional
        Folder of your own tables, as written by
        ``python -m statcv.studies.austin2024.published``.

    Returns
    -------
    Figure4, TuningPaths or pandas.DataFrame

    Raises
    ------
    ArgumentError
        If there is no such table.
    DataError
        If its file does not exist.
    """
    table = read_table(PAPER, name, RUNS, folder)
    if name in PATHS:
        return _paths(table)
    return Figure4(table) if name == "figure4" else table

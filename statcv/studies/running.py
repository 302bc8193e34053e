"""Run a study, data set by data set, with results in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import resolve_seed
from statcv.engine.parallel import check_jobs, one_thread
from statcv.errors import CheckpointError
from statcv.studies.checks import check_whole
from statcv.studies.store import claim, parts_of, read_part, undone, write_part

Directory = str | os.PathLike[str] | None


@dataclass(frozen=True)
class Study:
    """The measurements that a study makes on every data set.

    Attributes
    ----------
    name : str
        Prefix of its file names.
    measure : callable
        Function of the number of a data set, from 0, that returns a table.
    said : mapping
        Arguments on which the tables depend; runs that share a directory agree in them.
    counts : str
        Name of the first column, which numbers the data sets from 1.
    chunk : int
        Number of data sets in a file.
    """

    name: str
    measure: Callable[[int], pd.DataFrame]
    said: Mapping[str, Any]
    counts: str = "simulation"
    chunk: int = 1


def simulate(
    name: str,
    measure: Callable[..., pd.DataFrame],
    count: int,
    *,
    directory: Directory,
    seed: int,
    n_jobs: int | None,
    said: Mapping[str, Any] | None = None,
    counts: str = "simulation",
    chunk: int = 1,
    **asked: Any,
) -> pd.DataFrame:
    """Run a study on data sets that are drawn from a seed.

    Parameters
    ----------
    name, counts, chunk
        As in `Study`.
    measure : callable
        Function of seed, number of a data set and further arguments that returns a
        table.
    count : int
        Number of data sets.
    directory, n_jobs
        As in :func:`run`.
    seed : int
    said : mapping, optional
        Further arguments on which the tables depend, which `measure` does not take.
    **asked
        Further arguments of `measure`, on which the tables depend too.
    """
    seed = resolve_seed(seed)
    all_said = {**asked, **(said or {}), "seed": seed}
    study = Study(name, partial(measure, seed, **asked), all_said, counts, chunk)
    return run(study, count, directory, n_jobs)


def run(
    study: Study, count: int, directory: Directory, n_jobs: int | None
) -> pd.DataFrame:
    """Run what is missing of a study, and return all its tables as one.

    Parameters
    ----------
    study : Study
    count : int
        Number of data sets.
    directory : str, path or None
        Directory for the results. An interrupted study, or one with more data sets,
        continues from there.
    n_jobs : int or None
        Number of processes, as in joblib; the results do not depend on it.
    """
    check_whole(count, f"the number of {study.counts.replace('_', ' ')}s", least=1)
    check_jobs(n_jobs)
    if directory is None:
        with TemporaryDirectory() as own:
            return run(study, count, own, n_jobs)
    path = Path(directory)
    claim(path, {"study": study.name, **study.said})
    from joblib import Parallel, delayed

    Parallel(n_jobs=n_jobs)(
        delayed(_do)(study, path, numbers)
        for numbers in list(undone(path, study.name, count, study.chunk))
    )
    return _read(study, path, count)


def _do(study: Study, path: Path, numbers: range) -> None:
    tables = []
    with one_thread():
        for number in numbers:
            table = study.measure(number)
            table.insert(0, study.counts, number + 1)
            tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    arrays = {str(name): _plain(column) for name, column in table.items()}
    write_part(path, study.name, numbers, arrays)


def _plain(column: pd.Series[Any]) -> NDArray[Any]:
    """Return an array that can be kept without pickle."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy()
    return column.to_numpy(dtype=np.str_)


def _read(study: Study, path: Path, count: int) -> pd.DataFrame:
    tables = []
    for file, numbers in parts_of(path, study.name):
        if numbers.start < count:
            tables.append(pd.DataFrame(read_part(file)))
    table = pd.concat(tables, ignore_index=True)
    if study.counts not in table:
        raise CheckpointError(f"{path} holds files of another kind of study.")
    return table[table[study.counts] <= count].reset_index(drop=True)

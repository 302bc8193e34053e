"""Run a study data set by data set, with results in files.

All studies run in one way, and take the same four arguments: ``directory`` keeps the
results, and an interrupted study continues from there; ``seed`` decides the data sets;
``n_jobs`` is the number of processes, on which no number depends; ``progress`` shows a
bar. A study of data sets that are drawn from the seed calls `simulate`.

A file holds the results of some consecutive data sets; its name says what was measured
and on which data sets. A file is written whole, or not at all.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_whole, resolve_seed
from statcv.engine import check_jobs, one_thread, progress_bar, returns_as_they_end
from statcv.errors import CheckpointError
from statcv.files import write_whole

Directory = str | os.PathLike[str] | None
Arrays = Mapping[str, Any]

SETTINGS = "study.json"
PART = re.compile(r"(.+)-(\d+)-(\d+)\.npz")


# ---- a study ----


@dataclass(frozen=True)
class Study:
    """The measurements that a study makes on every data set.

    Attributes
    ----------
    name : str
        Prefix of its file names.
    measure : callable
        Function of the number of a data set, from 0, that returns a table.
    settings : mapping
        Arguments on which the tables depend; runs that share a directory agree in them.
    counts : str
        Name of the first column, which numbers the data sets from 1.
    chunk : int
        Number of data sets in a file.
    """

    name: str
    measure: Callable[[int], pd.DataFrame]
    settings: Mapping[str, Any]
    counts: str = "simulation"
    chunk: int = 1

    def arrays(self, numbers: range) -> Arrays:
        """Measure some data sets, and return the columns of their tables."""
        tables = []
        for number in numbers:
            table = self.measure(number)
            table.insert(0, self.counts, number + 1)
            tables.append(table)
        table = pd.concat(tables, ignore_index=True)
        return {str(name): _plain(column) for name, column in table.items()}


def simulate(
    name: str,
    measure: Callable[..., pd.DataFrame],
    count: int,
    *,
    directory: Directory,
    seed: int,
    n_jobs: int | None,
    progress: bool | None,
    settings: Mapping[str, Any] | None = None,
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
    directory, n_jobs, progress
        As in :func:`run`.
    seed : int
    settings : mapping, optional
        Further arguments on which the tables depend, which `measure` does not take.
    **asked
        Further arguments of `measure`, on which the tables depend too.
    """
    seed = resolve_seed(seed)
    all_settings = {**asked, **(settings or {}), "seed": seed}
    study = Study(name, partial(measure, seed, **asked), all_settings, counts, chunk)
    return run(study, count, directory, n_jobs, progress)


def run(
    study: Study,
    count: int,
    directory: Directory,
    n_jobs: int | None,
    progress: bool | None,
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
    progress : bool or None
        Whether to show a bar; if None, at a terminal, after two seconds.
    """
    check_whole(count, f"the number of {study.counts.replace('_', ' ')}s", least=1)
    check_jobs(n_jobs)
    if directory is None:
        with TemporaryDirectory() as own:
            return run(study, count, own, n_jobs, progress)
    path = Path(directory)
    claim(path, {"study": study.name, **study.settings})
    fill(path, {study.name: study.arrays}, count, study.chunk, n_jobs, progress)
    return _read(study, path, count)


def within(directory: Directory, name: str) -> Path | None:
    """Return a directory inside that of a study, if there is one."""
    return None if directory is None else Path(directory) / name


def fill(
    path: Path,
    measures: Mapping[str, Callable[[range], Arrays]],
    count: int,
    chunk: int,
    n_jobs: int | None,
    progress: bool | None,
) -> None:
    """Write the files that a directory lacks.

    Parameters
    ----------
    path : pathlib.Path
    measures : mapping
        Prefix of file names → function that returns the arrays of some data sets.
    count : int
        Number of data sets that are wanted of each.
    chunk : int
        Number of data sets in a file.
    n_jobs, progress
        As in :func:`run`.
    """
    tasks = [
        (name, numbers)
        for name in measures
        for numbers in _undone(path, name, count, chunk)
    ]
    from joblib import Parallel, delayed

    unordered = returns_as_they_end()
    parallel = Parallel(
        n_jobs=n_jobs, return_as="generator_unordered" if unordered else "list"
    )
    with progress_bar(sum(len(one) for _, one in tasks), progress, "data set") as bar:
        for done in parallel(
            delayed(_do)(path, name, measures[name], numbers) for name, numbers in tasks
        ):
            bar.update(done)


def _do(
    path: Path, name: str, measure: Callable[[range], Arrays], numbers: range
) -> int:
    """Write a file, and return the number of its data sets."""
    with one_thread():
        arrays = measure(numbers)
    write_part(path, name, numbers, arrays)
    return len(numbers)


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


# ---- its files ----


def claim(path: Path, settings: Mapping[str, Any]) -> None:
    """Continue in the directory of a study, or begin a new one.

    Parameters
    ----------
    path : pathlib.Path
        Directory of the study, which is made if it does not exist.
    settings : mapping
        Arguments that must agree between runs that share the directory: names, numbers,
        or lists of these.

    Raises
    ------
    CheckpointError
        If the directory holds something else, or a study with other arguments.
    """
    path.mkdir(parents=True, exist_ok=True)
    file = path / SETTINGS
    if not file.exists():
        if any(path.iterdir()):
            raise CheckpointError(
                f"{path} holds other files, and no study; give an empty directory."
            )
        write_whole(file, json.dumps(settings).encode())
        return
    there, wanted = _settings(file), json.loads(json.dumps(settings))
    differ = [name for name in wanted if there.get(name) != wanted[name]]
    if differ:
        listed = ", ".join(f"{name}={there.get(name)}" for name in differ)
        raise CheckpointError(
            f"{path} holds a study with {listed}; give another directory, or the same "
            "arguments."
        )


def _settings(file: Path) -> dict[str, Any]:
    try:
        there = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        there = None
    if not isinstance(there, dict):
        raise CheckpointError(f"{file} is not of a study; give another directory.")
    return there


def _undone(path: Path, name: str, count: int, chunk: int) -> Iterator[range]:
    """Yield the data sets of a part of a study that are not in any file.

    Parameters
    ----------
    path : pathlib.Path
    name : str
        Prefix of the file names.
    count : int
        Number of data sets that are wanted.
    chunk : int
        Number of data sets in a file.
    """
    done = {number for part in parts_of(path, name) for number in part[1]}
    for start in range(0, count, chunk):
        whole = range(start, min(start + chunk, count))
        left = [number for number in whole if number not in done]
        if left:  # files hold the first of a chunk, if any
            yield range(left[0], whole.stop)


def parts_of(path: Path, name: str | None = None) -> list[tuple[Path, range]]:
    """Return the files of a study, or those of one name, with their data sets.

    Parameters
    ----------
    path : pathlib.Path
    name : str, optional
        Prefix of the file names.
    """
    found = []
    for file in sorted(path.glob(f"{name or ''}*.npz")):
        match = PART.fullmatch(file.name)
        if match and name in (None, match[1]):
            found.append((file, range(int(match[2]), int(match[3]))))
    return found


def write_part(
    path: Path, name: str, numbers: range, arrays: Mapping[str, Any]
) -> None:
    """Write the results of some data sets.

    Parameters
    ----------
    path : pathlib.Path
    name : str
    numbers : range
        Numbers of the data sets.
    arrays : mapping
        Arrays of numbers or text by name.
    """
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    file = f"{name}-{numbers.start:06d}-{numbers.stop:06d}.npz"
    write_whole(path / file, content.getvalue())


def read_part(file: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file.

    Raises
    ------
    CheckpointError
        If it cannot be read.
    """
    try:
        with np.load(io.BytesIO(Path(file).read_bytes())) as stored:
            return {name: stored[name] for name in stored.files}
    except Exception:  # whatever NumPy and zlib make of other bytes
        raise unreadable(file) from None


def unreadable(file: str | os.PathLike[str]) -> CheckpointError:
    """Return the error for a file that is damaged, or not part of the study."""
    return CheckpointError(
        f"{os.fspath(file)} cannot be read; delete it, and run the study again."
    )

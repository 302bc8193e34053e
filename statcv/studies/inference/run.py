"""The study as files: a directory that is filled, and taken up where it stopped."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from statcv.engine.storage import write_whole
from statcv.engine.threads import one_thread
from statcv.engine.workers import check_jobs
from statcv.errors import ArgumentError, CheckpointError, suggestion
from statcv.seeds import resolve_seed
from statcv.studies.inference.cells import BUDGET, Answers, Cell, Settings, measure
from statcv.studies.inference.methods import SCHEMES
from statcv.studies.inference.population import Population
from statcv.whole import is_whole

CHUNK = 50  # data sets of a file
SAID = "study.json"
PART = re.compile(r"(.+)-(\d+)-(\d+)\.npz")

SIZES = (30, 60, 100, 250)
BALANCES = (0.1, 0.3, 0.5)
AUROCS = (0.5, 0.7, 0.85)


def run_study(
    directory: str | os.PathLike[str],
    *,
    n: Sequence[int] = SIZES,
    balances: Sequence[float] = BALANCES,
    auroc: Sequence[float] = AUROCS,
    duplicates: Sequence[bool] = (False, True),
    schemes: Sequence[str] = tuple(SCHEMES),
    data_sets: int = 1000,
    refits: int = 200,
    n_permutations: int = 99,
    seed: int = 1,
    n_jobs: int | None = None,
) -> None:
    """Measure the size of tests and the coverage of intervals, into a directory.

    A study that was interrupted goes on from there, and one with more data sets, or
    more cells, does what is missing. Numbers are the same for any ``n_jobs``.

    Parameters
    ----------
    directory : str or path
        Made where there is none; a file for every 50 data sets of a cell.
    n : sequence of int
        Numbers of records.
    balances : sequence of float
        Shares of positive records.
    auroc : sequence of float
        Of the best score there is; 0.5 for no signal.
    duplicates : sequence of bool
        Whether a fifth of the records are copies of others, which then are held out
        together with them.
    schemes : sequence of str
        Names in ``statcv.studies.inference.SCHEMES``.
    data_sets : int, default 1000
        In each cell.
    refits : int, default 200
        Data sets, from the first, on which slow methods are tried: those that resample
        (bootstrap), or fit everything again (jackknife, permutation). Fewer where they
        would make more than 2.3 million fits in a cell, and none where fewer than 40
        are left.
    n_permutations : int, default 99
        Of a permutation test.
    seed : int, default 1
    n_jobs : int, optional
        Processes, as joblib takes it.

    Raises
    ------
    ArgumentError
        If a scheme is unknown, or a number out of range.
    CheckpointError
        If the directory holds a study with another seed, ``refits`` or
        ``n_permutations``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from statcv.studies.inference import run_study, study_table
    >>> cell = {"n": [30], "balances": [0.5], "auroc": [0.5], "duplicates": [False]}
    >>> with TemporaryDirectory() as directory:
    ...     run_study(directory, **cell, schemes=["loocv"], data_sets=4, refits=0)
    ...     table = study_table(directory)
    >>> table.loc[0, ["scheme", "how", "method"]].tolist()
    ['loocv', 'pooled', 'delong']
    """
    settings = Settings(resolve_seed(seed), refits, n_permutations)
    _check_counts(data_sets, refits, n_permutations)
    check_jobs(n_jobs)
    cells = _cells(n, balances, auroc, duplicates, schemes)
    path = Path(directory)
    _claim(path, settings)
    tasks = [
        (cell, numbers) for cell in cells for numbers in _undone(path, cell, data_sets)
    ]
    from joblib import Parallel, delayed

    Parallel(n_jobs=n_jobs)(
        delayed(_do)(path, cell, settings, numbers) for cell, numbers in tasks
    )


def _check_counts(data_sets: int, refits: int, permutations: int) -> None:
    for name, count, least in (
        ("data_sets", data_sets, 1),
        ("refits", refits, 0),
        ("n_permutations", permutations, 1),
    ):
        if not is_whole(count) or count < least:
            raise ArgumentError(
                f"{name} must be a whole number, {least} or more, not {count!r}."
            )


def _cells(
    n: Iterable[int],
    balances: Iterable[float],
    auroc: Iterable[float],
    duplicates: Iterable[bool],
    schemes: Iterable[str],
) -> list[Cell]:
    """Return the cells of a grid."""
    named = list(schemes)
    for name in named:
        if name not in SCHEMES:
            raise ArgumentError(
                f"scheme {name!r} is not of the study, which has "
                f"{', '.join(SCHEMES)}.{suggestion(name, SCHEMES)}"
            )
    return [
        Cell(Population(size, balance, area, bool(copies)), scheme)
        for copies, size, balance, area, scheme in product(
            duplicates, n, balances, auroc, named
        )
    ]


def _claim(path: Path, settings: Settings) -> None:
    """Take up the directory of the study, or begin it."""
    said = {
        "seed": settings.seed,
        "refits": settings.refits,
        "n_permutations": settings.permutations,
        "budget": BUDGET,
    }
    path.mkdir(parents=True, exist_ok=True)
    file = path / SAID
    if not file.exists():
        if any(path.iterdir()):
            raise CheckpointError(
                f"{path} holds other files, and no study; give a directory of its own."
            )
        write_whole(file, json.dumps(said).encode())
        return
    there = json.loads(file.read_text())
    differ = [name for name in said if there.get(name) != said[name]]
    if differ:
        listed = ", ".join(f"{name}={there.get(name)}" for name in differ)
        raise CheckpointError(
            f"{path} holds a study with {listed}; give another directory, or the same "
            "arguments."
        )


def _undone(path: Path, cell: Cell, data_sets: int) -> Iterator[range]:
    """Yield the data sets of a cell that no file holds, a file's worth at a time."""
    done = {number for part in parts_of(path, cell.name) for number in part[1]}
    for start in range(0, data_sets, CHUNK):
        chunk = range(start, min(start + CHUNK, data_sets))
        left = [number for number in chunk if number not in done]
        if left:  # files hold the first of a chunk, if any
            yield range(left[0], chunk.stop)


def parts_of(path: Path, name: str | None = None) -> list[tuple[Path, range]]:
    """Return the files of a study, or of one cell, with the data sets they hold."""
    found = []
    for file in sorted(path.glob(f"{name or ''}*.npz")):
        match = PART.fullmatch(file.name)
        if match and name in (None, match[1]):
            found.append((file, range(int(match[2]), int(match[3]))))
    return found


def _do(path: Path, cell: Cell, settings: Settings, numbers: range) -> None:
    with one_thread():
        answers = measure(cell, settings, numbers)
    write_answers(path, cell, answers)


def write_answers(path: Path, cell: Cell, answers: Answers) -> None:
    """Write answers to a file that is there whole, or not at all."""
    population = cell.population
    about = {
        "n": population.n,
        "balance": population.balance,
        "auroc": population.auroc,
        "duplicates": population.duplicates,
        "scheme": cell.scheme,
        "methods": [method.label for method in cell.methods],
    }
    content = io.BytesIO()
    np.savez_compressed(
        content,
        about=json.dumps(about),
        made=answers.made,
        values=answers.values,
        seconds=answers.seconds,
        truth=answers.truth,
    )
    stop = answers.first + answers.made.shape[1]
    name = f"{cell.name}-{answers.first:06d}-{stop:06d}.npz"
    write_whole(path / name, content.getvalue())

"""Run the study into the files of a directory, and continue where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Sequence
from itertools import product
from pathlib import Path

from statcv.arguments import is_whole, resolve_seed
from statcv.engine.parallel import check_jobs, one_thread
from statcv.errors import ArgumentError, suggestion
from statcv.studies.inference.cells import Answers, Cell, Settings, measure
from statcv.studies.inference.population import Population
from statcv.studies.inference.questions import QUESTIONS
from statcv.studies.inference.schemes import SCHEMES
from statcv.studies.store import claim, undone, write_part

CHUNK = 50  # data sets of a file

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
    questions: Sequence[str] = tuple(QUESTIONS),
    data_sets: int = 1000,
    refits: int = 200,
    n_permutations: int = 99,
    seed: int = 1,
    n_jobs: int | None = None,
) -> None:
    """Measure the coverage of intervals and the level and power of tests, into files.

    An interrupted study continues where it stopped, and one with more data sets, or
    more cells, runs what is missing. Results do not depend on ``n_jobs``.

    Parameters
    ----------
    directory : str or path
        Directory of the study, which is made if it does not exist; it has one file for
        every 50 data sets of a cell.
    n : sequence of int
        Numbers of records.
    balances : sequence of float
        Shares of positive records.
    auroc : sequence of float
        auROC of the best possible score; 0.5 for no signal.
    duplicates : sequence of bool
        Whether a fifth of the records are duplicates of others, which are then held out
        together with them.
    schemes : sequence of str
        Names in ``statcv.studies.inference.SCHEMES``.
    questions : sequence of str
        ``"no_skill"``: intervals of auROC, and its tests against 0.5.
        ``"equals"``: comparisons of two models, each with half of the covariates, so
        that neither is better on average. ``"losses"``: intervals of accuracy, Brier
        score and log-loss. ``"nested"``: comparisons of a model with half of the
        covariates and one with all.
    data_sets : int, default 1000
        Number of data sets in each cell.
    refits : int, default 200
        Data sets, from the first, on which slow methods are tried: those that resample
        (bootstrap), or fit everything again (jackknife, permutation). Fewer where they
        would make too many fits in a cell (2.3 million for ``"no_skill"``, half of
        that or less for others); where that leaves fewer than 40 they are tried on 40
        if they make a modest number of fits in each (4 million for ``"no_skill"``),
        else on none.
    n_permutations : int, default 99
        Number of permutations of a test.
    seed : int, default 1
    n_jobs : int, optional
        Number of processes, as in joblib.

    Raises
    ------
    ArgumentError
        If a scheme or a question is unknown, or a number out of range.
    CheckpointError
        If the directory holds a study with another seed, ``refits`` or
        ``n_permutations``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from statcv.studies.inference import run_study, study_table
    >>> cell = {"n": [30], "balances": [0.5], "auroc": [0.5], "duplicates": [False]}
    >>> asked = {"schemes": ["loocv"], "questions": ["no_skill"]}
    >>> with TemporaryDirectory() as directory:
    ...     run_study(directory, **cell, **asked, data_sets=4, refits=0)
    ...     table = study_table(directory)
    >>> table.loc[0, ["scheme", "how", "method"]].tolist()
    ['loocv', 'pooled', 'delong']
    """
    settings = Settings(resolve_seed(seed), refits, n_permutations)
    _check_counts(data_sets, refits, n_permutations)
    check_jobs(n_jobs)
    cells = _cells(n, balances, auroc, duplicates, schemes, questions)
    path = Path(directory)
    claim(path, _said(settings))
    tasks = [
        (cell, numbers)
        for cell in cells
        for numbers in undone(path, cell.name, data_sets, CHUNK)
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
                f"{name} must be an integer, {least} or more, not {count!r}."
            )


def _cells(
    n: Iterable[int],
    balances: Iterable[float],
    auroc: Iterable[float],
    duplicates: Iterable[bool],
    schemes: Iterable[str],
    questions: Iterable[str],
) -> list[Cell]:
    """Return the cells of a grid, those of the first question first."""
    named = _known("scheme", schemes, SCHEMES)
    asked = _known("question", questions, QUESTIONS)
    cells = [
        Cell(Population(size, balance, area, bool(copies)), scheme, question)
        for question, copies, size, balance, area, scheme in product(
            asked, duplicates, n, balances, auroc, named
        )
    ]
    return [cell for cell in cells if cell.methods]


def _known(kind: str, names: Iterable[str], there: Collection[str]) -> list[str]:
    """Return names that are all of the study."""
    named = list(names)
    for name in named:
        if name not in there:
            raise ArgumentError(
                f"{kind} {name!r} is not of the study, which has "
                f"{', '.join(there)}.{suggestion(name, there)}"
            )
    return named


def _said(settings: Settings) -> dict[str, int]:
    return {
        "seed": settings.seed,
        "refits": settings.refits,
        "n_permutations": settings.permutations,
        "budget": QUESTIONS["no_skill"].budget,
    }


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
        "question": cell.question,
        "methods": [method.label for method in cell.methods],
    }
    numbers = range(answers.first, answers.first + answers.made.shape[1])
    arrays = {
        "about": json.dumps(about),
        "made": answers.made,
        "values": answers.values,
        "seconds": answers.seconds,
        "truth": answers.truth,
    }
    write_part(path, cell.name, numbers, arrays)

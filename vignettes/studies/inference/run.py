"""Run the study into the files of a directory."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from statcv.arguments import is_whole, resolve_seed
from statcv.engine import check_jobs
from statcv.errors import ArgumentError, suggestion
from studies.inference.draws import SCHEMES
from studies.inference.population import Population
from studies.inference.questions import QUESTIONS, Answers, Cell, Settings, measure
from studies.inference.summary import study_table
from studies.running import Arrays, Directory, claim, fill

CHUNK = 50  # number of data sets in a file
SIZES = (30, 60, 100, 250)
BALANCES = (0.1, 0.3, 0.5)
AUROCS = (0.5, 0.7, 0.85)


def run_study(
    data_sets: int = 1000,
    *,
    n: Sequence[int] = SIZES,
    balances: Sequence[float] = BALANCES,
    auroc: Sequence[float] = AUROCS,
    duplicates: Sequence[bool] = (False, True),
    schemes: Sequence[str] = tuple(SCHEMES),
    questions: Sequence[str] = tuple(QUESTIONS),
    refits: int = 200,
    n_permutations: int = 99,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Measure the coverage of intervals, and the level and power of tests.

    Parameters
    ----------
    data_sets : int, default 1000
        Number of data sets in each cell.
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
        Names in ``studies.inference.SCHEMES``.
    questions : sequence of str
        ``"no_skill"``: intervals of auROC, and its tests against 0.5.
        ``"equals"``: comparisons of two models, each with half of the covariates, so
        that neither is better on average. ``"losses"``: intervals of accuracy, Brier
        score and log-loss. ``"nested"``: comparisons of a model with half of the
        covariates and one with all.
    refits : int, default 200
        Data sets, from the first, on which slow methods are tried: those that resample
        (bootstrap), or fit everything again (jackknife, permutation). Fewer where they
        would make too many fits in a cell (2.3 million for ``"no_skill"``, half of
        that or less for others); where that leaves fewer than 40 they are tried on 40
        if they make a modest number of fits in each (4 million for ``"no_skill"``),
        else on none.
    n_permutations : int, default 99
        Number of permutations of a test.
    directory : str or path, optional
        Directory for the results, with one file for every 50 data sets of a cell. An
        interrupted study, or one with more data sets or cells, continues from there.
    seed : int, default 1
    n_jobs : int, optional
        Number of processes, as in joblib; the results do not depend on it.
    progress : bool, optional
        Whether to show a bar; by default at a terminal, after two seconds.

    Returns
    -------
    pandas.DataFrame
        The results of the directory so far, as :func:`study_table` gives them.

    Raises
    ------
    ArgumentError
        If a scheme or a question is unknown, or a number out of range.
    CheckpointError
        If the directory holds a study with another seed, ``refits`` or
        ``n_permutations``.

    Examples
    --------
    >>> from studies.inference import run_study
    >>> cell = {"n": [30], "balances": [0.5], "auroc": [0.5], "duplicates": [False]}
    >>> asked = {"schemes": ["loocv"], "questions": ["no_skill"]}
    >>> table = run_study(4, **cell, **asked, refits=0)
    >>> table.loc[0, ["scheme", "how", "method"]].tolist()
    ['loocv', 'pooled', 'delong']
    """
    settings = Settings(resolve_seed(seed), refits, n_permutations)
    _check_counts(data_sets, refits, n_permutations)
    check_jobs(n_jobs)
    cells = _cells(n, balances, auroc, duplicates, schemes, questions)
    if directory is None:
        with TemporaryDirectory() as own:
            return _run(own, cells, settings, data_sets, n_jobs, progress)
    return _run(directory, cells, settings, data_sets, n_jobs, progress)


def _run(
    directory: str | os.PathLike[str],
    cells: Sequence[Cell],
    settings: Settings,
    data_sets: int,
    n_jobs: int | None,
    progress: bool | None,
) -> pd.DataFrame:
    path = Path(directory)
    claim(path, _settings_of(settings))
    measures = {cell.name: partial(_measure, cell, settings) for cell in cells}
    fill(path, measures, data_sets, CHUNK, n_jobs, progress)
    return study_table(path)


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
        Cell(Population(size, balance, area, bool(repeated)), scheme, question)
        for question, repeated, size, balance, area, scheme in product(
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


def _settings_of(settings: Settings) -> dict[str, int]:
    return {
        "seed": settings.seed,
        "refits": settings.refits,
        "n_permutations": settings.permutations,
        "budget": QUESTIONS["no_skill"].budget,
    }


def _measure(cell: Cell, settings: Settings, numbers: range) -> Arrays:
    return arrays_of(cell, measure(cell, settings, numbers))


def arrays_of(cell: Cell, answers: Answers) -> Arrays:
    """Return the arrays of a file of answers."""
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
    return {
        "about": json.dumps(about),
        "made": answers.made,
        "values": answers.values,
        "seconds": answers.seconds,
        "truth": answers.truth,
    }

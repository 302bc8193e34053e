"""Run the study into the files of a directory, and make a tidy table of them."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import is_whole, resolve_seed
from statcv.engine import check_jobs
from statcv.errors import ArgumentError, CheckpointError, suggestion
from studies.inference.draws import SCHEMES
from studies.inference.population import Population
from studies.inference.questions import (
    QUESTIONS,
    Answers,
    Cell,
    Settings,
    measure,
)
from studies.running import (
    Arrays,
    Directory,
    claim,
    fill,
    parts_of,
    read_part,
    unreadable,
)

Floats = NDArray[np.float64]

CHUNK = 50  # number of data sets in a file
SIZES = (30, 60, 100, 250)
BALANCES = (0.1, 0.3, 0.5)
AUROCS = (0.5, 0.7, 0.85)
ALPHA = 0.05
FIRST = "no_skill"  # the question of files that do not name one


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


def study_table(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the results of a study so far.

    Parameters
    ----------
    directory : str or path
        Directory of :func:`studies.inference.run_study`.

    Returns
    -------
    pandas.DataFrame
        One row per cell and method:

        ``question``
            What was asked: ``"no_skill"``, ``"equals"``, ``"losses"``, ``"nested"``,
            as in :func:`~studies.inference.run_study`. For two models the other
            columns are of their difference, the second minus the first.
        ``n``, ``balance``, ``auroc``, ``duplicates``, ``scheme``
            The cell; ``auroc`` is that of the best possible score.
        ``metric``, ``how``, ``method``, ``kind``
            What was estimated, and an interval, a test or an estimate alone.
        ``data_sets``, ``missing``
            Number of data sets on which it was tried, and the share without a result.
        ``truth``, ``estimate``, ``estimate_sd``, ``estimate_median``
            The mean true value of the model fitted to all records; mean, standard
            deviation and median of the estimates.
        ``covers``, ``covers_se``, ``covers_mean``, ``covers_mean_se``
            Share of intervals that cover the true value of the model fitted to those
            very records, and that cover the mean true value, with Monte Carlo standard
            errors.
        ``excludes``, ``excludes_se``
            Share of intervals without 0.5, for two models without 0; NaN for losses.
        ``rejects``, ``rejects_se``
            Share of p-values of at most .05. Against no skill they are one-sided, and
            this is the size of the test where ``auroc`` is 0.5, else its power. Of two
            models they are two-sided: the size where these are equally good.
        ``width``, ``seconds``
            Mean width, and seconds per data set.

        Shares are of the data sets with a result.

    Raises
    ------
    CheckpointError
        If the directory holds no part of a study, or one that cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from studies.inference import run_study
    >>> cell = {"n": [30], "balances": [0.5], "auroc": [0.5], "duplicates": [False]}
    >>> asked = {"schemes": ["loocv"], "questions": ["no_skill"], "refits": 0}
    >>> with TemporaryDirectory() as directory:
    ...     made = run_study(4, **cell, **asked, directory=directory)
    ...     made.equals(study_table(directory))
    True
    """
    cells: dict[str, list[Path]] = defaultdict(list)
    for file, _ in parts_of(Path(directory)):
        cells[file.name.rsplit("-", 2)[0]].append(file)
    if not cells:
        raise CheckpointError(f"{os.fspath(directory)} holds no part of a study.")
    rows = [row for files in cells.values() for row in _rows(files)]
    asked = list(QUESTIONS)
    rows.sort(
        key=lambda row: (
            asked.index(row["question"]),
            *(row[name] for name in ("duplicates", "n", "balance", "auroc")),
        )
    )
    return pd.DataFrame(rows)


def _rows(files: list[Path]) -> list[dict[str, Any]]:
    parts = [_load(file) for file in files]
    about = parts[0]["about"]
    made = np.concatenate([part["made"] for part in parts], axis=1)
    values = np.concatenate([part["values"] for part in parts], axis=1)
    seconds = np.concatenate([part["seconds"] for part in parts], axis=1)
    truth = np.concatenate([part["truth"] for part in parts])
    cell = {"question": FIRST} | {key: about[key] for key in about if key != "methods"}
    question = QUESTIONS[cell["question"]]
    rows = []
    for row, (metric, how, name, kind) in enumerate(about["methods"]):
        tried = made[row]
        if not tried.any():
            continue
        named = {"metric": metric, "how": how, "method": name, "kind": kind}
        target = truth[:, question.targets.index(metric)]
        found = _summary(
            kind,
            values[row, tried],
            target[tried],
            _mean(target[~np.isnan(target)]),
            question.null,
        )
        found["seconds"] = float(seconds[row, tried].mean())
        rows.append(cell | named | found)
    return rows


def _load(file: Path) -> dict[str, Any]:
    arrays = read_part(file)
    try:
        return arrays | {"about": json.loads(str(arrays["about"]))}
    except (ValueError, KeyError):
        raise unreadable(file) from None


def _summary(
    kind: str, values: Floats, truth: Floats, mean: float, null: float
) -> dict[str, Any]:
    """Return the shares and means of one method over data sets."""
    estimate, lower, upper, p = values.T
    answered = {"interval": lower, "test": p, "estimate": estimate}[kind]
    known, there = ~np.isnan(answered), ~np.isnan(estimate)
    found: dict[str, Any] = {
        "data_sets": len(values),
        "missing": float(1 - known.mean()),
        "truth": mean,
        "estimate": _mean(estimate[there]),
        "estimate_sd": float(estimate[there].std(ddof=1))
        if there.sum() > 1
        else np.nan,
        "estimate_median": float(np.median(estimate[there])) if there.any() else np.nan,
    }
    bounded = ~np.isnan(lower)
    low, high = lower[bounded], upper[bounded]
    inside = (low <= truth[bounded]) & (truth[bounded] <= high)
    found |= share("covers", inside)
    found |= share("covers_mean", (low <= mean) & (mean <= high))
    excluded = (low > null) | (high < null)
    found |= share("excludes", excluded[: 0 if np.isnan(null) else None])
    found |= share("rejects", p[~np.isnan(p)] <= ALPHA + 1e-12)
    return found | {"width": _mean(high - low)}


def share(name: str, held: NDArray[np.bool_]) -> dict[str, float]:
    """Return a share and its Monte Carlo standard error.

    The error is that of (count + 1) / (cases + 2), which is not 0 if all or no cases
    count.
    """
    if not len(held):
        return {name: np.nan, f"{name}_se": np.nan}
    near = (held.sum() + 1) / (len(held) + 2)
    error = float(np.sqrt(near * (1 - near) / len(held)))
    return {name: float(held.mean()), f"{name}_se": error}


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else np.nan

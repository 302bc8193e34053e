"""The default interval and test on populations that they were not made for.

Each interval is held against an oracle: the constant half-width that covers the truth,
which is the metric of the model fitted to all records in a large sample, in 95 % of the
data sets. A test is judged by how often it rejects for two equally good models, and for
nested models of which the larger is better. Old defaults, and intervals of the
literature, stand beside the new ones.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from statcv import compare
from statcv.errors import ArgumentError, StatcvError, StatcvWarning
from statcv.metrics import METRICS
from statcv.results import CVResult
from studies.inference.cells import (
    CHOOSING,
    FEWER,
    LARGEST,
    OF_NUMBERS,
    OTHERS,
    SLOW,
    Cell,
    cells,
)
from studies.inference.draws import LEVEL
from studies.inference.rivals import (
    cai_interval,
    conservative_z_interval,
    cv_tmle,
    cv_tmle_interval,
)
from studies.inference.shapes import large_sample
from studies.inference.summary import ALPHA, share
from studies.inference.times import (
    Times,
    differences_of_times,
    intervals_of_times,
    permuted,
    permuted_times,
)
from studies.running import Arrays, Directory, claim, fill, parts_of, read_part

Stated = tuple[float, float, float]  # the estimate and the limits

CHUNK = 25  # number of data sets in a file
PERMUTATIONS = 19  # with which a one-sided test at 5 % has its exact size
QUESTIONS = ("interval", "equal", "nested", "chosen", "permuted")


# ---- one data set ----


def answers(cell: Cell, seed: int, number: int) -> list[dict[str, Any]]:
    """Return what every method says of a data set."""
    data = cell.drawn(seed, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        if cell.question == "permuted":
            result = cell.cross_validate(data, cell.shape.covariates, number)
            if isinstance(cell.shape, Times):
                return permuted_times(result, cell.scheme, number)
            return permuted("auroc", "auroc", result, PERMUTATIONS, number)
        if cell.question == "interval":
            return _intervals(cell, data, number)
        return _differences(cell, data, number)


def _intervals(cell: Cell, data: pd.DataFrame, number: int) -> list[dict[str, Any]]:
    result = cell.cross_validate(data, cell.shape.covariates, number)
    if isinstance(cell.shape, Times):
        return intervals_of_times(result, cell.shape, cell.scheme)
    large = large_sample(cell.shape)
    predicted = np.asarray(result.predict(large), dtype=float)
    slow = cell.shape.n <= LARGEST and cell.model not in (*SLOW, *CHOOSING)
    metrics: tuple[str, ...] = ("auroc",)
    if cell.scheme == "stratified_kfold":
        metrics = ("auroc", *OTHERS)
    if cell.shape.continuous:
        metrics = OF_NUMBERS
    rows = []
    for metric in metrics:
        baseline = None
        if METRICS[metric].uses_baseline:
            baseline = np.full(len(large), data["y"].mean())
        truth = METRICS[metric](large["y"].to_numpy(), predicted, baseline)
        for name, (how, found) in _asked(result, metric, slow, number).items():
            rows.append(
                {"metric": metric, "how": how, "method": name, "truth": truth}
                | dict(zip(("estimate", "lower", "upper"), found, strict=True))
            )
    return rows


def _asked(
    result: CVResult, metric: str, slow: bool, number: int
) -> dict[str, tuple[str, Stated]]:
    """Return the estimates and limits of all methods, by their name."""
    default = result.estimate(metric)
    found = {"default": (default.how, (default.value, default.lower, default.upper))}

    def add(name: str, make: Callable[[], Stated], how: str) -> None:
        try:
            found[name] = how, make()
        except StatcvError:
            found[name] = how, (np.nan, np.nan, np.nan)

    def named(how: str, name: str) -> Stated:
        one = result.estimate(metric, how, interval=name)
        return one.value, one.lower, one.upper

    how = default.how
    rarely = slow and number % FEWER == 0
    if metric == "auroc":
        if slow:
            add("corrected_jackknife", partial(named, how, "corrected_jackknife"), how)
        add("delong", partial(named, "pooled", "delong"), "pooled")
        if how == "per_fold":
            add("corrected_t", partial(named, how, "corrected_t"), how)
        kfold = result.plan.repeats == 1 and how != "paired"
        if rarely and kfold and result.scores.clusters is None:
            bootstrapped = partial(cai_interval, result, metric, level=LEVEL)
            add("cai", lambda: (default.value, *bootstrapped(seed=number)), how)
            add("cv_tmle", lambda: _targeted(result, number), how)
    if metric == "brier":
        add("records", partial(named, "pooled", "records"), "pooled")
        if rarely and result.scores.clusters is None:
            halved = partial(conservative_z_interval, result, metric, level=LEVEL)
            add(
                "conservative_z",
                lambda: (default.value, *halved(seed=number)),
                "pooled",
            )
    return found


def _targeted(result: CVResult, seed: int) -> Stated:
    lower, upper = cv_tmle_interval(result, level=LEVEL, seed=seed)
    return cv_tmle(result, seed=seed).value, lower, upper


def _differences(cell: Cell, data: pd.DataFrame, number: int) -> list[dict[str, Any]]:
    names = cell.shape.covariates
    half, other = names[: len(names) // 2], names[len(names) // 2 :]
    before, after = {
        "equal": (half, other),
        "nested": (half, names),
        "chosen": (names, names),
    }[cell.question]
    model = cell
    if cell.question == "chosen":  # among all, which are in the first model
        model = replace(cell, model="unpenalised")
    first = model.cross_validate(data, before, number)
    second = cell.cross_validate(data, after, number, first.plan)
    if isinstance(cell.shape, Times):
        return differences_of_times(first, second, cell.shape)
    large = large_sample(cell.shape)
    y = large["y"].to_numpy()
    predicted = [np.asarray(one.predict(large), dtype=float) for one in (first, second)]
    tests: list[tuple[str, str, str | None, str | None]] = [
        ("auroc", "default", None, None),
        ("auroc", "delong", None, "delong"),
        ("auroc", "delong, pooled", "pooled", "delong"),
        ("auroc", "corrected_t", "per_fold", "corrected_t"),
    ]
    if cell.scheme == "rloocv":  # whose folds do not hold out both classes
        del tests[-1]
    if cell.model in CHOOSING:
        given = "corrected_influence"
        tests += [("brier", "default", None, None), ("auroc", given, None, given)]
    elif cell.scheme == "rloocv":
        tests = tests[:1]
    elif cell.model not in SLOW and cell.shape.n <= LARGEST:
        tests.append(("auroc", "corrected_jackknife", None, "corrected_jackknife"))
    rows = []
    for metric, name, how, test in tests:
        found = compare(first=first, second=second, metric=metric, how=how, test=test)
        row = found.differences.iloc[0]
        truth = [METRICS[metric](y, one) for one in predicted]
        rows.append(
            {
                "metric": metric,
                "how": str(found.table["how"].iloc[0]),
                "method": name,
                "truth": truth[1] - truth[0],
                "estimate": row["difference"],
                "lower": row["lower"],
                "upper": row["upper"],
                "p": row["p"],
            }
        )
    return rows


# ---- the study ----


def run_defaults(
    data_sets: int = 300,
    *,
    questions: Sequence[str] = QUESTIONS,
    populations: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Measure the default interval and test, with the old ones and rivals beside them.

    Parameters
    ----------
    data_sets : int, default 300
        Number of data sets in each cell; a quarter of them where models are slow, and
        five times as many where models choose columns in every training set.
    questions : sequence of str
        ``"interval"``: intervals, of auROC and other metrics. ``"equal"``: tests of two
        equally good models. ``"nested"``: tests of two nested models. ``"chosen"``:
        tests of the model of all covariates and one that chooses among them.
        ``"permuted"``: tests by permutation, of outcomes that depend on nothing.
    populations : sequence of str, optional
        Names in `SHAPES`, `COMPARED`, `TIMES` and so on; all unless given.
    models : sequence of str, optional
        Names in `MODELS`; all unless given.
    directory, seed, n_jobs, progress
        As :func:`studies.inference.run_study` takes them.

    Returns
    -------
    pandas.DataFrame
        One row per cell and method, as :func:`defaults_table` gives it.

    Raises
    ------
    ArgumentError
        If no such population is asked such a question.

    Examples
    --------
    >>> table = run_defaults(2, questions=["equal"], populations=["normal"], seed=1)
    >>> table["question"].unique().tolist()
    ['equal']
    """
    asked = [
        cell
        for cell in cells()
        if cell.question in questions
        and (populations is None or cell.population in populations)
        and (models is None or cell.model in models)
    ]
    if not asked:
        known = sorted({f"{cell.question} of {cell.population}" for cell in cells()})
        raise ArgumentError(f"there is no such cell; there are {'; '.join(known)}.")
    if directory is None:
        with TemporaryDirectory() as own:
            return _run(Path(own), asked, data_sets, seed, n_jobs, progress)
    return _run(Path(directory), asked, data_sets, seed, n_jobs, progress)


def _run(
    path: Path,
    asked: Sequence[Cell],
    data_sets: int,
    seed: int,
    n_jobs: int | None,
    progress: bool | None,
) -> pd.DataFrame:
    claim(path, {"seed": seed})
    groups: dict[int, dict[str, Callable[[range], Arrays]]] = {}
    for cell in asked:
        own = groups.setdefault(cell.count(data_sets), {})
        own[cell.name] = partial(_measure, cell, seed)
    for count, measures in groups.items():
        fill(path, measures, count, CHUNK, n_jobs, progress)
    return defaults_table(path)


def _measure(cell: Cell, seed: int, numbers: range) -> Arrays:
    rows = [
        {"number": number} | row
        for number in numbers
        for row in answers(cell, seed, number)
    ]
    about = {
        "question": cell.question,
        "population": cell.population,
        "n": cell.shape.n,
        "model": cell.model,
        "scheme": cell.scheme,
    }
    return {"about": json.dumps(about), "rows": json.dumps(rows)}


def defaults_table(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the results so far, one row per cell and method.

    Parameters
    ----------
    directory : str or path
        Directory of :func:`run_defaults`.

    Returns
    -------
    pandas.DataFrame
        ``question``, ``population``, ``n``, ``model``, ``scheme``, ``metric``, ``how``,
        ``method``; ``data_sets``, and the share of them ``missing`` an interval;
        means ``truth`` and ``estimate`` with the standard deviation of the error,
        ``error_sd``; ``covers`` and ``covers_se``, the share of intervals with the
        truth; ``width``, the mean; ``oracle``, the constant width that has the truth
        in 95 % of the data sets; ``ratio`` of the two; ``rejects`` and
        ``rejects_se``, the share of p-values of at most .05 (of intervals of a
        difference of two models).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> asked = {"questions": ["equal"], "populations": ["normal"], "seed": 1}
    >>> with TemporaryDirectory() as directory:
    ...     made = run_defaults(2, **asked, directory=directory)
    ...     made.equals(defaults_table(directory))
    True
    """
    parts = []
    for file, _ in parts_of(Path(directory)):
        arrays = read_part(file)
        rows = pd.DataFrame(json.loads(str(arrays["rows"])))
        parts.append(rows.assign(**json.loads(str(arrays["about"]))))
    every = pd.concat(parts, ignore_index=True)
    if "p" not in every:
        every["p"] = np.nan
    keys = ["question", "population", "n", "model", "scheme", "metric", "how", "method"]
    groups = every.groupby(keys, sort=False)
    table = pd.DataFrame(
        [dict(zip(keys, key, strict=True)) | _row(part) for key, part in groups]
    )
    rank = table["question"].map(QUESTIONS.index)
    return (
        table.assign(rank=rank)
        .sort_values(["rank", "n", "population", "model", "scheme"], kind="stable")
        .drop(columns="rank")
        .reset_index(drop=True)
    )


def _row(part: pd.DataFrame) -> dict[str, float]:
    known = part.dropna(subset=["estimate", "truth"])
    error = (known["estimate"] - known["truth"]).to_numpy()
    there = known.dropna(subset=["lower", "upper"])
    inside = (there["lower"] <= there["truth"]) & (there["truth"] <= there["upper"])
    oracle = 2 * float(np.quantile(np.abs(error), 0.95)) if len(error) else np.nan
    width = float((there["upper"] - there["lower"]).mean())
    p = known["p"].dropna()
    return {
        "data_sets": len(part),
        "missing": 1 - len(there) / len(part),
        "truth": float(known["truth"].mean()),
        "estimate": float(known["estimate"].mean()),
        "error_sd": float(np.std(error, ddof=1)) if len(error) > 1 else np.nan,
        **share("covers", inside.to_numpy()),
        "width": width,
        "oracle": oracle,
        "ratio": width / oracle if oracle else np.nan,
        **share("rejects", (p <= ALPHA).to_numpy()),
    }

"""Small samples of public data sets: every estimate, and the truth on the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import check_whole
from statcv.errors import ArgumentError, suggestion
from statcv.metrics import auroc
from studies.austin2024.estimates import (
    check_estimates,
    estimates_of,
    fitted_to_all,
    summarise,
)
from studies.austin2024.samples import learner_of, stream_of
from studies.running import Directory, simulate

MODEL = "logit 1"
SHORT = (
    "loocv",
    "rloocv",
    "weight",
    "folds_pooled",
    "folds_mean",
    "rloocv_paired",
    "rloocv_paired_x4",
    "leave_pair_out",
)


def public_data(
    draws: int = 200,
    *,
    n: int = 40,
    tasks: Sequence[str] | None = None,
    estimates: Iterable[str] = SHORT,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Draw small samples of public data, and compare estimates with the rest.

    A sample of a data set that an installed package ships stands for a small study;
    the records that were not drawn give the true performance of its model.

    Parameters
    ----------
    draws : int, default 200
        Samples of each data set.
    n : int, default 40
        Records of a sample; classes keep the balance of the whole.
    tasks : sequence of str, optional
        In :data:`TASKS`; all by default.
    estimates : iterable of str
        In :data:`ESTIMATES`.
    directory, seed, n_jobs, progress
        As in :func:`null_aurocs`.

    Returns
    -------
    pandas.DataFrame
        One row per ``task`` and estimate, as in :func:`signal_aurocs`. The ``truth``
        is the auROC on the records that were not drawn, of the model fitted to all
        that were: ridge logistic regression (C = 1) of covariates with standard
        deviation 1.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If there is no such task or estimate, or a number is out of range.

    Examples
    --------
    >>> from studies.austin2024 import public_data
    >>> table = public_data(2, tasks=["iris"], estimates=["loocv", "leave_pair_out"])
    >>> table[["task", "estimate", "data_sets"]].values.tolist()
    [['iris', 'loocv', 2], ['iris', 'leave_pair_out', 2]]
    """
    asked = tuple(TASKS) if tasks is None else tuple(tasks)
    for name in asked:
        if name not in TASKS:
            raise ArgumentError(
                f"there is no task {name!r}; there are {', '.join(TASKS)}."
                f"{suggestion(name, TASKS)}"
            )
    check_whole(n, "n", least=20)
    found = simulate(
        "public_data",
        _measure,
        draws,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        counts="draw",
        n=n,
        tasks=asked,
        estimates=check_estimates(estimates),
    )
    tables = []
    for task, own in found.groupby("task", sort=False):
        table = summarise(own)
        table.insert(0, "task", task)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _measure(
    seed: int, number: int, n: int, tasks: tuple[str, ...], estimates: tuple[str, ...]
) -> pd.DataFrame:
    tables = []
    for place, task in enumerate(tasks):
        records = records_of(task)
        rng = stream_of(seed, number, place)
        drawn = _sample(records["y"].to_numpy(), n, rng)
        few = records.iloc[drawn].reset_index(drop=True)
        rest = records.drop(index=records.index[drawn])
        own, model = int(rng.integers(2**32)), learner_of(MODEL)
        table = estimates_of(few, model, estimates, own)
        full = fitted_to_all(few, model)
        table.insert(0, "task", task)
        table["truth"] = float(auroc(rest["y"], full.predict(rest)))
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _sample(y: Any, n: int, rng: np.random.Generator) -> Any:
    """Return positions of records, of each class as many as keep the balance."""
    positives = round(n * float(np.mean(y)))
    drawn = [
        rng.choice(np.flatnonzero(y == label), size, replace=False)
        for label, size in ((0, n - positives), (1, positives))
    ]
    return rng.permutation(np.concatenate(drawn))


@cache
def records_of(task: str) -> pd.DataFrame:
    """Return the outcome ``y`` and covariates of standard deviation 1.

    Examples
    --------
    >>> records_of("iris").shape
    (100, 3)
    """
    frame = TASKS[task]().reset_index(drop=True).astype(float)
    scaled = frame.drop(columns="y")
    scaled = (scaled - scaled.mean()) / scaled.std()
    scaled.columns = [f"x{place}" for place in range(1, scaled.shape[1] + 1)]
    scaled.insert(0, "y", frame["y"].astype(int))
    return scaled


def _sklearn(
    loader: str, columns: Sequence[str], positive: Callable[[Any], Any], *classes: int
) -> Callable[[], pd.DataFrame]:
    """Return what loads columns of a data set of scikit-learn, and some classes."""

    def load() -> pd.DataFrame:
        from sklearn import datasets

        loaded = getattr(datasets, loader)(as_frame=True)
        frame = loaded.data[list(columns)].assign(y=positive(loaded.target))
        kept = loaded.target.isin(classes) if classes else slice(None)
        return pd.DataFrame(frame[kept])

    return load


def _statsmodels(
    name: str, columns: Sequence[str], positive: Callable[[Any], Any]
) -> Callable[[], pd.DataFrame]:
    """Return what loads columns of a data set of statsmodels."""

    def load() -> pd.DataFrame:
        from statsmodels import datasets

        data = getattr(datasets, name).load_pandas().data
        return pd.DataFrame(data[list(columns)].assign(y=positive(data)))

    return load


_FAIR = ("age", "children", "religious", "educ")
_ANES = ("logpopul", "age", "educ", "income")
_HEALTH = ("lncoins", "lpi", "fmde", "disea", "physlm")
TASKS: dict[str, Callable[[], pd.DataFrame]] = {
    "tumours": _sklearn(
        "load_breast_cancer",
        ("mean texture", "mean smoothness", "mean symmetry"),
        lambda target: target == 0,
    ),
    "tumours, errors": _sklearn(
        "load_breast_cancer",
        ("texture error", "smoothness error", "symmetry error"),
        lambda target: target == 0,
    ),
    "iris": _sklearn(
        "load_iris",
        ("sepal length (cm)", "sepal width (cm)"),
        lambda target: target == 2,
        1,
        2,
    ),
    "wine": _sklearn(
        "load_wine", ("ash", "magnesium"), lambda target: target == 0, 0, 2
    ),
    "diabetes, age sex": _sklearn(
        "load_diabetes", ("age", "sex"), lambda target: target > 140
    ),
    "diabetes, serum": _sklearn(
        "load_diabetes", ("s1", "s2", "s3", "s4", "s6"), lambda target: target > 140
    ),
    "digits 3 8": _sklearn(
        "load_digits",
        ("pixel_2_4", "pixel_5_5", "pixel_6_3"),
        lambda target: target == 8,
        3,
        8,
    ),
    "affairs": _statsmodels("fair", _FAIR, lambda data: data["affairs"] > 0),
    "election": _statsmodels("anes96", _ANES, lambda data: data["vote"] == 1),
    "doctor": _statsmodels("randhie", _HEALTH, lambda data: data["mdvis"] > 1),
    "schools": _statsmodels(
        "star98",
        ("LOWINC", "PERASIAN", "AVYRSEXP", "PTRATIO"),
        lambda data: data["NABOVE"] > data["NBELOW"],
    ),
}
"""Data sets of two classes by name: what loads them from scikit-learn, statsmodels."""

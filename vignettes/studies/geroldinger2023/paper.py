"""Three estimators under resampling, and stratification bias on noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from statcv.models import Logit
from studies.papers import Folder, Paper, Table
from studies.running import Directory, simulate
from studies.small_samples import Method, measure_sample, measure_settings, summarise

GRID = {"C": np.logspace(-3, 2, 6)}
MODELS: dict[str, dict[str, Any]] = {
    "ML": {"model": Logit()},
    "Firth": {"model": Logit(firth=True)},
    "FLIC": {"model": Logit(flic=True)},
    "ridge": {"model": Logit(C=1.0), "tune": GRID},
}
OF = ("model", "method", "metric")
METRICS = ("auroc", "discrimination_slope", "brier")
METHODS = {
    "LOO": Method({"scheme": "loocv"}, {"auroc": "pooled"}),
    "LPO": Method({"scheme": "leave_pair_out"}, {}),
    "5-fold": Method({"scheme": "stratified_kfold", "k": 5, "repeats": 20}, {}),
    ".632+": Method(
        {"scheme": "bootstrap", "repeats": 50},
        dict.fromkeys(("auroc", "brier"), ".632+")
        | {"discrimination_slope": "per_fold"},
    ),
    "RLOOCV": Method({"scheme": "rloocv", "repeats": 2}, {"auroc": "paired"}),
}
EVENTS = (12, 25)  # number of events among 50 records
CS = (0.5, 0.75)
NOISE = {
    "10-fold, pooled": Method({"scheme": "kfold", "k": 10}, {"auroc": "pooled"}),
    "stratified 10-fold, pooled": Method(
        {"scheme": "stratified_kfold", "k": 10}, {"auroc": "pooled"}
    ),
    "stratified 10-fold, per fold": Method(
        {"scheme": "stratified_kfold", "k": 10}, {"auroc": "per_fold"}
    ),
    "balanced 10-fold, pooled": Method(
        {"scheme": "rkfold", "k": 10, "repeats": 1}, {"auroc": "pooled"}
    ),
    "LOO": Method({"scheme": "loocv"}, {"auroc": "pooled"}),
    "balanced LOO, pooled": Method(
        {"scheme": "rloocv", "repeats": 1}, {"auroc": "pooled"}
    ),
    "RLOOCV, paired": Method({"scheme": "rloocv"}, {"auroc": "paired"}),
}


def performance(
    count: int,
    *,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Estimate c-statistic, discrimination slope and Brier score.

    Parameters
    ----------
    count : int
        Number of data sets of each setting.
    directory : str or path, optional
        Directory for the results, from which an interrupted run continues.
    seed : int, default 1
    n_jobs : int, optional
        Number of processes, on which the results do not depend.
    progress : bool, optional
        Whether to show a bar.

    Returns
    -------
    pandas.DataFrame
        A row for each setting and method: number of data sets, mean of the true
        values, mean and bias of the estimates, root mean squared error and coverage.

    Examples
    --------
    The stored table, which is made by this function:

    >>> stored("performance")["model"].unique().tolist()
    ['ML', 'Firth', 'FLIC', 'ridge']
    """
    table = simulate(
        "performance",
        _performance,
        count,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return summarise(table, ("events", "c", *OF))


def _performance(seed: int, number: int) -> pd.DataFrame:
    return measure_settings(
        seed,
        number,
        "events",
        EVENTS,
        CS,
        sizes=lambda events: (50 - events, events),
        covariates=5,
        models=MODELS,
        methods=METHODS,
        metrics=METRICS,
        n_boot=100,
    )


def stratification(
    count: int,
    *,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Estimate the auROC of a penalised model on noise.

    Parameters
    ----------
    count : int
        Number of data sets of each setting.
    directory : str or path, optional
        Directory for the results, from which an interrupted run continues.
    seed : int, default 1
    n_jobs : int, optional
        Number of processes, on which the results do not depend.
    progress : bool, optional
        Whether to show a bar.

    Returns
    -------
    pandas.DataFrame
        A row for each setting and method: number of data sets, mean of the true
        values, mean and bias of the estimates, root mean squared error and coverage.

    Examples
    --------
    >>> stratification(1)["method"].tolist()[:3]
    ['apparent', '10-fold, pooled', 'stratified 10-fold, pooled']
    """
    table = simulate(
        "stratification",
        _stratification,
        count,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return summarise(table, OF)


def _stratification(seed: int, number: int) -> pd.DataFrame:
    return measure_sample(
        np.random.default_rng([seed, number, 7]),
        sizes=(24, 16),
        c=0.5,
        covariates=5,
        models={"ridge, C = 0.01": {"model": Logit(C=0.01)}},
        methods=NOISE,
        metrics=("auroc",),
    )


TABLES = {
    "performance": Table(297, performance),
    "stratification": Table(1000, stratification),
}
PAPER = Paper("geroldinger2023", TABLES)


def stored(name: str, folder: Folder = None) -> pd.DataFrame:
    """Return a stored table of results.

    Parameters
    ----------
    name : str
        ``"performance"`` or ``"stratification"``.
    folder : str or path, optional
        Folder of your own tables.

    Examples
    --------
    >>> table = stored("stratification").set_index("method")
    >>> bool(table.loc["10-fold, pooled", "mean"] < 0.3)
    True
    """
    table: pd.DataFrame = PAPER.stored(name, folder)
    return table

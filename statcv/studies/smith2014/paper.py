"""Estimates of the c-statistic at few events per variable."""

from __future__ import annotations

import pandas as pd

from statcv.models import Logit
from statcv.studies.running import Directory, simulate
from statcv.studies.small_samples import Method, measure_settings, summarise
from statcv.studies.tables import Folder, Paper, Table

COVARIATES = 5
PER_VARIABLE = (3, 5, 10)
CS = (0.65, 0.8, 0.9)
METHODS = {
    "10-fold, once": Method(
        {"scheme": "stratified_kfold", "k": 10}, {"auroc": "pooled"}
    ),
    "10-fold, 10 times": Method(
        {"scheme": "stratified_kfold", "k": 10, "repeats": 10}, {}
    ),
    "LOO": Method({"scheme": "loocv"}, {"auroc": "pooled"}),
    "LPO": Method({"scheme": "leave_pair_out"}, {}),
    "RLOOCV": Method({"scheme": "rloocv", "repeats": 5}, {"auroc": "paired"}),
}


def optimism(
    count: int,
    *,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Estimate the c-statistic of a logistic regression.

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
    """
    table = simulate(
        "optimism",
        _optimism,
        count,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return summarise(table, ("epv", "c", "method"))


def _optimism(seed: int, number: int) -> pd.DataFrame:
    return measure_settings(
        seed,
        number,
        "epv",
        PER_VARIABLE,
        CS,
        sizes=lambda events: (2 * events * COVARIATES, events * COVARIATES),
        covariates=COVARIATES,
        models={"ML": {"model": Logit()}},
        methods=METHODS,
        metrics=("auroc",),
        n_boot=100,
    )


TABLES = {"optimism": Table(400, optimism)}
PAPER = Paper("smith2014", TABLES)


def stored(name: str, folder: Folder = None) -> pd.DataFrame:
    """Return a table of results, which ships with the package.

    Parameters
    ----------
    name : str
        ``"optimism"``.
    folder : str or path, optional
        Folder of your own tables.
    """
    table: pd.DataFrame = PAPER.stored(name, folder)
    return table

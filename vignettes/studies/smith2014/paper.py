"""Estimates of the c-statistic at few events per variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from statcv.models import Logit
from studies.papers import Folder, Paper, Table
from studies.running import Directory, simulate
from studies.small_samples import Method, compare_errors, measure_settings, summarise

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
SPLIT, ONCE, OFTEN = "sample splitting", "10-fold", "10-fold, 20 times"
PAIRED_METHODS = {
    ONCE: METHODS["10-fold, once"],
    SPLIT: Method({"scheme": "montecarlo", "p": 0.5, "repeats": 1}, {}),
    OFTEN: Method({"scheme": "stratified_kfold", "k": 10, "repeats": 20}, {}),
    "LPO": METHODS["LPO"],
    "LOO": METHODS["LOO"],
    "RLOOCV": METHODS["RLOOCV"],
}
COMPARED = (SPLIT, "optimism", ONCE, OFTEN, "LPO", "LOO", "RLOOCV")


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

    Examples
    --------
    The stored table, which is made by this function:

    >>> stored("optimism").columns[:5].tolist()
    ['epv', 'c', 'method', 'n', 'truth']
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
    return _measured(seed, number, PER_VARIABLE, METHODS)


def _measured(
    seed: int, number: int, per_variable: Sequence[int], methods: Mapping[str, Method]
) -> pd.DataFrame:
    """Draw and measure a data set for each number of events per variable and each c."""
    return measure_settings(
        seed,
        number,
        "epv",
        per_variable,
        CS,
        sizes=lambda events: (2 * events * COVARIATES, events * COVARIATES),
        covariates=COVARIATES,
        models={"ML": {"model": Logit()}},
        methods=methods,
        metrics=("auroc",),
        n_boot=100,
    )


def absolute_errors(
    count: int,
    *,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compare the absolute errors of estimates of the c-statistic, two by two.

    This is Table 1 of the paper, with five events per variable and RLOOCV.

    Parameters
    ----------
    count, directory, seed, n_jobs, progress
        As in `optimism`.

    Returns
    -------
    pandas.DataFrame
        A row for each c-statistic of the true model and each two methods: the median,
        over data sets, of the absolute error of ``column`` minus that of ``row``, with
        its Monte Carlo error, the quartiles, and the p-value of Wilcoxon's test.

    Examples
    --------
    >>> table = absolute_errors(2)
    >>> table.loc[0, ["row", "column"]].tolist()
    ['optimism', 'sample splitting']
    """
    table = simulate(
        "absolute_errors",
        _absolute_errors,
        count,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return compare_errors(table, ("c",), COMPARED, seed=seed)


def _absolute_errors(seed: int, number: int) -> pd.DataFrame:
    return _measured(seed, number, (5,), PAIRED_METHODS).assign(number=number)


def published_errors() -> pd.DataFrame:
    """Return Table 1 of the paper: medians and quartiles of 50 subgroups of a register.

    Returns
    -------
    pandas.DataFrame
        A row for each register and each two methods, with columns as those of
        `absolute_errors`; ``stars`` is the level at which they differ by the Wilcoxon
        signed-rank test: 1 for 5%, 2 for 1%, 3 for 0.1%, and 0 for no difference.

    Examples
    --------
    >>> table = published_errors()
    >>> table = table.set_index(["register", "row", "column"])
    >>> float(table.loc[("Down syndrome", "LOO", "LPO"), "median"])
    -0.01
    """
    rows = []
    for register, numbers in PUBLISHED.items():
        for (column, row), known in zip(PUBLISHED_PAIRS, numbers, strict=True):
            median, first, third, stars = known
            rows.append((register, row, column, median, first, third, stars))
    names = ["register", "row", "column", "median", "first_quartile", "third_quartile"]
    return pd.DataFrame(rows, columns=[*names, "stars"])


# The printed pairs, row by row: the method of the row against those before it. In one
# place of the second register the third quartile, .008, has a minus sign that cannot be
# meant.
PUBLISHED_PAIRS = [
    (column, row)
    for place, row in enumerate(COMPARED[:-1])
    for column in COMPARED[:place]
]
PUBLISHED = {
    "Down syndrome": [
        *[(0.022, -0.005, 0.053, 3)],
        *[(0.015, -0.028, 0.046, 0), (-0.006, -0.024, 0.003, 2)],
        *[(0.025, -0.008, 0.052, 3), (0.002, -0.006, 0.007, 0)],
        *[(0.011, -0.003, 0.025, 3)],
        *[(0.018, -0.005, 0.052, 3), (0.000, -0.004, 0.005, 0)],
        *[(0.007, -0.004, 0.024, 2), (-0.002, -0.005, 0.003, 0)],
        *[(0.014, -0.006, 0.053, 2), (-0.003, -0.031, 0.016, 0)],
        *[(0.010, -0.016, 0.029, 0), (-0.006, -0.028, 0.014, 0)],
        *[(-0.010, -0.026, 0.013, 1)],
    ],
    "Cesarean delivery": [
        *[(0.012, -0.018, 0.079, 3)],
        *[(0.013, -0.032, 0.066, 2), (-0.008, -0.035, 0.017, 2)],
        *[(0.015, -0.023, 0.069, 3), (-0.001, -0.014, 0.008, 0)],
        *[(0.008, -0.018, 0.028, 0)],
        *[(0.015, -0.023, 0.072, 3), (0.000, -0.009, 0.006, 0)],
        *[(0.007, -0.018, 0.030, 1), (-0.001, -0.006, 0.007, 0)],
        *[(0.016, -0.031, 0.060, 2), (-0.012, -0.037, 0.023, 2)],
        *[(0.000, -0.026, 0.029, 0), (-0.009, -0.029, 0.016, 2)],
        *[(-0.019, -0.029, 0.020, 3)],
    ],
}


def _with_small_p_values(table: pd.DataFrame) -> pd.DataFrame:
    """Write p-values with two digits, however small."""
    return table.assign(p_value=table["p_value"].map("{:.2g}".format))


TABLES = {
    "optimism": Table(400, optimism),
    "absolute_errors": Table(400, absolute_errors, to_file=_with_small_p_values),
}
PAPER = Paper("smith2014", TABLES)


def stored(name: str, folder: Folder = None) -> pd.DataFrame:
    """Return a stored table of results.

    Parameters
    ----------
    name : str
        ``"optimism"`` or ``"absolute_errors"``.
    folder : str or path, optional
        Folder of your own tables.

    Examples
    --------
    >>> table = stored("optimism").set_index(["epv", "c", "method"])
    >>> bool(table.loc[(3, 0.65, "LOO"), "bias"] < -0.05)
    True
    """
    table: pd.DataFrame = PAPER.stored(name, folder)
    return table

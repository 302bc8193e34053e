"""The bias of every estimate of auROC, on noise of many kinds and under signal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from statcv.arguments import resolve_seed
from studies.austin2024.estimates import (
    Cell,
    beside,
    check_estimates,
    run_cell,
    run_cells,
    summarise,
)
from studies.austin2024.samples import Noise, Signal
from studies.running import Directory

NULL_SIZES, NULL_COVARIATES, NULL_PENALTIES = (
    (30, 50, 100),
    (1, 2, 5, 20),
    (0.01, 1.0, 1e6),
)
LEVEL = 0.05
KINDS_N, KINDS_COVARIATES, KINDS_MODEL = 50, 2, "logit 1"
OTHER_BALANCES = (0.1, 0.2, 0.3, 0.7, 0.9)
OTHER_FEATURES = ("normal", "lognormal")
OTHER_MODELS = ("linear", "neighbors 1", "neighbors 5", "neighbors 15", "mean")
SIGNAL_SIZES, SIGNAL_COVARIATES = (30, 50, 100), (2, 10)
SIGNAL_AUROCS = (0.6, 0.7, 0.8, 0.9)
NO_SIGNAL = 0.5


def null_aurocs(
    data_sets: int = 2000,
    *,
    n: Sequence[int] = NULL_SIZES,
    covariates: Sequence[int] = NULL_COVARIATES,
    penalties: Sequence[float] = NULL_PENALTIES,
    estimates: Iterable[str] | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Return the mean of every estimate of auROC on noise.

    Logistic regression has a ridge penalty, uniform covariates are independent of
    the outcome, and classes have equal size: an unbiased estimate has mean ½.

    Parameters
    ----------
    data_sets : int, default 2000
        Number of data sets for each cell.
    n, covariates : sequence of int
    penalties : sequence of float
        ``C`` in scikit-learn's convention: the larger, the weaker the penalty.
    estimates : iterable of str, optional
        In :data:`ESTIMATES`; by default those up to ``"leave_pair_out"``.
    directory : str or path, optional
        Directory for the results. An interrupted study, or one with more data sets,
        continues from there.
    seed : int, default 1
    n_jobs : int, optional
        Number of processes, as in joblib; the results do not depend on it.
    progress : bool, optional
        Whether to show a bar; by default at a terminal, after two seconds.

    Returns
    -------
    pandas.DataFrame
        One row per cell and estimate: ``n``, ``covariates``, ``balance``, ``features``,
        ``model``, ``estimate``, ``data_sets``, ``mean``, its Monte Carlo error
        ``se``, ``sd``, ``q95``, ``fits``, ``milliseconds``.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If there is no such estimate, or a number is out of range.

    Examples
    --------
    >>> from studies.austin2024 import null_aurocs
    >>> table = null_aurocs(
    ...     8, n=[20], covariates=[1], penalties=[0.01], estimates=["loocv"]
    ... )
    >>> table[["n", "estimate", "data_sets"]].values.tolist()
    [[20, 'loocv', 8]]
    >>> bool(table["mean"].item() < 0.2)
    True
    """
    asked = check_estimates(estimates)
    cells = [
        Cell(Noise(size, count), f"logit {penalty:g}", asked)
        for size in n
        for count in covariates
        for penalty in penalties
    ]
    return run_cells(
        cells,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )


def off_centre(table: pd.DataFrame, centre: float = 0.5) -> pd.DataFrame:
    """Count the cells in which an estimate differs from ½, beside those by chance.

    Parameters
    ----------
    table : pandas.DataFrame
        As :func:`null_aurocs` returns it.
    centre : float, default 0.5

    Returns
    -------
    pandas.DataFrame
        One row per estimate: ``cells``; ``off``, those whose mean differs from the
        centre at the two-sided level of 5 %; ``chance``, the most that an unbiased
        estimate has in 19 of 20 such tables; and ``lowest`` and
        ``highest``, the extreme means.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"estimate": "a", "mean": [0.4, 0.5], "se": [0.01, 0.01]})
    >>> off_centre(table)[["estimate", "cells", "off", "chance"]].values.tolist()
    [['a', 2, 1, 1]]
    """
    from scipy.stats import binom, norm

    rows = []
    limit = norm.isf(LEVEL / 2)
    for name, own in table.groupby("estimate", sort=False):
        off = np.abs(own["mean"] - centre) > limit * own["se"]
        row = {
            "estimate": name,
            "cells": len(own),
            "off": int(off.sum()),
            "chance": int(binom.ppf(1 - LEVEL, len(own), LEVEL)),
            "lowest": own["mean"].min(),
            "highest": own["mean"].max(),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def null_kinds(
    data_sets: int = 2000,
    *,
    n: int = KINDS_N,
    estimates: Iterable[str] | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Return the mean of every estimate on noise, with one thing changed at a time.

    From ridge logistic regression (C = 1) on 50 records with two uniform covariates
    and classes of equal size: other class balances, covariates that are normal or
    log-normal, other models.

    Parameters
    ----------
    data_sets : int, default 2000
        Number of data sets for each cell.
    n : int, default 50
    estimates, directory, seed, n_jobs, progress
        As in :func:`null_aurocs`.

    Returns
    -------
    pandas.DataFrame
        As :func:`null_aurocs` returns it.

    Examples
    --------
    >>> from studies.austin2024 import null_kinds
    >>> table = null_kinds(2, n=30, estimates=["loocv"])
    >>> table["model"].nunique(), table["features"].nunique()
    (6, 3)
    """
    asked = check_estimates(estimates)
    plain = Noise(n, KINDS_COVARIATES)
    populations = [
        plain,
        *(Noise(n, KINDS_COVARIATES, balance) for balance in OTHER_BALANCES),
        *(Noise(n, KINDS_COVARIATES, features=features) for features in OTHER_FEATURES),
    ]
    cells = [Cell(population, KINDS_MODEL, asked) for population in populations]
    cells += [Cell(plain, model, asked) for model in OTHER_MODELS]
    return run_cells(
        cells,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )


def signal_aurocs(
    data_sets: int = 1000,
    *,
    n: Sequence[int] = SIGNAL_SIZES,
    covariates: Sequence[int] = SIGNAL_COVARIATES,
    aurocs: Sequence[float] = SIGNAL_AUROCS,
    balance: float = 0.5,
    models: Sequence[str] = ("logit 1",),
    estimates: Iterable[str] | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Return bias, spread and power of every estimate of auROC under true signal.

    Two classes of independent normal covariates that differ in their mean. The truth
    is the auROC, on new records, of the model that is fitted to all records.

    Parameters
    ----------
    data_sets : int, default 1000
        Number of data sets for each cell.
    n, covariates : sequence of int
    aurocs : sequence of float
        auROC of the best possible score. (No signal is measured beside these.)
    balance : float, default 0.5
    models : sequence of str
        Models by name, such as ``"logit 1"``, with the penalty C.
    estimates, directory, seed, n_jobs, progress
        As in :func:`null_aurocs`.

    Returns
    -------
    pandas.DataFrame
        As :func:`null_aurocs`; and ``auroc`` (of the best score), ``truth`` (its mean
        over data sets), ``bias`` (mean of estimate minus truth), ``bias_se``,
        ``rmse``; ``power``, the share of estimates above the 95 % quantile of the
        same estimate on noise, where it is .05 by construction.

    Examples
    --------
    >>> from studies.austin2024 import signal_aurocs
    >>> table = signal_aurocs(
    ...     8, n=[20], covariates=[1], aurocs=[0.9], estimates=["leave_pair_out"]
    ... )
    >>> table["auroc"].tolist(), bool(table["truth"].iloc[1] > 0.85)
    ([0.5, 0.9], True)
    """
    asked, seed = check_estimates(estimates), resolve_seed(seed)
    tables = []
    for model in models:
        for size in n:
            for count in covariates:
                limits = None
                for auroc in (NO_SIGNAL, *aurocs):
                    cell = Cell(Signal(size, count, balance, auroc), model, asked)
                    found = run_cell(cell, data_sets, directory, seed, n_jobs, progress)
                    table = beside(cell, summarise(found))
                    if limits is None:
                        limits = table.set_index("estimate")["q95"]
                    above = found["auroc"] > found["estimate"].map(limits)
                    power = above.groupby(found["estimate"]).mean()
                    table["power"] = table["estimate"].map(power)
                    tables.append(table)
    return pd.concat(tables, ignore_index=True)

"""Every estimate under signal, compared with the truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from statcv.arguments import resolve_seed
from statcv.studies.austin2024.estimates import check_estimates
from statcv.studies.austin2024.grid import Cell, beside, run_cell, told
from statcv.studies.austin2024.samples import Signal
from statcv.studies.running import Directory

SIZES, COVARIATES = (30, 50, 100), (2, 10)
AUROCS = (0.6, 0.7, 0.8, 0.9)
NOTHING = 0.5


def signal_aurocs(
    data_sets: int = 1000,
    *,
    n: Sequence[int] = SIZES,
    covariates: Sequence[int] = COVARIATES,
    aurocs: Sequence[float] = AUROCS,
    balance: float = 0.5,
    models: Sequence[str] = ("logit 1",),
    estimates: Iterable[str] | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
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
    estimates, directory, seed, n_jobs
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
    >>> from statcv.studies.austin2024 import signal_aurocs
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
                for auroc in (NOTHING, *aurocs):
                    cell = Cell(Signal(size, count, balance, auroc), model, asked)
                    found = run_cell(cell, data_sets, directory, seed, n_jobs)
                    table = beside(cell, told(found))
                    if limits is None:
                        limits = table.set_index("estimate")["q95"]
                    above = found["auroc"] > found["estimate"].map(limits)
                    power = above.groupby(found["estimate"]).mean()
                    table["power"] = table["estimate"].map(power)
                    tables.append(table)
    return pd.concat(tables, ignore_index=True)

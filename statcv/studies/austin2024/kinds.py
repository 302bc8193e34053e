"""The remaining bias on noise: other balances, covariates and models."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from statcv.studies.austin2024.estimates import check_estimates
from statcv.studies.austin2024.grid import Cell, run_cells
from statcv.studies.austin2024.samples import Noise
from statcv.studies.running import Directory

N, COVARIATES, MODEL = 50, 2, "logit 1"
UNEVEN = (0.1, 0.2, 0.3, 0.7, 0.9)
OTHERS = ("normal", "lognormal")
MODELS = ("linear", "neighbors 1", "neighbors 5", "neighbors 15", "mean")


def null_kinds(
    data_sets: int = 2000,
    *,
    n: int = N,
    estimates: Iterable[str] | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
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
    estimates, directory, seed, n_jobs
        As in :func:`null_aurocs`.

    Returns
    -------
    pandas.DataFrame
        As :func:`null_aurocs` returns it.

    Examples
    --------
    >>> from statcv.studies.austin2024 import null_kinds
    >>> table = null_kinds(2, n=30, estimates=["loocv"])
    >>> table["model"].nunique(), table["features"].nunique()
    (6, 3)
    """
    asked = check_estimates(estimates)
    plain = Noise(n, COVARIATES)
    populations = [
        plain,
        *(Noise(n, COVARIATES, balance) for balance in UNEVEN),
        *(Noise(n, COVARIATES, features=features) for features in OTHERS),
    ]
    cells = [Cell(population, MODEL, asked) for population in populations]
    cells += [Cell(plain, model, asked) for model in MODELS]
    return run_cells(cells, data_sets, directory=directory, seed=seed, n_jobs=n_jobs)

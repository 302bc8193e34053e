"""Figures 1b, 1c and S2: predictors that use the training mean and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from statcv.folds.theory.composition import negative_mean_auroc
from statcv.studies.austin2024.paper_data import (
    BALANCES,
    PAPERS_SETS,
    RECORDS,
    held_out,
    next_multiple,
    noise_of,
    pooled,
)
from statcv.studies.running import Directory, simulate

GROUPS = (1, 2, 3, 4, 5, 8, 10, 20, 25, 50, 100)
SWARM, SWARM_RECORDS, SWARM_BALANCES = 4, 100, (0.1, 0.5, 0.9)  # of Figure S2b


def dummies(
    data_sets: int = PAPERS_SETS,
    *,
    n: int = RECORDS,
    balances: Sequence[float] = BALANCES,
    groups: Sequence[int] = GROUPS,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Predict minus the training mean under leave-P-out (Figure 1c).

    Parameters
    ----------
    data_sets : int, default 100
        Number of data sets for each balance and group size.
    n : int, default 250
        Number of records, rounded up to a multiple of the group size.
        (The paper prints results for groups of four with 100 records.)
    balances : sequence of float
    groups : sequence of int
        Group sizes: numbers of records that are held out together.
    directory, seed, n_jobs
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``balance``, ``group``, ``n``, the pooled ``auroc``, and
        ``expected``, its expectation in closed form
        (:func:`statcv.folds.theory.composition.negative_mean_auroc`).

    Examples
    --------
    >>> from statcv.studies.austin2024 import dummies
    >>> table = dummies(1, n=40, balances=[0.5], groups=[1, 4])
    >>> table["auroc"].tolist()[0], table["expected"].round(3).tolist()
    (1.0, [1.0, 0.75])
    """
    return simulate(
        "dummies",
        _measure,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        counts="data_set",
        n=n,
        balances=tuple(balances),
        groups=tuple(groups),
    )


def _measure(
    seed: int,
    number: int,
    n: int,
    balances: tuple[float, ...],
    groups: tuple[int, ...],
) -> pd.DataFrame:
    rows = []
    for balance in balances:
        for group in groups:
            records = next_multiple(n, group)
            frame = noise_of(seed, number, balance, records, covariates=1)
            result = held_out(frame, "negmean", seed + number, scheme="lpocv", p=group)
            positives = int(frame["y"].sum())
            expected = negative_mean_auroc(records, positives, group)
            rows.append((balance, group, records, pooled(result), expected))
    return pd.DataFrame(rows, columns=["balance", "group", "n", "auroc", "expected"])

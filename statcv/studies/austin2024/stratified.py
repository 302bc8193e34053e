"""Figures 2b and 2c: stratified leave-P-out, exact where P and the balance allow it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from statcv.models import Logit
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

GROUPS = tuple(range(1, 11))
PENALTY = 1e-3
PAPERS_GROUP = 5  # of Figure 2b


def stratified(
    data_sets: int = PAPERS_SETS,
    *,
    n: int = RECORDS,
    balances: Sequence[float] = BALANCES,
    groups: Sequence[int] = GROUPS,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Hold out groups of records of noise, with each class spread evenly over them.

    Figure 2c shows all sizes of a group, Figure 2b groups of five. Logistic regression
    with C = 0.001.

    Parameters
    ----------
    data_sets : int, default 100
        Number of data sets for each balance and group size.
    n : int, default 250
        Number of records, rounded up to a multiple of the group size.
    balances : sequence of float
    groups : sequence of int
        Group sizes: numbers of records that are held out together.
    directory, seed, n_jobs
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``balance``, ``group``, and the pooled ``auroc``.

    Examples
    --------
    >>> from statcv.studies.austin2024 import stratified
    >>> table = stratified(1, n=40, balances=[0.5], groups=[1, 2])
    >>> table["auroc"].round(1).tolist()[0]
    0.0
    """
    return simulate(
        "stratified",
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


def exact(balance: float, group: int, n: int = RECORDS) -> bool:
    """Say whether groups can have exactly the class balance of all records.

    Examples
    --------
    >>> exact(0.2, 5), exact(0.1, 5), exact(0.5, 2)
    (True, False, True)
    """
    records = next_multiple(n, group)
    positives = round(records * balance)
    return positives * group % records == 0


def _measure(
    seed: int,
    number: int,
    n: int,
    balances: tuple[float, ...],
    groups: tuple[int, ...],
) -> pd.DataFrame:
    model, rows = Logit(C=PENALTY), []
    for balance in balances:
        for group in groups:
            frame = noise_of(seed, number, balance, next_multiple(n, group))
            result = held_out(
                frame, model, seed + number, scheme="stratified_lpocv", p=group
            )
            rows.append((balance, group, pooled(result)))
    return pd.DataFrame(rows, columns=["balance", "group", "auroc"])

"""The simulations of the paper's figures, on noise.

Logistic regression by balance and penalty (Figures 2a, 3c, 5a and 5b); stratified
leave-P-out (2b and 2c); predictors that use the training mean and nothing else (1b, 1c
and S2).
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from statcv.folds.theory import negative_mean_auroc
from statcv.models import Logit
from studies.austin2024.samples import (
    BALANCES,
    PAPERS_SETS,
    RECORDS,
    held_out,
    leave_one_out,
    next_multiple,
    noise_of,
    pooled,
)
from studies.running import Directory, simulate

PENALTIES = (1e10, 1.0, 0.1, 0.01, 1e-3, 1e-4)
PAPERS_PENALTY = 0.01  # penalty of the paper's Figures 2a and 3c
STRATIFIED_GROUPS = tuple(range(1, 11))
STRATIFIED_PENALTY = 1e-3
PAPERS_GROUP = 5  # size of a group, in records, in the paper's Figure 2b
DUMMY_GROUPS = (1, 2, 3, 4, 5, 8, 10, 20, 25, 50, 100)
# Figure S2b of the paper: size of a group, records, and class balances.
SWARM, SWARM_RECORDS, SWARM_BALANCES = 4, 100, (0.1, 0.5, 0.9)


def penalties(
    data_sets: int = PAPERS_SETS,
    *,
    n: int = RECORDS,
    balances: Sequence[float] = BALANCES,
    penalties: Sequence[float] = PENALTIES,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Leave records of noise out one by one, with every penalty and class balance.

    Figures 2a and 3c are of the penalty C = 0.01, Figures 5a and 5b of all.

    Parameters
    ----------
    data_sets : int, default 100
        Number of data sets for each balance, the same for every penalty.
    n : int, default 250
        Records, with 20 uniform covariates.
    balances : sequence of float
        Shares of positive records.
    penalties : sequence of float
        ``C`` in scikit-learn's convention: the larger, the weaker the penalty.
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
        ``data_set``, ``balance``, ``C``, and the auROCs ``loocv``, ``rloocv`` (both
        pooled) and ``rloocv_paired``.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If a number is out of range.
    CheckpointError
        If the directory holds another study.

    Examples
    --------
    >>> from studies.austin2024 import penalties
    >>> table = penalties(1, n=40, balances=[0.5], penalties=[1e-3])
    >>> bool(table["loocv"].item() < 0.1 < table["rloocv"].item())
    True
    """
    return simulate(
        "penalties",
        _measure_penalties,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        counts="data_set",
        n=n,
        balances=tuple(balances),
        penalties=tuple(penalties),
    )


def _measure_penalties(
    seed: int,
    number: int,
    n: int,
    balances: tuple[float, ...],
    penalties: tuple[float, ...],
) -> pd.DataFrame:
    rows = []
    for balance in balances:
        frame = noise_of(seed, number, balance, n)
        for penalty in penalties:
            found = leave_one_out(frame, Logit(C=penalty), seed + number)
            rows.append({"balance": balance, "C": penalty, **found})
    return pd.DataFrame(rows)


def stratified(
    data_sets: int = PAPERS_SETS,
    *,
    n: int = RECORDS,
    balances: Sequence[float] = BALANCES,
    groups: Sequence[int] = STRATIFIED_GROUPS,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
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
    directory, seed, n_jobs, progress
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``balance``, ``group``, and the pooled ``auroc``.

    Examples
    --------
    >>> from studies.austin2024 import stratified
    >>> table = stratified(1, n=40, balances=[0.5], groups=[1, 2])
    >>> table["auroc"].round(1).tolist()[0]
    0.0
    """
    return simulate(
        "stratified",
        _measure_stratified,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
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


def _measure_stratified(
    seed: int, number: int, n: int, balances: tuple[float, ...], groups: tuple[int, ...]
) -> pd.DataFrame:
    model, rows = Logit(C=STRATIFIED_PENALTY), []
    for balance in balances:
        for group in groups:
            frame = noise_of(seed, number, balance, next_multiple(n, group))
            result = held_out(
                frame, model, seed + number, scheme="stratified_lpocv", p=group
            )
            rows.append((balance, group, pooled(result)))
    return pd.DataFrame(rows, columns=["balance", "group", "auroc"])


def dummies(
    data_sets: int = PAPERS_SETS,
    *,
    n: int = RECORDS,
    balances: Sequence[float] = BALANCES,
    groups: Sequence[int] = DUMMY_GROUPS,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
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
    directory, seed, n_jobs, progress
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``balance``, ``group``, ``n``, the pooled ``auroc``, and
        ``expected``, its expectation in closed form
        (:func:`statcv.folds.theory.negative_mean_auroc`).

    Examples
    --------
    >>> from studies.austin2024 import dummies
    >>> table = dummies(1, n=40, balances=[0.5], groups=[1, 4])
    >>> table["auroc"].tolist()[0], table["expected"].round(3).tolist()
    (1.0, [1.0, 0.75])
    """
    return simulate(
        "dummies",
        _measure_dummies,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        counts="data_set",
        n=n,
        balances=tuple(balances),
        groups=tuple(groups),
    )


def _measure_dummies(
    seed: int, number: int, n: int, balances: tuple[float, ...], groups: tuple[int, ...]
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

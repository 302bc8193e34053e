"""Figures 2a, 3c, 5a and 5b: logistic regression on noise, by balance and penalty."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from statcv.models import Logit
from statcv.studies.austin2024.paper_data import (
    BALANCES,
    PAPERS_SETS,
    RECORDS,
    leave_one_out,
    noise_of,
)
from statcv.studies.running import Directory, simulate

PENALTIES = (1e10, 1.0, 0.1, 0.01, 1e-3, 1e-4)
PAPERS_PENALTY = 0.01  # of Figures 2a and 3c


def penalties(
    data_sets: int = PAPERS_SETS,
    *,
    n: int = RECORDS,
    balances: Sequence[float] = BALANCES,
    penalties: Sequence[float] = PENALTIES,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
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
    >>> from statcv.studies.austin2024 import penalties
    >>> table = penalties(1, n=40, balances=[0.5], penalties=[1e-3])
    >>> bool(table["loocv"].item() < 0.1 < table["rloocv"].item())
    True
    """
    return simulate(
        "penalties",
        _measure,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        counts="data_set",
        n=n,
        balances=tuple(balances),
        penalties=tuple(penalties),
    )


def _measure(
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

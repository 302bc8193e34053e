"""Figure S3: a random forest and five nearest neighbours on noise."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from statcv.studies.austin2024.learners import learner_of
from statcv.studies.austin2024.paper_data import (
    BALANCES,
    PAPERS_SETS,
    leave_one_out,
    noise_of,
)
from statcv.studies.running import Directory, simulate

RECORDS_OF = {"forest": 100, "neighbors 5": 250}


def other_models(
    data_sets: int = PAPERS_SETS,
    *,
    model: str = "neighbors 5",
    n: int | None = None,
    balances: Sequence[float] = BALANCES,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Leave records of noise out one by one, with models that are not linear.

    Parameters
    ----------
    data_sets : int, default 100
        Number of data sets for each balance.
    model : str, default "neighbors 5"
        Figure S3b; ``"forest"``, with scikit-learn's defaults, is Figure S3a.
    n : int, optional
        Number of records; by default 100 for a forest, 250 for other models.
    balances : sequence of float
    directory, seed, n_jobs
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``balance``, ``model``, and the auROCs ``loocv``, ``rloocv``
        (both pooled) and ``rloocv_paired``.

    Examples
    --------
    >>> from statcv.studies.austin2024 import other_models
    >>> other_models(1, n=30, balances=[0.5]).columns[:3].tolist()
    ['data_set', 'balance', 'model']
    """
    learner_of(model)
    return simulate(
        "others",
        _measure,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        counts="data_set",
        n=n or RECORDS_OF.get(model, 250),
        model=model,
        balances=tuple(balances),
    )


def _measure(
    seed: int, number: int, n: int, model: str, balances: tuple[float, ...]
) -> pd.DataFrame:
    rows = []
    for balance in balances:
        frame = noise_of(seed, number, balance, n)
        own = seed + number
        found = leave_one_out(frame, learner_of(model, own), own)
        rows.append({"balance": balance, "model": model, **found})
    return pd.DataFrame(rows)

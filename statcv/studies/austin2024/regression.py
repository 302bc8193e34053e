"""Figure S4: predictions of noise regress to the mean of the training set."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from statcv.studies.austin2024.learners import learner_of
from statcv.studies.austin2024.others import RECORDS_OF
from statcv.studies.austin2024.paper_data import (
    BALANCES,
    RECORDS,
    held_out,
    noise_of,
)
from statcv.studies.running import Directory, simulate

MODELS = ("logit 1", "forest", "neighbors 5")


def predictions(
    data_sets: int = 1,
    *,
    n: int | None = None,
    balances: Sequence[float] = BALANCES,
    models: Sequence[str] = MODELS,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Return leave-one-out predictions of models on noise.

    Parameters
    ----------
    data_sets : int, default 1
        Number of data sets for each balance.
    n : int, optional
        Number of records; by default 100 for a forest, 250 for other models.
    balances : sequence of float
    models : sequence of str
        With scikit-learn's default parameters; ``C = 1`` in logistic regression.
    directory, seed, n_jobs
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``model``, ``balance``, ``observed`` and ``predicted``.

    Examples
    --------
    >>> from statcv.studies.austin2024 import predictions
    >>> table = predictions(n=40, balances=[0.2], models=["logit 1"])
    >>> bool(abs(table["predicted"].mean() - 0.2) < 0.02)
    True
    """
    for model in models:
        learner_of(model)
    return simulate(
        "predictions",
        _measure,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        counts="data_set",
        n=n,
        balances=tuple(balances),
        models=tuple(models),
    )


def _measure(
    seed: int,
    number: int,
    n: int | None,
    balances: tuple[float, ...],
    models: tuple[str, ...],
) -> pd.DataFrame:
    tables = []
    for model in models:
        for balance in balances:
            records = n or RECORDS_OF.get(model, RECORDS)
            frame = noise_of(seed, number, balance, records)
            learner = learner_of(model, seed + number)
            result = held_out(frame, learner, seed + number, scheme="loocv")
            table = result.predictions[["observed", "predicted"]].reset_index(drop=True)
            table.insert(0, "model", model)
            table.insert(1, "balance", balance)
            tables.append(table)
    return pd.concat(tables, ignore_index=True)

"""Figure S5: scores standardised after the fits, which does not remove the bias."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pandas as pd

from statcv.errors import DistributionalBiasWarning
from statcv.studies.austin2024.learners import learner_of
from statcv.studies.austin2024.paper_data import (
    BALANCES,
    PAPERS_SETS,
    RECORDS,
    held_out,
    noise_of,
    pooled,
)
from statcv.studies.running import Directory, simulate
from statcv.studies.standardised import standardise_scores

MODELS = ("logit 0.01", "neighbors 1")


def standardised(
    data_sets: int = PAPERS_SETS,
    *,
    n: int = RECORDS,
    balances: Sequence[float] = BALANCES,
    models: Sequence[str] = MODELS,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Standardise leave-one-out predictions of models on noise.

    The mean of what the same fit predicts for all records is subtracted from each
    held-out score, and the difference is divided by their standard deviation
    (:func:`statcv.studies.standardise_scores`).

    Parameters
    ----------
    data_sets : int, default 100
        Number of data sets for each balance.
    n : int, default 250
    balances : sequence of float
    models : sequence of str
        Models by name; Figure S5a uses logistic regression with C = 0.01, S5b the
        nearest neighbour.
    directory, seed, n_jobs
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``model``, ``balance``, and the pooled ``auroc``.

    Examples
    --------
    >>> from statcv.studies.austin2024 import standardised
    >>> table = standardised(1, n=60, balances=[0.1], models=["neighbors 1"])
    >>> bool(table["auroc"].item() > 0.8)
    True
    """
    for model in models:
        learner_of(model)
    return simulate(
        "standardised",
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
    n: int,
    balances: tuple[float, ...],
    models: tuple[str, ...],
) -> pd.DataFrame:
    rows = []
    for model in models:
        for balance in balances:
            frame = noise_of(seed, number, balance, n)
            result = held_out(frame, learner_of(model), seed + number, scheme="loocv")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DistributionalBiasWarning)
                scores = standardise_scores(result)
            rows.append((model, balance, pooled(scores)))
    return pd.DataFrame(rows, columns=["model", "balance", "auroc"])

"""The simulations of the supplement that are of several families of models, on noise.

A random forest and nearest neighbours (Figure S3); predictions that regress to the
training mean (S4); scores that are standardised after the fits (S5).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pandas as pd

from statcv.errors import DistributionalBiasWarning
from studies.austin2024.samples import (
    BALANCES,
    PAPERS_SETS,
    RECORDS,
    held_out,
    learner_of,
    leave_one_out,
    noise_of,
    pooled,
)
from studies.running import Directory, simulate
from studies.standardised import standardise_scores

RECORDS_OF = {"forest": 100, "neighbors 5": 250}
PREDICTED_MODELS = ("logit 1", "forest", "neighbors 5")
STANDARDISED_MODELS = ("logit 0.01", "neighbors 1")


def other_models(
    data_sets: int = PAPERS_SETS,
    *,
    model: str = "neighbors 5",
    n: int | None = None,
    balances: Sequence[float] = BALANCES,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
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
    directory, seed, n_jobs, progress
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``balance``, ``model``, and the auROCs ``loocv``, ``rloocv``
        (both pooled) and ``rloocv_paired``.

    Examples
    --------
    >>> from studies.austin2024 import other_models
    >>> other_models(1, n=30, balances=[0.5]).columns[:3].tolist()
    ['data_set', 'balance', 'model']
    """
    learner_of(model)
    return simulate(
        "others",
        _measure_other_models,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        counts="data_set",
        n=n or RECORDS_OF.get(model, 250),
        model=model,
        balances=tuple(balances),
    )


def _measure_other_models(
    seed: int, number: int, n: int, model: str, balances: tuple[float, ...]
) -> pd.DataFrame:
    rows = []
    for balance in balances:
        frame = noise_of(seed, number, balance, n)
        own = seed + number
        found = leave_one_out(frame, learner_of(model, own), own)
        rows.append({"balance": balance, "model": model, **found})
    return pd.DataFrame(rows)


def predictions(
    data_sets: int = 1,
    *,
    n: int | None = None,
    balances: Sequence[float] = BALANCES,
    models: Sequence[str] = PREDICTED_MODELS,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
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
    directory, seed, n_jobs, progress
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``model``, ``balance``, ``observed`` and ``predicted``.

    Examples
    --------
    >>> from studies.austin2024 import predictions
    >>> table = predictions(n=40, balances=[0.2], models=["logit 1"])
    >>> bool(abs(table["predicted"].mean() - 0.2) < 0.02)
    True
    """
    for model in models:
        learner_of(model)
    return simulate(
        "predictions",
        _measure_predictions,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        counts="data_set",
        n=n,
        balances=tuple(balances),
        models=tuple(models),
    )


def _measure_predictions(
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


def standardised(
    data_sets: int = PAPERS_SETS,
    *,
    n: int = RECORDS,
    balances: Sequence[float] = BALANCES,
    models: Sequence[str] = STANDARDISED_MODELS,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Standardise leave-one-out predictions of models on noise.

    The mean of what the same fit predicts for all records is subtracted from each
    held-out score, and the difference is divided by their standard deviation
    (:func:`studies.standardise_scores`).

    Parameters
    ----------
    data_sets : int, default 100
        Number of data sets for each balance.
    n : int, default 250
    balances : sequence of float
    models : sequence of str
        Models by name; Figure S5a uses logistic regression with C = 0.01, S5b the
        nearest neighbour.
    directory, seed, n_jobs, progress
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``data_set``, ``model``, ``balance``, and the pooled ``auroc``.

    Examples
    --------
    >>> from studies.austin2024 import standardised
    >>> table = standardised(1, n=60, balances=[0.1], models=["neighbors 1"])
    >>> bool(table["auroc"].item() > 0.8)
    True
    """
    for model in models:
        learner_of(model)
    return simulate(
        "standardised",
        _measure_standardised,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        counts="data_set",
        n=n,
        balances=tuple(balances),
        models=tuple(models),
    )


def _measure_standardised(
    seed: int, number: int, n: int, balances: tuple[float, ...], models: tuple[str, ...]
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

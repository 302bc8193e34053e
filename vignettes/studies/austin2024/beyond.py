"""Distributional bias for continuous outcomes and for several classes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import UndefinedMetricWarning
from statcv.results import CVResult
from studies.austin2024.samples import held_out, learner_of, stream_of
from studies.running import Directory, simulate

SIZES, COVARIATES = (30, 50, 100), (1, 5)
CLASSES = 3
SCHEMES: dict[str, dict[str, Any]] = {
    "loocv": {"scheme": "loocv"},
    "rloocv": {"scheme": "rloocv", "repeats": 1},
    "weight": {"scheme": "loocv", "rebalance": "weight"},
    "kfold": {"scheme": "kfold", "k": 5},
    "leave_pair_out": {"scheme": "leave_pair_out"},
}


def null_numbers(
    data_sets: int = 200,
    *,
    n: Sequence[int] = SIZES,
    covariates: Sequence[int] = COVARIATES,
    models: Sequence[str] = ("linear", "neighbors 5", "mean"),
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Predict normal outcomes from normal covariates that are independent of them.

    Parameters
    ----------
    data_sets : int, default 200
        Number of data sets for each size and number of covariates.
    n, covariates : sequence of int
    models : sequence of str
        Models by name, such as ``"linear"``, ``"neighbors 5"``, ``"mean"``.
    directory, seed, n_jobs, progress
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``n``, ``covariates``, ``model``, ``scheme``, ``metric``, ``data_sets``, the
        ``mean`` and its Monte Carlo error ``se``. Metrics are the correlation of
        held-out predictions and outcomes (``pearson``), that of their ranks
        (``spearman``), ``r2`` against the mean of all outcomes, ``r2_training``
        against the mean of each training set, the ``concordance`` of all pairs, and
        ``concordance_paired`` of pairs held out by the same fit.

    Examples
    --------
    >>> from studies.austin2024 import null_numbers
    >>> table = null_numbers(2, n=[20], covariates=[1], models=["mean"])
    >>> pearson = table[table["metric"] == "pearson"].set_index("scheme")["mean"]
    >>> round(float(pearson["loocv"]), 6)
    -1.0
    """
    for model in models:
        learner_of(model)
    found = simulate(
        "numbers",
        _numbers,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        counts="data_set",
        sizes=tuple(n),
        counts_of=tuple(covariates),
        models=tuple(models),
    )
    return _means(found)


def null_classes(
    data_sets: int = 200,
    *,
    n: Sequence[int] = SIZES,
    covariates: Sequence[int] = COVARIATES,
    models: Sequence[str] = ("logit 1", "logit 0.01"),
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Predict one of three classes from normal covariates that are independent of it.

    Parameters
    ----------
    data_sets : int, default 200
        Number of data sets for each size and number of covariates; classes are as
        equal in size as possible.
    n, covariates : sequence of int
    models : sequence of str
        Multinomial logistic regression with the penalty C.
    directory, seed, n_jobs, progress
        As in :func:`penalties`.

    Returns
    -------
    pandas.DataFrame
        ``n``, ``covariates``, ``model``, ``scheme``, ``metric``, ``data_sets``,
        ``mean`` and ``se``. Metrics are Hand and Till's auROC, of all predictions
        together (``hand_till``) and of pairs held out by the same fit
        (``hand_till_paired``).

    Examples
    --------
    >>> from studies.austin2024 import null_classes
    >>> table = null_classes(2, n=[21], covariates=[1], models=["logit 0.01"])
    >>> pooled = table[table["metric"] == "hand_till"].set_index("scheme")["mean"]
    >>> bool(pooled["loocv"] < 0.2 < pooled["weight"])
    True
    """
    for model in models:
        learner_of(model)
    found = simulate(
        "classes",
        _classes,
        data_sets,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        counts="data_set",
        sizes=tuple(n),
        counts_of=tuple(covariates),
        models=tuple(models),
    )
    return _means(found)


def _means(found: pd.DataFrame) -> pd.DataFrame:
    """Return means over data sets, if at least half of these have a value.

    What fewer have is a correlation of predictions that are equal but for rounding.
    """
    keys = ["n", "covariates", "model", "scheme", "metric"]
    values = found.groupby(keys, sort=False)["value"]
    table = values.agg(data_sets="count", mean="mean", se="sem")
    kept: pd.DataFrame = table[table["data_sets"] >= values.size() / 2]
    return kept.reset_index()


def _numbers(seed: int, number: int, **asked: Any) -> pd.DataFrame:
    return _measured(seed, number, _read_numbers, classes=0, **asked)


def _classes(seed: int, number: int, **asked: Any) -> pd.DataFrame:
    return _measured(seed, number, _read_classes, classes=CLASSES, **asked)


def _measured(
    seed: int,
    number: int,
    read: Any,
    *,
    classes: int,
    sizes: tuple[int, ...],
    counts_of: tuple[int, ...],
    models: tuple[str, ...],
) -> pd.DataFrame:
    rows = []
    for n in sizes:
        for p in counts_of:
            rng = stream_of(seed, number, n, p, classes)
            frame = pd.DataFrame(
                rng.standard_normal((n, p)), columns=[f"x{i}" for i in range(1, p + 1)]
            )
            frame["y"] = rng.standard_normal(n)
            if classes:
                frame["y"] = [f"class {place % classes}" for place in range(n)]
            for model in models:
                for name, scheme in SCHEMES.items():
                    learner = learner_of(model)
                    result = held_out(frame, learner, seed + number, **scheme)
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", UndefinedMetricWarning)
                        values = read(result)
                    cell = (n, p, model, name)
                    rows += [(*cell, *value) for value in values.items()]
    columns = ["n", "covariates", "model", "scheme", "metric", "value"]
    return pd.DataFrame(rows, columns=columns)


def _read_numbers(result: CVResult) -> dict[str, float]:
    paired = float(result.estimate("concordance", how="paired"))
    if result.plan.scheme == "leave_pair_out":
        return {"concordance_paired": paired}
    from scipy.stats import rankdata

    table = result.predictions
    y, predicted = table["observed"].to_numpy(), table["predicted"].to_numpy()
    predicted = predicted.round(12)  # equal in exact arithmetic
    squares = float(((y - predicted) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    return {
        "pearson": _correlation(y, predicted),
        "spearman": _correlation(rankdata(y), rankdata(predicted)),
        "r2": 1 - squares,
        "r2_training": float(result.estimate("r2_training", how="pooled")),
        "concordance": float(result.estimate("concordance", how="pooled")),
        "concordance_paired": paired,
    }


def _correlation(a: Any, b: Any) -> float:
    """Return the correlation, or NaN if one side does not vary."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def _read_classes(result: CVResult) -> dict[str, float]:
    paired = float(result.estimate("auroc_hand_till", how="paired"))
    if result.plan.scheme == "leave_pair_out":
        return {"hand_till_paired": paired}
    return {
        "hand_till": float(result.estimate("auroc_hand_till", how="pooled")),
        "hand_till_paired": paired,
    }

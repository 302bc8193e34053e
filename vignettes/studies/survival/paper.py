"""Concordance and AUC of Cox regressions on noise, by scheme."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

import statcv as scv
from statcv.errors import StatcvError, StatcvWarning
from statcv.metrics import harrell_c
from studies.papers import Folder, Paper, Rounding, Table
from studies.running import Directory, simulate

DATA_SETS = 300  # larger ones vary less, and are fewer
SIZES = {40: 1, 100: 2, 300: 4}  # number of records → every how many data sets
HORIZON = 0.65
AUC = f"auroc@{HORIZON:g}"
RIDGE = 0.01  # inverse strength of the penalty
MODELS: Mapping[str, tuple[int, float | None]] = {
    "none": (0, None),
    "1": (1, None),
    "1, ridge": (1, RIDGE),
    "5": (5, None),
    "5, ridge": (5, RIDGE),
}
SCHEMES: Mapping[str, tuple[Mapping[str, Any], str | None]] = {
    "loocv": ({}, None),
    "kfold": ({"k": 10}, "per_fold"),
    "stratified_kfold": ({"k": 10}, "per_fold"),
    "rloocv": ({"repeats": 1}, "paired"),
    "leave_pair_out": ({}, "paired"),
}
PAIRS = 200  # number of held-out pairs, or that of records if this is larger
CENSORING = ("after t", "30 %", "60 %")
ESTIMATES = ("c_linear", "c_risk", "auc_pooled", "auc_one_fit")


def noise(
    count: int,
    *,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Estimate concordance and AUC of covariates without predictive value.

    Times to the event are exponential with mean 1. Censoring begins after the horizon
    of 0.65, or is exponential, so that 30 % or 60 % of the records are censored.

    Parameters
    ----------
    count : int
        Number of data sets of 40 records; those of 100 are half, those of 300 a
        quarter of them.
    directory : str or path, optional
        Directory for the results, from which an interrupted run continues.
    seed : int, default 1
    n_jobs : int, optional
        Number of processes, on which the results do not depend.
    progress : bool, optional
        Whether to show a bar.

    Returns
    -------
    pandas.DataFrame
        One row per number of records, censoring, covariates and scheme, with the mean
        and its Monte Carlo error of Harrell's C of the linear predictor (``c_linear``)
        and of the risk (``c_risk``), and of the AUC at the horizon of all risks in one
        list (``auc_pooled``) and of comparisons within one fit (``auc_one_fit``).

    Examples
    --------
    >>> stored("noise").columns[:5].tolist()
    ['n', 'censoring', 'covariates', 'scheme', 'data_sets']
    """
    table = simulate(
        "noise",
        _data_set,
        count,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        chunk=10,
    )
    rows = []
    by = ["n", "censoring", "covariates", "scheme"]
    for key, own in table.groupby(by, sort=False):
        row = {**dict(zip(by, key, strict=True)), "data_sets": len(own)}
        for name in ESTIMATES:
            row[name] = own[name].mean()
            row[f"{name}_se"] = own[name].std() / np.sqrt(own[name].notna().sum())
        rows.append(row)
    return pd.DataFrame(rows)


def _data_set(seed: int, number: int) -> pd.DataFrame:
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        for n in (n for n, every in SIZES.items() if number % every == 0):
            for place, censoring in enumerate(CENSORING):
                rng = np.random.default_rng([seed, number, n, place])
                data = _records(rng, n, censoring)
                chosen = int(rng.integers(2**31))
                for model, (covariates, C) in MODELS.items():
                    key = {"n": n, "censoring": censoring, "covariates": model}
                    terms = [f"x{j}" for j in range(covariates)]
                    for scheme in SCHEMES:
                        found = _estimates(data, terms, C, scheme, chosen)
                        rows.append({**key, "scheme": scheme, **found})
    return pd.DataFrame(rows)


def _records(rng: np.random.Generator, n: int, censoring: str) -> pd.DataFrame:
    time = rng.exponential(size=n)
    if censoring == "after t":
        end = rng.exponential(3.0, size=n) + 0.7
    else:
        share = float(censoring.split()[0]) / 100
        end = rng.exponential((1 - share) / share, size=n)
    covariates = pd.DataFrame(rng.normal(size=(n, 5))).add_prefix("x")
    return covariates.assign(
        time=np.minimum(time, end), status=(time <= end).astype(int)
    )


def _estimates(
    data: pd.DataFrame, terms: list[str], C: float | None, scheme: str, seed: int
) -> dict[str, float]:
    """Return the four estimates; NaN where the folds or the metric do not exist."""
    options, within = SCHEMES[scheme]
    if scheme == "leave_pair_out":
        options = {"pairs": max(PAIRS, len(data))}
    try:
        result = scv.cv(
            f"Surv(time, status) ~ {' + '.join(terms) or 1}",
            data,
            model=scv.models.Cox(C=C),
            horizon=HORIZON,
            scheme=scheme,
            metrics=[AUC],
            seed=seed,
            **options,
        )
    except StatcvError:
        return dict.fromkeys(ESTIMATES, np.nan)
    held = result.predictions.groupby("row").mean()
    signed = np.where(held["event"] > 0, held["time"], -held["time"])

    def area(how: str) -> float:
        return float(result.estimate(AUC, how=how, interval=None))

    return {
        "c_linear": harrell_c(signed, held["linear"]),
        "c_risk": harrell_c(signed, held[f"risk_{HORIZON:g}"]),
        "auc_pooled": area("pooled"),
        "auc_one_fit": np.nan if within is None else area(within),
    }


PAPER = Paper(
    "survival", {"noise": Table(DATA_SETS, noise)}, Rounding(digits=3, decimals=4)
)


def stored(name: str, folder: Folder = None) -> pd.DataFrame:
    """Return a stored table of results.

    Parameters
    ----------
    name : str
        ``"noise"``.
    folder : str or path, optional
        Folder of your own tables.

    Examples
    --------
    >>> table = stored("noise").set_index(["covariates", "scheme"])
    >>> float(table.loc[("none", "loocv"), "auc_pooled"].max())
    0.0
    """
    table: pd.DataFrame = PAPER.stored(name, folder)
    return table

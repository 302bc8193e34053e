"""What the paper's simulations share: class balances, sizes, and how a cell is run."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from statcv.errors import StatcvWarning
from statcv.results.result import CVResult
from statcv.studies.austin2024.samples import Noise, stream_of
from statcv.verbs.cv import cv

BALANCES = tuple(tenths / 10 for tenths in range(1, 10))
RECORDS, COVARIATES = 250, 20
PAPERS_SETS = 100


def next_multiple(n: int, p: int) -> int:
    """Return the least multiple of p that is n or more: groups of equal size.

    Examples
    --------
    >>> next_multiple(250, 4), next_multiple(250, 5)
    (252, 250)
    """
    return -(-n // p) * p


def noise_of(
    seed: int, number: int, balance: float, n: int, covariates: int = COVARIATES
) -> pd.DataFrame:
    """Return the data set of that number, from 0, with that balance and size."""
    rng = stream_of(seed, number, round(1000 * balance), n)
    return Noise(n, covariates, balance).sample(rng)


def held_out(frame: pd.DataFrame, model: Any, seed: int, **arguments: Any) -> CVResult:
    """Cross-validate without the warning of distributional bias."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        return cv("y ~ .", frame, model=model, seed=seed, **arguments)


def pooled(result: CVResult, metric: str = "auroc") -> float:
    """Return a metric of all held-out predictions together."""
    return float(result.estimate(metric, how="pooled"))


def leave_one_out(frame: pd.DataFrame, model: Any, seed: int) -> dict[str, float]:
    """Return auROCs: of LOOCV, and of RLOOCV pooled and in pairs."""
    rebalanced = held_out(frame, model, seed, scheme="rloocv", repeats=1)
    return {
        "loocv": pooled(held_out(frame, model, seed, scheme="loocv")),
        "rloocv": pooled(rebalanced),
        "rloocv_paired": float(rebalanced.estimate("auroc", how="paired")),
    }


def against_half(values: Any) -> dict[str, float]:
    """Return mean, sd and Monte Carlo error, and the p-value of a t-test against ½.

    It is the test by which the paper judges its simulations.

    Examples
    --------
    >>> against_half([0.4, 0.5, 0.6])["p"]
    1.0
    """
    from scipy.stats import ttest_1samp

    found = np.asarray(values, dtype=float)
    return {
        "data_sets": len(found),
        "mean": float(found.mean()),
        "sd": float(found.std(ddof=1)),
        "se": float(found.std(ddof=1) / np.sqrt(len(found))),
        "p": float(ttest_1samp(found, 0.5).pvalue),
    }

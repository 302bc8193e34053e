"""The gain of updating at simulated hospitals, and the truth on new patients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

import statcv as scv
from statcv.errors import StatcvWarning
from studies.papers import Folder, Paper, Table
from studies.running import Directory, simulate

HOSPITALS = 400
DEVELOPED, NEW = 600, 100_000  # records of the old model, and of the truth
ROUNDING = 1e-9  # equal predictions that were computed in two ways
SIZES = (100, 300)
METHODS = ("closed_test", "shrink")
METRICS = ("log_loss", "brier", "calibration_slope")
BETA = np.array([-1.2, 0.8, -0.5, 0.5, 0.4, -0.3, 0.2])
NAMES = [f"x{j}" for j in range(1, len(BETA))]


def gain(
    count: int,
    *,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compare the gain of updating with that for new patients of the same hospital.

    A hospital has another intercept (standard deviation 0.6) and slope (0.5 to 1.2)
    than the one in which a model of six covariates was developed with 600 records, and,
    in half of the coefficients, further differences of standard deviation 0.15.

    Parameters
    ----------
    count : int
        Number of hospitals of each size.
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
        One row for each size, method and metric: the mean true gain (updated minus
        old), the bias of the cross-validated and of the apparent gain, and the coverage
        of the intervals of :func:`statcv.compare`, with Monte Carlo errors.

    Examples
    --------
    >>> stored("gain").columns[:5].tolist()
    ['n', 'method', 'metric', 'hospitals', 'truth']
    """
    table = simulate(
        "gain",
        _hospital,
        count,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    rows = []
    for (n, method, metric), own in table.groupby(["n", "method", "metric"]):
        row = {"n": n, "method": method, "metric": metric, "hospitals": len(own)}
        row["truth"] = own["truth"].mean()
        for kind in ("cv", "apparent"):
            error = own[kind] - own["truth"]
            # where no prediction changes there is no interval, and the truth may be 0
            low = own[f"{kind}_lower"].fillna(own[kind]) - ROUNDING
            high = own[f"{kind}_upper"].fillna(own[kind]) + ROUNDING
            inside = own["truth"].between(low, high)
            row[f"{kind}_bias"] = error.mean()
            row[f"{kind}_bias_se"] = error.std() / np.sqrt(len(own))
            row[f"{kind}_coverage"] = inside.mean()
            row[f"{kind}_coverage_se"] = inside.std() / np.sqrt(len(own))
        rows.append(row)
    return pd.DataFrame(rows)


def _hospital(seed: int, number: int) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        return pd.concat(
            [_measured(np.random.default_rng([seed, number, n]), n) for n in SIZES]
        )


def _measured(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Return the gains at one hospital, each with its interval and its truth."""
    developed = scv.cv("y ~ .", _records(rng, DEVELOPED, BETA), k=2, seed=1)
    beta = rng.uniform(0.5, 1.2) * BETA
    beta[0] += rng.normal(0, 0.6)
    beta[1:] += rng.normal(0, 0.15, len(NAMES)) * rng.integers(0, 2, len(NAMES))
    here, later = _records(rng, n, beta), _records(rng, NEW, beta)
    old, rows = developed.final, []
    before, after = old.validate(here), old.validate(later)
    for method in METHODS:
        updated = old.update(here, method)
        held, apparent = updated.validate(seed=1, n_jobs=1), updated.validate(here)
        truth = updated.validate(later)
        for metric in METRICS:
            row: dict[str, Any] = {"n": n, "method": method, "metric": metric}
            true = float(truth.estimate(metric)) - float(after.estimate(metric))
            row["truth"] = true
            for kind, one in (("cv", held), ("apparent", apparent)):
                found = scv.compare(old=before, updated=one, metric=metric)
                differences = found.differences.iloc[0]
                row[kind] = differences["difference"]
                row[f"{kind}_lower"] = differences["lower"]
                row[f"{kind}_upper"] = differences["upper"]
            rows.append(row)
    return pd.DataFrame(rows)


def _records(rng: np.random.Generator, n: int, beta: Any) -> pd.DataFrame:
    X = rng.normal(size=(n, len(NAMES)))
    X[:, [2, 4]] = X[:, [2, 4]] > 0
    risk = 1 / (1 + np.exp(-beta[0] - X @ beta[1:]))
    return pd.DataFrame(X, columns=NAMES).assign(y=rng.binomial(1, risk))


PAPER = Paper("updating", {"gain": Table(HOSPITALS, gain)})


def stored(name: str, folder: Folder = None) -> pd.DataFrame:
    """Return a stored table of results.

    Parameters
    ----------
    name : str
        ``"gain"``.
    folder : str or path, optional
        Folder of your own tables.

    Examples
    --------
    >>> own = stored("gain").set_index("metric").loc["log_loss"]
    >>> bool((own["cv_bias"].abs() < own["apparent_bias"].abs()).all())
    True
    """
    table: pd.DataFrame = PAPER.stored(name, folder)
    return table

"""Imputation before a cross-validation, and inside it, against the truth."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

import statcv as scv
from statcv.errors import StatcvWarning
from statcv.metrics import METRICS
from statcv.results import CVResult
from studies.papers import Folder, Paper, Table
from studies.running import Directory, simulate

SAMPLES = 300
IMPUTATIONS = 10
SIZES = (100, 300)
INSIDE = 300, 100  # data sets of each population, and their records
DRAWS = 5  # imputations of each training set
NEW = 20_000  # records of the truth
MEASURED = ("auroc", "brier")
BETA = {"signal": [-0.8, 0.9, -0.6, 0.5], "noise": [-0.8, 0.0, 0.0, 0.0]}
NAMES = ["x1", "x2", "x3"]
CORRELATION = 0.4
LACKING = {"x1": (-1.65, 0.7, 0.5), "x2": (-1.65, 0.7, -0.5)}


def coverage(
    count: int,
    *,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compare pooled intervals with those of complete data and of complete cases.

    Three normal covariates with correlations of 0.4 predict a binary outcome. The first
    two lack about 20% of their values each, with log-odds that depend on the third
    covariate and on the outcome. They are imputed ten times by scikit-learn's
    ``IterativeImputer`` with draws from the posterior, the outcome among the
    predictors. The truth is the performance of the model of all records, in 20,000
    complete new records; over imputations its mean.

    Parameters
    ----------
    count : int
        Number of data sets of each size.
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
        One row for each size, metric and kind of data: the mean truth, the bias of the
        estimate, coverage and mean width of the 95% intervals, with Monte Carlo errors,
        and the mean fraction of missing information.

    Examples
    --------
    >>> stored("coverage")["data"].unique().tolist()
    ['complete', 'complete cases', 'imputed']
    """
    table = simulate(
        "coverage",
        _sample,
        count,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return _summary(table, ["n", "metric", "data"], ["fraction_missing"])


def inside(
    count: int,
    *,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compare imputation inside every training set with the usual order.

    The records are those of :func:`coverage`, with and without an effect of the
    covariates on the outcome, and so are the values that they lack. They are
    cross-validated by rebalanced leave-one-out, whose training sets have nearly all
    records: once with ``impute=Mice(5)``, and once after five imputations with the
    outcome, pooled. The truth is the performance of the final model in 20,000 new
    records: for imputation inside they lack values too, and are imputed without their
    outcome; for the usual order they are complete. (The Brier score is flattered by
    2 p (1 - p) / n in both orders, since rebalanced training sets know the share p.)

    Parameters
    ----------
    count : int
        Number of data sets of each population, of 100 records.
    directory, seed, n_jobs, progress
        As for :func:`coverage`.

    Returns
    -------
    pandas.DataFrame
        One row for each population, metric and order, as for :func:`coverage`.

    References
    ----------
    Wahl et al. (2016), BMC Medical Research Methodology 16:144.

    Examples
    --------
    >>> stored("inside")["order"].unique().tolist()
    ['before', 'inside']
    """
    table = simulate(
        "inside",
        _sample_inside,
        count,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )
    return _summary(table, ["population", "metric", "order"])


def _summary(
    table: pd.DataFrame, by: list[str], more: Sequence[str] = ()
) -> pd.DataFrame:
    rows = []
    for key, own in table.groupby(by):
        error = own["estimate"] - own["truth"]
        covered = own["truth"].between(own["lower"], own["upper"])
        width = own["upper"] - own["lower"]
        row = dict(zip(by, key, strict=True)) | {"samples": len(own)}
        row["truth"] = own["truth"].mean()
        for name, values in (("bias", error), ("coverage", covered), ("width", width)):
            row[name] = values.mean()
            row[f"{name}_se"] = values.std() / np.sqrt(len(own))
        rows.append(row | {name: own[name].mean() for name in more})
    return pd.DataFrame(rows)


def _sample_inside(seed: int, number: int) -> pd.DataFrame:
    made = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        for population in BETA:
            rng = np.random.default_rng([seed, number, population == "noise"])
            made.append(_both_orders(rng, population, INSIDE[1]))
    return pd.concat(made)


def _both_orders(rng: np.random.Generator, population: str, n: int) -> pd.DataFrame:
    new, full = _records(rng, NEW, population), _records(rng, n, population)
    lacking, new_lacking = _lacking(rng, full), _lacking(rng, new)
    call = partial(
        scv.cv,
        "y ~ .",
        metrics=list(MEASURED),
        scheme="rloocv",
        repeats=1,
        seed=_number(rng),
    )
    imputed = [_imputed(lacking, _number(rng)) for _ in range(DRAWS)]
    before = [call(data=data) for data in imputed]
    within = call(data=lacking, impute=scv.models.Mice(DRAWS))
    rows, y = [], new["y"].to_numpy()
    for order, shown, fitted, at in (
        ("before", scv.pool(before), before, new),
        ("inside", within, [within], new_lacking),
    ):
        predicted = [one.predict(at).to_numpy() for one in fitted]
        for metric in MEASURED:
            found = shown.estimate(metric)
            rows.append(
                {
                    "population": population,
                    "metric": metric,
                    "order": order,
                    "truth": np.mean([METRICS[metric](y, p) for p in predicted]),
                    "estimate": found.value,
                    "lower": found.lower,
                    "upper": found.upper,
                }
            )
    return pd.DataFrame(rows)


def _number(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


def _sample(seed: int, number: int) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return pd.concat(
            [_measured(np.random.default_rng([seed, number, n]), n) for n in SIZES]
        )


def _measured(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Return estimate, interval and truth of each metric, from three kinds of data."""
    new, full = _records(rng, NEW), _records(rng, n)
    lacking = _lacking(rng, full)
    imputed = [_imputed(lacking, k) for k in rng.integers(2**31, size=IMPUTATIONS)]
    single = [_cross_validated(data) for data in (full, lacking)]
    each = [_cross_validated(data) for data in imputed]
    pooled = scv.pool(each)
    missing = pooled.metrics().set_index("metric")["fmi"]
    y, rows = new["y"].to_numpy(), []
    for data, shown, fitted in (
        ("complete", single[0], single[:1]),
        ("complete cases", single[1], single[1:]),
        ("imputed", pooled, each),
    ):
        predicted = [one.predict(new).to_numpy() for one in fitted]
        for metric in MEASURED:
            found = shown.estimate(metric)
            rows.append(
                {
                    "n": n,
                    "metric": metric,
                    "data": data,
                    "truth": np.mean([METRICS[metric](y, p) for p in predicted]),
                    "estimate": found.value,
                    "lower": found.lower,
                    "upper": found.upper,
                    "fraction_missing": missing[metric] if data == "imputed" else 0.0,
                }
            )
    return pd.DataFrame(rows)


def _cross_validated(data: pd.DataFrame) -> CVResult:
    return scv.cv("y ~ .", data, metrics=list(MEASURED), seed=1)


def _imputed(lacking: pd.DataFrame, seed: int) -> pd.DataFrame:
    filler = IterativeImputer(
        sample_posterior=True, max_iter=5, skip_complete=True, random_state=seed
    )
    return pd.DataFrame(filler.fit_transform(lacking), columns=lacking.columns)


def _lacking(rng: np.random.Generator, full: pd.DataFrame) -> pd.DataFrame:
    lacking = full.copy()
    for name, (constant, third, outcome) in LACKING.items():
        odds = constant + third * full["x3"] + outcome * full["y"]
        kept = rng.random(len(full)) > 1 / (1 + np.exp(-odds))
        lacking[name] = full[name].where(kept)
    return lacking


def _records(
    rng: np.random.Generator, n: int, population: str = "signal"
) -> pd.DataFrame:
    shared = np.sqrt(CORRELATION) * rng.normal(size=(n, 1))
    X = shared + np.sqrt(1 - CORRELATION) * rng.normal(size=(n, len(NAMES)))
    constant, *slopes = BETA[population]
    risk = 1 / (1 + np.exp(-constant - X @ np.array(slopes)))
    return pd.DataFrame(X, columns=NAMES).assign(y=rng.binomial(1, risk))


PAPER = Paper(
    "pooling",
    {"coverage": Table(SAMPLES, coverage), "inside": Table(INSIDE[0], inside)},
)


def stored(name: str, folder: Folder = None) -> pd.DataFrame:
    """Return a stored table of results.

    Parameters
    ----------
    name : str
        ``"coverage"`` or ``"inside"``.
    folder : str or path, optional
        Folder of your own tables.

    Examples
    --------
    >>> own = stored("coverage").set_index("data")["coverage"]
    >>> bool(own["imputed"].between(0.9, 1).all())
    True
    """
    table: pd.DataFrame = PAPER.stored(name, folder)
    return table

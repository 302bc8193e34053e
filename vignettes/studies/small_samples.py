"""Estimates of performance in small samples of two normal classes, and their truth.

The covariates are independent normal variables of variance 1, whose means differ
between the classes by the same amount each, so that logistic regression is true. The
numbers of records of the classes are fixed. The truth of an estimate is the
performance, on new records of the same shares, of the model that all records give.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from statcv import cv
from statcv.errors import StatcvWarning
from statcv.metrics import METRICS

NEW = 4_000  # number of new records of a data set
# number of bootstrap samples of the data sets, for a Monte Carlo error
RESAMPLED = 1_000


@dataclass(frozen=True)
class Method:
    """A way to estimate performance.

    Attributes
    ----------
    arguments : mapping
        Those of :func:`statcv.cv`.
    how : mapping
        How predictions are combined, by metric; as by default unless given.
    """

    arguments: Mapping[str, Any]
    how: Mapping[str, str]


def sample(
    rng: np.random.Generator, sizes: tuple[int, int], c: float, covariates: int
) -> pd.DataFrame:
    """Return negatives and positives in random order.

    Parameters
    ----------
    rng : numpy.random.Generator
    sizes : tuple of int
        Numbers of negative and of positive records.
    c : float
        Concordance of the true model.
    covariates : int
    """
    y: NDArray[Any] = rng.permutation(np.repeat([0, 1], sizes))
    apart = np.sqrt(2 / covariates) * norm.ppf(c)
    x = rng.normal(size=(len(y), covariates)) + apart * y[:, None]
    return pd.DataFrame(x, columns=[f"x{i + 1}" for i in range(covariates)]).assign(y=y)


def measure_sample(
    rng: np.random.Generator,
    *,
    sizes: tuple[int, int],
    c: float,
    covariates: int,
    models: Mapping[str, Mapping[str, Any]],
    methods: Mapping[str, Method],
    metrics: Sequence[str],
    n_boot: int = 0,
) -> pd.DataFrame:
    """Draw a data set, and return every estimate with its interval and its truth.

    Parameters
    ----------
    rng, sizes, c, covariates
        As in `sample`.
    models : mapping
        Arguments of :func:`statcv.cv` by name of the model.
    methods : mapping
        `Method` by name.
    metrics : sequence of str
    n_boot : int
        Bootstrap samples of Harrell's correction, which is left out if it is 0.

    Returns
    -------
    pandas.DataFrame
        One row by model, method and metric, with the ends of the default interval of
        the c-statistic.
    """
    data = sample(rng, sizes, c, covariates)
    share = sizes[1] / sum(sizes)
    fresh = (NEW - round(share * NEW), round(share * NEW))
    new, seed = sample(rng, fresh, c, covariates), int(rng.integers(2**31))
    known: list[tuple[Any, ...]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        for model, given in models.items():
            truth: dict[str, float] = {}
            rows = []
            for name, method in methods.items():
                options = {**given, **method.arguments, "metrics": list(metrics)}
                result = cv("y ~ .", data, seed=seed, **options)
                if not truth:
                    predicted = np.asarray(result.predict(new))
                    for metric in metrics:
                        truth[metric] = METRICS[metric](new["y"], predicted)
                        value = float(result.apparent[metric])
                        rows.append((model, "apparent", metric, value, np.nan, np.nan))
                        if n_boot:
                            corrected = result.optimism_corrected(
                                metric, n_boot=n_boot, seed=seed
                            )
                            value = float(corrected)
                            rows.append(
                                (model, "optimism", metric, value, np.nan, np.nan)
                            )
                for metric in metrics:
                    estimate = result.estimate(metric, how=method.how.get(metric))
                    ends = (np.nan, np.nan)
                    if metric == "auroc":
                        ends = (float(estimate.lower), float(estimate.upper))
                    rows.append((model, name, metric, float(estimate), *ends))
            known += [(*row, truth[row[2]]) for row in rows]
    columns = ["model", "method", "metric", "estimate", "low", "high", "truth"]
    return pd.DataFrame(known, columns=columns)


def measure_settings(
    seed: int,
    number: int,
    name: str,
    values: Sequence[int],
    cs: Sequence[float],
    *,
    sizes: Callable[[int], tuple[int, int]],
    **options: Any,
) -> pd.DataFrame:
    """Draw and measure a data set of each setting: a value of one number, and a c.

    Parameters
    ----------
    seed : int
    number : int
        Number of the data set.
    name : str
        Name of the number that settles the sizes of the classes.
    values, cs : sequence
        Its values, and the concordances of the true model.
    sizes : callable
        Function of such a value that returns the numbers of negatives and positives.
    **options
        Further arguments of `measure_sample`.
    """
    tables = []
    for place, (value, c) in enumerate(product(values, cs)):
        rng = np.random.default_rng([seed, number, place])
        table = measure_sample(rng, sizes=sizes(value), c=c, **options)
        table.insert(0, name, value)
        table.insert(1, "c", c)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def summarise(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return bias, root mean squared error and coverage, with Monte Carlo errors.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of :func:`measure_sample`.
    by : sequence of str
        Columns whose combinations are kept apart.
    """
    rows = []
    for key, part in table.groupby(list(by), sort=False):
        error, n = part["estimate"] - part["truth"], len(part)
        row = dict(zip(by, key, strict=True))
        row |= {"n": n, "truth": part["truth"].mean()}
        row |= {"mean": part["estimate"].mean(), "bias": error.mean()}
        row |= {"bias_se": error.std(ddof=1) / n**0.5}
        row |= {"rmse": float(np.sqrt((error**2).mean()))}
        known = part[["low", "high"]].notna().all(axis=1)
        if known.any():
            inside = part["truth"].between(part["low"], part["high"])[known]
            share = float(inside.mean())
            row |= {"coverage": share}
            row |= {"coverage_se": (share * (1 - share) / known.sum()) ** 0.5}
        else:
            row |= {"coverage": np.nan, "coverage_se": np.nan}
        rows.append(row)
    return pd.DataFrame(rows)


def compare_errors(
    table: pd.DataFrame, by: Sequence[str], methods: Sequence[str], *, seed: int
) -> pd.DataFrame:
    """Compare the absolute errors of each two methods on the same data sets.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of :func:`measure_sample`, of one model and one metric, with ``number`` of
        the data set.
    by : sequence of str
        Columns whose combinations are kept apart.
    methods : sequence of str
        The methods, each of which is compared with those before it.
    seed : int
        Seed for the bootstrap samples that give Monte Carlo errors.

    Returns
    -------
    pandas.DataFrame
        A row for each two methods: the median of the absolute error of ``column`` minus
        that of ``row``, its Monte Carlo error, the quartiles, and the p-value of
        Wilcoxon's signed-rank test.
    """
    from scipy.stats import wilcoxon

    rng, rows = np.random.default_rng(seed), []
    for key, part in table.groupby(list(by), sort=False):
        error = (part["estimate"] - part["truth"]).abs()
        wide = part.assign(error=error).pivot(
            index="number", columns="method", values="error"
        )
        n = len(wide)
        samples = rng.integers(n, size=(RESAMPLED, n))
        for column, row in combinations(methods, 2):
            apart = (wide[column] - wide[row]).to_numpy()
            first, median, third = np.quantile(apart, [0.25, 0.5, 0.75])
            rows.append(
                {
                    **dict(zip(by, key, strict=True)),
                    "n": n,
                    "row": row,
                    "column": column,
                    "median": median,
                    "median_se": np.median(apart[samples], axis=1).std(ddof=1),
                    "first_quartile": first,
                    "third_quartile": third,
                    "p_value": float(wilcoxon(apart).pvalue),
                }
            )
    return pd.DataFrame(rows)

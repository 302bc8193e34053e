"""How records are partitioned: at random, by a hash, along a covariate."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv import cv
from statcv.datasets.ehr import COVARIATES
from statcv.errors import ArgumentError, DistributionalBiasWarning, suggestion
from statcv.folds import by_hash, by_quantile
from statcv.results import CVResult
from studies.bey2020.samples import Sample, Scale

FORMULA = f"y ~ {' + '.join(COVARIATES)}"
STRATEGIES = ("unbiased", "random", *COVARIATES, "hash")
KEY = "the secret of the hospitals"
NARROW = re.compile(r"(x\d+)(?: ×(\d+))?")


def cross_validate(
    strategy: str,
    sample: Sample,
    scale: Scale,
    *,
    k: int | None = None,
    curves: bool = False,
) -> CVResult:
    """Cross-validate the paper's model on a data set.

    Parameters
    ----------
    strategy : str
        ``"unbiased"``: the people before duplicates were added, in random folds.
        ``"random"``: all records, in random folds. ``"x1"`` to ``"x10"``: all records,
        in quantile bins of a covariate, one per fold; ``"x5 ×20"``: 20 bins per fold,
        allocated at random. ``"hash"``: all records, by a keyed hash of the identifier.
    sample : Sample
    scale : Scale
    k : int, optional
        Number of folds; that of the scale unless given.
    curves : bool
        Whether to keep the accuracies after every round.
    """
    number = scale.k if k is None else k
    model = scale.model(curves)
    seed = sample.seeds.folds
    if strategy in ("unbiased", "random"):
        data = sample.people if strategy == "unbiased" else sample.records
        folds = random_folds(data["site"], number, np.random.default_rng(seed))
        return _accuracy(data, model, scheme=folds, seed=seed)
    return stratified(stratifier_of(strategy), sample.records, model, number, seed)


def stratified(
    stratifier: Any, records: pd.DataFrame, model: Any, k: int, seed: int
) -> CVResult:
    """Cross-validate with folds that never split records equal by a stratifier."""
    held_out = {"scheme": "kfold", "k": k, "stratify": stratifier}
    return _accuracy(records, model, seed=seed, **held_out)


def _accuracy(data: pd.DataFrame, model: Any, **more: Any) -> CVResult:
    """Cross-validate, without the warning of distributional bias."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DistributionalBiasWarning)
        return cv(FORMULA, data, model=model, metrics="accuracy", **more)


def stratifier_of(strategy: str) -> Any:
    """Return the stratifier of a strategy that has one.

    Examples
    --------
    >>> stratifier_of("x5 ×20")
    ByQuantile(columns=('x5',), per_fold=20)
    """
    if strategy == "hash":
        return by_hash("patient_id", key=KEY)
    match = NARROW.fullmatch(strategy)
    if match is None or match[1] not in COVARIATES:
        raise ArgumentError(
            f"strategy {strategy!r} is not one of {', '.join(STRATEGIES)}, nor like "
            f"'x5 ×20'.{suggestion(strategy, STRATEGIES)}"
        )
    return by_quantile(match[1], per_fold=int(match[2] or 1))


def check_strategies(strategies: tuple[str, ...]) -> None:
    """Raise an error for unknown strategies, duplicates and an empty list."""
    check_once(strategies, "strategies")
    for strategy in strategies:
        if strategy not in ("unbiased", "random"):
            stratifier_of(strategy)


def check_once(values: Sequence[Any], name: str) -> None:
    """Raise an error for an empty list, and for a value that is given twice."""
    if not values:
        raise ArgumentError(f"{name} is empty; give one or more.")
    twice = [value for value in values if values.count(value) > 1]
    if twice:
        raise ArgumentError(f"{name} has {twice[0]!r} twice; give each once.")


def random_folds(
    sites: pd.Series[Any], k: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the fold of each record, from 1: random and even in each hospital.

    The sizes of folds differ by one at most, in each hospital and over all.

    Examples
    --------
    >>> sites = pd.Series(["A", "B", "A", "A", "B"])
    >>> folds = random_folds(sites, 2, np.random.default_rng(1))
    >>> np.bincount(folds), np.bincount(folds[sites == "B"])
    (array([0, 3, 2]), array([0, 1, 1]))
    """
    shuffled = rng.permutation(len(sites))
    order = shuffled[np.argsort(sites.to_numpy()[shuffled], kind="stable")]
    folds = np.empty(len(sites), dtype=np.intp)
    folds[order] = np.arange(len(sites)) % k + 1
    return folds


def accuracy(result: CVResult) -> float:
    """Return the mean over folds of the share that is predicted right."""
    return result.estimate("accuracy", how="per_fold").value


def share_split(result: CVResult, person: pd.Series[Any]) -> float:
    """Return the share of held-out records that have a duplicate in training.

    Parameters
    ----------
    result : CVResult
    person : pandas.Series
        True person of each record.
    """
    fold = result.predictions.set_index("row")["fold"].loc[person.index]
    return float((fold.groupby(person).transform("nunique") > 1).mean())

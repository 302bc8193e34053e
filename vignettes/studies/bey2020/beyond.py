"""What goes beyond the paper, on its data sets: studies of the same estimates.

:func:`fresh_records` compares estimates with the accuracy on new records;
:func:`narrow_bins` stratifies along many bins per fold; :func:`numbers_of_folds` uses
few folds and many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import check_whole
from statcv.datasets import EhrPopulation, Inexact
from statcv.results import CVResult
from studies.bey2020.rankings import fold_models, trained_on
from studies.bey2020.samples import (
    Sample,
    Scale,
    matched_population,
    records_of,
    simulate,
)
from studies.bey2020.strategies import (
    accuracy,
    check_once,
    check_strategies,
    cross_validate,
    share_split,
)
from studies.bey2020.violins import Rotations, check_rotations, population_of
from studies.running import Directory

Floats = NDArray[np.float64]

FRESH_STRATEGIES = ("unbiased", "random", "hash", "x5")
TRUTHS = {"hash": "with duplicates", "unbiased": "without duplicates"}
FRESH = 20_000
PER_FOLD = (1, 2, 4, 20, 200)
NOISES = (0.0, 0.01, 0.1)


def fresh_records(
    simulations: int = 30,
    *,
    rotations: Rotations = "matched",
    n_fresh: int = FRESH,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compare estimates with the accuracy of models on new records.

    An estimate may be of two models: that of the records with their duplicates, or
    that of the same people, each once. Cross-validation estimates the accuracy of
    models trained on k − 1 of k folds; the model of all records is better, as it has
    more data.

    Parameters
    ----------
    simulations, rotations, scale, directory, seed, n_jobs, progress
        As in :func:`figure3`.
    n_fresh : int, default 20_000
        Number of new people, drawn again in each simulation. No outcome is drawn: each
        person counts with the probability that the prediction is right.

    Returns
    -------
    pandas.DataFrame
        ``simulation``, ``strategy``, ``accuracy``. Strategies ``"unbiased"``,
        ``"random"``, ``"hash"`` and ``"x5"`` are estimates. ``"with duplicates"`` and
        ``"without duplicates"`` are the mean accuracies on new records of the models of
        the folds by hash, and of the unbiased folds; ``"with duplicates, all"`` and
        ``"without duplicates, all"`` those of the models of all records.

    Examples
    --------
    >>> from studies.bey2020 import Scale, bias, fresh_records
    >>> small = Scale(n=400, n_duplicates=80, rounds=10)
    >>> table = fresh_records(2, n_fresh=500, scale=small)
    >>> bias(table, against="with duplicates").columns.tolist()
    ['strategy', 'bias', 'se', 'simulations']
    """
    check_rotations(rotations)
    check_whole(n_fresh, "n_fresh", least=1)
    return simulate(
        "fresh",
        _measure_fresh,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        rotations=rotations,
        n_fresh=n_fresh,
    )


def right(probability: Floats, predicted: Floats) -> float:
    """Return the mean probability that a prediction is right.

    Examples
    --------
    >>> right(np.array([0.9, 0.2]), np.array([0.8, 0.7]))
    0.55
    """
    chosen = np.where(predicted > 0.5, probability, 1 - probability)
    return float(chosen.mean())


def _measure_fresh(
    scale: Scale, seed: int, number: int, rotations: Rotations, n_fresh: int
) -> pd.DataFrame:
    population = population_of(rotations, seed, number)
    sample = Sample.draw(scale, population, seed, number)
    found = {}
    for strategy in FRESH_STRATEGIES:
        result = cross_validate(strategy, sample, scale)
        found[strategy] = accuracy(result)
        if strategy in TRUTHS:
            name = TRUTHS[strategy]
            truths = _truths(result, population, n_fresh, sample.seeds.fresh)
            found[name], found[f"{name}, all"] = truths
    return pd.DataFrame({"strategy": list(found), "accuracy": list(found.values())})


def _truths(
    result: CVResult, population: EhrPopulation, n_fresh: int, seed: int
) -> tuple[float, float]:
    """Return the accuracy of the models of folds, and of that of all records."""
    x = population.draw_covariates(n_fresh, np.random.default_rng(seed))
    probability, design = population.probability(x), result.design
    X = x if design.intercept is None else np.insert(x, design.intercept, 1.0, axis=1)
    folds = [
        right(probability, np.asarray(model.fit.predict(X)))
        for model in fold_models(result)
    ]
    whole = np.asarray(trained_on(result, np.arange(design.n)).predict(X))
    return float(np.mean(folds)), right(probability, whole)


def narrow_bins(
    simulations: int = 30,
    *,
    stratifiers: Sequence[str] = ("x5", "x3"),
    per_fold: Sequence[int] = PER_FOLD,
    noises: Sequence[float] = NOISES,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Stratify along many narrow bins, with exact and with inexact duplicates.

    Parameters
    ----------
    simulations, scale, directory, seed, n_jobs, progress
        As in :func:`figure3`.
    stratifiers : sequence of str
        Covariates.
    per_fold : sequence of int
        Numbers of bins per fold, as in :func:`statcv.by_quantile`.
    noises : sequence of float
        Standard deviations of the differences between a duplicate and its original, in
        units of each covariate's own.

    Returns
    -------
    pandas.DataFrame
        ``simulation``, ``noise``, ``strategy`` (``"x5 ×20"`` for 20 bins per fold),
        ``accuracy``, and ``duplicates_split``, the share of records with a duplicate in
        training.
        ``"unbiased"`` is the same for any noise, as it has no duplicates.

    Examples
    --------
    >>> from studies.bey2020 import Scale, narrow_bins
    >>> small = Scale(n=400, n_duplicates=80, rounds=10)
    >>> table = narrow_bins(1, per_fold=[4], noises=[0, 0.1], scale=small)
    >>> table.query("strategy == 'x5 ×4'")["duplicates_split"].gt(0).tolist()
    [False, True]
    """
    for noise in noises:
        Inexact(noise=noise)
    strategies = tuple(
        stratifier if many == 1 else f"{stratifier} ×{many}"
        for stratifier in stratifiers
        for many in per_fold
    )
    check_strategies(strategies)
    levels = tuple(float(noise) for noise in noises)
    check_once(levels, "noises")
    return simulate(
        "per_fold",
        _measure_narrow,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        strategies=strategies,
        noises=levels,
    )


def _measure_narrow(
    scale: Scale,
    seed: int,
    number: int,
    strategies: tuple[str, ...],
    noises: tuple[float, ...],
) -> pd.DataFrame:
    exact = Sample.draw(scale, matched_population(), seed, number)
    reference = accuracy(cross_validate("unbiased", exact, scale))
    person = exact.records["patient_id"]
    rows: list[tuple[float, str, float, float]] = []
    for noise in noises:
        inexact = Inexact(noise=noise)
        records = records_of(scale, exact.population, exact.seeds, inexact=inexact)
        sample = replace(exact, records=records)
        rows.append((noise, "unbiased", reference, 0.0))
        for strategy in strategies:
            result = cross_validate(strategy, sample, scale)
            split = share_split(result, person)
            rows.append((noise, strategy, accuracy(result), split))
    return pd.DataFrame(
        rows, columns=["noise", "strategy", "accuracy", "duplicates_split"]
    )


def numbers_of_folds(
    simulations: int = 30,
    *,
    k: Sequence[int] = (2, 5, 10),
    strategies: tuple[str, ...] = ("unbiased", "x5"),
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Stratify along a covariate in few folds and in many.

    Parameters
    ----------
    simulations, strategies, scale, directory, seed, n_jobs, progress
        As in :func:`figure3`; ``scale.k`` does not count.
    k : sequence of int
        Numbers of folds.

    Returns
    -------
    pandas.DataFrame
        ``simulation``, ``k``, ``strategy``, ``accuracy``.

    Examples
    --------
    >>> from studies.bey2020 import Scale, bias, numbers_of_folds
    >>> small = Scale(n=400, n_duplicates=80, rounds=10)
    >>> table = numbers_of_folds(2, k=[2, 4], scale=small)
    >>> bias(table, by=["k"])["k"].tolist()
    [2, 4]
    """
    scale = scale or Scale()
    strategies = tuple(strategies)
    check_strategies(strategies)
    for number in k:
        check_whole(number, "k", least=2, most=scale.n // 10)
    numbers = tuple(int(number) for number in k)
    check_once(numbers, "k")
    return simulate(
        "k",
        _measure_folds,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
        k=numbers,
        strategies=strategies,
    )


def _measure_folds(
    scale: Scale,
    seed: int,
    number: int,
    k: tuple[int, ...],
    strategies: tuple[str, ...],
) -> pd.DataFrame:
    sample = Sample.draw(scale, matched_population(), seed, number)
    rows = [
        (folds, strategy, accuracy(cross_validate(strategy, sample, scale, k=folds)))
        for folds in k
        for strategy in strategies
    ]
    return pd.DataFrame(rows, columns=["k", "strategy", "accuracy"])

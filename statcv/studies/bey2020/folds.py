"""How the bias depends on the number of folds."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from statcv.studies.bey2020.running import simulate
from statcv.studies.bey2020.samples import Sample
from statcv.studies.bey2020.scale import Scale, matched_population
from statcv.studies.bey2020.strategies import (
    accuracy,
    check_once,
    check_strategies,
    cross_validate,
)
from statcv.studies.checks import check_whole
from statcv.studies.running import Directory


def numbers_of_folds(
    simulations: int = 30,
    *,
    k: Sequence[int] = (2, 5, 10),
    strategies: tuple[str, ...] = ("unbiased", "x5"),
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Stratify along a covariate in few folds and in many.

    Parameters
    ----------
    simulations, strategies, scale, directory, seed, n_jobs
        As in :func:`figure3`; ``scale.k`` does not count.
    k : sequence of int
        Numbers of folds.

    Returns
    -------
    pandas.DataFrame
        ``simulation``, ``k``, ``strategy``, ``accuracy``.

    Examples
    --------
    >>> from statcv.studies.bey2020 import Scale, bias, numbers_of_folds
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
        _measure,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        k=numbers,
        strategies=strategies,
    )


def _measure(
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

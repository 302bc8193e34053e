"""Duplicates that are hard to keep together, and what a divided one is worth.

:func:`limits` tries the limits that the paper names; :func:`leak_of_duplicates`
predicts the leak by duplicates in training sets.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from numpy.typing import NDArray

from statcv.datasets import Inexact, Pseudonyms
from statcv.datasets.ehr import COVARIATES
from statcv.folds import by_hash, by_quantile
from studies.bey2020.learning import learning_of
from studies.bey2020.samples import (
    Sample,
    Scale,
    matched_population,
    records_of,
    simulate,
)
from studies.bey2020.strategies import (
    KEY,
    accuracy,
    cross_validate,
    share_split,
    stratified,
)
from studies.running import Directory

TYPOS = (0.05, 0.2, 0.5)


def limits(
    simulations: int = 30,
    *,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Estimate with pseudonyms by hospital, typing errors, or unequal duplication.

    Parameters
    ----------
    simulations, scale, directory, seed, n_jobs, progress
        As in :func:`figure3`.

    Returns
    -------
    pandas.DataFrame
        ``simulation``, ``strategy``, ``accuracy``, and ``duplicates_split``, the share
        of records with a duplicate in training. The strategies are ``"unbiased"``,
        ``"hash"`` and ``"x1"`` as in :func:`figure3`, and:

        ``"hash, salted"``
            Each hospital hashes with a key of its own.
        ``"hash, 5 % typos"``, ``"hash, 20 % typos"``, ``"hash, 50 % typos"``
            This share of duplicates has a typing error in the identifier.
        ``"x1, shifted"``
            Each hospital adds a number of its own to x1, uniform within one standard
            deviation.
        ``"hash, hard cases"``
            People are duplicated in proportion to (1 − abs(2 p − 1))², where p is the
            probability of their outcome: hard cases most.

    Examples
    --------
    >>> from studies.bey2020 import Scale, limits
    >>> table = limits(1, scale=Scale(n=400, n_duplicates=80, rounds=10))
    >>> table.loc[table["duplicates_split"] > 0.1, "strategy"].tolist()
    ['hash, salted', 'x1, shifted']
    """
    return simulate(
        "limits",
        _measure_limits,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )


def _measure_limits(scale: Scale, seed: int, number: int) -> pd.DataFrame:
    population = matched_population()
    sample = Sample.draw(scale, population, seed, number)
    rows: list[tuple[str, float, float]] = []

    def add(strategy: str, result: Any, person: pd.Series[Any]) -> None:
        rows.append((strategy, accuracy(result), share_split(result, person)))

    def records(**changed: Any) -> pd.DataFrame:
        return records_of(scale, population, sample.seeds, **changed)

    def by(stratifier: Any, data: pd.DataFrame) -> Any:
        return stratified(stratifier, data, scale.model(), scale.k, sample.seeds.folds)

    people, exact = sample.people["patient_id"], sample.records["patient_id"]
    add("unbiased", cross_validate("unbiased", sample, scale), people)
    add("hash", cross_validate("hash", sample, scale), exact)
    salted = records(pseudonyms=Pseudonyms(salt=True), key=KEY)
    add("hash, salted", by(by_hash("id_hash", key=KEY), salted), exact)
    for share in TYPOS:
        spoilt = records(inexact=Inexact(typos=share))
        name = f"hash, {100 * share:g} % typos"
        add(name, by(by_hash("patient_id", key=KEY), spoilt), exact)
    add("x1", cross_validate("x1", sample, scale), exact)
    moved = records(pseudonyms=Pseudonyms(shift=1.0))
    shifted = sample.records.assign(x1=moved["x1"])
    add("x1, shifted", by(by_quantile("x1"), shifted), exact)

    def hard(people: pd.DataFrame) -> NDArray[Any]:
        p = population.probability(people[list(COVARIATES)])
        nearness: NDArray[Any] = 1 - abs(2 * p - 1)
        return nearness**2

    copied = records(duplicated=hard)
    hashed = by(by_hash("patient_id", key=KEY), copied)
    add("hash, hard cases", hashed, copied["patient_id"])
    return pd.DataFrame(rows, columns=["strategy", "accuracy", "duplicates_split"])


def leak_of_duplicates(
    simulations: int = 30,
    *,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compare the leak of random folds with a prediction of it.

    A record with a duplicate in the training set is predicted about as well as a record
    of the training set. So the bias is near the share of such records times (training
    accuracy − unbiased accuracy).

    Parameters
    ----------
    simulations, scale, directory, seed, n_jobs, progress
        As in :func:`figure3`.

    Returns
    -------
    pandas.DataFrame
        ``simulation``; ``duplicates_split``, the share of records with a duplicate in
        training;
        ``training``, the training accuracy under random folds; the estimates ``random``
        and ``unbiased``; ``predicted``, the bias by the formula; and ``measured``, the
        difference of the estimates, both in points.

    Examples
    --------
    >>> from studies.bey2020 import Scale, leak_of_duplicates
    >>> table = leak_of_duplicates(1, scale=Scale(n=400, n_duplicates=80, rounds=10))
    >>> bool(0.2 < table["duplicates_split"].item() < 0.34)
    True
    """
    return simulate(
        "leak",
        _measure_leak,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
        progress=progress,
    )


def _measure_leak(scale: Scale, seed: int, number: int) -> pd.DataFrame:
    sample = Sample.draw(scale, matched_population(), seed, number)
    unbiased = accuracy(cross_validate("unbiased", sample, scale))
    result = cross_validate("random", sample, scale, curves=True)
    estimate = accuracy(result)
    training = float(learning_of(result)["training"].iloc[-1])
    split = share_split(result, sample.records["patient_id"])
    row = {
        "duplicates_split": split,
        "training": training,
        "random": estimate,
        "unbiased": unbiased,
        "predicted": 100 * split * (training - unbiased),
        "measured": 100 * (estimate - unbiased),
    }
    return pd.DataFrame([row])

"""The limits that the paper names, one after the other."""

from __future__ import annotations

from typing import Any

import pandas as pd
from numpy.typing import NDArray

from statcv.folds.strata.resolve import by_hash, by_quantile
from statcv.studies.bey2020.running import simulate
from statcv.studies.bey2020.samples import Sample, records_of
from statcv.studies.bey2020.scale import Scale, matched_population
from statcv.studies.bey2020.strategies import (
    KEY,
    accuracy,
    cross_validate,
    share_parted,
    stratified,
)
from statcv.studies.ehr import Inexact, Pseudonyms
from statcv.studies.ehr.population import COVARIATES
from statcv.studies.running import Directory

TYPOS = (0.05, 0.2, 0.5)


def limits(
    simulations: int = 30,
    *,
    scale: Scale | None = None,
    directory: Directory = None,
    seed: int = 1,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    """Estimate with pseudonyms by hospital, typing errors, or unequal duplication.

    Parameters
    ----------
    simulations, scale, directory, seed, n_jobs
        As in :func:`figure3`.

    Returns
    -------
    pandas.DataFrame
        ``simulation``, ``strategy``, ``accuracy``, and ``parted``, the share of records
        with a duplicate in training. The strategies are ``"unbiased"``, ``"hash"`` and
        ``"x1"`` as in :func:`figure3`, and:

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
    >>> from statcv.studies.bey2020 import Scale, limits
    >>> table = limits(1, scale=Scale(n=400, n_duplicates=80, rounds=10))
    >>> table.loc[table["parted"] > 0.1, "strategy"].tolist()
    ['hash, salted', 'x1, shifted']
    """
    return simulate(
        "limits",
        _measure,
        simulations,
        scale=scale,
        directory=directory,
        seed=seed,
        n_jobs=n_jobs,
    )


def _measure(scale: Scale, seed: int, number: int) -> pd.DataFrame:
    population = matched_population()
    sample = Sample.draw(scale, population, seed, number)
    rows: list[tuple[str, float, float]] = []

    def told(strategy: str, result: Any, person: pd.Series[Any]) -> None:
        rows.append((strategy, accuracy(result), share_parted(result, person)))

    def records(**changed: Any) -> pd.DataFrame:
        return records_of(scale, population, sample.seeds, **changed)

    def by(stratifier: Any, data: pd.DataFrame) -> Any:
        return stratified(stratifier, data, scale.model(), scale.k, sample.seeds.folds)

    people, exact = sample.people["patient_id"], sample.records["patient_id"]
    told("unbiased", cross_validate("unbiased", sample, scale), people)
    told("hash", cross_validate("hash", sample, scale), exact)
    salted = records(pseudonyms=Pseudonyms(salt=True), key=KEY)
    told("hash, salted", by(by_hash("id_hash", key=KEY), salted), exact)
    for share in TYPOS:
        spoilt = records(inexact=Inexact(typos=share))
        name = f"hash, {100 * share:g} % typos"
        told(name, by(by_hash("patient_id", key=KEY), spoilt), exact)
    told("x1", cross_validate("x1", sample, scale), exact)
    moved = records(pseudonyms=Pseudonyms(shift=1.0))
    shifted = sample.records.assign(x1=moved["x1"])
    told("x1, shifted", by(by_quantile("x1"), shifted), exact)

    def hard(people: pd.DataFrame) -> NDArray[Any]:
        p = population.probability(people[list(COVARIATES)])
        nearness: NDArray[Any] = 1 - abs(2 * p - 1)
        return nearness**2

    copied = records(duplicated=hard)
    hashed = by(by_hash("patient_id", key=KEY), copied)
    told("hash, hard cases", hashed, copied["patient_id"])
    return pd.DataFrame(rows, columns=["strategy", "accuracy", "parted"])

"""A data set of the study: people, their records, and what its folds are drawn from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from statcv.studies.bey2020.scale import Scale
from statcv.studies.ehr import EhrPopulation, random_population, simulate_ehr
from statcv.studies.ehr.population import ehr_population

_ROOM = 12_441  # separates these streams of a seed from others


@dataclass(frozen=True)
class Seeds:
    """Seeds of a data set, its folds, its population and new records.

    The data set of one number is the same in all studies with one seed.
    """

    data: int
    folds: int
    population: int
    fresh: int

    @classmethod
    def of(cls, seed: int, number: int) -> Seeds:
        """Return the seeds of the data set of that number, from 0."""
        stream = np.random.SeedSequence(seed, spawn_key=(_ROOM, number))
        return cls(*(int(state) for state in stream.generate_state(4)))


@dataclass(frozen=True, eq=False)
class Sample:
    """A data set without duplicates, and with them.

    Attributes
    ----------
    population : EhrPopulation
    people : pandas.DataFrame
        Records, one per person.
    records : pandas.DataFrame
        The same with duplicates, in another order.
    seeds : Seeds
    """

    population: EhrPopulation
    people: pd.DataFrame = field(repr=False)
    records: pd.DataFrame = field(repr=False)
    seeds: Seeds

    @classmethod
    def draw(
        cls, scale: Scale, population: EhrPopulation, seed: int, number: int
    ) -> Sample:
        """Draw the data set of that number, from 0."""
        seeds = Seeds.of(seed, number)
        people = records_of(scale, population, seeds, n_duplicates=0)
        return cls(population, people, records_of(scale, population, seeds), seeds)


def records_of(
    scale: Scale, population: EhrPopulation, seeds: Seeds, **changed: Any
) -> pd.DataFrame:
    """Return the records of a data set, with arguments of `simulate_ehr` changed."""
    sizes = {
        "n": scale.n,
        "n_duplicates": scale.n_duplicates,
        "n_sites": scale.n_sites,
    }
    return simulate_ehr(**(sizes | vars(population) | changed), seed=seeds.data)


def rotated_population(seed: int, number: int) -> EhrPopulation:
    """Return the population with the paper's numbers and a rotation of its own."""
    return ehr_population(seed=Seeds.of(seed, number).population)


def drawn_population(seed: int, number: int) -> EhrPopulation:
    """Return a population whose parameters are all drawn, as for Figure 4."""
    return random_population(Seeds.of(seed, number).population)

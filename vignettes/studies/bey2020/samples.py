"""The data sets of the study: their scale, their populations, and how they are drawn.

All studies with one seed have the same data sets. The paper does not print the rotation
of its population: :func:`rotations` shows how much depends on it, and
:func:`matched_population` is one with both numbers that the paper does print.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from statcv.arguments import check_whole
from statcv.datasets import (
    EhrPopulation,
    ehr_population,
    optimal_accuracy,
    random_population,
    simulate_ehr,
)
from statcv.models import XGBoost
from studies import running
from studies.running import Directory, Study, run

MATCHED = 341
_ROOM = 12_441  # separates these streams of a seed from others


@dataclass(frozen=True)
class Scale:
    """The size of the data sets and the models of a study; by default the paper's.

    Attributes
    ----------
    n : int, default 10_000
        Number of people.
    n_duplicates : int, default 2_000
        Number of duplicates of their records.
    n_sites : int, default 5
        Number of hospitals.
    k : int, default 5
        Number of folds.
    rounds : int, default 200
        Rounds of boosting, by trees of depth 3 with learning rate 0.6.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If one is not an integer, or out of range.

    Examples
    --------
    >>> from studies.bey2020 import Scale
    >>> Scale().n, Scale(n=500, n_duplicates=100, rounds=20).k
    (10000, 5)
    """

    n: int = 10_000
    n_duplicates: int = 2_000
    n_sites: int = 5
    k: int = 5
    rounds: int = 200

    def __post_init__(self) -> None:
        check_whole(self.k, "k", least=2)
        check_whole(self.n, "n", least=10 * self.k)
        check_whole(self.n_sites, "n_sites", least=1)
        most = self.n * (self.n_sites - 1)
        check_whole(self.n_duplicates, "n_duplicates", least=0, most=most)
        check_whole(self.rounds, "rounds", least=1)

    def model(self, curves: bool = False) -> XGBoost:
        """Return the paper's model, with learning curves of its error or without."""
        kept = {"curves": True, "eval_metric": "error"} if curves else {}
        return XGBoost(max_depth=3, n_estimators=self.rounds, learning_rate=0.6, **kept)


@cache
def matched_population() -> EhrPopulation:
    """Return a population with both numbers that the paper prints of its own.

    The paper does not print its rotation. Of the rotations of seeds 0 to 399 this one
    is nearest to an optimal accuracy of .88 and 47 % of outcomes 1, each in units of
    its standard deviation over rotations; the estimates of models were not considered.

    Examples
    --------
    >>> from statcv.datasets import optimal_accuracy
    >>> from studies.bey2020 import matched_population
    >>> optimum = optimal_accuracy(**vars(matched_population()), seed=1)
    >>> round(optimum.accuracy, 2), round(optimum.positives, 2)
    (0.88, 0.47)
    """
    return ehr_population(seed=MATCHED)


def rotations(
    count: int = 400,
    *,
    directory: Directory = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Return the optimal accuracy and the share of positives of many rotations.

    Parameters
    ----------
    count : int, default 400
        Rotations: those of ``ehr_population(seed=0)`` and so on.
    directory, n_jobs, progress
        As in :func:`figure3`.

    Returns
    -------
    pandas.DataFrame
        ``seed``, ``optimum`` and ``positives``.

    Examples
    --------
    >>> from studies.bey2020 import rotations
    >>> rotations(3)["optimum"].round(2).tolist()
    [0.88, 0.88, 0.88]
    """
    study = Study("rotations", _measure_rotation, {}, counts="rotation", chunk=50)
    return run(study, count, directory, n_jobs, progress).drop(columns="rotation")


def _measure_rotation(number: int) -> pd.DataFrame:
    population = ehr_population(seed=number)
    found = optimal_accuracy(**vars(population), seed=number)
    row = {"seed": number, "optimum": found.accuracy, "positives": found.positives}
    return pd.DataFrame([row])


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
    sizes = {"n": scale.n, "n_duplicates": scale.n_duplicates, "n_sites": scale.n_sites}
    return simulate_ehr(**(sizes | vars(population) | changed), seed=seeds.data)


def rotated_population(seed: int, number: int) -> EhrPopulation:
    """Return the population with the paper's numbers and a rotation of its own."""
    return ehr_population(seed=Seeds.of(seed, number).population)


def drawn_population(seed: int, number: int) -> EhrPopulation:
    """Return a population whose parameters are all drawn, as for Figure 4."""
    return random_population(Seeds.of(seed, number).population)


def simulate(
    name: str,
    measure: Callable[..., pd.DataFrame],
    simulations: int,
    *,
    scale: Scale | None,
    **how: Any,
) -> pd.DataFrame:
    """Run a study on data sets of a scale that are drawn from a seed.

    Parameters
    ----------
    name : str
        Prefix of its file names.
    measure : callable
        Function of scale, seed and number of a data set, and further arguments, that
        returns a table.
    simulations : int
        Number of data sets.
    scale : Scale or None
        Scale of the study; the paper's unless given.
    **how
        As in :func:`studies.running.simulate`.
    """
    scale = scale or Scale()
    of_scale = partial(measure, scale)
    settings = {"scale": asdict(scale)}
    return running.simulate(name, of_scale, simulations, settings=settings, **how)

"""One cell of the study: a population, a scheme, and what its methods say."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from statcv.api import cv
from statcv.errors import StatcvError, StatcvWarning
from statcv.folds.strata import by_value
from statcv.models import Logit
from statcv.result import CVResult
from statcv.studies.inference.methods import (
    SCHEMES,
    Answer,
    Method,
    Reading,
    methods_of,
)
from statcv.studies.inference.population import Population

Floats = NDArray[np.float64]

PENALTY = 1.0  # scikit-learn's default, for covariates of variance 1
BUDGET = 2_300_000  # fits that a method makes again in a cell
LEAST = 40  # data sets of which a share is told


@dataclass(frozen=True)
class Settings:
    """What all cells have in common.

    Attributes
    ----------
    seed : int
    refits : int
        Data sets on which methods that fit again are tried, at most.
    permutations : int
        Of a permutation test.
    """

    seed: int
    refits: int
    permutations: int


@dataclass(frozen=True)
class Cell:
    """A population and a scheme."""

    population: Population
    scheme: str

    @property
    def name(self) -> str:
        """How its files begin."""
        population = self.population
        kind = "copies" if population.duplicates else "plain"
        return (
            f"n{population.n}-balance{population.balance:g}-"
            f"auroc{population.auroc:g}-{kind}-{self.scheme}"
        )

    @property
    def methods(self) -> tuple[Method, ...]:
        """What is measured."""
        return methods_of(self.scheme)

    def data_sets(self, method: Method, settings: Settings) -> int | None:
        """Return on how many data sets a method is tried; None for all.

        The slow ones are tried on ``settings.refits``, or on as many as make no more
        than `BUDGET` fits again; on none where that is fewer than `LEAST`.
        """
        if not method.slow:
            return None
        population = self.population
        again = method.fits(population.n, settings.permutations)
        once = SCHEMES[self.scheme].fits(population.n, population.positives)
        most = min(settings.refits, BUDGET // max(again * once, 1))
        return most if most >= min(LEAST, settings.refits) else 0


@dataclass(frozen=True, eq=False)
class Answers:
    """What the methods of a cell said of some of its data sets.

    Attributes
    ----------
    first : int
        The number of the first data set.
    made : numpy.ndarray of bool, shape (methods, data sets)
        Whether a method was tried.
    values : numpy.ndarray, shape (methods, data sets, 4)
        Estimate, lower and upper limit, p-value.
    seconds : numpy.ndarray, shape (methods, data sets)
    truth : numpy.ndarray, shape (data sets, 2)
        True auROC and true calibration slope of the model fitted to all records; NaN
        where the scheme refuses the data set.
    """

    first: int
    made: NDArray[np.bool_]
    values: Floats
    seconds: Floats
    truth: Floats


def measure(cell: Cell, settings: Settings, numbers: range) -> Answers:
    """Let the methods of a cell answer for some of its data sets.

    Parameters
    ----------
    cell : Cell
    settings : Settings
    numbers : range
        Of the data sets. A data set has a seed of its own, and is the same for all
        schemes.
    """
    methods = cell.methods
    most = [cell.data_sets(method, settings) for method in methods]
    shape = len(methods), len(numbers)
    made = np.zeros(shape, dtype=bool)
    values, seconds = np.full((*shape, 4), np.nan), np.zeros(shape)
    truth = np.full((len(numbers), 2), np.nan)
    for place, number in enumerate(numbers):
        reading, truth[place] = _read(cell, settings, number)
        for row, method in enumerate(methods):
            limit = most[row]
            if limit is not None and number >= limit:
                continue
            started = time.perf_counter()
            answer = _ask(method, reading)
            made[row, place] = True
            seconds[row, place] = time.perf_counter() - started
            values[row, place] = answer.estimate, answer.lower, answer.upper, answer.p
    return Answers(numbers.start, made, values, seconds, truth)


def _read(
    cell: Cell, settings: Settings, number: int
) -> tuple[Reading | None, tuple[float, float]]:
    """Cross-validate a data set; also the truth of the fit to all of it."""
    population = cell.population
    stream = np.random.SeedSequence(
        settings.seed,
        spawn_key=(
            population.n,
            round(1000 * population.balance),
            round(1000 * population.auroc),
            int(population.duplicates),
            number,
        ),
    )
    data = population.sample(np.random.default_rng(stream))
    seed = int(stream.generate_state(1)[0])
    model, formula = Logit(C=PENALTY), f"y ~ {' + '.join(population.names)}"
    stratify = by_value("id") if population.duplicates else None
    arguments = SCHEMES[cell.scheme].arguments
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        try:
            result = cv(
                formula, data, model=model, stratify=stratify, seed=seed, **arguments
            )
        except StatcvError:
            return None, (np.nan, np.nan)
        truth = _truth(population, result)
    return Reading(result, data, settings.permutations, seed), truth


def _truth(population: Population, result: CVResult) -> tuple[float, float]:
    fitted = result.model.coefficients
    assert fitted is not None
    coefficients: Floats = np.array([fitted[name] for name in population.names])
    return population.true_auroc(coefficients), population.true_slope(coefficients)


def _ask(method: Method, reading: Reading | None) -> Answer:
    """Return what a method says; nothing where it, or the scheme, refuses."""
    if reading is None:
        return Answer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        try:
            return method.of(reading)
        except StatcvError:
            return Answer()

"""The questions of the study, and how they are answered on the data sets of a cell.

A question is skill, losses, or a difference of two models; a cell is a population, a
scheme and a question.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from statcv.errors import StatcvError, StatcvWarning
from studies.inference import comparisons, losses, no_skill
from studies.inference.draws import SCHEMES, Answer, Draw, Method
from studies.inference.population import Population

Floats = NDArray[np.float64]

LEAST = 40  # least number of data sets for which a share is reported


@dataclass(frozen=True)
class Question:
    """What is read of every data set, and which methods answer.

    Attributes
    ----------
    targets : tuple of str
        Metrics whose truth is known.
    null : float
        Value of the estimand without skill; NaN if there is no such value.
    budget : int
        Largest number of refits that a method makes in a cell.
    modest : int
        Number of fits per data set that is small enough for a method to be tried on the
        least number of data sets for which a share is reported, whatever the budget.
    methods : callable
        Scheme and population → what is measured; nothing for a scheme that is not
        asked.
    read : callable
        `Draw` → what the methods read, and the true value of each target.
    """

    targets: tuple[str, ...]
    null: float
    budget: int
    methods: Callable[[str, Population], tuple[Method, ...]]
    read: Callable[[Draw], tuple[Any, tuple[float, ...]]]
    modest: int = 0


def _of_scheme(
    methods: Callable[[str], tuple[Method, ...]],
) -> Callable[[str, Population], tuple[Method, ...]]:
    return lambda scheme, population: methods(scheme)


def _compared(models: Callable[..., Any], budget: int, signed: bool) -> Question:
    return Question(
        targets=comparisons.TARGETS,
        null=0.0,
        budget=budget,
        methods=partial(comparisons.methods_of, signed=signed),
        read=partial(comparisons.read, models=models),
    )


QUESTIONS = {
    "no_skill": Question(
        targets=no_skill.TARGETS,
        null=no_skill.NO_SKILL,
        budget=2_300_000,
        modest=4_000_000,
        methods=_of_scheme(no_skill.methods_of),
        read=no_skill.read,
    ),
    "equals": _compared(comparisons.equals, 1_000_000, signed=True),
    "losses": Question(
        targets=losses.TARGETS,
        null=math.nan,
        budget=700_000,
        methods=_of_scheme(losses.methods_of),
        read=losses.read,
    ),
    "nested": _compared(comparisons.nested, 500_000, signed=False),
}
"""The questions by name: no skill, two equally good models, losses, nested models."""


@dataclass(frozen=True)
class Settings:
    """The settings that all cells share.

    Attributes
    ----------
    seed : int
    refits : int
        Largest number of data sets on which methods with refits are tried.
    permutations : int
        Number of permutations of a test.
    """

    seed: int
    refits: int
    permutations: int


@dataclass(frozen=True)
class Cell:
    """A population, a scheme, and a question."""

    population: Population
    scheme: str
    question: str = "no_skill"

    @property
    def name(self) -> str:
        """Prefix of its file names."""
        population = self.population
        kind = "copies" if population.duplicates else "plain"
        asked = "" if self.question == "no_skill" else f"-{self.question}"
        return (
            f"n{population.n}-balance{population.balance:g}-"
            f"auroc{population.auroc:g}-{kind}-{self.scheme}{asked}"
        )

    @property
    def methods(self) -> tuple[Method, ...]:
        """What is measured."""
        return QUESTIONS[self.question].methods(self.scheme, self.population)

    def data_sets(self, method: Method, settings: Settings) -> int | None:
        """Return on how many data sets a method is tried; None for all.

        The slow ones are tried on ``settings.refits``, or on as many as make no more
        than the question's budget of fits again; where that is fewer than `LEAST`, on
        these if it makes a modest number in each, else on none.
        """
        if not method.slow:
            return None
        population = self.population
        again = method.fits(population.n, settings.permutations)
        once = SCHEMES[self.scheme].fits(population.n, population.positives)
        asked, fits = QUESTIONS[self.question], max(again * once, 1)
        most = min(settings.refits, asked.budget // fits)
        least = min(LEAST, settings.refits)
        return max(most, least) if most >= least or fits <= asked.modest else 0


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers of the methods of a cell for some of its data sets.

    Attributes
    ----------
    made : numpy.ndarray of bool, shape (methods, data sets)
        Whether each method was tried.
    values : numpy.ndarray, shape (methods, data sets, 4)
        Estimate, lower and upper limit, p-value.
    seconds : numpy.ndarray, shape (methods, data sets)
    truth : numpy.ndarray, shape (data sets, targets)
        The true values of the model fitted to all records; NaN if the scheme
        rejects the data set.
    """

    made: NDArray[np.bool_]
    values: Floats
    seconds: Floats
    truth: Floats


def measure(cell: Cell, settings: Settings, numbers: range) -> Answers:
    """Apply the methods of a cell to some of its data sets.

    Parameters
    ----------
    cell : Cell
    settings : Settings
    numbers : range
        Numbers of the data sets. A data set has its own seed, and is the same for all
        schemes.
    """
    methods, targets = cell.methods, QUESTIONS[cell.question].targets
    most = [cell.data_sets(method, settings) for method in methods]
    shape = len(methods), len(numbers)
    made = np.zeros(shape, dtype=bool)
    values, seconds = np.full((*shape, 4), np.nan), np.zeros(shape)
    truth = np.full((len(numbers), len(targets)), np.nan)
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
    return Answers(made, values, seconds, truth)


def _read(
    cell: Cell, settings: Settings, number: int
) -> tuple[Any, tuple[float, ...] | float]:
    """Fit what is asked of a data set; nothing where the scheme refuses it."""
    draw = Draw.of(
        cell.population, cell.scheme, settings.permutations, settings.seed, number
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        try:
            return QUESTIONS[cell.question].read(draw)
        except StatcvError:
            return None, np.nan


def _ask(method: Method, reading: Any) -> Answer:
    """Return what a method says; nothing where it, or the scheme, refuses."""
    if reading is None:
        return Answer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        try:
            return method.of(reading)
        except StatcvError:
            return Answer()

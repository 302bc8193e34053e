"""A data set of the study, its cross-validation, and what a method says of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv import cv
from statcv.folds import FoldPlan, by_value
from statcv.models import Logit
from statcv.results import CVResult
from studies.inference.population import Population

FOLDS = 10
PENALTY = 1.0  # scikit-learn's default, for covariates of variance 1
LEVEL = 0.95


@dataclass(frozen=True)
class Scheme:
    """A scheme of cross-validation, and the estimates that it gives.

    Attributes
    ----------
    arguments : dict
        Arguments of :func:`statcv.cv`.
    hows : tuple of str
        Values of ``how`` in ``result.estimate``.
    fits : callable
        Number of fits for n records, n1 of them positive.
    """

    arguments: dict[str, Any]
    hows: tuple[str, ...]
    fits: Callable[[int, int], int]

    @property
    def repeated(self) -> bool:
        """Whether records are held out, or drawn to be dropped, more than once."""
        return bool(self.arguments.get("repeats", 1) > 1)


SCHEMES = {
    "stratified_kfold": Scheme(
        {"scheme": "stratified_kfold"}, ("pooled", "per_fold"), lambda n, n1: FOLDS
    ),
    "repeated_kfold": Scheme(
        {"scheme": "stratified_kfold", "repeats": 10},
        ("pooled", "per_fold"),
        lambda n, n1: 10 * FOLDS,
    ),
    "loocv": Scheme({"scheme": "loocv"}, ("pooled",), lambda n, n1: n),
    "rloocv": Scheme(
        {"scheme": "rloocv", "repeats": 1}, ("pooled", "paired"), lambda n, n1: n
    ),
    "repeated_rloocv": Scheme(
        {"scheme": "rloocv", "repeats": 4}, ("pooled", "paired"), lambda n, n1: 4 * n
    ),
    "leave_pair_out": Scheme(
        {"scheme": "leave_pair_out"}, ("paired",), lambda n, n1: n1 * (n - n1)
    ),
    "bootstrap": Scheme({"scheme": "bootstrap"}, (), lambda n, n1: 100),
}
"""The schemes of the study by name."""


@dataclass(frozen=True, eq=False)
class Draw:
    """A data set, and the scheme under which models are fitted to it.

    Attributes
    ----------
    population : Population
    scheme : str
    data : pandas.DataFrame
    permutations : int
        Number of permutations of a test.
    seed : int
        Seed for the folds.
    """

    population: Population
    scheme: str
    data: pd.DataFrame
    permutations: int
    seed: int

    @classmethod
    def of(
        cls,
        population: Population,
        scheme: str,
        permutations: int,
        seed: int,
        number: int,
    ) -> Draw:
        """Draw the data set of that number, the same for all schemes."""
        stream = np.random.SeedSequence(
            seed,
            spawn_key=(
                population.n,
                round(1000 * population.balance),
                round(1000 * population.auroc),
                int(population.duplicates),
                number,
            ),
        )
        data = population.sample(np.random.default_rng(stream))
        own = int(stream.generate_state(1)[0])
        return cls(population, scheme, data, permutations, own)

    def cross_validate(
        self,
        names: tuple[str, ...],
        penalty: float = PENALTY,
        plan: FoldPlan | None = None,
    ) -> CVResult:
        """Cross-validate the model with some of the covariates, on a plan if given."""
        held_out = SCHEMES[self.scheme].arguments
        if plan is not None:
            held_out = {"scheme": plan}
        elif self.population.duplicates:
            held_out = {**held_out, "stratify": by_value("id")}
        return cv(
            f"y ~ {' + '.join(names)}",
            self.data,
            model=Logit(C=penalty),
            seed=self.seed,
            **held_out,
        )

    def fitted(self, result: CVResult) -> tuple[NDArray[np.float64], float]:
        """Return coefficients and intercept of the fit to all records.

        The coefficient is 0 of a covariate that the model does not have.
        """
        found = result.model.coefficients
        assert found is not None
        names = self.population.names
        coefficients = np.array([float(found.get(name, 0.0)) for name in names])
        return coefficients, float(found["Intercept"])


@dataclass(frozen=True)
class Answer:
    """The answer of a method for one data set; NaN if it has none."""

    estimate: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    p: float = math.nan


@dataclass(frozen=True)
class Method:
    """An interval, a test or a point estimate.

    Attributes
    ----------
    metric, how, name : str
    kind : {"interval", "test", "estimate"}
    of : callable
        What the question reads of a data set → `Answer`.
    slow : bool
        Whether it is tried on a part of the data sets only.
    fits : callable
        How often it repeats the fits of the plan, for n records and a number of
        permutations.
    """

    metric: str
    how: str
    name: str
    kind: str
    of: Callable[[Any], Answer]
    slow: bool = False
    fits: Callable[[int, int], int] = lambda n, permutations: 0

    @property
    def label(self) -> tuple[str, str, str, str]:
        """What distinguishes it from the other methods of a cell."""
        return self.metric, self.how, self.name, self.kind

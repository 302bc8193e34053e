"""A data set of the study, and its cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.folds import FoldPlan
from statcv.folds.strata.resolve import by_value
from statcv.models import Logit
from statcv.results.result import CVResult
from statcv.studies.inference.population import Population
from statcv.studies.inference.schemes import SCHEMES
from statcv.verbs.cv import cv

PENALTY = 1.0  # scikit-learn's default, for covariates of variance 1


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

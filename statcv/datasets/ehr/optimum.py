"""The largest accuracy in a population: equation (6) of Bey et al. (2020).

It is the accuracy of a model that knows the probability of each person.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from statcv.arguments import check_whole, resolve_seed
from statcv.datasets.ehr.population import (
    COEFFICIENTS,
    EIGENVALUES,
    OPTIMUM,
    EhrPopulation,
    FloatArray,
    ehr_population,
    stream,
)
from statcv.tables import Printed

PEOPLE_AT_ONCE = 100_000  # people drawn at a time, which bounds the memory


@dataclass(frozen=True, repr=False)
class Optimum(Printed):
    """The performance of a model that knows each person's probability.

    Attributes
    ----------
    accuracy : float
        Accuracy of predicting 1 if its probability is at least a half.
    se : float
        Monte Carlo standard error of the accuracy.
    positives : float
        Share of outcomes that are 1.

    Examples
    --------
    >>> import statcv as scv
    >>> best = scv.datasets.optimal_accuracy(n=1000, seed=1)
    >>> round(best.accuracy, 2), round(best.se, 2)
    (0.88, 0.0)
    """

    accuracy: float
    se: float
    positives: float


def optimal_accuracy(
    *,
    eigenvalues: Sequence[float] | FloatArray = EIGENVALUES,
    coefficients: Sequence[float] | FloatArray = COEFFICIENTS,
    rotation: ArrayLike | None = None,
    mean: Sequence[float] | FloatArray | None = None,
    n: int = 100_000,
    seed: int | np.random.Generator | None = None,
) -> Optimum:
    """Return the largest accuracy that a model can have in a population.

    It is the mean of max(p, 1 - p) over people, p being the probability that the
    outcome is 1: equation (6) of Bey et al. (2020), by Monte Carlo as there.

    Parameters
    ----------
    eigenvalues, coefficients, rotation, mean
        Parameters of the population, as in :func:`statcv.simulate_ehr`.
    n : int, default 100_000
        Number of people drawn.
    seed : int, numpy.random.Generator or None
        Seed for the people and, unless given, the rotation.

    Returns
    -------
    Optimum
        ``accuracy``, its standard error ``se``, and the share ``positives``.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is out of range or of the wrong type.

    Examples
    --------
    >>> from statcv.datasets import optimal_accuracy
    >>> optimum = optimal_accuracy(seed=1)
    >>> round(optimum.accuracy, 2), round(optimum.positives, 2)
    (0.88, 0.43)
    """
    check_whole(n, "n", least=2)
    seed = resolve_seed(seed)
    population = ehr_population(
        eigenvalues=eigenvalues,
        coefficients=coefficients,
        rotation=rotation,
        mean=mean,
        seed=seed,
    )
    return _mean_over_people(population, n, stream(seed, OPTIMUM))


def _mean_over_people(
    population: EhrPopulation, n: int, rng: np.random.Generator
) -> Optimum:
    right, share = [], 0.0
    for start in range(0, n, PEOPLE_AT_ONCE):
        x = population.draw_covariates(min(PEOPLE_AT_ONCE, n - start), rng)
        p = population.probability(x)
        right.append(np.maximum(p, 1 - p))
        share += p.sum()
    values = np.concatenate(right)
    return Optimum(
        accuracy=float(values.mean()),
        se=float(values.std(ddof=1)) / math.sqrt(n),
        positives=float(share) / n,
    )

"""Data sets of noise, or with a little signal in every covariate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.errors import ArgumentError, suggestion
from statcv.studies.checks import check_whole
from statcv.studies.inference.population import Population

Floats = NDArray[np.float64]

FEATURES = ("uniform", "normal", "lognormal")
_ROOM = 24_601  # separates these streams of a seed from others


def stream_of(seed: int, number: int, *keys: int) -> np.random.Generator:
    """Return the stream of the data set of that number, from 0."""
    spawned = np.random.SeedSequence(seed, spawn_key=(_ROOM, number, *keys))
    return np.random.default_rng(spawned)


@dataclass(frozen=True)
class Noise:
    """A population whose covariates are independent of the outcome.

    Attributes
    ----------
    n : int, default 250
        Records.
    covariates : int, default 20
    balance : float, default 0.5
        The share of the positive class, which has ``round(n * balance)`` records.
    features : {"uniform", "normal", "lognormal"}
        How a covariate is distributed: uniform on [0, 1], as in the paper.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If a number is out of range, or a class has fewer than two records.

    Examples
    --------
    >>> noise = Noise(n=20, covariates=2, balance=0.3)
    >>> frame = noise.sample(np.random.default_rng(1))
    >>> frame.shape, int(frame["y"].sum())
    ((20, 3), 6)
    """

    n: int = 250
    covariates: int = 20
    balance: float = 0.5
    features: str = "uniform"

    def __post_init__(self) -> None:
        check_whole(self.n, "n", least=4)
        check_whole(self.covariates, "covariates", least=1)
        if self.features not in FEATURES:
            raise ArgumentError(
                f"features {self.features!r} is not one of {', '.join(FEATURES)}."
                f"{suggestion(self.features, FEATURES)}"
            )
        if not 2 <= self.positives <= self.n - 2:
            raise ArgumentError(
                f"n={self.n} with balance={self.balance} gives {self.positives} "
                "positive records; each class needs two."
            )

    @property
    def positives(self) -> int:
        """Number of positive records in a sample."""
        return round(self.n * self.balance)

    def sample(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a sample, in random order: ``y`` (0 or 1) and the covariates."""
        y = rng.permutation(np.arange(self.n) < self.positives).astype(np.int64)
        x = self._draw(rng, (self.n, self.covariates))
        names = [f"x{number}" for number in range(1, self.covariates + 1)]
        frame = pd.DataFrame(x, columns=names)
        frame.insert(0, "y", y)
        return frame

    def _draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        if self.features == "uniform":
            return rng.uniform(size=shape)
        normal = rng.standard_normal(shape)
        return normal if self.features == "normal" else np.exp(normal)


@dataclass(frozen=True)
class Signal:
    """Two classes whose independent normal covariates differ in their mean.

    Attributes
    ----------
    n, covariates, balance
        As in :class:`Noise`.
    auroc : float, default 0.7
        auROC of the best possible score.
    """

    n: int = 50
    covariates: int = 5
    balance: float = 0.5
    auroc: float = 0.7

    @property
    def population(self) -> Population:
        """The population, in which the truth of a fitted model has a closed form."""
        return Population(
            n=self.n,
            balance=self.balance,
            auroc=self.auroc,
            covariates=self.covariates,
        )

    def sample(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a sample, in random order: ``y`` (0 or 1) and the covariates."""
        frame = self.population.sample(rng).drop(columns="id")
        return frame[["y", *frame.columns.drop("y")]]

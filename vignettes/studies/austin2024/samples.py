"""The data sets of the simulations, their models, and how these are cross-validated."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv import cv
from statcv.arguments import check_whole
from statcv.errors import ArgumentError, StatcvWarning, suggestion
from statcv.models import Linear, Logit, Neighbors
from statcv.results import CVResult
from studies.inference.population import Population

Floats = NDArray[np.float64]

FEATURES = ("uniform", "normal", "lognormal")
_ROOM = 24_601  # separates these streams of a seed from others
DUMMIES = ("mean", "negmean")
BALANCES = tuple(tenths / 10 for tenths in range(1, 10))
RECORDS, COVARIATES = 250, 20
PAPERS_SETS = 100


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
            n=self.n, balance=self.balance, auroc=self.auroc, covariates=self.covariates
        )

    def sample(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a sample, in random order: ``y`` (0 or 1) and the covariates."""
        frame = self.population.sample(rng).drop(columns="id")
        return frame[["y", *frame.columns.drop("y")]]


def learner_of(name: str, seed: int = 0) -> Any:
    """Return a model by name.

    Parameters
    ----------
    name : str
        ``"logit C"`` with the penalty ``C`` of scikit-learn's convention,
        ``"neighbors k"``, ``"forest"`` with scikit-learn's defaults, ``"forest m"``
        with m trees, ``"linear"``, ``"mean"``, ``"negmean"``.
    seed : int
        Seed of a forest.

    Examples
    --------
    >>> learner_of("logit 0.01").C
    0.01
    """
    kind, _, size = name.partition(" ")
    if kind == "logit" and size:
        return Logit(C=float(size))
    if kind == "neighbors" and size:
        return Neighbors(k=int(size))
    if kind == "forest":
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(int(size or 100), random_state=seed)
    if name == "linear":
        return Linear()
    if name in DUMMIES:
        return name
    raise ArgumentError(
        f"there is no model {name!r}; there are 'logit C', 'neighbors k', 'forest', "
        "'linear', 'mean' and 'negmean'."
    )


def next_multiple(n: int, p: int) -> int:
    """Return the least multiple of p that is n or more: groups of equal size.

    Examples
    --------
    >>> next_multiple(250, 4), next_multiple(250, 5)
    (252, 250)
    """
    return -(-n // p) * p


def noise_of(
    seed: int, number: int, balance: float, n: int, covariates: int = COVARIATES
) -> pd.DataFrame:
    """Return the data set of that number, from 0, with that balance and size."""
    rng = stream_of(seed, number, round(1000 * balance), n)
    return Noise(n, covariates, balance).sample(rng)


def held_out(frame: pd.DataFrame, model: Any, seed: int, **arguments: Any) -> CVResult:
    """Cross-validate without the warning of distributional bias."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatcvWarning)
        return cv("y ~ .", frame, model=model, seed=seed, **arguments)


def pooled(result: CVResult, metric: str = "auroc") -> float:
    """Return a metric of all held-out predictions together."""
    return float(result.estimate(metric, how="pooled"))


def leave_one_out(frame: pd.DataFrame, model: Any, seed: int) -> dict[str, float]:
    """Return auROCs: of LOOCV, and of RLOOCV pooled and in pairs."""
    rebalanced = held_out(frame, model, seed, scheme="rloocv", repeats=1)
    return {
        "loocv": pooled(held_out(frame, model, seed, scheme="loocv")),
        "rloocv": pooled(rebalanced),
        "rloocv_paired": float(rebalanced.estimate("auroc", how="paired")),
    }


def against_half(values: Any) -> dict[str, float]:
    """Return mean, sd and Monte Carlo error, and the p-value of a t-test against ½.

    It is the test by which the paper judges its simulations.

    Examples
    --------
    >>> against_half([0.4, 0.5, 0.6])["p"]
    1.0
    """
    from scipy.stats import ttest_1samp

    found = np.asarray(values, dtype=float)
    return {
        "data_sets": len(found),
        "mean": float(found.mean()),
        "sd": float(found.std(ddof=1)),
        "se": float(found.std(ddof=1) / np.sqrt(len(found))),
        "p": float(ttest_1samp(found, 0.5).pvalue),
    }

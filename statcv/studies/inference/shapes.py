"""Populations that no interval was made for, whose truth is that of a large sample.

The two normal classes of :class:`~statcv.studies.inference.Population` are a mild case.
These have skewed, heavy-tailed, correlated or binary covariates, few events, many
covariates, unequal variances, an interaction that the model lacks, or clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Drawn = tuple[Floats, Floats, NDArray[np.intp] | None]

LARGE = 60_000  # records of the sample that stands for the population
OWN = 20_261  # its seed
LARGEST = 9  # records of a cluster


@dataclass(frozen=True)
class Shape:
    """A population of two classes.

    Attributes
    ----------
    n : int
        Records of a sample.
    draw : callable
        ``draw(rng, n)`` → covariates, shape (n, p), log-odds of class 1, shape (n,),
        and the cluster of each record, or None.
    used : int or None
        The number of covariates, from the first, that the model has; None for all.

    Examples
    --------
    >>> sample = SHAPES["binary"].sample(np.random.default_rng(1))
    >>> sample.shape
    (60, 6)
    """

    n: int
    draw: Callable[[np.random.Generator, int], Drawn]
    used: int | None = None

    def sample(self, rng: np.random.Generator, n: int | None = None) -> pd.DataFrame:
        """Draw a sample with at least three records, or clusters, of either class.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int, optional
            The number of records, that of the population unless given.
        """
        while True:
            X, odds, cluster = self.draw(rng, n or self.n)
            y = (rng.random(len(X)) < 1 / (1 + np.exp(-odds))).astype(int)
            unit = np.arange(len(X)) if cluster is None else cluster
            if min(len(np.unique(unit[y == code])) for code in (0, 1)) >= 3:
                break
        frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])
        frame = frame.assign(y=y)
        return frame if cluster is None else frame.assign(id=cluster)

    @property
    def covariates(self) -> tuple[str, ...]:
        """The names of the covariates that the model has."""
        names = [name for name in large_sample(self).columns if name.startswith("x")]
        return tuple(names[: self.used])

    @property
    def clustered(self) -> bool:
        """Whether records come in clusters, named by the column ``id``."""
        return "id" in large_sample(self)


@cache
def large_sample(shape: Shape) -> pd.DataFrame:
    """Return the sample that stands for a population."""
    return shape.sample(np.random.default_rng(OWN), LARGE)


# ---- the covariates ----


def _skewed(rng: np.random.Generator, n: int) -> Drawn:
    X = rng.gamma(0.7, 1.2, (n, 5))
    return X, -1.4 + X @ np.array([0.6, -0.5, 0.4, 0.0, 0.0]), None


def _unequal(rng: np.random.Generator, n: int) -> Drawn:
    """Return classes of which one varies more, as the log-odds are quadratic."""
    X = rng.standard_normal((n, 4))
    return X, -0.9 + 0.8 * X[:, 0] + 0.6 * X[:, 1] ** 2 - 0.4 * X[:, 2], None


def _heavy(rng: np.random.Generator, n: int) -> Drawn:
    X = rng.standard_t(2.5, (n, 6))
    return X, -3.0 + X @ np.array([0.5, 0.4, -0.3, 0.0, 0.0, 0.0]), None


def _correlated(rng: np.random.Generator, n: int) -> Drawn:
    shared = rng.standard_normal((n, 1))
    X = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.standard_normal((n, 15))
    return X, -0.3 + X @ np.repeat([0.25, 0.0, -0.15], 5), None


def _rare(rng: np.random.Generator, n: int) -> Drawn:
    X = rng.standard_normal((n, 4))
    return X, -3.1 + X @ np.array([0.9, 0.6, 0.0, -0.3]), None


def _binary(rng: np.random.Generator, n: int) -> Drawn:
    X = (rng.random((n, 5)) < np.array([0.5, 0.3, 0.2, 0.4, 0.1])).astype(float)
    return X, -0.8 + X @ np.array([1.2, -0.9, 0.8, 0.0, 0.5]), None


def _interaction(rng: np.random.Generator, n: int) -> Drawn:
    X = rng.standard_normal((n, 3))
    return X, -0.2 + 0.7 * X[:, 0] + 1.1 * X[:, 0] * X[:, 1] + 0.3 * X[:, 2], None


def _noise(rng: np.random.Generator, n: int) -> Drawn:
    return rng.exponential(1.0, (n, 5)), np.full(n, -0.7), None


def _separated(rng: np.random.Generator, n: int) -> Drawn:
    """Return classes that hardly overlap."""
    X = rng.uniform(-1.0, 1.0, (n, 4))
    return X, -0.5 + X @ np.array([7.0, -5.0, 3.0, 0.0]), None


def _clusters(rng: np.random.Generator, n: int) -> Drawn:
    """Return clusters of unequal size, whose records resemble each other."""
    sizes = 1 + rng.binomial(LARGEST - 1, rng.beta(0.6, 1.8, n))
    cluster = np.repeat(np.arange(n), sizes)[:n]
    shared = rng.standard_normal((n, 4))[cluster]
    X = 0.7 * shared + 0.7 * rng.standard_normal((n, 4))
    own = 0.8 * rng.standard_normal(n)[cluster]
    return X, -0.5 + X @ np.array([0.8, -0.6, 0.3, 0.0]) + own, cluster


SHAPES = {
    "skewed": Shape(80, _skewed),
    "unequal variances": Shape(70, _unequal),
    "heavy tails, 8% positive": Shape(180, _heavy),
    "correlation .7, 15 of 45": Shape(45, _correlated),
    "8% positive": Shape(120, _rare),
    "binary": Shape(60, _binary),
    "interaction": Shape(90, _interaction),
    "noise": Shape(60, _noise),
    "hardly overlapping": Shape(70, _separated),
    "clusters": Shape(140, _clusters),
    "skewed, n = 40": Shape(40, _skewed),
    "skewed, n = 400": Shape(400, _skewed),
    "unequal variances, n = 1000": Shape(1000, _unequal),
    "8% positive, n = 3000": Shape(3000, _rare),
}
"""The populations by name."""

"""Populations that no interval was made for, whose truth is that of a large sample.

The two normal classes of :class:`~studies.inference.Population` are a mild case.
These have skewed, heavy-tailed, correlated, binary or counted covariates, a single
marker, few events, many covariates, unequal variances, an interaction that the model
lacks, or clusters. Others have a continuous outcome with errors of several shapes.
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

LARGE = 40_000  # number of records of the sample that stands for the population
OWN = 31_077  # seed of the sample that stands for the population
LARGEST = 8  # largest number of records of a cluster
LEAST = 3  # least number of records, or clusters, of either class


@dataclass(frozen=True)
class Shape:
    """A population of two classes, or with a continuous outcome.

    Attributes
    ----------
    n : int
        Records of a sample.
    draw : callable
        ``draw(rng, n)`` → covariates, shape (n, p), log-odds of class 1, shape (n,),
        and the cluster of each record, or None.
    continuous : bool
        Whether the second array is the outcome itself.

    Examples
    --------
    >>> SHAPES["binary"].sample(np.random.default_rng(1)).shape
    (70, 7)
    """

    n: int
    draw: Callable[[np.random.Generator, int], Drawn]
    continuous: bool = False

    def sample(self, rng: np.random.Generator, n: int | None = None) -> pd.DataFrame:
        """Draw a sample with a few records, or clusters, of either class.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int, optional
            The number of records, that of the population unless given.

        Returns
        -------
        pandas.DataFrame
            The covariates ``x1``, ``x2``, …, the outcome ``y``, and ``id`` if there are
            clusters.
        """
        while True:
            X, odds, cluster = self.draw(rng, n or self.n)
            if self.continuous:
                y = odds
                break
            y = (rng.random(len(X)) < 1 / (1 + np.exp(-odds))).astype(int)
            unit = np.arange(len(X)) if cluster is None else cluster
            if min(len(np.unique(unit[y == code])) for code in (0, 1)) >= LEAST:
                break
        frame = pd.DataFrame(X, columns=[f"x{j + 1}" for j in range(X.shape[1])])
        frame = frame.assign(y=y)
        return frame if cluster is None else frame.assign(id=cluster)

    @property
    def covariates(self) -> tuple[str, ...]:
        """The names of the covariates."""
        width = self.draw(np.random.default_rng(0), 1)[0].shape[1]
        return tuple(f"x{j + 1}" for j in range(width))

    @property
    def clustered(self) -> bool:
        """Whether records come in clusters, named by the column ``id``."""
        return self.draw(np.random.default_rng(0), 1)[2] is not None


@cache
def large_sample(shape: Shape) -> pd.DataFrame:
    """Return the sample that stands for a population."""
    return shape.sample(np.random.default_rng(OWN), LARGE)


# ---- populations for an interval ----


def _linear(
    rng: np.random.Generator, X: Floats, constant: float, *slopes: float
) -> Drawn:
    return X, constant + X[:, : len(slopes)] @ np.array(slopes), None


def _skewed(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, rng.chisquare(2, (n, 7)), -1.0, 0.35, -0.3, 0.2)


def _unequal(rng: np.random.Generator, n: int) -> Drawn:
    """Return classes of which one varies more, as the log-odds are quadratic."""
    X = rng.standard_normal((n, 5))
    odds = -0.6 + 0.6 * X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.35 * X[:, 2] ** 2
    return X, odds + 0.4 * X[:, 3], None


def _heavy(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, rng.standard_t(3, (n, 5)), -2.9, 0.5, 0.4, -0.35)


def _correlated(rng: np.random.Generator, n: int) -> Drawn:
    shared = rng.standard_normal((n, 1))
    X = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.standard_normal((n, 20))
    return _linear(rng, X, -0.4, *[0.15] * 10, *[-0.06] * 10)


def _rare(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, rng.standard_normal((n, 5)), -2.95, 0.8, 0.5, -0.4)


def _binary(rng: np.random.Generator, n: int) -> Drawn:
    often = rng.random((n, 1)) < 0.5
    X = (rng.random((n, 6)) < np.where(often, 0.6, 0.25)).astype(float)
    return _linear(rng, X, -1.3, 1.1, 0.9, -0.6, 0.5)


def _counts(rng: np.random.Generator, n: int) -> Drawn:
    X = rng.poisson([1.0, 2.0, 3.0, 0.5], (n, 4)).astype(float)
    return _linear(rng, X, -1.5, 0.6, 0.2, 0.0, -0.5)


def _interaction(rng: np.random.Generator, n: int) -> Drawn:
    X = rng.uniform(-1.7, 1.7, (n, 4))
    return X, 0.8 * X[:, 0] - X[:, 0] * X[:, 2] - 0.4 * X[:, 1], None


def _mixture(rng: np.random.Generator, n: int) -> Drawn:
    group = rng.integers(0, 3, (n, 1))
    X = rng.normal(group * np.array([1.0, -0.5, 0.3, 0.0]), 1.3)
    return X, -0.8 + 0.5 * X[:, 0] - 0.4 * np.abs(X[:, 1]) + 0.3 * X[:, 2], None


def _uniform(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, rng.uniform(-2, 2, (n, 3)), 0.1, 0.6, -0.4)


def _noise(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, rng.lognormal(0.0, 0.8, (n, 6)), 0.2, 0.0)


def _strong(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, rng.standard_normal((n, 4)), 0.0, 2.5, -2.0, 1.0)


def _clusters(rng: np.random.Generator, n: int) -> Drawn:
    """Return clusters of unequal size, whose records resemble each other."""
    cluster = np.repeat(np.arange(n), rng.integers(1, LARGEST + 1, n))[:n]
    shared = rng.standard_normal((n, 5))[cluster]
    X = 0.8 * shared + 0.6 * rng.standard_normal((n, 5))
    own = rng.standard_normal(n)[cluster]
    return X, -0.3 + 0.7 * X[:, 0] + 0.5 * X[:, 1] + own, cluster


def _marker(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, rng.standard_normal((n, 1)), 0.0, 0.0)


def _binary_marker(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, (rng.random((n, 1)) < 0.4).astype(float), -0.4, 0.0)


def _good_marker(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, rng.standard_normal((n, 1)), -0.3, 0.6)


SHAPES = {
    "uniform": Shape(40, _uniform),
    "noise": Shape(50, _noise),
    "counts": Shape(55, _counts),
    "correlated": Shape(60, _correlated),
    "strong signal": Shape(65, _strong),
    "binary": Shape(70, _binary),
    "mixture": Shape(80, _mixture),
    "unequal variances": Shape(90, _unequal),
    "interaction": Shape(100, _interaction),
    "skewed": Shape(110, _skewed),
    "rare": Shape(150, _rare),
    "heavy tails": Shape(170, _heavy),
    "clusters": Shape(180, _clusters),
    "noise, large": Shape(300, _noise),
    "skewed, large": Shape(1000, _skewed),
    "rare, large": Shape(3000, _rare),
    "useless marker": Shape(60, _marker),
    "useless marker, large": Shape(300, _marker),
    "useless binary marker": Shape(60, _binary_marker),
    "marker": Shape(80, _good_marker),
}
"""The populations of intervals by name."""


# ---- populations with a continuous outcome ----


def _numbers(
    error: Callable[[np.random.Generator, Floats], Floats],
) -> Callable[[np.random.Generator, int], Drawn]:
    def drawn(rng: np.random.Generator, n: int) -> Drawn:
        X = rng.standard_normal((n, 4))
        return X, 0.7 * X[:, 0] - 0.4 * X[:, 1] + error(rng, X[:, 0]), None

    return drawn


def _of_normal(rng: np.random.Generator, x: Floats) -> Floats:
    return rng.standard_normal(len(x))


def _of_skewed(rng: np.random.Generator, x: Floats) -> Floats:
    return rng.gamma(1.5, 1.0, len(x)) - 1.5


def _of_heavy(rng: np.random.Generator, x: Floats) -> Floats:
    return rng.standard_t(5, len(x))


def _of_unequal(rng: np.random.Generator, x: Floats) -> Floats:
    return rng.standard_normal(len(x)) * np.exp(0.4 * x)


CONTINUOUS = {
    f"{name}, n = {n}": Shape(n, _numbers(error), continuous=True)
    for n in (50, 200, 1000)
    for name, error in (
        ("normal errors", _of_normal),
        ("skewed errors", _of_skewed),
        ("heavy-tailed errors", _of_heavy),
        ("unequal errors", _of_unequal),
    )
}
"""The populations with a continuous outcome by name."""


# ---- populations for a comparison, whose covariates are exchangeable ----

COEFFICIENT = 0.6


def _exchangeable(
    draw: Callable[[np.random.Generator, int], Floats], slope: float = COEFFICIENT
) -> Callable[[np.random.Generator, int], Drawn]:
    def drawn(rng: np.random.Generator, n: int) -> Drawn:
        X = draw(rng, n)
        return _linear(rng, X, -0.2, *[slope] * X.shape[1])

    return drawn


def _normal(rng: np.random.Generator, n: int) -> Floats:
    return rng.standard_normal((n, 4))


def _twelve(rng: np.random.Generator, n: int) -> Floats:
    """Return normal covariates with a correlation of .3."""
    shared = rng.standard_normal((n, 1))
    return np.asarray(
        np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.standard_normal((n, 12))
    )


def _exponential(rng: np.random.Generator, n: int) -> Floats:
    return rng.exponential(1.0, (n, 4)) - 1


def _equicorrelated(rng: np.random.Generator, n: int) -> Floats:
    shared = rng.standard_normal((n, 1))
    own = rng.standard_t(5, (n, 4))
    return np.asarray(np.sqrt(0.4) * shared + np.sqrt(0.6) * own)


def _two_markers(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, rng.standard_normal((n, 2)), 0.0, 0.0)


COMPARED = {
    "normal": Shape(80, _exchangeable(_normal)),
    "exponential": Shape(80, _exchangeable(_exponential)),
    "equicorrelated": Shape(80, _exchangeable(_equicorrelated)),
    "noise": Shape(80, _exchangeable(_exponential, 0.0)),
    "normal, large": Shape(400, _exchangeable(_normal, 0.35)),
    "exponential, large": Shape(400, _exchangeable(_exponential, 0.35)),
    "few": Shape(40, _exchangeable(_normal)),
    "two useless markers, few": Shape(40, _two_markers),
    "two useless markers": Shape(80, _two_markers),
    "two useless markers, large": Shape(300, _two_markers),
}
"""The populations of comparisons by name: covariates with one coefficient."""


def _useful_half(rng: np.random.Generator, n: int) -> Drawn:
    return _linear(rng, _twelve(rng, n), -0.2, *[0.0] * 6, *[0.35] * 6)


CHOSEN_FROM = {
    "twelve": Shape(80, _exchangeable(_twelve, 0.25)),
    "twelve, large": Shape(250, _exchangeable(_twelve, 0.15)),
    "twelve, useless": Shape(80, _exchangeable(_twelve, 0.0)),
    "twelve, useless, large": Shape(250, _exchangeable(_twelve, 0.0)),
    "twelve, useful half": Shape(80, _useful_half),
    "twelve, useful half, large": Shape(250, _useful_half),
}
"""Those of comparisons of models that choose some of the covariates."""


# ---- populations of tests by permutation, in which nothing matters ----


def _useless(p: int) -> Callable[[np.random.Generator, int], Drawn]:
    return lambda rng, n: _linear(rng, rng.standard_normal((n, p)), 0.0, 0.0)


USELESS = {
    "ten useless": Shape(60, _useless(10)),
    "fifteen useless": Shape(100, _useless(15)),
    "a thousand useless": Shape(40, _useless(1000)),
    "a thousand useless, larger": Shape(100, _useless(1000)),
}
"""The populations by name."""

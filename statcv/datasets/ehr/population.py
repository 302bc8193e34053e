"""The population of Bey et al. (2020): ten covariates and a binary outcome.

These are equations (2) to (5) of the paper.

All that is random beyond people, hospitals and duplicates has a stream of its own, so
that the same seed gives the same people whatever else is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real

import numpy as np
import pandas as pd

from statcv.arguments import check_whole, resolve_seed
from statcv.errors import ArgumentError, ArgumentTypeError
from statcv.numeric.arrays import ArrayLike, Floats
from statcv.tables import Printed

EIGENVALUES = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8)
"""The paper's variances: of nine rotated directions, and of x10."""

COEFFICIENTS = (-2.0, 0.4, 0.8, 1.2, 0.4, 1.2, 3.0, 2.0)
"""The paper's a0 to a7."""

COVARIATES = tuple(f"x{number}" for number in range(1, 11))

_STREAMS = (
    *("optimum", "duplicated", "inexact", "site dates", "site shift"),
    *("site noise", "site grid", "site key"),
)
_ROOM = 2020  # separates these streams from those of folds and models


@dataclass(frozen=True, eq=False, repr=False)
class EhrPopulation(Printed):
    """A population of people from which many data sets can be drawn.

    Attributes
    ----------
    eigenvalues : numpy.ndarray, shape (10,)
        Variances. The first nine belong to orthogonal directions in the space of
        ``x1`` to ``x9``, the last is the variance of ``x10``.
    coefficients : numpy.ndarray, shape (8,)
        The numbers a0 to a7 of :func:`statcv.datasets.ehr.log_odds`.
    rotation : numpy.ndarray, shape (9, 9)
        Orthogonal matrix whose columns are those directions.
    mean : numpy.ndarray, shape (10,)
        Means of the covariates; 0 unless given.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an attribute is not what it should be.

    Notes
    -----
    ``simulate_ehr(**vars(population))`` draws hospital records from it.

    Examples
    --------
    >>> population = EhrPopulation(EIGENVALUES, COEFFICIENTS, rotation=np.eye(9))
    >>> people = population.draw(1_000, np.random.default_rng(1))
    >>> people.shape
    (1000, 11)
    >>> population.sd.round(3).tolist()[:3]
    [1.0, 1.095, 1.183]
    """

    eigenvalues: Floats
    coefficients: Floats
    rotation: Floats = field(repr=False)
    mean: Floats = field(default_factory=lambda: np.zeros(10), repr=False)

    def __post_init__(self) -> None:
        shapes = {"eigenvalues": (10,), "coefficients": (8,), "rotation": (9, 9)}
        for name, shape in {**shapes, "mean": (10,)}.items():
            what = f"the entries of {name}" if name in ("rotation", "mean") else name
            own = check_numbers(getattr(self, name), what, shape).copy(order="K")
            own.setflags(write=False)
            object.__setattr__(self, name, own)
            if name == "eigenvalues" and own.min() < 0:
                raise ArgumentError("eigenvalues are variances: none may be negative")
            if name == "rotation" and not np.allclose(
                own @ own.T, np.eye(9), atol=1e-8
            ):
                raise ArgumentError(
                    "rotation is not orthogonal: it times its transpose is not 1"
                )

    @property
    def covariance(self) -> Floats:
        """The covariance matrix of the ten covariates, equations (3) and (4)."""
        matrix = np.diag(self.eigenvalues)
        matrix[:9, :9] = self.rotation @ matrix[:9, :9] @ self.rotation.T
        return matrix

    @property
    def sd(self) -> Floats:
        """The standard deviation of each covariate."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def probability(self, x: ArrayLike) -> Floats:
        """Return the probability that the outcome is 1, given the covariates.

        Parameters
        ----------
        x : array of shape (n, 10)
            The covariates x1 to x10 of each record.

        Returns
        -------
        numpy.ndarray of shape (n,)
        """
        half = log_odds(x, self.coefficients) / 2
        return np.asarray(0.5 * (1 + np.tanh(half)))  # cannot overflow

    def draw(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw people, each once.

        Parameters
        ----------
        n : int
        rng : numpy.random.Generator

        Returns
        -------
        pandas.DataFrame
            ``x1`` to ``x10``, and the outcome ``y`` (0 or 1). A large sample, drawn
            from the population of some records with another seed, serves as the test
            set of a model that was trained on those records.
        """
        check_whole(n, "n", least=1)
        if not isinstance(rng, np.random.Generator):
            raise ArgumentTypeError(
                f"rng is a numpy Generator, not {type(rng).__name__}; "
                "numpy.random.default_rng(seed) makes one"
            )
        x = self.draw_covariates(n, rng)
        y = rng.random(n) < self.probability(x)
        return pd.DataFrame(x, columns=list(COVARIATES)).assign(y=y.astype("int64"))

    def draw_covariates(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw covariates alone, an array of shape (n, 10): equation (2)."""
        x: Floats = rng.standard_normal((n, 10)) * np.sqrt(self.eigenvalues)
        x[:, :9] = x[:, :9] @ self.rotation.T
        return x + self.mean


def ehr_population(
    *,
    eigenvalues: Sequence[float] | Floats = EIGENVALUES,
    coefficients: Sequence[float] | Floats = COEFFICIENTS,
    rotation: ArrayLike | None = None,
    mean: Sequence[float] | Floats | None = None,
    seed: int | np.random.Generator | None = None,
) -> EhrPopulation:
    """Return the population that :func:`statcv.simulate_ehr` draws from.

    Parameters
    ----------
    eigenvalues, coefficients, rotation, mean
        As in :func:`statcv.simulate_ehr`.
    seed : int, numpy.random.Generator or None
        Seed for the rotation, unless `rotation` is given. The same number gives the
        same rotation as in :func:`statcv.simulate_ehr`.

    Returns
    -------
    EhrPopulation

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If an argument is not what it should be.

    Examples
    --------
    New records of the population of a data set:

    >>> from statcv.datasets import ehr_population, simulate_ehr
    >>> records = simulate_ehr(n=1_000, n_duplicates=200, seed=1)
    >>> population = ehr_population(seed=1)
    >>> fresh = population.draw(20_000, np.random.default_rng(99))

    Another data set of the same population:

    >>> again = simulate_ehr(1_000, 200, **vars(population), seed=2)
    """
    rng = np.random.default_rng(resolve_seed(seed))
    return population_of(eigenvalues, coefficients, rotation, mean, rng)


def population_of(
    eigenvalues: Sequence[float] | Floats,
    coefficients: Sequence[float] | Floats,
    rotation: ArrayLike | None,
    mean: Sequence[float] | Floats | None,
    rng: np.random.Generator,
) -> EhrPopulation:
    """Return the population, with a random rotation unless one is given."""
    axes = uniform_rotation(rng) if rotation is None else rotation
    centre = np.zeros(10) if mean is None else mean
    return EhrPopulation(eigenvalues, coefficients, axes, centre)  # type: ignore[arg-type]


def random_population(seed: int | np.random.Generator | None = None) -> EhrPopulation:
    """Draw a population at random, as for Figure 4 of Bey et al. (2020).

    Variances are uniform from 1 to 3, the coefficients a0 to a7 uniform from -5 to 5,
    the rotation uniform over all orthogonal matrices, and means are 0. (The paper
    names a0 to a6; a7 is drawn in the same way.)

    Parameters
    ----------
    seed : int, numpy.random.Generator or None

    Returns
    -------
    EhrPopulation

    Examples
    --------
    >>> from statcv.datasets import random_population, simulate_ehr
    >>> population = random_population(seed=1)
    >>> records = simulate_ehr(1_000, 200, **vars(population), seed=1)
    """
    rng = np.random.default_rng(resolve_seed(seed))
    variances = rng.uniform(1, 3, size=10)
    effects = rng.uniform(-5, 5, size=8)
    return EhrPopulation(variances, effects, uniform_rotation(rng))


def log_odds(x: ArrayLike, coefficients: ArrayLike = COEFFICIENTS) -> Floats:
    """Return the log-odds of the outcome, equation (5) of Bey et al. (2020).

    It is a0 + a1 x1 + a2 x2 + a3 x3 + a4 x1 x2 + a5 x3 [x4 > 0]
    + a6 x5² [x6 > 0] + a7 x7 [x8 x9 > 0], where a bracket is 1 if what it holds is
    true and 0 otherwise; x10 has no effect.

    Parameters
    ----------
    x : array of shape (n, 10)
        The covariates x1 to x10 of each record.
    coefficients : sequence of 8 floats
        The numbers a0 to a7.

    Returns
    -------
    numpy.ndarray of shape (n,)
        Natural logarithm of P(y = 1) / P(y = 0).

    Raises
    ------
    ArgumentError
        If `x` has not ten columns, or there are not eight coefficients.

    Examples
    --------
    >>> from statcv.datasets.ehr import log_odds
    >>> log_odds([[1, 1, 1, -1, 0, 0, 0, 0, 0, 0]]).round(6).tolist()
    [0.8]
    """
    a = check_numbers(coefficients, "coefficients", (8,))
    covariates = np.asarray(x, dtype=float)
    if covariates.ndim != 2 or covariates.shape[1] != 10:
        raise ArgumentError(f"x has shape (n, 10), not {covariates.shape}")
    x1, x2, x3, x4, x5, x6, x7, x8, x9, _ = covariates.T
    linear = a[0] + a[1] * x1 + a[2] * x2 + a[3] * x3
    together = a[4] * x1 * x2 + a[5] * x3 * (x4 > 0)
    bent = a[6] * x5**2 * (x6 > 0) + a[7] * x7 * (x8 * x9 > 0)
    return np.asarray(linear + together + bent)


def uniform_rotation(rng: np.random.Generator, size: int = 9) -> Floats:
    """Draw an orthogonal matrix uniformly (Haar measure).

    The QR decomposition of a Gaussian matrix is unique, and its Q uniform, once
    the diagonal of R is made positive.
    """
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    return np.asarray(q * np.where(np.diag(r) < 0, -1.0, 1.0))


def stream(seed: int, what: str) -> np.random.Generator:
    """Return the generator of the stream for something that is drawn."""
    key = (_ROOM, _STREAMS.index(what))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def check_amount(value: object, name: str, most: float = math.inf) -> None:
    """Raise an error if a value is not a finite number from 0 to ``most``."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ArgumentTypeError(f"{name} is a number, not {type(value).__name__}")
    if not (math.isfinite(value) and 0 <= float(value) <= most):
        span = "0 or more, and finite" if most == math.inf else f"from 0 to {most:g}"
        raise ArgumentError(f"{name} is {span}, not {value}")


def check_numbers(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Floats:
    """Return finite numbers of a shape, or say what is wrong with them."""
    size = " by ".join(str(length) for length in shape)
    try:
        numbers = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{name} are {size} numbers") from None
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} are {size} finite numbers")
    return numbers


# ---- the largest accuracy in a population ----


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
    eigenvalues: Sequence[float] | Floats = EIGENVALUES,
    coefficients: Sequence[float] | Floats = COEFFICIENTS,
    rotation: ArrayLike | None = None,
    mean: Sequence[float] | Floats | None = None,
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
    own = np.random.default_rng(seed)
    population = population_of(eigenvalues, coefficients, rotation, mean, own)
    rng, right, share = stream(seed, "optimum"), [], 0.0
    for start in range(0, n, PEOPLE_AT_ONCE):
        x = population.draw_covariates(min(PEOPLE_AT_ONCE, n - start), rng)
        p = population.probability(x)
        right.append(np.maximum(p, 1 - p))
        share += p.sum()
    values = np.concatenate(right)
    se = float(values.std(ddof=1)) / math.sqrt(n)
    return Optimum(float(values.mean()), se, float(share) / n)

"""Two normal classes, for which the truth is known in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from statcv.arguments import is_whole
from statcv.errors import ArgumentError

Floats = NDArray[np.float64]

DUPLICATED = 0.2  # the share of records that are duplicates, if there are any
# points of the trapezoidal rule for a standard normal
NODES = np.linspace(-9.0, 9.0, 1201)


@dataclass(frozen=True)
class Population:
    """Two classes with independent normal covariates that differ in their mean.

    Attributes
    ----------
    n : int
        Records of a sample.
    balance : float
        The share of the positive class, which has ``round(n * balance)`` records.
    auroc : float
        auROC of the best possible score; 0.5 for covariates without information.
    duplicates : bool
        Whether a fifth of the records of either class are duplicates of others.
    covariates : int
        Number of covariates, of variance 1; class means differ equally in each.

    Examples
    --------
    >>> population = Population(n=50, balance=0.3, auroc=0.7)
    >>> sample = population.sample(np.random.default_rng(1))
    >>> sample.shape, int(sample["y"].sum())
    ((50, 6), 15)
    >>> round(population.true_auroc(np.ones(4)), 12)  # along the best direction
    0.7
    """

    n: int
    balance: float
    auroc: float
    duplicates: bool = False
    covariates: int = 4

    def __post_init__(self) -> None:
        if not (is_whole(self.n) and is_whole(self.covariates)):
            raise ArgumentError("n and covariates must be integers.")
        if self.covariates < 1:
            raise ArgumentError(f"covariates must be 1 or more, not {self.covariates}.")
        if not 0.5 <= self.auroc < 1:
            raise ArgumentError(
                f"auroc must be 0.5 or more and less than 1, not {self.auroc}."
            )
        if min(self.positives, self.n - self.positives) < 2:
            raise ArgumentError(
                f"n={self.n} with balance={self.balance} gives {self.positives} "
                "positive records; each class needs two."
            )

    @property
    def positives(self) -> int:
        """Number of positive records in a sample."""
        return round(self.n * self.balance)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the covariates."""
        return tuple(f"x{number}" for number in range(1, self.covariates + 1))

    @property
    def shift(self) -> Floats:
        """By how much the means of the classes differ in each covariate."""
        from scipy.special import ndtri

        distance = math.sqrt(2) * float(ndtri(self.auroc))
        return np.full(self.covariates, distance / math.sqrt(self.covariates))

    def sample(self, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a sample, in random order.

        Parameters
        ----------
        rng : numpy.random.Generator

        Returns
        -------
        pandas.DataFrame
            The covariates, ``y`` (0 or 1) and ``id``, equal in duplicates of a record.
        """
        sizes = np.array([self.n - self.positives, self.positives])
        added = np.rint(DUPLICATED * sizes).astype(int) * self.duplicates
        y = np.repeat([0, 1], sizes - added)
        x = rng.standard_normal((len(y), self.covariates)) + y[:, None] * self.shift
        again = [
            rng.choice(np.flatnonzero(y == label), size=count, replace=False)
            for label, count in enumerate(added)
        ]
        record = rng.permutation(np.concatenate([np.arange(len(y)), *again]))
        frame = pd.DataFrame(x[record], columns=list(self.names))
        # Identifiers in order of class would reveal the outcome.
        first = pd.factorize(record)[0]
        return frame.assign(y=y[record], id=first)

    def true_auroc(self, coefficients: Floats) -> float:
        """Return the auROC of a linear score in an infinitely large new sample.

        Parameters
        ----------
        coefficients : numpy.ndarray, shape (covariates,)
        """
        from scipy.special import ndtr

        size = float(np.sqrt((coefficients**2).sum()))
        if size == 0:
            return 0.5
        return float(ndtr(coefficients @ self.shift / (math.sqrt(2) * size)))

    def true_slope(self, coefficients: Floats) -> float:
        """Return the calibration slope of log-odds in an infinitely large new sample.

        In each class a linear score is normal, with one variance: the log-odds given
        the score are linear in it, with slope (difference of means) / variance.

        Parameters
        ----------
        coefficients : numpy.ndarray, shape (covariates,)
        """
        variance = float((coefficients**2).sum())
        return float(coefficients @ self.shift) / variance if variance else math.nan

    def true_accuracy(self, coefficients: Floats, intercept: float) -> float:
        """Return the share that a fit predicts right in an infinitely large new sample.

        Parameters
        ----------
        coefficients : numpy.ndarray, shape (covariates,)
        intercept : float
            Class 1 is predicted where the log-odds are positive.
        """
        from scipy.special import ndtr

        size = float(np.sqrt((coefficients**2).sum()))
        high = intercept + float(coefficients @ self.shift)
        if size == 0:
            right = np.array([intercept <= 0, intercept > 0], dtype=float)
        else:
            right = ndtr(np.array([-intercept, high]) / size)
        return float(self._shares @ right)

    def true_brier(self, coefficients: Floats, intercept: float) -> float:
        """Return the Brier score of a fit in an infinitely large new sample.

        In each class the log-odds are normal: by the trapezoidal rule, whose error
        falls exponentially here (Trefethen & Weideman 2014, SIAM Review 56:385).

        Parameters
        ----------
        coefficients : numpy.ndarray, shape (covariates,)
        intercept : float
        """

        def loss(wrong: Floats) -> Floats:
            """Return the square of the probability of the other class."""
            return (0.5 * (1 + np.tanh(wrong / 2))) ** 2

        return self._mean_loss(loss, coefficients, intercept)

    def true_log_loss(self, coefficients: Floats, intercept: float) -> float:
        """Return the log-loss of a fit in an infinitely large new sample.

        Parameters
        ----------
        coefficients : numpy.ndarray, shape (covariates,)
        intercept : float
        """

        def loss(wrong: Floats) -> Floats:
            return np.logaddexp(0.0, wrong)

        return self._mean_loss(loss, coefficients, intercept)

    @property
    def _shares(self) -> Floats:
        share = self.positives / self.n
        return np.array([1 - share, share])

    def _mean_loss(
        self, loss: Callable[[Floats], Floats], coefficients: Floats, intercept: float
    ) -> float:
        """Return the mean of a function of the log-odds of the class that is wrong."""
        weight = np.exp(-(NODES**2) / 2)
        spread = float(np.sqrt((coefficients**2).sum())) * NODES
        high = intercept + float(coefficients @ self.shift)
        each = [loss(intercept + spread), loss(-high - spread)]
        means = np.array([float(weight @ one) for one in each]) / weight.sum()
        return float(self._shares @ means)

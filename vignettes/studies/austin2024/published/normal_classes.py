"""Simulated data sets whose true auROC is known: two normal classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SAMPLES = ("noise", "spread", "correlated")
BEST_AUROC = 0.75  # auROC of the best score, where there is signal
RECORDS, COVARIATES = 50, 5
CORRELATION = 0.8


@dataclass(frozen=True, eq=False)
class NormalClasses:
    """Two classes with normal covariates that differ in their means alone.

    Attributes
    ----------
    shift : numpy.ndarray, shape (p,)
        Mean of the positive class minus that of the other one.
    covariance : numpy.ndarray, shape (p, p)
        Covariance matrix of either class.
    """

    shift: Floats
    covariance: Floats

    def draw(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw n records, half of them positive: ``y``, ``x1``, ``x2``, …."""
        y = np.repeat([1, 0], [n // 2, n - n // 2])
        root = np.linalg.cholesky(self.covariance)
        x = rng.normal(size=(n, len(self.shift))) @ root.T + np.outer(y, self.shift)
        names = [f"x{j}" for j in range(1, len(self.shift) + 1)]
        return pd.DataFrame(x, columns=names).assign(y=y)

    def auroc(self, coefficients: Floats) -> float:
        """Return the true auROC of a linear score; ½ of a score that is constant."""
        from scipy.special import ndtr

        variance = float(coefficients @ self.covariance @ coefficients)
        if variance == 0:
            return 0.5
        gap = float(coefficients @ self.shift)
        return float(ndtr(gap / np.sqrt(2 * variance)))


def population(name: str) -> NormalClasses:
    """Return a population by its name.

    ``"noise"``: no covariate is informative. ``"spread"``: five independent covariates
    are equally informative, which suits a strong penalty. ``"correlated"``: five
    correlated covariates, one of which differs between the classes, while the others
    are needed to see it, which suits a weak penalty.

    Examples
    --------
    >>> own = population("spread")
    >>> round(own.auroc(own.shift), 12)
    0.75
    """
    from scipy.special import ndtri

    covariance = np.eye(COVARIATES)
    if name == "noise":
        return NormalClasses(np.zeros(COVARIATES), covariance)
    if name == "spread":
        direction = np.ones(COVARIATES)
    else:
        covariance = (1 - CORRELATION) * covariance + CORRELATION
        direction = np.eye(COVARIATES)[0]
    distance = np.sqrt(direction @ np.linalg.solve(covariance, direction))
    return NormalClasses(
        np.sqrt(2) * ndtri(BEST_AUROC) / distance * direction, covariance
    )

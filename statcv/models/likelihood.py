"""Fits by (penalised) maximum likelihood, as functions of a linear predictor.

From these it follows without any refit how coefficients change with the weight of a
training record: by H⁻¹ x r, where x is the row of the record, r the derivative of its
log-likelihood by the linear predictor, and H the penalised information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Likelihood(Protocol):
    """The log-likelihood of a record, as a function of its linear predictor.

    With more than two classes there is one linear predictor for each class, and arrays
    have a last axis for the classes.
    """

    def link(self, mean: Floats) -> Floats:
        """Return the linear predictor of a prediction."""

    def pull_back(self, mean: Floats, slope: Floats) -> Floats:
        """Return the derivative by the linear predictor of a function of predictions.

        ``slope`` is its derivative by the predictions.
        """

    def residual(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the first derivative of the log-likelihood."""

    def curvature(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return minus its second derivative, or the expectation of that.

        With more than two classes these are the probabilities p, which determine the
        matrix diag(p) - pp'.
        """


@dataclass(frozen=True)
class Bernoulli:
    """Two classes with log-odds that are linear; several with multinomial logits."""

    def link(self, mean: Floats) -> Floats:
        """Return the log-odds."""
        from scipy.special import logit

        return np.asarray(logit(mean))

    def pull_back(self, mean: Floats, slope: Floats) -> Floats:
        """Return the derivative by the log-odds."""
        if mean.ndim == 1:
            return np.asarray(slope * mean * (1 - mean))
        mixed = (slope * mean).sum(axis=1, keepdims=True)
        return np.asarray(mean * (slope - mixed))

    def residual(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the outcome minus its probability."""
        from scipy.special import expit, softmax

        if eta.ndim > y.ndim:
            observed = y[..., None] == np.arange(eta.shape[-1])
            return np.asarray(observed - softmax(eta, axis=-1))
        sign = np.where(y == 1, 1.0, -1.0)  # keeps the digits of small residuals
        return np.asarray(sign * expit(-sign * eta))

    def curvature(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the variance of the outcome, or the probabilities of the classes."""
        from scipy.special import expit, softmax

        if eta.ndim > y.ndim:
            return np.asarray(softmax(eta, axis=-1))
        return np.asarray(expit(eta) * expit(-eta))


@dataclass(frozen=True)
class Gaussian:
    """A normal outcome with a linear mean, as in least squares."""

    def link(self, mean: Floats) -> Floats:
        """Return the mean."""
        return mean

    def pull_back(self, mean: Floats, slope: Floats) -> Floats:
        """Return the derivative by the mean."""
        return slope

    def residual(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the outcome minus its mean."""
        return np.asarray(y - eta)

    def curvature(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return 1."""
        return np.ones_like(eta)


@dataclass(frozen=True, eq=False)
class Generalized:
    """A generalized linear model, with the expected information.

    Attributes
    ----------
    family : statsmodels family
        The family with its link, for example ``sm.families.Poisson()``.
    """

    family: Any

    def link(self, mean: Floats) -> Floats:
        """Return the linear predictor."""
        return np.asarray(self.family.link(mean))

    def pull_back(self, mean: Floats, slope: Floats) -> Floats:
        """Return the derivative by the linear predictor."""
        return np.asarray(slope / self.family.link.deriv(mean))

    def residual(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the derivative of the quasi-likelihood."""
        mean = self.family.link.inverse(eta)
        variance = self.family.variance(mean)
        return np.asarray((y - mean) / variance / self.family.link.deriv(mean))

    def curvature(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the expected information."""
        mean = self.family.link.inverse(eta)
        return np.asarray(
            1 / self.family.variance(mean) / self.family.link.deriv(mean) ** 2
        )


ARRAYS = ("coefficients", "penalty", "constant", "filled", "class_weights")


@dataclass(frozen=True, eq=False)
class LinearFits:
    """The linear predictors of one or several fits.

    Attributes
    ----------
    coefficients : numpy.ndarray, shape (fits, p), or (fits, p, classes)
        Coefficients of the columns of the design matrix.
    penalty : numpy.ndarray, shape (fits, p)
        Strength of the ridge on each column; infinite for a column that is not used.
    constant : numpy.ndarray, shape (fits,), or (fits, classes), or None
        An intercept that the design does not have, if the model adds one.
    filled : numpy.ndarray, shape (fits, p), or None
        The value that stands for a missing one in each column.
    class_weights : numpy.ndarray, shape (fits, classes), or None
        The factor by which the model multiplies the weights of the records of a class.
    """

    coefficients: Floats
    penalty: Floats
    constant: Floats | None = None
    filled: Floats | None = None
    class_weights: Floats | None = None

    @classmethod
    def of_one(cls, coefficients: Floats, penalty: Floats) -> LinearFits:
        """Return a single fit, from arrays of shapes (p,) or (p, classes), and (p,)."""
        return cls(coefficients[None], penalty[None])

    def __len__(self) -> int:
        return len(self.coefficients)

    def chosen(self, fits: NDArray[np.intp]) -> LinearFits:
        """Return some of the fits."""
        kept: dict[str, Any] = {}
        for name in ARRAYS:
            every = getattr(self, name)
            kept[name] = None if every is None else every[fits]
        return LinearFits(**kept)


def joined_fits(parts: Sequence[LinearFits | None]) -> LinearFits | None:
    """Concatenate the fits of several parts; None unless all have the same form."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    joined: dict[str, Any] = {}
    for name in ARRAYS:
        values = [getattr(part, name) for part in known]
        absent = [value is None for value in values]
        if any(absent):
            if not all(absent):
                return None
            joined[name] = None
        elif len({value.shape[1:] for value in values}) > 1:
            return None
        else:
            joined[name] = values[0] if len(values) == 1 else np.concatenate(values)
    return LinearFits(**joined)

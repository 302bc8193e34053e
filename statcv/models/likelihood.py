"""Fits by (penalised) maximum likelihood, as functions of a linear predictor.

From these it follows without any refit how coefficients change with the weight of a
training record: by H⁻¹ x r, where x is the row of the record, r the derivative of its
log-likelihood by the linear predictor, and H the penalised information.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from statcv.numeric.arrays import Array, Floats
from statcv.numeric.logistic import expit, softmax
from statcv.numeric.survival import risk_of

__all__ = [
    "Bernoulli",
    "CumulativeLogit",
    "Gaussian",
    "Generalized",
    "Hazards",
    "Likelihood",
    "LogLinear",
    "OfRecords",
]


class Likelihood(Protocol):
    """What relates a prediction to a linear predictor, in fits by likelihood.

    With more than two classes there is one linear predictor for each class, and arrays
    have a last axis for the classes.
    """

    def link(self, mean: Floats) -> Floats:
        """Return the linear predictor of a prediction."""

    def mean(self, eta: Floats) -> Floats:
        """Return the prediction of a linear predictor, or of those of all classes."""


class OfRecords(Likelihood, Protocol):
    """The log-likelihood of each record, as a function of its linear predictor."""

    def residual(self, y: Array, eta: Floats) -> Floats:
        """Return the first derivative of the log-likelihood."""

    def curvature(self, y: Array, eta: Floats) -> Floats:
        """Return minus its second derivative.

        With more than two classes these are the probabilities p, which determine the
        matrix diag(p) - pp'.
        """


EDGE = 1e-15  # distance of a probability from 0 and 1


@dataclass(frozen=True)
class Bernoulli:
    """Two classes with log-odds that are linear; several with multinomial logits.

    Attributes
    ----------
    firth : bool
        Whether Firth's penalty is added to the likelihood of two classes.
    """

    firth: bool = False

    def link(self, mean: Floats) -> Floats:
        """Return the log-odds, or the logarithms of several probabilities."""
        # predictions of exactly 0 or 1 have infinite log-odds
        p = np.clip(mean, EDGE, 1 - EDGE)
        return np.asarray(np.log(p) - (np.log1p(-p) if mean.ndim == 1 else 0.0))

    def mean(self, eta: Floats) -> Floats:
        """Return the probabilities; of several classes along the last axis."""
        if eta.shape[-1] == 1:
            return np.asarray(expit(eta))
        return np.asarray(softmax(eta, axis=-1))

    def residual(self, y: Array, eta: Floats) -> Floats:
        """Return the outcome, which may be a share, minus its probability."""
        if eta.ndim > y.ndim:
            observed = y[..., None] == np.arange(eta.shape[-1])
            return np.asarray(observed - softmax(eta, axis=-1))
        if ((y == 0) | (y == 1)).all():
            # the probability of the other class keeps its digits near 0
            sign = 2.0 * y - 1
            with np.errstate(over="ignore"):
                return np.asarray(sign / (1 + np.exp(sign * eta)))
        # y (1 - p) - (1 - y) p, in which 1 - p keeps its digits near 0 as well
        return np.asarray(y * expit(-eta) - (1 - y) * expit(eta))

    def curvature(self, y: Array, eta: Floats) -> Floats:
        """Return the variance of the outcome, or the probabilities of the classes."""
        if eta.ndim > y.ndim:
            return np.asarray(softmax(eta, axis=-1))
        # p (1 - p) is even in the predictor, so that exp need not overflow
        odds = np.exp(-np.abs(eta))
        return np.asarray(odds / (1 + odds) ** 2)


@dataclass(frozen=True)
class CumulativeLogit:
    """Ordered classes with proportional odds.

    There is a linear predictor for each class but the first: the log-odds of that class
    or a higher one.
    """

    def link(self, mean: Floats) -> Floats:
        """Return the log-odds of at least each class, (…, K - 1) of (…, K)."""
        above = np.cumsum(mean[..., :0:-1], axis=-1)[..., ::-1]
        below = np.cumsum(mean[..., :-1], axis=-1)
        return np.asarray(np.log(np.maximum(above, EDGE) / np.maximum(below, EDGE)))

    def mean(self, eta: Floats) -> Floats:
        """Return the probabilities of the classes, 0 where predictors do not fall."""
        around = [(0, 0)] * (eta.ndim - 1)
        lower = np.pad(eta, [*around, (1, 0)], constant_values=np.inf)
        upper = np.pad(eta, [*around, (0, 1)], constant_values=-np.inf)
        with np.errstate(invalid="ignore"):  # both are infinite for a class not met
            apart = np.where(upper < lower, -np.expm1(upper - lower), 0.0)
        return np.asarray(expit(lower) * expit(-upper) * apart)


@dataclass(frozen=True)
class Gaussian:
    """A normal outcome with a linear mean, as in least squares."""

    def link(self, mean: Floats) -> Floats:
        """Return the mean."""
        return mean

    def mean(self, eta: Floats) -> Floats:
        """Return the mean."""
        return eta

    def residual(self, y: Array, eta: Floats) -> Floats:
        """Return the outcome minus its mean."""
        return np.asarray(y - eta)

    def curvature(self, y: Array, eta: Floats) -> Floats:
        """Return 1."""
        return np.ones_like(eta)


@dataclass(frozen=True)
class LogLinear:
    """Counts with a linear logarithm of their mean: Poisson or negative binomial.

    Attributes
    ----------
    dispersion : float
        The variance is the mean plus so many times its square.
    """

    dispersion: float = 0.0

    def link(self, mean: Floats) -> Floats:
        """Return the logarithm of the mean."""
        return np.asarray(np.log(np.maximum(mean, np.finfo(float).tiny)))

    def mean(self, eta: Floats) -> Floats:
        """Return the mean."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(eta))

    def residual(self, y: Array, eta: Floats) -> Floats:
        """Return the count minus its mean, over the variance by that of Poisson's."""
        mean = self.mean(eta)
        return np.asarray((y - mean) / (1 + self.dispersion * mean))

    def curvature(self, y: Array, eta: Floats) -> Floats:
        """Return the observed information."""
        mean, more = self.mean(eta), self.dispersion
        return np.asarray(mean * (1 + more * y) / (1 + more * mean) ** 2)


@dataclass(frozen=True, eq=False)
class Generalized:
    """A generalized linear model, with the observed information.

    Attributes
    ----------
    family : statsmodels family
        The family with its link, for example ``sm.families.Poisson()``. Two of the same
        kind, with the same link and parameters, are equal.
    """

    family: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Generalized) and self._known == other._known

    def __hash__(self) -> int:
        return hash(type(self.family))

    @property
    def _known(self) -> list[tuple[type, dict[str, Any]]]:
        """The kinds of family, link and variance, each with its parameters."""
        parts = [self.family, self.family.link, self.family.variance]
        return [(type(part), _numbers(part)) for part in parts]

    def link(self, mean: Floats) -> Floats:
        """Return the linear predictor."""
        return np.asarray(self.family.link(mean))

    def mean(self, eta: Floats) -> Floats:
        """Return the mean."""
        return np.asarray(self.family.link.inverse(eta))

    def residual(self, y: Array, eta: Floats) -> Floats:
        """Return the derivative of the quasi-likelihood."""
        mean = self.family.link.inverse(eta)
        variance = self.family.variance(mean)
        return np.asarray((y - mean) / variance / self.family.link.deriv(mean))

    def curvature(self, y: Array, eta: Floats) -> Floats:
        """Return the observed information."""
        link, mean = self.family.link, self.family.link.inverse(eta)
        variance, steep = self.family.variance(mean), link.deriv(mean)
        bend = self.family.variance.deriv(mean) * steep + variance * link.deriv2(mean)
        # the expected information; with a link that is not canonical the observed one
        # depends on the outcome as well
        factor = 1 / (variance * steep**2)
        return np.asarray(factor * (1 + (y - mean) * bend / (variance * steep)))


def _numbers(part: Any) -> dict[str, Any]:
    """Return the parameters of a family, a link or a variance."""
    plain = (bool, int, float, str)
    given: dict[str, Any] = getattr(part, "__dict__", {})
    return {name: value for name, value in given.items() if isinstance(value, plain)}


@dataclass(frozen=True)
class Hazards:
    """The partial likelihood of a Cox regression, which is not a sum over records.

    Attributes
    ----------
    efron : bool
        Whether ties are treated as Efron does, or as Breslow.
    """

    efron: bool = True

    def link(self, mean: Floats) -> Floats:
        """Return the linear predictor, and the logarithms of cumulative hazards."""
        made = mean.copy()
        with np.errstate(divide="ignore"):  # a risk of 0 or 1 stays what it is
            made[..., 1:] = np.log(-np.log1p(-mean[..., 1:]))
        return made

    def mean(self, eta: Floats) -> Floats:
        """Return the linear predictor, and the risks."""
        made = eta.copy()
        made[..., 1:] = risk_of(eta[..., 1:])
        return made

    def of_all(self, y: Floats, eta: Floats, shares: Floats | None = None) -> float:
        """Return the log partial likelihood of predictors, as R's ``logLik``.

        Strata are given as shares, as `partial_likelihood` takes them.

        >>> Hazards().of_all(np.array([1.0, 2, -3]), np.zeros(3))  # -log(3 * 2)
        -1.791759469228055
        """
        from statcv.models.batched.partial_likelihood import partial_likelihood

        given = eta[:, None], y, self.efron
        problem, one = partial_likelihood(*given, shares=shares), np.ones((1, 1))
        return -float(problem.loss(problem.linear(one), one)[0])

"""Fits by (penalised) maximum likelihood, as functions of a linear predictor.

From these it follows without any refit how coefficients change with the weight of a
training record: by H⁻¹ x r, where x is the row of the record, r the derivative of its
log-likelihood by the linear predictor, and H the penalised information.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

__all__ = [
    "ARRAYS",
    "Bernoulli",
    "Gaussian",
    "Generalized",
    "Hazards",
    "Likelihood",
    "LinearFits",
    "LogLinear",
    "OfRecords",
    "joined_fits",
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

    def residual(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the first derivative of the log-likelihood."""

    def curvature(self, y: NDArray[Any], eta: Floats) -> Floats:
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
        from scipy.special import expit, softmax

        if eta.shape[-1] == 1:
            return np.asarray(expit(eta))
        return np.asarray(softmax(eta, axis=-1))

    def residual(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the outcome, which may be a share, minus its probability."""
        from scipy.special import expit, softmax

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

    def curvature(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the variance of the outcome, or the probabilities of the classes."""
        from scipy.special import softmax

        if eta.ndim > y.ndim:
            return np.asarray(softmax(eta, axis=-1))
        # p (1 - p) is even in the predictor, so that exp need not overflow
        odds = np.exp(-np.abs(eta))
        return np.asarray(odds / (1 + odds) ** 2)


@dataclass(frozen=True)
class Gaussian:
    """A normal outcome with a linear mean, as in least squares."""

    def link(self, mean: Floats) -> Floats:
        """Return the mean."""
        return mean

    def mean(self, eta: Floats) -> Floats:
        """Return the mean."""
        return eta

    def residual(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the outcome minus its mean."""
        return np.asarray(y - eta)

    def curvature(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return 1."""
        return np.ones_like(eta)


@dataclass(frozen=True)
class LogLinear:
    """Poisson counts with a linear logarithm of their mean."""

    def link(self, mean: Floats) -> Floats:
        """Return the logarithm of the mean."""
        return np.asarray(np.log(np.maximum(mean, np.finfo(float).tiny)))

    def mean(self, eta: Floats) -> Floats:
        """Return the mean."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(eta))

    def residual(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the count minus its mean."""
        return np.asarray(y - self.mean(eta))

    def curvature(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the mean."""
        return self.mean(eta)


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

    def residual(self, y: NDArray[Any], eta: Floats) -> Floats:
        """Return the derivative of the quasi-likelihood."""
        mean = self.family.link.inverse(eta)
        variance = self.family.variance(mean)
        return np.asarray((y - mean) / variance / self.family.link.deriv(mean))

    def curvature(self, y: NDArray[Any], eta: Floats) -> Floats:
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
        with np.errstate(over="ignore"):
            made[..., 1:] = -np.expm1(-np.exp(eta[..., 1:]))
        return made

    def of_all(self, y: Floats, eta: Floats) -> float:
        """Return the log partial likelihood of predictors, as R's ``logLik``.

        >>> Hazards().of_all(np.array([1.0, 2, -3]), np.zeros(3))  # -log(3 * 2)
        -1.791759469228055
        """
        from statcv.models.batched.partial_likelihood import PartialLikelihoods
        from statcv.models.batched.risk_sets import RiskSets, Tied

        sets, weights, one = RiskSets.of(y), np.ones((1, len(y))), np.ones((1, 1))
        tied = Tied.of(sets, weights, weights) if self.efron else None
        rows = eta[sets.order, None]
        problem = PartialLikelihoods(rows, sets, weights, tied, 0 * one)
        return -float(problem.loss(problem.linear(one), one)[0])


ARRAYS = (
    *("coefficients", "penalty", "constant", "filled"),
    *("class_weights", "balanced", "uncorrected", "baseline", "basis"),
)


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
    balanced : numpy.ndarray of bool, shape (fits,), or None
        Whether that factor is inversely proportional to the total weight of the class
        in the training set, so that it depends on the weight of each record.
    uncorrected : numpy.ndarray, shape (fits, p), or None
        The coefficients before the intercept was corrected, where it was (FLIC).
    baseline : numpy.ndarray, shape (fits, horizons), or None
        The logarithm of the cumulative hazard at a linear predictor of 0.
    basis : numpy.ndarray, shape (fits, p, r), or None
        What the rows of the design matrix are multiplied by before the r coefficients
        of a fit, if that changes them.
    rows : numpy.ndarray, shape (n, p), or None
        The rows that the coefficients multiply, if not those of the design matrix.
    smaller : callable or None
        Function that returns the same fits by fewer columns, where columns are more
        than records: that takes time, and only inference needs it.
    """

    coefficients: Floats
    penalty: Floats
    constant: Floats | None = None
    filled: Floats | None = None
    class_weights: Floats | None = None
    balanced: NDArray[np.bool_] | None = None
    uncorrected: Floats | None = None
    baseline: Floats | None = None
    basis: Floats | None = None
    rows: Floats | None = None
    smaller: Callable[[], LinearFits] | None = None

    @classmethod
    def of_one(cls, coefficients: Floats, penalty: Floats) -> LinearFits:
        """Return a single fit, from arrays of shapes (p,) or (p, classes), and (p,)."""
        return cls(coefficients[None], penalty[None])

    def __len__(self) -> int:
        return len(self.coefficients)

    def __reduce__(self) -> tuple[Any, ...]:
        fits = self.smallest
        kept = tuple(getattr(fits, name) for name in ARRAYS)
        return LinearFits, (*kept, fits.rows)

    @property
    def smallest(self) -> LinearFits:
        """The same fits by as few columns as there can be."""
        return self if self.smaller is None else self.smaller()

    def chosen(self, fits: NDArray[np.intp]) -> LinearFits:
        """Return some of the fits."""
        given, kept = self.smallest, dict[str, Any]()
        for name in ARRAYS:
            every = getattr(given, name)
            kept[name] = None if every is None else every[fits]
        return LinearFits(**kept, rows=given.rows)


# what changes nothing in a fit: no fill of missing values, class weights of 1
NEUTRAL = {"filled": np.nan, "class_weights": 1.0, "balanced": False}


def joined_fits(parts: Sequence[LinearFits | None]) -> LinearFits | None:
    """Concatenate the fits of several parts; None unless all have the same form.

    Parts may differ in what hyperparameters change: in filling in missing values, and
    in weighting classes.
    """
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    if len(known) == 1:
        return known[0]
    known = [part.smallest for part in known]
    rows = known[0].rows
    if any((part.rows is None) != (rows is None) for part in known):
        return None
    joined: dict[str, Any] = {}
    for name in ARRAYS:
        values = [getattr(part, name) for part in known]
        given = [value for value in values if value is not None]
        if given and len(given) < len(values):
            if name not in NEUTRAL:
                return None
            values = [
                np.full((len(part), *given[0].shape[1:]), NEUTRAL[name])
                if value is None
                else value
                for part, value in zip(known, values, strict=True)
            ]
        if not given:
            joined[name] = None
        elif len({value.shape[1:] for value in values}) > 1:
            return None
        else:
            joined[name] = values[0] if len(values) == 1 else np.concatenate(values)
    return LinearFits(**joined, rows=rows)

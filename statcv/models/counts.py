"""Poisson and negative binomial regression, of one training set and of all folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from statcv.errors import ModelError
from statcv.models import base
from statcv.models.base import Capabilities, Model, PlainFit, TrainingSet
from statcv.models.batched.blocks import Block
from statcv.models.batched.fits import FittedFolds, FoldFits
from statcv.models.batched.folds import Folds
from statcv.models.batched.near import fit_class_folds
from statcv.models.batched.predictions import by_linear_predictor
from statcv.models.batched.problem import Problem
from statcv.models.batched.separate import Penalised
from statcv.models.families import Counts
from statcv.models.likelihood import LogLinear
from statcv.models.offsets import WHOLE, alone, apart, fixed, with_offsets
from statcv.numeric.arrays import Array, Floats
from statcv.numeric.newton import minimise
from statcv.tables import Constructed

MAX_STEPS = 100  # steps at most of Newton's method for theta
ACCURACY = 1e-11  # change of the logarithm of theta in the last of these steps
STUCK = 1e-6  # change of log theta that may be rounding, once changes no longer fall
MAX_STEP = 2.0  # largest change of the logarithm of theta in one step
# theta beyond which the distribution is Poisson's but for rounding
MAX_THETA = 1e8


@dataclass(frozen=True, repr=False)
class Poisson(Constructed):
    """Poisson regression of counts with a logarithmic link, as R's ``glm``.

    A term ``offset(log(t))`` of the formula has a coefficient of 1, so that counts per
    unit of t are modelled. Predictions are expected counts.

    Examples
    --------
    >>> X = np.column_stack([np.ones(4), [0.0, 0, 1, 1], np.log([1.0, 2, 1, 2])])
    >>> y, names = np.array([1.0, 5, 3, 9]), ("Intercept", "x", "offset(log(t))")
    >>> data = TrainingSet(X, y, "continuous", 0, names, 0, None, 0, offsets=(2,))
    >>> fit = Poisson().fit(data)
    >>> {name: round(value, 4) for name, value in fit.coefficients.items()}
    {'Intercept': 0.6931, 'x': 0.6931, 'offset(log(t))': 1.0}
    """

    label: str = "Poisson regression"
    distribution = "poisson"
    capabilities = Capabilities(
        fits_together=True, needs_full_rank=True, offsets=True, likelihood=LogLinear()
    )

    def check(self, kind: str) -> None:
        """Raise ModelError for an outcome of classes, or a time to an event."""
        base.refuse_kind(self.label, kind, ("continuous",))

    def ridge(self, training: TrainingSet) -> Floats:
        """Return the strength of the penalty: 0, infinite for an offset."""
        return fixed(np.zeros(training.X.shape[1]), training)

    def fit(self, training: TrainingSet) -> PlainFit:
        """Fit the training set."""
        return alone(self.fit_folds(training, WHOLE), counted)

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        self.check(records.kind)
        base.refuse_missing(records, self.label)
        inner, start = _apart(self, records)
        if folds.matrices is not None:
            return None
        fits = fit_class_folds(self, inner, folds)
        beta = with_offsets(fits.coefficients, records, start)
        fits = replace(fits, coefficients=beta)
        return by_linear_predictor(fits, records, folds, counted, self.ridge(records))


@dataclass(frozen=True, repr=False)
class NegativeBinomial(Poisson):
    """Negative binomial regression with a logarithmic link, as R's ``MASS::glm.nb``.

    The variance of a count is its mean m plus m² / theta; theta is estimated by maximum
    likelihood in every training set. Without overdispersion it is infinite, and the fit
    is that of :class:`Poisson`. Predictions are expected counts.

    Examples
    --------
    >>> y = np.array([0.0, 1, 3, 0, 12, 2, 0, 5])
    >>> data = TrainingSet(np.ones((8, 1)), y, "continuous", 0, ("one",), 0, None, 0)
    >>> round(NegativeBinomial().fit(data).coefficients["theta"], 4)
    0.5634
    """

    label: str = "negative binomial regression"
    distribution = "negative binomial"

    def fit_folds(self, records: TrainingSet, folds: Folds) -> FittedFolds | None:
        """Fit the training sets of all folds together."""
        self.check(records.kind)
        base.refuse_missing(records, self.label)
        if folds.matrices is not None or records.y.ndim > 1:
            return None
        inner, start = _apart(self, records)
        n, p = inner.X.shape
        fits, theta = FoldFits.empty(len(folds), p), np.empty(len(folds))
        zeros = np.zeros(p)  # no ridge
        for block in folds.blocks(n, p, each=(n + p) * p):
            weights = folds.weights_in(inner, block.fits)
            family = Counts(inner.y, offset=inner.offset)
            some = Block.of_counts(weights)
            dispersed = Dispersed(Problem(inner.X, None, family, some, None, zeros))
            solved = minimise(dispersed)
            fits.coefficients[block.fits] = solved.beta
            fits.converged[block.fits] = solved.converged
            fits.separated[block.fits] = solved.separated
            theta[block.fits] = dispersed.theta(solved.beta)
        beta = with_offsets(fits.coefficients, records, start)
        fits = replace(fits, coefficients=beta)
        fitted = by_linear_predictor(fits, records, folds, counted, self.ridge(records))
        return with_theta(fitted, theta, records)


def with_theta(fitted: FittedFolds, theta: Floats, records: TrainingSet) -> FittedFolds:
    """Return fits of counts with theta as their last coefficient."""
    assert fitted.linear is not None
    return replace(
        fitted,
        coefficients=np.column_stack([np.asarray(fitted.coefficients), theta]),
        names=(*fitted.names, _name(records)),
        linear=replace(fitted.linear, dispersion=1 / theta),
    )


def counted(eta: Floats) -> Floats:
    """Return expected counts; NaN where they exceed what a number can hold."""
    with np.errstate(over="ignore"):
        made = np.exp(eta)
    return np.where(np.isinf(made), np.nan, made)


def _apart(model: Model, records: TrainingSet) -> tuple[TrainingSet, float]:
    """Return counts whose offset is not in the matrix, and the start of the intercept.

    They are of a kind of their own, since their likelihood is that of counts.
    """
    y = records.y.astype(float)
    if (y < 0).any():
        raise ModelError("counts cannot be negative.")
    inner, start = apart(model, replace(records, y=y))
    return replace(inner, kind="count"), start


# ---- the dispersion ----


def _name(records: TrainingSet) -> str:
    """Return the name of theta among the coefficients."""
    return "(theta)" if "theta" in records.names else "theta"


def theta_of(names: Sequence[str]) -> str:
    """Return which of the names of coefficients is that of theta."""
    return "(theta)" if "(theta)" in names else "theta"


@dataclass(frozen=True, eq=False)
class Dispersed(Penalised):
    """Counts of several fits, each with theta of the maximum likelihood at its means.

    The information is the expected one, with theta as known, as in R.
    """

    # linear predictors, and fits and theta there
    _last: list[Any] = field(default_factory=list)

    def part(self, chosen: Array) -> Dispersed:
        """Return some of the fits, with theta near their last one."""
        last = [None, None, self._last[2][chosen]] if self._last else []
        return Dispersed(self.problem.part(chosen), last)

    def loss(self, eta: Floats, beta: Floats) -> Floats:
        """Return minus the log-likelihood of each, but for a constant."""
        from scipy.special import betaln, gammaln, xlogy

        at, (y, times) = self.at(eta), self.counts
        family: Any = at.problem.family
        spread = family.dispersion[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            # log Γ(y + θ) - log Γ(θ) - y log θ; the beta function is exact for large θ
            more = gammaln(y) - betaln(y, 1 / spread) + xlogy(y, spread)
        more = np.where((y > 0) & (spread > 0), more, 0.0)
        return np.asarray(at.loss(eta, beta) - (times * more).sum(axis=1))

    @cached_property
    def counts(self) -> tuple[Floats, Floats]:
        """The distinct counts, and the weight of each in every fit, (m, values)."""
        values, place = np.unique(self.problem.family.y.ravel(), return_inverse=True)
        each = [np.bincount(place, row, len(values)) for row in self.problem.trained()]
        return values, np.stack(each)

    def gradient(self, eta: Floats, beta: Floats) -> Floats:
        """Return the direction of steepest descent of each."""
        return self.at(eta).gradient(eta, beta)

    def hessian(self, eta: Floats) -> Floats:
        """Return the expected information of each fit with the penalty, (m, q, q)."""
        family: Any = self.at(eta).problem.family
        mean = family.mean(eta).swapaxes(0, 1)
        return self.problem.hessian(mean / (1 + family.dispersion[:, 0] * mean))

    def newton(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse Hessian."""
        return self.at(eta).newton(eta, gradient)

    def cautious(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse of a matrix above the Hessian."""
        return self.at(eta).cautious(eta, gradient)

    def theta(self, beta: Floats) -> Floats:
        """Return theta of each fit at some coefficients, shape (m,)."""
        return self._fitted_theta(self.linear(beta))

    def at(self, eta: Floats) -> Penalised:
        """Return the fits with theta at linear predictors, estimated once for these."""
        if not self._last or self._last[0] is not eta:
            theta, family = self._fitted_theta(eta), cast(Any, self.problem.family)
            family = replace(family, dispersion=1 / theta[:, None, None])
            made = Penalised(replace(self.problem, family=family))
            self._last[:] = eta, made, theta
        found: Penalised = self._last[1]
        return found

    def _fitted_theta(self, eta: Floats) -> Floats:
        """Return theta of the maximum likelihood given the means, shape (m,).

        It is infinite if the likelihood falls with the dispersion from 0 on.
        """
        from scipy.special import digamma, polygamma

        y, weights = self.problem.family.y.ravel(), self.problem.trained()
        mean, (values, times) = self.problem.family.mean(eta)[:, 0], self.counts
        # the derivative of the log-likelihood by 1 / theta at 0, without its factor ½
        excess = (weights * ((y - mean) ** 2 - y)).sum(axis=1)
        theta, left = np.full(len(mean), np.inf), np.flatnonzero(excess > 0)
        moments = (weights[left] * mean[left] ** 2).sum(axis=1) / excess[left]
        last = self._last[2][left] if self._last else moments
        log = np.log(np.where(np.isfinite(last), last, moments))
        before = np.full(len(left), np.inf)
        for _ in range(MAX_STEPS):
            if not len(left):
                break
            m, w, often = mean[left], weights[left], times[left]
            t = np.exp(log)[:, None]
            over = (y - m) / (t + m)
            score = (often * (digamma(values + t) - digamma(t))).sum(axis=1)
            score -= (w * (np.log1p(m / t) + over)).sum(axis=1)
            curved = (often * (polygamma(1, values + t) - polygamma(1, t))).sum(axis=1)
            curved += (w * (m / t / (t + m) + over / (t + m))).sum(axis=1)
            # Newton's method on log theta, whose second derivative is this
            second = t[:, 0] ** 2 * curved + t[:, 0] * score
            pull = t[:, 0] * score
            step = np.where(second < 0, -pull / np.where(second < 0, second, 1.0), pull)
            ahead = log + np.clip(step, -MAX_STEP, MAX_STEP)
            ahead = np.minimum(ahead, np.log(MAX_THETA))
            theta[left], moved = np.exp(ahead), np.abs(ahead - log)
            # a theta that is hardly determined moves by rounding alone in the end
            stuck = (moved <= STUCK) & (moved >= before) & (second < 0)
            going = (moved > ACCURACY) & ~stuck
            left, log, before = left[going], ahead[going], moved[going]
        return np.where(np.log(theta) >= np.log(MAX_THETA), np.inf, theta)

"""The Cox regression of all records, and how it changes with each of them.

Coefficients change with the weight of a record by H⁻¹ times its score residual, where H
is the penalised information (Therneau & Grambsch 2000, section 7.1). The cumulative
baseline hazard changes with the jumps to which the record contributes, and through the
coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from statcv.models.batched import Jumps, PartialLikelihoods, partial_likelihood
from statcv.models.likelihood import Hazards
from statcv.numeric.arrays import Floats
from statcv.numeric.inverses import inverted
from statcv.numeric.newton import minimise
from statcv.sensitivity.reference import Reference, Training, fewer_columns


def cox_reference(
    X: Floats,
    y: Floats,
    penalty: Floats,
    training: Training,
    likelihood: Hazards,
    horizons: Sequence[float],
    shares: Floats,
    offset: Floats,
) -> Reference:
    """Fit all records, with the mean weight that they have in the fits.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, p)
        The matrix, relative to the row at which linear predictors are 0.
    y : numpy.ndarray, shape (n,)
        Signed times.
    penalty : numpy.ndarray, shape (p,)
        The ridge of each coefficient; infinite for one that is 0.
    training : Training
    likelihood : Hazards
    horizons : sequence of float
        The times of the risks, each of which has a linear predictor besides the first.
    shares : numpy.ndarray, shape (n, strata)
        The stratum of each record, as `strata_shares` returns it.
    offset : numpy.ndarray, shape (n,)
        What is added to the linear predictor.
    """
    X, penalty = fewer_columns(X, penalty)
    weights = training.given * training.times
    problem = partial_likelihood(
        X, y, likelihood.efron, weights, penalty, shares, offset=offset
    )
    sets = problem.sets
    beta, back = minimise(problem).beta, np.argsort(sets.order)
    fit = _Fit(problem, problem.linear(beta)[0, 0], training.given[sets.order])
    inverse = fit.inverse
    longer = training.longer(X, fit.leverage(inverse)[back])
    influence = fit.residuals @ inverse * longer[sets.order, None]
    # the last coefficients are the logarithms of the baseline hazards of the strata
    (n, q), strata = X.shape, shares.argmax(axis=1)
    every = np.zeros((n, 1 + len(horizons), q + shares.shape[1]))
    every[..., :q], levels = influence[:, None], np.zeros((shares.shape[1], 1))
    for place, horizon in enumerate(horizons, 1):
        own = [fit.baseline(horizon, influence, some) for _, some in sets.strata]
        every[:, place, q:] = np.stack([change for _, change in own], axis=1)
        levels = np.column_stack([levels, [level for level, _ in own]])
    eta, every = (fit.eta[back] + offset)[:, None] + levels[strata], every[back]
    X, exposure = np.column_stack([X, shares]), fit.exposure[back]
    return training.reference(X, eta, every, exposure, likelihood)


def score_residuals(problem: PartialLikelihoods, eta: Floats) -> Floats:
    """Return the score of each record, by Efron or by Breslow, (n, q).

    Parameters
    ----------
    problem : PartialLikelihoods
        The likelihood of a single fit.
    eta : numpy.ndarray, shape (n,)
        The linear predictors, in the order of the risk sets.
    """
    order = problem.sets.order
    return _Fit(problem, eta, np.ones_like(eta)).residuals[np.argsort(order)]


@dataclass(frozen=True, eq=False)
class _Fit:
    """The fit to all records, in the order of its risk sets.

    Attributes
    ----------
    problem : PartialLikelihoods
        The likelihood of a single fit.
    eta, given : numpy.ndarray, shape (n,)
        The linear predictors and the weights of the records.
    """

    problem: PartialLikelihoods
    eta: Floats
    given: Floats

    @cached_property
    def jumps(self) -> Jumps:
        """The jumps of the cumulative hazard."""
        return self.problem.jumps(self.eta[None])

    @cached_property
    def inverse(self) -> Floats:
        """The inverse information, 0 for what is not determined, (q, q)."""
        free = self.problem.determined()
        information = self.problem.hessian(self.eta[None, None])[0]
        inner = inverted(free.T @ information @ free, np.zeros(free.shape[1]))
        return np.asarray(free @ inner @ free.T)

    @cached_property
    def rate(self) -> Floats:
        """The hazard of each record, relative to the baseline, times its weight."""
        weights = self.problem.weights[0]
        rate = np.divide(
            self.given, weights, out=np.zeros_like(weights), where=weights > 0
        )
        return np.asarray(rate * self.jumps.rate[0])

    @cached_property
    def moments(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Sums of weight / part² at each time, and the slopes of its jumps.

        The second sum and slope are those times the share that has left before, which
        the tied events are not exposed to: (k,), (k,), (q, k), (q, k).
        """
        sums, tied, square, once, twice = self.problem.moments(self.jumps)
        if tied is None or once is None or twice is None:
            none = np.zeros_like(square[0])
            return square[0], none, square[0] * sums[0], none * sums[0]
        return (
            square[0],
            once[0],
            square[0] * sums[0] - once[0] * tied[0],
            once[0] * sums[0] - twice[0] * tied[0],
        )

    @cached_property
    def hazard(self) -> Floats:
        """The cumulative baseline hazard that each record meets, (n,)."""
        own = None if self.jumps.own is None else self.jumps.own[0]
        return self.problem.sets.met(self.jumps.size[0], own)

    @property
    def exposure(self) -> Floats:
        """The expected number of events of each record, times its weight."""
        return self.rate * self.hazard

    @cached_property
    def residuals(self) -> Floats:
        """The derivative of the score by the training weight of each record, (n, q)."""
        problem, sets = self.problem, self.problem.sets
        met = sets.met(self.moments[2], self.moments[3])
        made = (self.rate * met).T - problem.X * self.exposure[:, None]
        dead, own = sets.dead, sets.since[sets.dead]
        sums, tied = problem.moments(self.jumps)[:2]
        mean = self.jumps.size[0] * sums[0]
        if tied is not None and self.jumps.own is not None:
            mean -= self.jumps.own[0] * tied[0]
        mean = np.divide(mean, self.events, out=mean, where=self.events > 0)
        made[dead] += self.given[dead, None] * (problem.X[dead] - mean.T[own])
        return np.asarray(made)

    @cached_property
    def events(self) -> Floats:
        """The weight of the events at each time, (k,)."""
        return np.asarray(self.problem.sets.of_dead(self.problem.weights)[0])

    def leverage(self, inverse: Floats) -> Floats:
        """Return the share of each record in the information, about its risk sets."""
        met = self.problem.sets.met(self.moments[2], self.moments[3])
        mean = np.divide(
            met, self.hazard, out=np.zeros_like(met), where=self.hazard > 0
        )
        away = self.problem.X - mean.T
        weight = self.problem.weights[0] / np.where(self.given > 0, self.given, 1.0)
        squares = np.einsum("np,pq,nq->n", away, inverse, away)
        return np.asarray(squares * self.exposure * weight)

    def baseline(
        self, horizon: float, influence: Floats, some: slice
    ) -> tuple[float, Floats]:
        """Return the log cumulative hazard at a horizon, and how weights change it.

        Parameters
        ----------
        horizon : float
        influence : numpy.ndarray, shape (n, q)
            The change of the coefficients with the weight of each record.
        some : slice
            The times of the stratum.
        """
        sets, until = self.problem.sets, self.problem.sets.times <= horizon
        until[: some.start] = until[some.stop :] = False
        square, once, slope, _ = self.moments
        made = -self.rate * self.problem.sets.met(square * until, once * until)
        jump = np.where(until, self.jumps.size[0], 0.0)
        each = np.divide(jump, self.events, out=np.zeros_like(jump), where=jump > 0)
        made[sets.dead] += self.given[sets.dead] * each[sets.since[sets.dead]]
        made -= influence @ (slope @ until)
        total = jump.sum()
        if not total:
            return -np.inf, np.zeros_like(made)
        return float(np.log(total) - self.jumps.shift[0]), made / total

"""Partial likelihoods of Cox regressions of several training sets, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statcv.models.batched.blocks import CELLS
from statcv.models.batched.risk_sets import RiskSets, Tied, risk_order
from statcv.numeric.arrays import Array, Bools, Floats
from statcv.numeric.gram import information_of
from statcv.numeric.inverses import solve_well

SMALL = 150.0  # linear predictors up to which exp needs no shift
EXTREME = 10.0  # the spread of linear predictors above which separation is looked for
MAX_STEP = 30.0  # the most by which a step moves two linear predictors apart
DEPENDENT = 1e-11  # share of its information below which a direction is not determined
VANISHED = 1e-7  # the share of information at coefficients of 0 that is next to none
LEAST = 1e-14  # the least eigenvalue of an information matrix, relative to the largest


@dataclass(frozen=True, eq=False)
class Jumps:
    """The jumps of the cumulative hazard at some linear predictors, and their parts.

    Attributes
    ----------
    shift : numpy.ndarray, shape (m,)
        What is subtracted from the linear predictors.
    rate : numpy.ndarray, shape (m, n)
        The weight of each record times its hazard, relative to the baseline.
    at_risk : numpy.ndarray, shape (m, k)
        The sums of these over the risk sets.
    size : numpy.ndarray, shape (m, k)
        The jumps of the cumulative baseline hazard.
    parts : numpy.ndarray, shape (m, slots), or None
        The sums over the risk sets of tied events in turn.
    own : numpy.ndarray, shape (m, k), or None
        What of the jumps the tied events are not exposed to.
    """

    shift: Floats
    rate: Floats
    at_risk: Floats
    size: Floats
    parts: Floats | None
    own: Floats | None


@dataclass(frozen=True, eq=False)
class PartialLikelihoods:
    """Minus the log partial likelihoods of some training sets, with a ridge.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, q), or (m, n, q)
        The covariates, in the order of the risk sets; of each fit, if they differ.
    sets : RiskSets
    weights : numpy.ndarray, shape (m, n)
        The weights of the records in each fit, repeats included, in that order.
    tied : Tied or None
        Ties as Efron treats them; None for Breslow's, or without ties.
    ridge : numpy.ndarray, shape (m, q)
        Strength of the penalty on each coefficient.
    offset : numpy.ndarray, shape (m, n), or None
        What is added to linear predictors, in that order.
    """

    X: Floats
    sets: RiskSets
    weights: Floats
    tied: Tied | None
    ridge: Floats
    offset: Floats | None = None

    @property
    def size(self) -> tuple[int, int]:
        """The number of fits, and of coefficients."""
        return len(self.weights), self.X.shape[-1]

    @property
    def have_events(self) -> Bools:
        """Whether each training set has an event, shape (m,)."""
        return np.asarray((self.weights[:, self.sets.dead] > 0).any(axis=1))

    def part(self, chosen: Array | slice) -> PartialLikelihoods:
        """Return some of the fits."""
        return replace(
            self,
            X=self.X if self.X.ndim == 2 else self.X[chosen],
            weights=self.weights[chosen],
            tied=None if self.tied is None else self.tied.part(chosen),
            ridge=self.ridge[chosen],
            offset=None if self.offset is None else self.offset[chosen],
        )

    def linear(self, beta: Floats) -> Floats:
        """Return the linear predictors, shape (m, 1, n)."""
        if self.X.ndim == 2:
            return np.asarray((beta @ self.X.T)[:, None])
        return np.asarray(np.matmul(beta[:, None], self.X.swapaxes(1, 2)))

    def jumps(self, eta: Floats) -> Jumps:
        """Return the jumps of the cumulative hazard, by predictors of shape (m, n)."""
        sets, tied, shift = self.sets, self.tied, np.zeros(len(eta))
        eta = eta if self.offset is None else eta + self.offset
        if np.abs(eta).max(initial=0.0) > SMALL:
            shift = np.where(self.weights > 0, eta, -np.inf).max(axis=1, initial=-1e300)
            # squares of hazards must not overflow, nor their reciprocals
            eta = np.clip(eta - shift[:, None], -2 * SMALL, SMALL)
        rate = self.weights * np.exp(eta)
        at_risk, total = sets.total(rate), sets.of_dead(self.weights)
        size = _ratio(total, at_risk)
        if tied is None:
            return Jumps(shift, rate, at_risk, size, None, None)
        dying = sets.of_dead(rate)[:, tied.time][:, tied.rank]
        parts = at_risk[:, tied.time][:, tied.rank] - tied.share * dying
        each, own = _ratio(tied.weight, parts), np.zeros_like(size)
        size[:, tied.time] = tied.summed(each)
        own[:, tied.time] = tied.summed(each * tied.share)
        return Jumps(shift, rate, at_risk, size, parts, own)

    def expected(self, jumps: Jumps) -> Floats:
        """Return the expected number of events of each record, times its weight."""
        return self.sets.met(jumps.size, jumps.own) * jumps.rate

    def loss(self, eta: Floats, beta: Floats) -> Floats:
        """Return the value of each, shape (m,)."""
        sets, tied, jumps = self.sets, self.tied, self.jumps(eta[:, 0])
        dead = self.weights[:, sets.dead]
        gain = (dead * (eta[:, 0, sets.dead] - jumps.shift[:, None])).sum(axis=1)
        total = sets.of_dead(self.weights)
        if tied is not None and jumps.parts is not None:
            total[:, tied.time] = 0.0
            gain -= _log_sum(tied.weight, jumps.parts)
        penalty = 0.5 * (self.ridge * beta**2).sum(axis=1)
        return np.asarray(_log_sum(total, jumps.at_risk) - gain + penalty)

    def gradient(self, eta: Floats, beta: Floats) -> Floats:
        """Return the direction of steepest descent of each."""
        residual = -self.expected(self.jumps(eta[:, 0]))
        residual[:, self.sets.dead] += self.weights[:, self.sets.dead]
        if self.X.ndim == 2:
            return np.asarray(residual @ self.X - self.ridge * beta)
        pull = np.matmul(residual[:, None], self.X)[:, 0]
        return np.asarray(pull - self.ridge * beta)

    def moments(
        self, jumps: Jumps
    ) -> tuple[Floats, Floats | None, Floats, Floats | None, Floats | None]:
        """Return sums of covariates over the risk sets, and what weighs them.

        They are the sums over all at risk and over the tied events, (m, q, k), and the
        sums over the events of each time of weight / part², also times their share and
        its square, (m, k); None without ties.
        """
        sets, tied, rows = self.sets, self.tied, self.X.swapaxes(-1, -2)
        rated = rows * jumps.rate[:, None]
        sums, square = sets.total(rated), _ratio(jumps.size, jumps.at_risk)
        if tied is None or jumps.parts is None:
            return sums, None, square, None, None
        each = _ratio(_ratio(tied.weight, jumps.parts), jumps.parts)
        made = [square, np.zeros_like(square), np.zeros_like(square)]
        for power, own in enumerate(made):
            own[:, tied.time] = tied.summed(each * tied.share**power)
        return sums, sets.of_dead(rated), made[0], made[1], made[2]

    def hessian(self, eta: Floats) -> Floats:
        """Return the information of each fit with the ridge, (m, q, q)."""
        return self.informations(eta)[0]

    def informations(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return Hessians, (m, q, q), and their diagonals about covariates of 0."""
        m, q = self.size
        made, square = np.empty((m, q, q)), np.empty((m, q))
        step, every = max(1, CELLS // max(q * self.X.shape[-2], 1)), np.arange(q)
        for start in range(0, m, step):
            some = slice(start, start + step)
            first, second = self.part(some)._moments(eta[some, 0])
            made[some], square[some] = first - second, first[:, every, every]
        made[:, every, every] += self.ridge
        return made, square + self.ridge

    def _moments(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return sums of second moments in risk sets, and of squared means."""
        jumps = self.jumps(eta)
        expected = self.expected(jumps)
        sums, tied, square, once, twice = self.moments(jumps)
        if tied is None or once is None or twice is None:
            rows = sums * np.sqrt(square)[:, None]
        else:
            # P ss' - Q (se' + es') + R ee', with the square completed
            share = _ratio(once, square)
            rest = np.sqrt(np.maximum(twice - share * once, 0.0))
            about = (sums - share[:, None] * tied) * np.sqrt(square)[:, None]
            rows = np.concatenate([about, tied * rest[:, None]], axis=2)
        second = np.matmul(rows, rows.swapaxes(1, 2))
        if self.X.ndim == 2:
            return information_of(self.X, expected), second
        rows = self.X.swapaxes(1, 2) * expected[:, None]
        return np.matmul(rows, self.X), second

    def newton(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse Hessian."""
        hessian, square = self.informations(eta)
        step, well = solve_well(hessian, gradient)
        # rounding makes information of a constant column
        well &= (np.einsum("mqq->mq", hessian) > DEPENDENT * square).all(axis=1)
        for fit in np.flatnonzero(~well).tolist():
            free = self.part(np.array([fit])).determined()
            step[fit] = free @ _solved(
                free.T @ hessian[fit] @ free, gradient[fit] @ free
            )
        # where information vanishes, rounding makes steps without bound
        most = np.maximum(self.furthest(self.linear(step)), MAX_STEP)
        return np.asarray(step * (MAX_STEP / most)[:, None])

    def determined(self) -> Floats:
        """Return directions that a single fit determines, (q, directions).

        They are the same at any coefficients, and found where these are 0: with unit
        information there.
        """
        hessian, square = self.informations(np.zeros((1, 1, self.weights.shape[1])))
        root = _ratio(np.ones_like(square[0]), np.sqrt(square[0]))
        values, vectors = np.linalg.eigh(hessian[0] * root * root[:, None])
        free = values > DEPENDENT
        return np.asarray(vectors[:, free] * root[:, None] / np.sqrt(values[free]))

    def separated(self, eta: Floats) -> Bools:
        """Return whether coefficients would run to infinity, shape (m,).

        The information on a direction then vanishes on the way there.
        """
        made = self.extreme(eta)
        for fit in np.flatnonzero(made).tolist():
            one = self.part(np.array([fit]))
            free = one.determined()
            left = np.linalg.eigvalsh(free.T @ one.hessian(eta[[fit]])[0] @ free)
            made[fit] = left.min(initial=1.0) < VANISHED
        # farther off, hazards are cut; with a ridge there is an optimum
        away = (self.furthest(eta) > SMALL) & (self.ridge == 0).all(axis=1)
        return np.asarray(made | away)

    def cautious(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse of a matrix above the Hessian.

        The variance of a covariate in a risk set is at most a quarter of its squared
        range (Popoviciu), and a matrix is at most its diagonal times its size.
        """
        used = (self.weights > 0)[:, :, None]
        rows = self.X if self.X.ndim == 3 else self.X[None]
        most = np.where(used, rows, -np.inf).max(axis=1, initial=-1e300)
        least = np.where(used, rows, np.inf).min(axis=1, initial=1e300)
        events = self.weights[:, self.sets.dead].sum(axis=1)[:, None]
        above = gradient.shape[1] * events * np.maximum(most - least, 0.0) ** 2 / 4
        return _ratio(gradient, above + self.ridge)

    def furthest(self, eta: Floats) -> Floats:
        """Return the largest difference of two training records' predictors, (m,)."""
        used = self.weights > 0
        most = np.where(used, eta[:, 0], -np.inf).max(axis=1, initial=-1e300)
        least = np.where(used, eta[:, 0], np.inf).min(axis=1, initial=1e300)
        return np.asarray(np.maximum(most - least, 0.0))

    def extreme(self, eta: Floats) -> Bools:
        """Return whether hazards differ by orders of magnitude, shape (m,)."""
        return self.furthest(eta) > EXTREME

    def log_baseline(self, eta: Floats, horizons: tuple[float, ...]) -> Floats:
        """Return logarithms of the cumulative baseline hazard, (m, strata, horizons).

        It is that of a linear predictor of 0, and -inf before the first event.
        """
        jumps = self.jumps(eta[:, 0])
        until = self.sets.times[:, None] <= np.asarray(horizons, dtype=float)
        own = [jumps.size[:, some] @ until[some] for _, some in self.sets.strata]
        with np.errstate(divide="ignore"):
            return np.log(np.stack(own, axis=1)) - jumps.shift[:, None, None]


def partial_likelihood(
    X: Floats,
    y: Floats,
    efron: bool,
    weights: Floats | None = None,
    ridge: Floats | None = None,
    shares: Floats | None = None,
    counts: Floats | None = None,
    offset: Floats | None = None,
) -> PartialLikelihoods:
    """Return minus the log partial likelihoods of some training sets, or of one.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, q), or (m, n, q)
        Covariates without an intercept, about their mean; of each fit, if they differ.
    y : numpy.ndarray, shape (n,), or (m, n)
        Signed times; of each fit, if they are permuted, within the strata.
    efron : bool
        Whether ties are treated as Efron does, or as Breslow.
    weights : numpy.ndarray, shape (n,), or (m, n), optional
        Weights of the records, repeats included.
    ridge : numpy.ndarray, shape (q,), or (m, q), optional
        Strength of the penalty on each column; none unless given.
    shares : numpy.ndarray, shape (n, strata), optional
        The stratum of each record, as `strata_shares` returns it.
    counts : numpy.ndarray, shape (m, n), optional
        How often each fit trains on each record; once unless given.
    offset : numpy.ndarray, shape (n,), optional
        What is added to linear predictors.
    """
    sets = RiskSets.of(np.atleast_2d(y)[0], shares)
    order, rows, n = sets.order[None], X[..., sets.order, :], y.shape[-1]
    if y.ndim > 1:
        order = risk_order(y, np.zeros(n) if shares is None else shares.argmax(axis=1))
        every = X if X.ndim == 3 else X[None]
        rows = np.take_along_axis(every, order[:, :, None], 1)
    given = (np.ones(n) if one is None else one for one in (weights, counts))
    once, often = (
        np.take_along_axis(np.atleast_2d(one).astype(float), order, 1) for one in given
    )
    tied = Tied.of(sets, often, once) if efron else None
    penalty = np.zeros(X.shape[-1]) if ridge is None else ridge
    beside = None if offset is None else np.broadcast_to(offset[order], once.shape)
    return PartialLikelihoods(rows, sets, once, tied, np.atleast_2d(penalty), beside)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return ratios; 0 where nothing is above."""
    return np.divide(
        above, below, out=np.zeros_like(below), where=(above != 0) & (below > 0)
    )


def _log_sum(weights: Floats, values: Floats) -> Floats:
    """Return weighted sums of logarithms; a weight of 0 counts as 0."""
    with np.errstate(divide="ignore"):
        return np.asarray((weights * np.log(np.where(weights > 0, values, 1.0))).sum(1))


def _solved(matrix: Floats, vector: Floats) -> Floats:
    """Solve for a symmetric matrix that is singular but for rounding at worst."""
    root = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values, vectors = np.linalg.eigh(matrix / root / root[:, None])
    most = values.max(initial=0.0)
    if not most > 0:
        return np.zeros_like(vector)
    values = np.maximum(values, LEAST * most)
    return np.asarray(vectors @ (vectors.T @ (vector / root) / values) / root)

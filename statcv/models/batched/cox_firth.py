"""Firth's penalty of Cox regressions: half the log determinant of their information.

It is Jeffreys' prior, under which coefficients are finite though the partial likelihood
rises for ever in some direction (Heinze & Schemper 2001).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statcv.models.batched.blocks import CELLS
from statcv.models.batched.partial_likelihood import DEPENDENT, PartialLikelihoods
from statcv.numeric.arrays import Array, Bools, Floats
from statcv.numeric.newton import Optimum, minimise

MAX_SCORINGS = 200  # steps for the digits that no longer show in the objective
NEGLIGIBLE = 1e-12  # the most by which the last step moves two linear predictors apart
SMALL = 1e-8  # the most by which it does in a fit that has converged


@dataclass(frozen=True, eq=False)
class PenalisedLikelihoods:
    """Minus the log partial likelihoods of some training sets, with Firth's penalty.

    Attributes
    ----------
    plain : PartialLikelihoods
        Those without the penalty.
    filler : numpy.ndarray, shape (m, q, q)
        What makes the information of each regular where covariates are dependent.
    """

    plain: PartialLikelihoods
    filler: Floats

    @classmethod
    def of(cls, plain: PartialLikelihoods) -> PenalisedLikelihoods:
        """Find the directions that training sets do not determine.

        They are the same at any coefficients, and add a constant to the objective.
        """
        m, n = plain.weights.shape
        hessian, square = plain.informations(np.zeros((m, 1, n)))
        root = np.sqrt(np.where(square > 0, square, 1.0))
        values, vectors = np.linalg.eigh(hessian / root[:, None] / root[:, :, None])
        null = vectors * (values <= DEPENDENT)[:, None] * root[:, :, None]
        return cls(plain, null @ null.swapaxes(1, 2))

    @property
    def size(self) -> tuple[int, int]:
        """The number of fits, and of coefficients."""
        return self.plain.size

    def part(self, chosen: Array) -> PenalisedLikelihoods:
        """Return some of the fits."""
        return replace(self, plain=self.plain.part(chosen), filler=self.filler[chosen])

    def linear(self, beta: Floats) -> Floats:
        """Return the linear predictors, shape (m, 1, n)."""
        return self.plain.linear(beta)

    def information(self, eta: Floats) -> Floats:
        """Return the information of each fit, made regular: (m, q, q)."""
        return self.plain.hessian(eta) + self.filler

    def loss(self, eta: Floats, beta: Floats) -> Floats:
        """Return the value of each, shape (m,); infinite without information."""
        sign, log = np.linalg.slogdet(self.information(eta))
        penalty = np.where(sign > 0, -log / 2, np.inf)
        return np.asarray(self.plain.loss(eta, beta) + penalty)

    def gradient(self, eta: Floats, beta: Floats) -> Floats:
        """Return Firth's modified score of each, shape (m, q).

        With V the inverse information, the penalty adds the mean in each risk set of
        (x - μ)'V(x - μ)(x - μ), summed over the events and halved.
        """
        plain, sets = self.plain, self.plain.sets
        V = np.linalg.pinv(self.information(eta), hermitian=True)
        jumps, rows = plain.jumps(eta[:, 0]), plain.X.swapaxes(-1, -2)
        length = (np.matmul(V, rows) * rows).sum(axis=1)
        sums = np.concatenate(
            [rows * jumps.rate[:, None], (length * jumps.rate)[:, None]], axis=1
        )
        at_risk, dying = jumps.at_risk[:, None], sets.of_dead(jumps.rate)[:, None]
        every = np.concatenate([sets.total(sums), at_risk], axis=1)
        leaving = np.concatenate([sets.of_dead(sums), dying], axis=1)
        # events in turn: those of tied times leave their risk set in parts
        when = np.arange(len(sets.times))
        share = np.zeros((len(V), len(when)))
        weight = sets.of_dead(plain.weights)
        if plain.tied is not None:
            tied = plain.tied
            kept = np.setdiff1d(when, tied.time)
            when = np.concatenate([kept, tied.time[tied.rank]])
            order = np.argsort(when, kind="stable")
            share = np.concatenate([share[:, kept], tied.share], axis=1)[:, order]
            weight = np.concatenate([weight[:, kept], tied.weight], axis=1)[:, order]
            when = when[order]
        means = every[:, :, when] - share[:, None] * leaving[:, :, when]
        part = means[:, -1:]
        used = (weight[:, None] > 0) & (part > 0)
        means = np.divide(means, part, out=np.zeros_like(means), where=used)
        ratio = np.divide(weight[:, None], part, out=np.zeros_like(part), where=used)
        centre = means[:, :-2]
        turned = np.matmul(V, centre)
        starts = np.searchsorted(when, np.arange(len(sets.times)))
        pulls = sets.met(
            np.add.reduceat(ratio * turned, starts, axis=2),
            np.add.reduceat(ratio * share[:, None] * turned, starts, axis=2),
        )
        each = plain.expected(jumps) * length - 2 * jumps.rate * (pulls * rows).sum(1)
        apart = weight * (2 * (turned * centre).sum(axis=1) - means[:, -2])
        pull = (rows @ each[:, :, None] + centre @ apart[:, :, None])[:, :, 0]
        return np.asarray(plain.gradient(eta, beta) + pull / 2)

    def newton(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse information."""
        V = np.linalg.pinv(self.information(eta), hermitian=True)
        return np.asarray((V @ gradient[:, :, None])[:, :, 0])

    def cautious(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse of a matrix above the information."""
        return self.plain.cautious(eta, gradient)

    def furthest(self, eta: Floats) -> Floats:
        """Return the largest difference of two training records' predictors, (m,)."""
        return self.plain.furthest(eta)

    def extreme(self, eta: Floats) -> Bools:
        """Return False for each, as the penalty keeps coefficients finite."""
        return np.zeros(len(eta), dtype=bool)


def firth_optimum(plain: PartialLikelihoods) -> Optimum:
    """Maximise the penalised partial likelihoods.

    Parameters
    ----------
    plain : PartialLikelihoods

    References
    ----------
    Heinze & Schemper (2001), Biometrics 57:114.
    """
    (m, q), n = plain.size, plain.weights.shape[1]
    step = max(1, CELLS // max(q * n, 1))
    parts = [_optimum(plain.part(slice(k, k + step))) for k in range(0, m, step)]
    names = ("beta", "converged", "separated")
    return Optimum(
        *(np.concatenate([getattr(one, name) for one in parts]) for name in names)
    )


def _optimum(plain: PartialLikelihoods) -> Optimum:
    """Take Newton's steps, and then those that no longer show in the objective."""
    problem = PenalisedLikelihoods.of(plain)
    solved = minimise(problem)
    beta, length = solved.beta, np.full(len(solved.beta), np.inf)
    for _ in range(MAX_SCORINGS):
        eta = problem.linear(beta)
        step = problem.newton(eta, problem.gradient(eta, beta))
        ahead = problem.furthest(problem.linear(step))
        nearer = (ahead < length) & (length > NEGLIGIBLE)
        if not nearer.any():
            break
        beta = beta + step * nearer[:, None]
        length = np.where(nearer, ahead, length)
    return replace(solved, beta=beta, converged=solved.converged | (length < SMALL))

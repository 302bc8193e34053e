"""Proportional-odds regressions of several training sets, as one problem.

The log-odds of a class of at least k are a cut point plus the linear predictor. The
information of a record is that of the two cut points between which its class lies, and
of their distance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from statcv.models.batched.separate import inverse_gram
from statcv.models.families import EXTREME
from statcv.numeric.arrays import Array, Bools, Floats, Numbers
from statcv.numeric.gram import column_units, information_of
from statcv.numeric.inverses import solve_well
from statcv.numeric.logistic import expit
from statcv.numeric.newton import minimise

HIGHEST_VARIANCE = 0.25  # the most that an outcome of two classes varies


@dataclass(frozen=True, eq=False)
class CumulativeOdds:
    """Minus the log-likelihoods of m fits, with a ridge.

    Coefficients are changes of the K - 1 cut points, followed by the slopes. Of each
    record there are two linear predictors, at the cut points below and above its class.

    Attributes
    ----------
    X : numpy.ndarray, shape (n, q), or (m, n, q)
        Without an intercept; of each fit, if they differ.
    y : numpy.ndarray of int, shape (m, n)
        The classes, from 0 to K - 1, each of which has a weight in every fit.
    weights : numpy.ndarray, shape (m, n)
    start : numpy.ndarray, shape (m, K + 1)
        The cut points, from infinity to minus infinity.
    ridge : numpy.ndarray, shape (q,), or (m, q)
    """

    X: Floats
    y: Numbers
    weights: Floats
    start: Floats
    ridge: Floats

    @classmethod
    def of(
        cls, X: Floats, y: Array, weights: Floats, classes: int, ridge: Floats
    ) -> CumulativeOdds:
        """Start from the shares of the classes in each training set."""
        sums = _sums(weights, y, classes)
        above = np.cumsum(sums[:, ::-1], axis=1)[:, ::-1]
        with np.errstate(divide="ignore"):
            odds = above / (above[:, :1] - above)
            start = np.pad(np.log(odds), ((0, 0), (0, 1)), constant_values=-np.inf)
        return cls(X, y, weights, start, ridge)

    @property
    def cuts(self) -> int:
        """The number of cut points."""
        return int(self.start.shape[1]) - 2

    @property
    def size(self) -> tuple[int, int]:
        """The number of fits, and of coefficients."""
        return len(self.y), self.cuts + self.X.shape[-1]

    def part(self, chosen: Array) -> CumulativeOdds:
        """Return some of the fits."""
        return replace(
            self,
            X=self.X if self.X.ndim == 2 else self.X[chosen],
            y=self.y[chosen],
            weights=self.weights[chosen],
            start=self.start[chosen],
            ridge=self.ridge if self.ridge.ndim == 1 else self.ridge[chosen],
        )

    def linear(self, beta: Floats) -> Floats:
        """Return the change of both linear predictors of each record, (m, 2, n)."""
        cuts = np.pad(beta[:, : self.cuts], ((0, 0), (1, 1)))
        slopes = beta[:, self.cuts :]
        if self.X.ndim == 2:
            along = slopes @ self.X.T
        else:
            along = np.matmul(self.X, slopes[:, :, None])[..., 0]
        return np.asarray(along[:, None] + self._ends(cuts))

    def sums(self, values: Floats) -> Floats:
        """Return sums of values, (m, n), times the columns, (m, q)."""
        if self.X.ndim == 2:
            return np.asarray(values @ self.X)
        return np.asarray(np.matmul(values[:, None], self.X)[:, 0])

    def _at(self, eta: Floats) -> Floats:
        """Return both linear predictors, (2, m, n)."""
        return np.asarray((eta + self._ends(self.start)).swapaxes(0, 1))

    def _ends(self, cuts: Floats) -> Floats:
        ends = [np.take_along_axis(cuts, self.y + more, axis=1) for more in (0, 1)]
        return np.stack(ends, axis=1)

    def loss(self, eta: Floats, beta: Floats) -> Floats:
        """Return the value of each; infinite where cut points are not in order."""
        lower, upper = self._at(eta)
        with np.errstate(divide="ignore", invalid="ignore"):
            # p = expit(lower) expit(-upper) (1 - exp(upper - lower)) keeps its digits
            lost = np.logaddexp(0.0, -lower) + np.logaddexp(0.0, upper)
            lost -= np.log(-np.expm1(upper - lower))
        lost[~(lower > upper)] = np.inf
        lost[self.weights == 0] = 0.0
        pull = 0.5 * (self.ridge * beta[:, self.cuts :] ** 2).sum(axis=1)
        return np.asarray((self.weights * lost).sum(axis=1) + pull)

    def slopes(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return derivatives of log-likelihoods by both predictors, and variances.

        Both are weighted; the variances are those along the two predictors, and along
        their difference, shape (3, m, n).
        """
        lower, upper = self._at(eta)
        with np.errstate(over="ignore"):
            # expm1 keeps the digits of cut points that lie close together
            apart = 1 / np.expm1(lower - upper)
        above, below = expit(-lower), expit(upper)
        pull = np.stack([above + apart, -below - apart])
        curved = np.stack(
            [above * expit(lower), below * expit(-upper), apart * (1 + apart)]
        )
        return pull * self.weights, curved * self.weights

    def by_cut(self, lower: Floats, upper: Floats) -> Floats:
        """Return sums of values at the cut points below and above, (m, K - 1)."""
        size = self.start.shape[1]
        made = _sums(lower, self.y, size) + _sums(upper, self.y + 1, size)
        return made[:, 1:-1]

    def gradient(self, eta: Floats, beta: Floats) -> Floats:
        """Return the direction of steepest descent of each."""
        (lower, upper), slopes = self.slopes(eta)[0], beta[:, self.cuts :]
        along = self.sums(lower + upper) - self.ridge * slopes
        return np.column_stack([self.by_cut(lower, upper), along])

    def hessian(self, eta: Floats) -> Floats:
        """Return the information of each fit with the ridge, (m, q, q)."""
        return self.information(self.slopes(eta)[1])

    def information(self, curved: Floats) -> Floats:
        """Return the information by the variances of the records, with the ridge."""
        lower, upper, apart = curved
        cuts, (m, q) = self.cuts, self.size
        made, every = np.zeros((m, q, q)), np.arange(self.cuts)
        made[:, every, every] = self.by_cut(lower + apart, upper + apart)
        # only neighbouring cut points share a class, so that their block has three
        # diagonals
        between = -_sums(apart, self.y, cuts + 1)[:, 1:cuts]
        made[:, every[:-1], every[1:]] = made[:, every[1:], every[:-1]] = between
        for cut in every:
            at = lower * (self.y == cut + 1) + upper * (self.y == cut)
            made[:, cut, cuts:] = made[:, cuts:, cut] = self.sums(at)
        if self.X.ndim == 2:
            made[:, cuts:, cuts:] = information_of(self.X, lower + upper)
        else:
            rows = self.X.swapaxes(1, 2) * (lower + upper)[:, None]
            made[:, cuts:, cuts:] = np.matmul(rows, self.X)
        np.einsum("mqq->mq", made)[:, cuts:] += self.ridge
        return made

    def newton(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse Hessian."""
        return self._solved(self.slopes(eta)[1], gradient)

    def cautious(self, eta: Floats, gradient: Floats) -> Floats:
        """Return each gradient times the inverse of a matrix above the Hessian."""
        curved = self.slopes(eta)[1]
        curved[:2] = HIGHEST_VARIANCE * self.weights
        return self._solved(curved, gradient)

    def _solved(self, curved: Floats, gradient: Floats) -> Floats:
        step, well = solve_well(self.information(curved), gradient)
        for fit in np.flatnonzero(~well).tolist():
            # an ill-conditioned Hessian: half its digits are kept by its root
            rows = self.rows(fit) * np.sqrt(curved[:, fit, :, None])
            ridge = self.ridge if self.ridge.ndim == 1 else self.ridge[fit]
            pull = np.pad(np.diag(np.sqrt(ridge)), ((0, 0), (self.cuts, 0)))
            step[fit] = inverse_gram(np.vstack([*rows, pull]), gradient[fit])
        return step

    def rows(self, fit: int) -> Floats:
        """Return the rows of both linear predictors, and their differences, (3, n, q).

        They are what coefficients are multiplied by.
        """
        place = np.pad(np.eye(self.cuts), ((1, 1), (0, 0)))
        X = self.X if self.X.ndim == 2 else self.X[fit]
        lower, upper = (
            np.column_stack([place[self.y[fit] + more], X]) for more in (0, 1)
        )
        return np.stack([lower, upper, lower - upper])

    def scores(self, pull: Floats) -> Floats:
        """Return the score of each record in the first fit, (n, q).

        Parameters
        ----------
        pull : numpy.ndarray, shape (2, n)
            The derivatives of its log-likelihood by both linear predictors.
        """
        return np.asarray(np.einsum("rnq,rn->nq", self.rows(0)[:2], pull))

    def furthest(self, eta: Floats) -> Floats:
        """Return the largest linear predictor of a training record, (m,)."""
        used = np.where(self.weights[:, None] > 0, np.abs(eta), 0.0)
        return np.asarray(used.max(axis=(1, 2), initial=0.0))

    def extreme(self, eta: Floats) -> Bools:
        """Return whether fitted probabilities come near 0 or 1, shape (m,)."""
        every = self._at(eta).swapaxes(0, 1)
        most = self.furthest(np.where(np.isfinite(every), every, 0.0))
        return np.asarray(expit(-most) < EXTREME)


def cumulative_information(
    X: Floats, y: Numbers, cuts: Floats, slopes: Floats
) -> tuple[Floats, Floats]:
    """Return the observed information of one fit, and the scores of its records.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, q)
        Without an intercept.
    y : numpy.ndarray of int, shape (n,)
    cuts, slopes : numpy.ndarray, shapes (K - 1,) and (q,)
    """
    ends = np.array([[np.inf, *cuts, -np.inf]])
    given = np.ones((1, len(y))), ends, np.zeros_like(slopes)
    odds = CumulativeOdds(X, y[None], *given)
    eta = odds.linear(np.append(np.zeros_like(cuts), slopes)[None])
    pull, curved = odds.slopes(eta)
    return odds.information(curved)[0], odds.scores(pull[:, 0])


def _sums(values: Floats, place: Numbers, size: int) -> Floats:
    """Sum the values of each row by place, shape (m, size)."""
    m = len(values)
    cell = np.arange(m)[:, None] * size + place
    made = np.bincount(cell.ravel(), values.ravel(), m * size)
    return np.asarray(made, dtype=float).reshape(m, size)


def fit_cumulative(
    X: Floats, y: Numbers, weights: Floats, classes: int, ridge: Floats
) -> tuple[Floats, Floats, Bools, Bools]:
    """Fit several training sets, of which some may lack classes.

    Parameters
    ----------
    X : numpy.ndarray, shape (n, q)
        Without an intercept.
    y, weights : numpy.ndarray, shape (m, n)
        The class and the weight of each record in each fit.
    classes : int
    ridge : numpy.ndarray, shape (q,)

    Returns
    -------
    cuts : numpy.ndarray, shape (m, classes - 1)
        Cut points, falling; a class that a training set lacks has no probability.
    slopes : numpy.ndarray, shape (m, q)
    converged, separated : numpy.ndarray of bool, shape (m,)

    Examples
    --------
    >>> X, y = np.array([[0.0], [0], [0], [1], [1], [1]]), np.array([[0, 1, 2] * 2])
    >>> cuts, slopes, *_ = fit_cumulative(X, y, np.ones((1, 6)), 3, np.zeros(1))
    >>> cuts.round(3), abs(slopes.round(3))
    (array([[ 0.693, -0.693]]), array([[0.]]))
    """
    m, unit = len(y), column_units(X)
    cuts, slopes = np.empty((m, classes - 1)), np.zeros((m, X.shape[1]))
    converged, separated = np.zeros((2, m), dtype=bool)
    present = _sums(weights, y, classes) > 0
    for pattern in np.unique(present, axis=0):
        some = np.flatnonzero((present == pattern).all(axis=1))
        # training sets that lack the same classes are fitted together, with the classes
        # that they have numbered without gaps
        rank = np.cumsum(pattern)
        codes = np.maximum(rank - 1, 0)[y[some]]
        odds = CumulativeOdds.of(
            X / unit, codes, weights[some], int(rank[-1]), ridge / unit**2
        )
        solved = minimise(odds)
        ends = odds.start
        ends[:, 1:-1] += solved.beta[:, : odds.cuts]
        cuts[some] = ends[:, rank[:-1]]
        slopes[some] = solved.beta[:, odds.cuts :] / unit
        converged[some] = solved.converged
        separated[some] = solved.separated | ~pattern.all()
    return cuts, slopes, converged, separated
